"""`tamis covers`: decides if one filter covers another, that is, matches everything that the other matches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tamis.cli.base.terminal import out

if TYPE_CHECKING:
    from tamis.language import Filter
    from tamis.routing.covering import Relation
    from tamis.schema import Schema

_SAID = {
    "EQUAL": "equal: A and B match the same events",
    "COVERS": "A covers B: every event that matches B matches A",
    "COVERED": "B covers A: every event that matches A matches B",
    "NEITHER": "neither is seen to cover the other",
}


def covers(
    a: Annotated[str, typer.Argument(metavar="A", help="A filter.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="Another filter.", show_default=False)],
    schema: Annotated[
        Path, typer.Option("--schema", "-s", metavar="FILE", help="The schema, in YAML.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as one JSON object.")] = False,
) -> None:
    """Decide if a filter covers another: matches everything that the other matches.

    If not, an event is shown as a counterexample. A reported cover is always true; for filters with LIKE, RLIKE or many
    alternatives, a cover may be missed.

    \b
    [bold]Examples[/bold]
      tamis covers "price < 100" "price < 50 AND title = 'clock'" -s auctions.yaml
      tamis covers "period <= 'XVII'" "period = 'XVI'" -s auctions.yaml --json

    \b
    [bold]Exit codes[/bold]
      0  all done, whatever the answer
      2  not done
    """
    from tamis.language import normalise, parse
    from tamis.routing.covering import Relation, relate
    from tamis.routing.covering.relation import difference
    from tamis.schema import Schema

    under = Schema.load(schema)
    one, other = (normalise(parse(text, under), under, text=text) for text in (a, b))
    relation = relate(one, other, under)
    only_a = None if relation & Relation.COVERED else difference(one, other, under)
    only_b = None if relation & Relation.COVERS else difference(other, one, under)
    if as_json:
        answer = {"relation": (relation.name or "").lower(), "only_a": only_a, "only_b": only_b}
        typer.echo(json.dumps(answer, ensure_ascii=False))
        return
    _show(relation, {"A": one, "B": other}, {"A": only_a, "B": only_b}, under)


def _show(
    relation: Relation, filters: dict[str, Filter], only: dict[str, dict[str, object] | None], schema: Schema
) -> None:
    from tamis.language import print_filter
    from tamis.routing.covering import Relation

    for name, filter in filters.items():
        out.print(Text.assemble((name, "bold"), ": ", (print_filter(filter, schema), "dim")), soft_wrap=True)
    out.print(Text(_SAID[relation.name or ""], "bold green" if relation else "bold"))
    for name, other, bit in (("A", "B", Relation.COVERED), ("B", "A", Relation.COVERS)):
        if relation & bit:
            continue
        if (event := only[name]) is not None:
            shown = json.dumps(event, ensure_ascii=False)
            out.print(Text.assemble(f"only {name} matches: ", (shown, "cyan")), soft_wrap=True)
        else:
            out.print(f"whether {other} covers {name} was not found out: no event is known that tells")
