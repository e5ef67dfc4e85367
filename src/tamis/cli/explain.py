"""`tamis explain`: explains why a subscription matches an event, or does not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import tamis
from tamis.cli.base.options import CommandError, OperatorsOption, SchemaOption, SubscriptionsArgument, operators_of
from tamis.cli.base.terminal import out
from tamis.errors import SubscriptionError

if TYPE_CHECKING:
    from tamis.matching.explanation import Explanation, Verdict
    from tamis.schema import Schema
    from tamis.schema.checking import Checked

_SIGNS = {"held": ("✔", "green"), "failed": ("✘", "red"), "absent": ("–", "yellow")}
_SIGNS |= {"unknown": ("?", "yellow"), "not asked": ("·", "dim")}


def explain(
    subscriptions: SubscriptionsArgument,
    id: Annotated[str, typer.Argument(metavar="ID", help="The subscription to explain.", show_default=False)],
    event: Annotated[
        str,
        typer.Argument(
            metavar="EVENT", help="The event as a JSON object, or a file of events (see --row).", show_default=False
        ),
    ],
    schema: SchemaOption = None,
    row: Annotated[int, typer.Option("--row", min=1, metavar="N", help="Line or row of the file, counted from 1.")] = 1,
    operators: OperatorsOption = None,
) -> None:
    """Explain why a subscription matches an event, or why it does not.

    Each condition of its normal form is shown with the event's values: it held, it failed, or the attribute is absent.
    For operators: the evaluations until the subscription was decided, in order. For a join: the conditions on the
    event's own table, and the rows of the other tables (those saved with the index) that it joins with.

    \b
    [bold]Examples[/bold]
      tamis explain auctions.index s9 '{"price": 200.0, "title": "clock"}'
      tamis explain auctions.index s9 events.jsonl --row 17
      tamis explain subs.jsonl s9 events.parquet --row 17 -s auctions.yaml
      tamis explain watch.index S2 shots.parquet --row 3 --operators watch:mob_pattern

    \b
    [bold]Exit codes[/bold]
      0  explained, whether it matches or not
      2  not explained
    """
    from tamis.cli.work.indexes import is_index, open_index
    from tamis.joins.join_part import JoinExplanation
    from tamis.operators.explanation import CourseExplanation

    if is_index(subscriptions):
        index = open_index(subscriptions, operators_of(operators))
        text = index.text(id)
    elif schema is not None:
        text = _text(subscriptions, id)
        index = tamis.compile({id: text}, tamis.Schema.load(schema), operators=operators_of(operators))
        for _, error in index.errors:
            raise error
    else:
        raise CommandError("there is no schema: give one with --schema, or a folder that tamis compile wrote")
    given = _event(event, row, index.schema)
    out.print(Text.assemble((id, "bold"), ": ", text), soft_wrap=True)
    explanation = index.explain(given, id)
    if isinstance(explanation, JoinExplanation) and explanation.table is None:
        out.print(str(explanation))
        return
    _show(explanation)
    if isinstance(explanation, JoinExplanation):
        out.print(explanation.joined, style="dim", soft_wrap=True, markup=False, highlight=False)
    if isinstance(explanation, CourseExplanation):
        out.print(explanation.course, style="dim", soft_wrap=True, markup=False, highlight=False)


def _text(subscriptions: Path, id: str) -> str:
    import pyarrow.compute as pc

    from tamis.cli.work.subscriptions import read_subscriptions

    table = read_subscriptions(subscriptions).table
    found = pc.index(table["id"], id).as_py()
    if found < 0:
        raise SubscriptionError(f"there is no subscription {id!r} in {subscriptions}")
    return str(table["filter"][found].as_py())


def _event(event: str, row: int, schema: Schema) -> dict[str, Any]:
    import pyarrow as pa

    checked = schema.check_json(pa.array([event])) if event.lstrip().startswith("{") else _row(Path(event), row, schema)
    if not len(checked.valid):
        faults = "\n  ".join(checked.violations["message"].to_pylist())
        raise CommandError(f"the event breaks the schema, so nothing matches it:\n  {faults}")
    return {name: value for name, value in checked.valid.to_pylist()[0].items() if value is not None}


def _row(path: Path, row: int, schema: Schema) -> Checked:
    from tamis.cli.work.events import EventFiles

    checked = EventFiles([path]).row(schema, row)
    if checked is None:
        raise CommandError(f"{path}: there is no event in row {row:,}")
    return checked


def _show(explanation: Explanation) -> None:
    if not explanation.alternatives:
        out.print("no match: the filter contradicts itself, so no event can match")
        return
    several = len(explanation.alternatives) > 1
    for number, verdicts in enumerate(explanation.alternatives, 1):
        if several:
            out.print(f"alternative {number} of {len(explanation.alternatives)}", style="dim")
        out.print(_table(verdicts))
    first = explanation.first_failure
    if explanation.matched:
        out.print(Text("match", "bold green"))
    elif first is None:
        out.print(Text.assemble(("no match", "bold red"), "; nothing joins with the event"))
    else:
        out.print(Text.assemble(("no match", "bold red"), f"; first to fail: {first.condition}"), soft_wrap=True)


def _table(verdicts: tuple[Verdict, ...]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for verdict in verdicts:
        sign, colour = _SIGNS[verdict.state]
        has = ", ".join(f"{name}: {_shown(values)}" for name, values in verdict.values.items())
        table.add_row(Text(f"{sign} {verdict.state}", colour), Text(verdict.condition), Text(has, "dim"))
    if not verdicts:
        table.add_row(Text("✔ held", "green"), "TRUE", "")
    return table


def _shown(values: list[Any]) -> str:
    return ", ".join(map(str, values)) if values else "absent"
