"""Workloads are reproducible, fit their schemas, and have the distributions their names stand for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tamis.errors import TamisError
from tamis.language import parse
from tamis.workloads import NAMES, READABLE, named
from tamis.workloads.naming import parameters, with_parameters


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_workload(name: str) -> None:
    first, second, other = named(name)(50, 20, 4), named(name)(50, 20, 4), named(name)(50, 20, 5)
    assert first.subscriptions.equals(second.subscriptions)
    assert first.events.equals(second.events)
    assert not first.subscriptions.equals(other.subscriptions)
    assert not first.events.equals(other.events)


@pytest.mark.parametrize("name", NAMES)
def test_every_filter_parses_and_every_event_fits_the_schema(name: str) -> None:
    workload = named(name)(300, 100, 2)
    assert workload.subscriptions.schema.names == ["id", "filter"]
    assert len(set(workload.subscriptions["id"].to_pylist())) == 300
    for text in workload.subscriptions["filter"].to_pylist():
        parse(text, workload.schema)
    checked = workload.schema.check(pa.Table.from_batches(workload.batches(rows=64)).combine_chunks().to_batches()[0])
    assert checked.violations.num_rows == 0
    assert len(checked.valid) == 100


def test_batches_are_no_larger_than_asked_for() -> None:
    sizes = [len(batch) for batch in named("w4")(5, 1000).batches(rows=300)]
    assert sizes == [300, 300, 300, 100]


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(TamisError, match="le_subscribe"):
        named("w7")


def test_le_subscribe_names_half_of_the_attributes_and_never_none() -> None:
    workload = named("le_subscribe")(4000, 4000, 1, p=0.5)
    texts = workload.subscriptions["filter"].to_pylist()
    assert all(texts)
    conditions = np.array([text.count(" AND ") + 1 for text in texts])
    assert 3.0 < conditions.mean() < 3.1
    presence = [1 - workload.events[name].null_count / 4000 for name in workload.events.column_names]
    assert all(0.47 < share < 0.53 for share in presence)


def test_le_subscribe_mixes_equalities_and_inequalities_on_numbers_by_p() -> None:
    for p in (0.0, 0.3, 1.0):
        texts = " ".join(named("le_subscribe")(4000, 1, 1, p=p).subscriptions["filter"].to_pylist())
        equal, unequal = texts.count("b1 = "), texts.count("b1 < ") + texts.count("b1 > ")
        assert equal / (equal + unequal) == pytest.approx(p, abs=0.03)
        assert "a1 <" not in texts


def test_le_subscribe_draws_what_it_always_drew() -> None:
    workload = named("le_subscribe")(3, 2, 1, p=0.5)
    assert workload.subscriptions["filter"].to_pylist() == LE_SUBSCRIBE_TEXTS
    assert workload.events.to_pylist() == LE_SUBSCRIBE_EVENTS


LE_SUBSCRIBE_TEXTS = [
    "a3 = 'v73' AND b2 = 1074 AND b3 > 1300",
    "a2 = 'v174' AND b1 < 3850",
    "a1 = 'v143' AND a3 = 'v91' AND b1 > 4263 AND b2 > 4022 AND b3 > 4199",
]
LE_SUBSCRIBE_EVENTS = [
    {"a1": None, "a2": "v134", "a3": None, "b1": 270, "b2": 2725, "b3": None},
    {"a1": None, "a2": None, "a3": "v150", "b1": 739, "b2": 4098, "b3": None},
]


def test_parameters_may_stand_beside_the_name() -> None:
    asked = named("le_subscribe(p=1)")(200, 5, 3)
    meant = named("le_subscribe")(200, 5, 3, p=1.0)
    assert asked.name == "le_subscribe(p=1)"
    assert asked.subscriptions.equals(meant.subscriptions)
    assert set(named("gryphon(attributes=3, values=2)")(5, 5).events.column_names) == {"a0", "a1", "a2"}


@pytest.mark.parametrize("name", READABLE)
def test_a_readable_name_is_the_same_workload(name: str) -> None:
    asked, meant = named(name)(50, 5, 3), named(READABLE[name])(50, 5, 3)
    assert (asked.name, meant.name) == (name, READABLE[name])
    assert asked.subscriptions.equals(meant.subscriptions)
    assert asked.events.equals(meant.events)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("le_subscribe(q=1)", "le_subscribe has no parameter 'q'; it has p"),
        ("w4(p=1)", "w4 has no parameter 'p'; it has none"),
        ("le_subscribe(p=much)", "p=much: the workload le_subscribe takes a number for p"),
        ("gryphon(values=1.5)", "values=1.5: the workload gryphon takes a whole number for values"),
        ("le_subscribe(p=1", "names no workload"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(text: str, message: str) -> None:
    with pytest.raises(TamisError, match=message.replace("(", r"\(")):
        named(text)


def test_parameters_can_be_put_beside_those_of_a_name() -> None:
    assert with_parameters("le_subscribe", {}) == "le_subscribe"
    assert with_parameters("le_subscribe(p=0.5)", {"p": "0.8"}) == "le_subscribe(p=0.8)"
    assert parameters("le_subscribe(p=0.5)") == {"p": 0.5}
    with pytest.raises(TamisError, match="no parameter"):
        with_parameters("ranges", {"p": "1"})


@pytest.mark.parametrize(("values", "distinct"), [(33, 1_980), (83, 4_876)])
def test_padres_sets_compare_two_of_twenty_attributes_nearly_always_by_equality(values: int, distinct: int) -> None:
    texts = named("padres_sets")(200_000, 1, 1, values=values).subscriptions["filter"].to_pylist()
    terms = [text.split(" AND ") for text in texts]
    assert {len(both) for both in terms} == {2}
    assert {len({term.split()[0] for term in both}) for both in terms} == {2}
    every = [term for both in terms for term in both]
    assert sum(" = " in term for term in every) / len(every) == pytest.approx(0.97, abs=0.005)
    assert len({term.split()[0] for term in every}) == 20
    assert len(set(every)) == pytest.approx(distinct, rel=0.03)
