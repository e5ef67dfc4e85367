"""`tamis operators`: lists the operators that installed packages offer to filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column
from rich.text import Text

from tamis.cli.base.terminal import PartedTable, out, remark
from tamis.errors import OperatorError

if TYPE_CHECKING:
    from tamis.operators import Operator


def operators(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Only these: names that installed packages offer, or module:name.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the operators that installed packages offer to filters.

    Each is loaded; an operator that cannot be loaded is listed with the reason.

    \b
    [bold]Examples[/bold]
      tamis operators
      tamis operators mob_pattern city_watch:loc_in

    \b
    [bold]Exit codes[/bold]
      0  listed
      2  there is no operator of a name that was given
    """
    from tamis.operators import Operator, installed_names
    from tamis.operators.registry import operators_named

    found: list[Operator | tuple[str, str]] = []
    if names:
        found += operators_named(names)
    else:
        found += [_offered(name) for name in installed_names()]
    if not found:
        remark("no installed package offers operators; docs/operators.md says how one does")
        return
    firm = (
        Column(heading, no_wrap=heading != "arguments") for heading in ("name", "arguments", "cost", "holds", "version")
    )
    table = PartedTable(*firm, Column("what it does", min_width=40))
    for one in found:
        if isinstance(one, Operator):
            table.add_row(
                one.name,
                Text(_arguments(one)),
                "learned" if one.cost is None else f"{one.cost:g}",
                "learned" if one.selectivity is None else f"{one.selectivity:.3g}",
                one.version,
                Text(one.about),
            )
        else:
            table.add_row(one[0], "", "", "", "", Text(one[1], "red"))
    out.print(table)


def _offered(name: str) -> Operator | tuple[str, str]:
    """Operator; or its name and the reason why it cannot be loaded."""
    from tamis.operators import installed

    try:
        return installed(name)
    except OperatorError as error:
        return name, str(error)


def _arguments(operator: Operator) -> str:
    """Parameters of the function, including those that the schema's attributes may fill."""
    reads = operator.reads or {}
    return ", ".join(str(formal.parameter) for formal in operator.formals if formal.parameter.name not in reads)
