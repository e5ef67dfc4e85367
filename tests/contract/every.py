"""What the contract suite shares: every matcher by name, and answers in a form that compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.testing import Generated, reference_matches
from tamis.workloads import Workload, named
from tests.schema.cases import DOMAINS

every_matcher = pytest.mark.parametrize("matcher", tamis.MATCHERS)

# They share all but their index and its kernel with each other and with `columnar`, which is tried at length; and the
# oracle is held to no more than itself.
COMPARED = ("naive", "fair-predicate", "equality-preferred", "quarantine", "hanson", "neon", "gough", "scan", "mbd")


def examples(matcher: str, count: int) -> int:
    """So many generated cases; fewer for the algorithms that are there to be compared with."""
    return max(1, count // 6) if matcher in COMPARED else count


def check_generated(
    matcher: str, count: int, drawn: st.SearchStrategy[Generated], check: Callable[[str, Generated], None]
) -> None:
    """Checks a matcher on generated cases."""

    @settings(max_examples=examples(matcher, count))
    @given(workload=drawn)
    def case(workload: Generated) -> None:
        check(matcher, workload)

    case()


AUCTIONS = tamis.Schema.from_dict(
    {
        "domains": DOMAINS | {"colour": {"type": "enumerated", "values": ["red", "green"]}},
        "attributes": {
            "price": "float",
            "old.price": "float",
            "quantity": "integer",
            "bids": "integer",
            "sold": "boolean",
            "opened": "timestamp",
            "title": "string",
            "tags": "string",
            "sizes": "integer",
            "period": "period",
            "category": "furniture",
            "colour": "colour",
        },
        "event_types": {
            "antiques": {
                "price": "optional",
                "old.price": "optional",
                "quantity": "optional",
                "bids": "optional",
                "sold": "optional",
                "opened": "optional",
                "title": "optional",
                "tags": ["optional", "multiple"],
                "sizes": ["optional", "multiple"],
                "period": "optional",
                "category": ["optional", "multiple"],
                "colour": "optional",
            },
            "furniture": {"price": "optional"},
        },
    }
)


def answers(index: tamis.Index, events: Sequence[Mapping[str, Any]] | pa.RecordBatch | pa.Table) -> list[list[str]]:
    """For each event the sorted ids it matched. A repeated match stays visible: this is a list, not a set."""
    return [sorted(ids) for ids in index.match(events).to_lists()]


def texts(workload: Workload) -> dict[str, str]:
    """A workload's subscriptions by id."""
    table = workload.subscriptions
    return dict(zip(table["id"].to_pylist(), table["filter"].to_pylist(), strict=True))


class Answered(NamedTuple):
    """A workload, its filters by id, and the oracle's answer."""

    workload: Workload
    texts: dict[str, str]
    expected: list[list[str]]


@cache
def answered(name: str, *, subscriptions: int, events: int, seed: int) -> Answered:
    """A named workload with the oracle's answer, which is the same for every matcher, and takes longer than theirs."""
    workload = named(name)(subscriptions=subscriptions, events=events, seed=seed)
    filters = texts(workload)
    return Answered(workload, filters, reference_matches(filters, workload.schema, workload.events))
