"""Conjunctions clustered by the columns they fix and the codes they fix them to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tamis.lab.le_subscribe.clustering_kernels import distinct_runs
from tamis.matching.codes.columns import Encoder
from tamis.matching.codes.conjuncts import Conjuncts
from tamis.matching.codes.dictionary import power_of_two

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Clusters(NamedTuple):
    """Schema s fixes `schema_columns[schema_offsets[s]:schema_offsets[s + 1]]`, ascending; at most one is a set.

    Schemas are sorted by their first column: those of column c are `schema_firsts[c]:schema_firsts[c + 1]`. Cluster k
    has the conjunctions `members[offsets[k]:offsets[k + 1]]`; its key is its schema and then the codes. `table` holds
    the clusters by the hash of their keys.
    """

    schema_firsts: Int64s
    schema_offsets: Int64s
    schema_columns: Int32s
    table: Int32s
    key_offsets: Int64s
    keys: Int32s
    offsets: Int64s
    members: Int32s


def equalities(conjuncts: Conjuncts, rows: Int32s, encoder: Encoder) -> Bools:
    """The intervals to cluster by: one code on a single-code column, and on the first set of a conjunction."""
    sets = conjuncts.columns >= encoder.singles
    first = np.ones(len(rows), np.bool_)
    first[1:] = (rows[1:] != rows[:-1]) | ~sets[:-1]
    return (conjuncts.lows == conjuncts.highs) & (~sets | first)


def clusters_of(conjuncts: Conjuncts, rows: Int32s, equal: Bools, encoder: Encoder) -> Clusters:
    sizes = np.bincount(rows[equal], minlength=len(conjuncts))
    clustered = np.flatnonzero(sizes)
    sizes = sizes[clustered]
    offsets = _starts(sizes)
    columns, codes = conjuncts.columns[equal].astype(np.int32), conjuncts.lows[equal]
    schema, firsts, _ = _distinct(offsets, columns)
    order = np.argsort(columns[offsets[firsts]], kind="stable")
    firsts = firsts[order]
    schema = _inverse(order)[schema]
    schema_sizes = sizes[firsts]
    schema_offsets = _starts(schema_sizes)
    schema_columns = columns[_runs(offsets[firsts], schema_sizes)]

    keys = np.insert(codes, offsets[:-1], schema).astype(np.int32)
    key_offsets = offsets + np.arange(len(offsets))
    cluster, firsts, table = _distinct(key_offsets, keys)
    key_sizes = sizes[firsts] + 1
    first_columns = schema_columns[schema_offsets[:-1]]
    return Clusters(
        schema_firsts=np.searchsorted(first_columns, np.arange(len(encoder.columns) + 1)).astype(np.int64),
        schema_offsets=schema_offsets,
        schema_columns=schema_columns,
        table=table,
        key_offsets=_starts(key_sizes),
        keys=keys[_runs(key_offsets[firsts], key_sizes)],
        offsets=_starts(np.bincount(cluster, minlength=len(firsts))),
        members=clustered[np.argsort(cluster, kind="stable")].astype(np.int32),
    )


def lookup_memory(clusters: Clusters) -> tuple[Int32s, Int32s]:
    """Room for the longest key, and for every cluster that one event may lead to."""
    longest = int(np.diff(clusters.key_offsets).max(initial=1))
    return np.zeros(longest, np.int32), np.zeros(len(clusters.offsets), np.int32)


def _distinct(offsets: Int64s, words: Int32s) -> tuple[Int32s, Int32s, Int32s]:
    """Numbers of the runs, where each number first stands, and the table of the numbers by hash."""
    count = len(offsets) - 1
    table, numbers = np.full(power_of_two(2 * count + 1), -1, np.int32), np.empty(count, np.int32)
    firsts = np.empty(count, np.int32)
    found = distinct_runs(offsets, words, table, numbers, firsts)
    return numbers, firsts[:found], table


def _starts(sizes: npt.NDArray[Any]) -> Int64s:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def _runs(starts: Int64s, sizes: npt.NDArray[Any]) -> Int64s:
    """Every position of the runs from `starts` on, of these sizes."""
    return np.repeat(starts - _starts(sizes)[:-1], sizes) + np.arange(int(sizes.sum()))


def _inverse(order: Int64s) -> Int32s:
    inverse = np.empty(len(order), np.int32)
    inverse[order] = np.arange(len(order), dtype=np.int32)
    return inverse
