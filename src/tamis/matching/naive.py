"""Naive matcher, oracle of all others: every subscription's syntax tree evaluated on every event in plain Python."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import re2

from tamis.errors import IndexFileError
from tamis.language import parse
from tamis.language.calls import Call, Constraint
from tamis.language.patterns import LikePattern, Wildcard
from tamis.language.predicates import Between, Leaf, Like, Never, OneOf, Order, Present, RLike, Versus
from tamis.language.tree import And, Constant, Negation, Or, Tree
from tamis.matching.base.matcher import CANDIDATES, PREDICATES, Answer, Matches, Part, Subscriptions, Work
from tamis.matching.base.statistics import Statistics
from tamis.matching.conditions import Values, event_values
from tamis.schema import Domain, EnumeratedDomain, HierarchicalDomain, Schema

if TYPE_CHECKING:
    from tamis.matching.codes.holders import Holders
    from tamis.matching.patterns import PatternSet

__all__ = ["NaiveMatcher", "Values", "event_values", "holds"]

_FILE = "subscriptions.json"  # after a line with its checksum


def holds(tree: Tree, values: Values, schema: Schema, negated: bool = False, work: Work | None = None) -> bool:
    """True if the filter, or its negation, holds for an event with these values; `work` counts its predicates.

    The negation of a comparison asks that its attributes are present and that the comparison does not hold.
    """
    match tree:
        case Constant(value):
            return value != negated
        case Negation(item):
            return holds(item, values, schema, not negated, work)
        case And(items) | Or(items):
            every = isinstance(tree, And) != negated
            answers = (holds(item, values, schema, negated, work) for item in items)
            return all(answers) if every else any(answers)
    if work is not None:
        work.counters[PREDICATES] += 1
    match tree:
        case Present(attribute):
            return bool(values.get(attribute)) != negated
        case Versus(left, operator, right):
            ours, theirs = values.get(left, ()), values.get(right, ())
            domain = schema.attributes[left].domain
            found = any(_compares(a, operator, b, domain) for a, b in product(ours, theirs))
            return bool(ours and theirs) and not found if negated else found
        case Call() | Constraint():
            raise TypeError("operators are not called here: tamis.operators evaluates filters that call them")
        case _:
            ours = values.get(tree.attribute, ())
            found = any(_satisfies(value, tree, schema) for value in ours)
            return bool(ours) and not found if negated else found


def _satisfies(value: Any, leaf: Leaf, schema: Schema) -> bool:
    match leaf:
        case Between(_, low, high, low_closed, high_closed):
            above = low is None or low < value or (low_closed and low == value)
            return above and (high is None or value < high or (high_closed and value == high))
        case OneOf(_, listed):
            return value in listed
        case Order(attribute, operator, bound):
            return _compares(value, operator, bound, schema.attributes[attribute].domain)
        case Like(_, pattern, ignore_case):
            return _like(str(pattern), ignore_case).matches(value.lower() if ignore_case else value)
        case RLike(_, pattern):
            return _rlike(str(pattern)).search(value) is not None
        case Never():
            return False
    raise TypeError(f"{leaf} is no comparison")


def _compares(a: Any, operator: str, b: Any, domain: Domain) -> bool:
    """True if `a operator b` between two values of a domain: along its order where its values are listed."""
    if operator == "=":
        return bool(a == b)
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return b in domain.values and domain.position(a) in domain.satisfying(operator, b)
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator])


@lru_cache(maxsize=10_000)
def _like(pattern: str, ignore_case: bool) -> LikePattern:
    parts = re.findall(r"\\(.)|([%_])|([^\\])", pattern.lower() if ignore_case else pattern, re.DOTALL)
    return LikePattern([Wildcard(wildcard) if wildcard else escaped or plain for escaped, wildcard, plain in parts])


@lru_cache(maxsize=10_000)
def _rlike(pattern: str) -> Any:
    return re2.compile(pattern)


class NaiveMatcher:
    """Matcher with subscriptions in a dict, id → (text, tree). A change replaces the dict, so readers take no lock."""

    name: ClassVar[str] = "naive"
    tells_holders: ClassVar[bool] = False

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._filters: dict[str, tuple[str, Tree]] = {}

    @classmethod
    def build(cls, subscriptions: Subscriptions, schema: Schema, statistics: Statistics | None) -> Self:
        matcher = cls(schema)
        matcher.add(subscriptions)
        return matcher

    def match(self, batch: pa.RecordBatch) -> Matches:
        filters, work = list(self._filters.items()), Work()
        work.counters[CANDIDATES] = len(filters) * len(batch)
        found = [
            [k for k, (_, (_, tree)) in enumerate(filters) if holds(tree, values, self._schema, work=work)]
            for values in event_values(batch, self._schema)
        ]
        names = pa.array([key for key, _ in filters], pa.string())
        offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
        part = Part(0, offsets, np.array([k for row in found for k in row], np.int32))
        return Matches(len(batch), [Answer(names, [part])], work)

    def add(self, subscriptions: Subscriptions) -> None:
        refused = {row for row, _ in subscriptions.bound.errors}
        pairs = zip(subscriptions.ids.to_pylist(), subscriptions.texts.to_pylist(), strict=True)
        limits = subscriptions.bound.limits
        kept = {
            key: (text, parse(text, self._schema, limits))
            for row, (key, text) in enumerate(pairs)
            if row not in refused
        }
        self._filters = {**self._filters, **kept}

    def remove(self, ids: Iterable[str]) -> None:
        gone = set(ids)
        self._filters = {key: kept for key, kept in self._filters.items() if key not in gone}

    def __contains__(self, id: object) -> bool:
        return id in self._filters

    def __len__(self) -> int:
        return len(self._filters)

    @property
    def bytes_held(self) -> int:
        """Bytes of the texts, which stand for the trees: Python does not measure those."""
        return sum(len(text.encode()) for text, _ in self._filters.values())

    @property
    def given_options(self) -> Mapping[str, Any]:
        return {}

    def holders_of(self, patterns: PatternSet) -> Holders | None:
        return None

    def ids(self) -> pa.Array:
        return pa.array(list(self._filters), pa.string())

    def text(self, id: str) -> str:
        return self._filters[id][0]

    def save(self, folder: Path) -> None:
        texts = {key: text for key, (text, _) in self._filters.items()}
        content = json.dumps(texts).encode()
        (folder / _FILE).write_bytes(f"{zlib.crc32(content):08x}\n".encode() + content)

    @classmethod
    def open(cls, folder: Path, schema: Schema, verify: bool = True) -> Self:
        try:
            checksum, _, content = (folder / _FILE).read_bytes().partition(b"\n")
            if verify and checksum != f"{zlib.crc32(content):08x}".encode():
                raise ValueError("it does not agree with its checksum")
            texts = json.loads(content)
        except (OSError, ValueError) as error:
            raise IndexFileError(
                f"{folder / _FILE} cannot be read: {error}; compile and save the index anew"
            ) from error
        matcher = cls(schema)
        matcher._filters = {key: (text, parse(text, schema)) for key, text in texts.items()}
        return matcher
