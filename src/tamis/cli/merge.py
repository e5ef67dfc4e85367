"""`tamis merge`: covers and merges subscriptions into the fewest filters that a broker would forward."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from tamis.cli.base.options import PARTLY_REFUSED, SAMPLE, CommandError, RefusedOption, SubscriptionsArgument
from tamis.cli.base.terminal import err, out
from tamis.errors import TamisError

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.cli.work.subscriptions import Refusal
    from tamis.routing.merging import MergingTable
    from tamis.schema import Schema


def merge(
    subscriptions: SubscriptionsArgument,
    events: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[EVENTS]...",
            help="Past events, as for [bold]tamis match[/bold]: they tell how many events a merger would forward in "
            f"vain. The first {SAMPLE:,} count.",
            show_default=False,
        ),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", metavar="FILE", help="The schema, in YAML.", show_default=False)
    ] = None,
    imt: Annotated[
        float,
        typer.Option(
            "--imt",
            min=0.0,
            max=1.0,
            help="Imperfect merging threshold: the largest share of events that one merger may forward in vain. 0 "
            "allows only mergers that lose nothing.",
        ),
    ] = 0.0,
    lists: Annotated[bool, typer.Option("--lists", help="Merge values that are apart into lists (IN).")] = False,
    hulls: Annotated[
        bool, typer.Option("--hulls", help="With --imt: merge ranges that are apart into one over both.")
    ] = False,
    advertised: Annotated[
        list[str] | None,
        typer.Option(
            "--advertised",
            metavar="FILTER",
            help="Filter that all events satisfy (advertisement). May be given several times.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the forwarded filters to this file, with the subscriptions each stands for (.parquet, .jsonl).",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
    top: Annotated[int, typer.Option("--top", min=0, help="Number of mergers to show, the largest first.")] = 8,
    refused_to: RefusedOption = None,
) -> None:
    """Reduce subscriptions to the fewest filters that cover them: covered ones are dropped, similar ones merged.

    Brokers forward these filters to their neighbours instead of every subscription.

    \b
    [bold]Examples[/bold]
      tamis merge subscriptions.jsonl -s auctions.yaml
      tamis merge subscriptions.jsonl history/ -s auctions.yaml --imt 0.01 --hulls
      tamis merge subscriptions.jsonl -s auctions.yaml --lists -o forwarded.jsonl

    \b
    [bold]Exit codes[/bold]
      0  all done
      1  done, but some subscriptions were refused
      2  not done
    """
    from tamis.cli.work.indexes import is_index, statistics_of
    from tamis.cli.work.subscriptions import report
    from tamis.cli.work.tables import require_tables, write_table
    from tamis.language import normalise, parse
    from tamis.routing.merging import MergePolicy, MergingTable, Rules
    from tamis.schema import Schema

    if schema is None:
        raise CommandError("there is no schema: give one with --schema")
    if is_index(subscriptions):
        raise CommandError(f"{subscriptions}: a compiled index; give the subscriptions that it was made of")
    require_tables(output, of="forwarded filters")
    under = Schema.load(schema)
    statistics = statistics_of(events, under)
    rules = Rules.TABLE_1 | (Rules.LISTS if lists else 0) | (Rules.HULLS if hulls else 0)
    table = MergingTable(under, MergePolicy(imt, rules, every=None), statistics, prefix="merger:")
    with err.status(f"reading {subscriptions}"):
        refused = _insert(table, subscriptions, under)
    covered = table.forwarded_count
    if advertised:
        table.advertise([normalise(parse(text, under), under, text=text) for text in advertised])
    with err.status("merging"):
        table.merge()
    report(refused, refused_to)
    if output is not None:
        write_table(_forwarded(table), output)
    _show(table, covered, len(refused), top, as_json)
    if refused:
        raise typer.Exit(PARTLY_REFUSED)


def _insert(table: MergingTable, path: Path, schema: Schema) -> list[Refusal]:
    from tamis.cli.work.subscriptions import Refusal, read_subscriptions
    from tamis.language import normalise, parse

    read = read_subscriptions(path)
    refused = list(read.refused)
    for row in read.table.to_pylist():
        try:
            table.insert(row["id"], normalise(parse(row["filter"], schema), schema, text=row["filter"]))
        except (TamisError, ValueError) as error:
            told = error if isinstance(error, TamisError) else TamisError(str(error))
            refused.append(Refusal.of(row["id"], told))
    return refused


def _forwarded(table: MergingTable) -> pa.Table:
    import pyarrow as pa

    from tamis.language import print_filter

    rows = [
        {
            "id": id,
            "filter": print_filter(filter, table.schema),
            "parts": list(table.mergers[id].parts) if id in table.mergers else [id],
            "in_vain": table.mergers[id].vain if id in table.mergers else 0.0,
        }
        for id, filter in table.forwarded()
    ]
    kinds = {"id": pa.string(), "filter": pa.string(), "parts": pa.list_(pa.string()), "in_vain": pa.float64()}
    return pa.Table.from_pylist(rows, pa.schema(kinds))


def _show(table: MergingTable, covered: int, refused: int, top: int, as_json: bool) -> None:
    from tamis.language import print_filter

    vain = max((merger.vain for merger in table.mergers.values()), default=0.0)
    numbers = {
        "subscriptions": len(table), "not_covered": covered, "forwarded": table.forwarded_count,
        "mergers": len(table.mergers), "most_in_vain": vain, "refused": refused,
    }  # fmt: skip
    if as_json:
        typer.echo(json.dumps(numbers))
        return
    out.print(
        f"{len(table):,} subscriptions, {covered:,} of them covered by no other; "
        f"{table.forwarded_count:,} filters to forward, {len(table.mergers):,} of them mergers"
    )
    largest = sorted(table.mergers.values(), key=lambda merger: -len(merger.parts))[:top]
    if not largest:
        return
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("merger", "parts", "in vain"):
        shown.add_column(heading)
    for merger in largest:
        text = Text(print_filter(merger.filter, table.schema))
        shown.add_row(text, f"{len(merger.parts):,}", f"{merger.vain:.2%}" if merger.vain else "nothing")
    out.print(shown)
