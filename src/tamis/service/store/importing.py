"""Bulk import of subscriptions from tables of labels and filters, a million if need be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tamis.errors import TamisError
from tamis.language import DEFAULT_LIMITS, NO_OPERATORS, Limits, Signatures, bind
from tamis.language.joins import are_joins, bind_joins
from tamis.schema import Schema
from tamis.service.store import subscription as counters
from tamis.service.store.database import Database, TextError, insert_rows
from tamis.service.store.hashing import digest, random_texts
from tamis.service.store.keys import require_live
from tamis.service.store.subscription import notice_at
from tamis.service.store.tables import SUBSCRIPTIONS, microseconds, now

# Rows per transaction: short enough that concurrent subscribers do not wait long.
_ROWS_AT_ONCE = 25_000
_COLUMNS = (
    "number",
    "id",
    "ticket",
    "owner",
    "label",
    "kind",
    "text",
    "dialect",
    "delivery",
    "mode",
    "state",
    "created",
    "expires",
    "changed",
    "revision",
    "began",
    "notice",
)

Progress = Callable[[int], None]
"""Told how many rows of the import are done."""
Tickets = Callable[[list[str], list[str], list[str]], None]
"""Given labels, ids and tickets before they are committed, so that none is ever in the store and nowhere else."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: the number imported, and the errors of the others by label."""

    taken: int
    refused: list[tuple[str, TamisError]]


class Importing:
    """Part of `Subscriptions` that imports whole files."""

    _database: Database

    def import_table(
        self,
        rows: pa.Table | Iterable[pa.Table],
        owner: str,
        expires: datetime,
        delivery: dict[str, Any],
        *,
        schema: Schema | None = None,
        limits: Limits = DEFAULT_LIMITS,
        operators: Signatures = NO_OPERATORS,
        progress: Progress | None = None,
        tickets: Tickets | None = None,
    ) -> Imported:
        """Imports the string columns `id`, which become labels, and `filter`, which becomes text and filter as it
        stands.

        With a schema, a filter or join that it does not allow, or that calls another operator than those given, is
        refused under its label; without one, the caller has checked them, and all are plain filters. Rows are committed
        some thousands at a time, in their order: whoever is killed leaves the first of them.
        """
        refused: list[tuple[str, TamisError]] = []
        taken = done = 0
        for piece in _pieces(rows):
            errors, kinds = _judged(piece, schema, limits, operators)
            good = piece.append_column("kind", pa.array(kinds, pa.string()))
            if errors:
                refused += [(piece["id"][row].as_py(), error) for row, error in sorted(errors.items())]
                kept = np.ones(len(piece), np.bool_)
                kept[list(errors)] = False
                good = good.filter(pa.array(kept))
            self._take(good, owner, expires, delivery, tickets)
            taken += len(good)
            done += len(piece)
            if progress is not None:
                progress(done)
        return Imported(taken, refused)

    def _take(
        self,
        good: pa.Table,
        owner: str,
        expires: datetime,
        delivery: dict[str, Any],
        tickets: Tickets | None,
    ) -> None:
        labels, texts, kinds = (good[name].to_pylist() for name in ("id", "filter", "kind"))
        if not labels:
            return
        # Sorted, so that the index over ids is filled from one end to the other.
        ids = sorted(random_texts("sub_", 16, len(labels)))
        secrets = random_texts("tkt_", 32, len(labels))
        digests = [digest(secret) for secret in secrets]
        if tickets is not None:
            tickets(labels, ids, secrets)
        made = now()
        notice = notice_at(made, expires)
        moment, told = microseconds(made), None if notice is None else microseconds(notice)
        same = (json.dumps(delivery), delivery["mode"], "active", moment, microseconds(expires), moment)
        with self._database.write() as connection:
            first = counters.advance(connection, "revision", len(labels)) - len(labels) + 1
            require_live(connection, owner)
            numbers = range(first, first + len(labels))
            rows = (
                (number, id, ticket, owner, label, kind, text, "tamis", *same, number, moment, told)
                for number, id, ticket, label, kind, text in zip(
                    numbers, ids, digests, labels, kinds, texts, strict=True
                )
            )
            insert_rows(connection, SUBSCRIPTIONS, _COLUMNS, rows)
            counters.moved(connection, {(owner, "active"): len(labels)})


def _judged(
    piece: pa.Table, schema: Schema | None, limits: Limits, operators: Signatures
) -> tuple[dict[int, TamisError], npt.NDArray[np.object_]]:
    """Errors of the rows that cannot be imported, and the kind of each row."""
    errors: dict[int, TamisError] = {}
    kinds = np.full(len(piece), "filter", np.object_)
    if schema is not None:
        texts = piece["filter"].combine_chunks()
        joins = are_joins(texts) if schema.tables else np.zeros(len(piece), np.bool_)
        kinds[joins] = "join"
        rows, others = np.flatnonzero(joins), np.flatnonzero(~joins)
        if len(rows):
            refused = bind_joins(texts.take(pa.array(rows)), schema, limits).errors
            errors.update((int(rows[row]), error) for row, error in refused)
        bound = bind(texts.take(pa.array(others)), schema, limits, operators)
        errors.update((int(others[row]), error) for row, error in bound.errors)
        for block in bound.called:
            kinds[others[block.rows]] = "operator"
    for what in ("id", "filter"):
        # Arrow's strings are whole characters; NUL is the one of them that PostgreSQL has no place for.
        for row in pc.indices_nonzero(pc.match_substring(piece[what], "\0")).to_pylist():
            errors[row] = TextError(f"{what}: a text with a NUL cannot be kept")
    return errors, kinds


def _pieces(rows: pa.Table | Iterable[pa.Table]) -> Iterator[pa.Table]:
    for table in [rows] if isinstance(rows, pa.Table) else rows:
        for start in range(0, len(table), _ROWS_AT_ONCE):
            yield table.slice(start, _ROWS_AT_ONCE)
