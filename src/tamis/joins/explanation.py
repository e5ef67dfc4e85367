"""Why an event would change the content of a join, or not: its own table's conditions, and what it joins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tamis.errors import EventError, Violation
from tamis.joins.holding import Holding
from tamis.joins.rows import Result
from tamis.joins.server import JoinServer
from tamis.language import print_filter
from tamis.language.joins import parse_join
from tamis.matching.event_values import event_values
from tamis.matching.explanation import Explanation, Verdict, explain
from tamis.schema import EVENT_TYPE


@dataclass(frozen=True, slots=True)
class JoinExplanation(Explanation):
    """As any explanation, of the conditions on the event's table; `matched` if it would be part of a result.

    `table` is None where the event is a row of no table of the join. `partners` has, for each other table, the rows
    that agree with the event where the two are joined directly, and how many of these pass their own conditions.
    `results` are those that the event would be part of: whatever has its key now is thought away.
    """

    table: str | None
    partners: Mapping[str, tuple[int, int]]
    results: int

    @property
    def first_failure(self) -> Verdict | None:
        """As of any explanation; None as well where all conditions held, and nothing joins with the event."""
        held = any(all(one.state == "held" for one in verdicts) for verdicts in self.alternatives)
        return None if held else Explanation(False, self.alternatives).first_failure

    def __str__(self) -> str:
        if self.table is None:
            return "no change: the event is a row of none of its tables"
        return "\n".join([Explanation.__str__(self), self.joined])

    @property
    def joined(self) -> str:
        """Rows that the event joins with, in words."""
        lines = []
        for table, (agreeing, passing) in self.partners.items():
            lines.append(f"joined with {table}: {agreeing:,} rows, of which {passing:,} pass their conditions")
        return "\n".join([*lines, f"results that it is part of: {self.results:,}"])


def explain_join(server: JoinServer, id: str, event: Mapping[str, object]) -> JoinExplanation:
    """Explains what an event would do to a subscription, if it came now as a row that is put."""
    schema = server.schema
    join = parse_join(server.text(id), schema, server.limits)
    batch = schema.to_arrow([event])
    (values,) = event_values(batch, schema)
    types = values.get(EVENT_TYPE, [schema.default_event_type])
    table = next((name for name in types if name in join.signature.tables), None)
    if table is None:
        return JoinExplanation(False, ((),), None, {}, 0)
    for name in schema.tables[table].join:
        if name not in values:
            message = f"a row of {table} needs {name}, by which it is joined"
            raise EventError([Violation(0, name, "table", None, message)])
    conditions = explain(print_filter(join.filter(table), schema), event, schema, server.limits)
    agreeing: dict[str, tuple[int, int]] = {}
    results: set[Result] = set()
    holding = Holding(join.signature, {}, lambda result, _: results.add(result), results.discard)
    for name in join.signature.tables:
        if name == table:
            holding.put(0, name, (), values, True)
            continue
        attributes = join.signature.between(table, name)
        rows = server.rows(name)
        passing = server.passing(id, name)
        agree = {key for key, row in rows.items() if all(row[one] == values[one] for one in attributes)}
        if attributes:
            agreeing[name] = len(agree), len(agree & passing.keys())
        for key in agree & passing.keys():
            holding.put(0, name, key, passing[key], True)
    count = len(results) if conditions.matched else 0
    return JoinExplanation(count > 0, conditions.alternatives, table, agreeing, count)
