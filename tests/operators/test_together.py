"""Calls made together: one call of the function answers many filters and events."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

import tamis
from tests.operators.places import SCHEMA

EVENTS = [{"lat": float(n), "lon": 0.0} for n in range(8)]


def test_a_round_of_evaluations_is_one_call() -> None:
    sizes: list[int] = []

    @tamis.operator(together=True)
    def above(lat: pa.Array, limit: float) -> Any:
        limits = cast(pa.Array, limit)
        assert len(lat) == len(limits)
        sizes.append(len(lat))
        return pa.array(lat.to_numpy() > limits.to_numpy())

    texts = {f"{a}.{b}": f"above({a}) AND above({b}.5)" for a in range(8) for b in range(8)}
    index = tamis.compile(texts, SCHEMA, operators=[above])
    found = index.match(EVENTS)
    wanted = [sorted(id for id in texts if n > int(id[0]) and n > int(id[2]) + 0.5) for n in range(8)]
    assert [sorted(ids) for ids in found.to_lists()] == wanted
    tally = index.operators["above"].tally
    assert (tally.calls, tally.evaluations) == (len(sizes), sum(sizes))
    assert sizes[0] == len(EVENTS)


def test_calls_with_other_variables_are_other_calls() -> None:
    kinds: set[tuple[bool, bool]] = set()

    @tamis.operator(together=True)
    def box(lat: pa.Array, low: float = tamis.Var, high: float = tamis.Var) -> Any:
        kinds.add((low is tamis.Var, high is tamis.Var))
        rows = np.arange(len(lat))
        found: dict[str, Any] = {"row": rows}
        found |= {"low": lat.to_numpy() - 1} if low is tamis.Var else {}
        found |= {"high": lat.to_numpy() + 1} if high is tamis.Var else {}
        return found if len(found) > 1 else (lat.to_numpy() > cast(pa.Array, low).to_numpy())

    texts = {
        "none": "box(3, 4)",
        "low": "box(?l, 4) AND ?l > 3",
        "both": "box(?l, ?h) AND ?l + ?h > 10",
        "same": "box(?x, ?x)",
    }
    index = tamis.compile(texts, SCHEMA, operators=[box])
    found = index.match(EVENTS)
    assert [sorted(ids) for ids in found.to_lists()] == [[], [], [], [], ["none"]] + [["low", "none"]] + [
        ["both", "low", "none"]
    ] * 2
    assert kinds == {(False, False), (True, False), (True, True)}
    assert {(one.event, one.subscription): one.variables for one in found.bindings()}[7, "both"] == {"l": 6.0, "h": 8.0}


def test_one_bad_row_spoils_no_other() -> None:
    @tamis.operator(together=True)
    def below(lat: pa.Array, limit: int) -> Any:
        if 3 in cast(pa.Array, limit).to_pylist():
            raise ValueError("not three")
        return [a < b for a, b in zip(lat.to_pylist(), cast(pa.Array, limit).to_pylist(), strict=True)]

    index = tamis.compile({str(n): f"below({n})" for n in range(6)}, SCHEMA, operators=[below])
    found = index.match(EVENTS)
    wanted = [[str(n) for n in (1, 2, 4, 5) if event < n] for event in range(8)]
    assert [sorted(ids) for ids in found.to_lists()] == wanted
    tally = index.operators["below"].tally
    assert (tally.failures, tally.unknown) == (8, 8)
    assert tally.last_failure == "below(3): ValueError: not three"
