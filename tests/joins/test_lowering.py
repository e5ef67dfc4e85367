"""Joins as intervals and residuals: together they say what the text says of every row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings

from tamis.joins.lowering import ABSENT, HIGHEST, LOWEST, Coding, Joins, lower
from tamis.language import bind
from tamis.language.joins import bind_joins, parse_join
from tamis.matching.conditions import event_values
from tamis.matching.numbered_filters import NumberedFilters
from tamis.schema import Schema
from tamis.testing import GeneratedJoins, join_workloads
from tamis.testing.join_histories import passes
from tests.generated import cases
from tests.language.joins.test_parsing import FROM, SCHEMA


def lowered(texts: list[str], schema: Schema, coding: Coding) -> Joins:
    return lower(pa.array([f"j{n}" for n in range(len(texts))]), bind_joins(texts, schema), schema, coding)


def selected(
    joins: Joins, number: int, table: str, batch: pa.RecordBatch, coding: Coding, schema: Schema
) -> list[bool]:
    """Which rows of a canonical batch the arrays select for one subscription."""
    (group,) = (group for group in joins.groups if number in group.rows)
    (at,) = np.flatnonzero(group.rows == number)
    mask = np.ones(batch.num_rows, np.bool_)
    for (own, attribute), interval in group.intervals.items():
        if own == table:
            kind = schema.attributes[attribute].arrow_type
            there = attribute in batch.schema.names
            values = coding.column(attribute, batch.column(attribute) if there else pa.nulls(batch.num_rows, kind))
            mask &= (interval.low[at] <= values) & (values <= interval.high[at])
    if table in group.residuals and group.residuals[table].codes[at] >= 0:
        residuals = group.residuals[table]
        text = residuals.texts[int(residuals.codes[at])].as_py()
        filters = NumberedFilters(schema)
        filters.add([0], [text], bind([text], schema))
        events, _ = filters.held(batch)
        mask &= np.isin(np.arange(batch.num_rows), events)
    return list(mask)


@given(join_workloads(max_subscriptions=3, max_events=12))
@settings(max_examples=cases(60), deadline=None)
def test_intervals_and_residuals_select_what_the_text_says(workload: GeneratedJoins) -> None:
    schema, coding = workload.schema, Coding(workload.schema)
    joins = lowered(list(workload.texts.values()), schema, coding)
    for number, join in enumerate(workload.subscriptions.values()):
        possible = all(filter.conjuncts for filter in parse_join(join.text, schema).filters)
        passed = []
        for table in join.prefixes:
            rows = [event for event in workload.events if event["event_type"] == table]
            batch = schema.to_arrow([event for event in rows if event.get("operation") != "delete"])
            found = selected(joins, number, table, batch, coding, schema)
            expected = [passes(join, table, values) for values in event_values(batch, schema)]
            assert found == expected or not possible
            passed.append(any(found))
        assert possible or not all(passed)  # where no row can pass in one table, it does not matter what others say


def one(condition: str) -> dict[str, tuple[float, float]]:
    (group,) = lowered([f"{FROM} WHERE {condition}"], SCHEMA, Coding(SCHEMA)).groups
    assert not group.residuals
    return {attribute: (float(i.low[0]), float(i.high[0])) for (_, attribute), i in group.intervals.items()}


def test_plain_conditions_are_intervals() -> None:
    assert one("PER BETWEEN 45 AND 70 AND Rating >= 6") == {"PER": (45, 70), "Rating": (6, HIGHEST)}
    assert one("PER < 5") == {"PER": (LOWEST, np.nextafter(5, 0))}
    assert one("Stocks.day > 3") == {"day": (4, HIGHEST)}
    assert one("Stocks.day IS NULL") == {"day": (ABSENT, ABSENT)}
    assert one("Stocks.day IS NOT NULL") == {"day": (LOWEST, HIGHEST)}
    assert one("Analyst = 'Ann'") == {"Analyst": (0, 0)}
    assert one("FALSE") == {"Symbol": (HIGHEST, ABSENT)}
    low, high = one("PER > 2 AND Stocks.PER < 1")["PER"]
    assert low > high


def test_alternatives_are_kept_within_the_interval_that_holds_them_all() -> None:
    (group,) = lowered([f"{FROM} WHERE PER BETWEEN 1 AND 2 OR PER BETWEEN 5 AND 6"], SCHEMA, Coding(SCHEMA)).groups
    interval = group.intervals["Stocks", "PER"]
    assert (interval.low[0], interval.high[0]) == (1, 6)
    assert group.residuals["Stocks"].texts.to_pylist() == ["(PER BETWEEN 1 AND 2) OR (PER BETWEEN 5 AND 6)"]


def test_equal_residuals_are_kept_once() -> None:
    texts = [f"{FROM} WHERE Analyst LIKE '{'ab'[n % 2]}%' AND PER > {n}" for n in range(50)]
    (group,) = lowered(texts, SCHEMA, Coding(SCHEMA)).groups
    assert group.residuals["Reviews"].texts.to_pylist() == ["Analyst LIKE 'a%'", "Analyst LIKE 'b%'"]
    assert group.residuals["Reviews"].codes.tolist() == [0, 1] * 25
