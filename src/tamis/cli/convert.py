"""`tamis convert`: converts rules of other systems to subscriptions, and proposes a schema for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.cli.base.options import PARTLY_REFUSED, CommandError, require_writable
from tamis.cli.base.terminal import err, progress_bar, remark

if TYPE_CHECKING:
    import pyarrow as pa

    from tamis.cli.rules import Rule
    from tamis.cli.work.subscriptions import Refusal
    from tamis.dialects.conversion import Needs
    from tamis.schema import Schema

_LOOSE_SHOWN = 10


class Dialect(StrEnum):
    eventbridge = "eventbridge"
    jms = "jms"
    sigma = "sigma"


@dataclass(slots=True)
class Options:
    """Options of a dialect beside the rules."""

    null_is_absent: bool = False
    keywords: str | None = None
    log_source: str | None = None
    multiple: list[str] = field(default_factory=list)


def convert(
    rules: Annotated[
        list[Path],
        typer.Argument(
            metavar="RULES",
            help="Files of rules, or folders of them. EventBridge: JSON, a pattern or what [bold]aws events "
            "list-rules[/bold] prints; JSON lines with id and pattern. JMS: text, a selector a line; JSON or YAML, a "
            "mapping from id to selector. Sigma: YAML.",
            show_default=False,
        ),
    ],
    source: Annotated[
        Dialect, typer.Option("--from", metavar="LANGUAGE", help="eventbridge, jms or sigma.", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the subscriptions to this file (.jsonl, .csv, .parquet); - is standard output.",
            show_default=False,
        ),
    ],
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            metavar="FILE",
            help="Schema of the events, in YAML. Without it: one with all attributes of the rules.",
            show_default=False,
        ),
    ] = None,
    propose_schema: Annotated[
        Path | None,
        typer.Option(
            "--propose-schema",
            metavar="FILE",
            help="Write the schema here, extended by the attributes that the rules need; they are converted under it.",
            show_default=False,
        ),
    ] = None,
    refused_to: Annotated[
        Path | None,
        typer.Option(
            "--refused",
            metavar="FILE",
            help="Write refused rules to this file, each with the reason (.jsonl, .csv, .parquet).",
            show_default=False,
        ),
    ] = None,
    multiple: Annotated[
        list[str] | None,
        typer.Option(
            "--multiple",
            metavar="ATTRIBUTE",
            help="Attribute of the proposed schema whose values are arrays. May be given several times.",
            show_default=False,
        ),
    ] = None,
    null_is_absent: Annotated[
        bool, typer.Option("--null-is-absent", help="EventBridge: treat null in a pattern as an absent field.")
    ] = False,
    keywords: Annotated[
        str | None,
        typer.Option(
            "--keywords",
            metavar="ATTRIBUTE",
            help="Sigma: attribute in which keywords without a field are searched.",
            show_default=False,
        ),
    ] = None,
    log_source: Annotated[
        str | None,
        typer.Option(
            "--log-source",
            metavar="PREFIX",
            help="Sigma: require the rule's log source too, in PREFIXcategory, PREFIXproduct and PREFIXservice.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Convert rules of other systems to subscriptions with the same meaning.

    A rule that has no filter of the same meaning is reported with the reason and does not stop the others.

    \b
    [bold]Examples[/bold]
      tamis convert --from eventbridge rules.json -s events.yaml -o subscriptions.jsonl
      tamis convert --from sigma rules/ -o subs.jsonl --propose-schema logs.yaml --refused no.csv
      tamis convert --from jms selectors.txt -s orders.yaml -o -

    \b
    [bold]Exit codes[/bold]
      0  all converted
      1  converted, but some were refused
      2  not done
    """
    from tamis.cli.rules import read_rules
    from tamis.cli.work.subscriptions import report
    from tamis.cli.work.tables import require_tables, write_table
    from tamis.dialects import proposed_schema
    from tamis.schema import Schema

    require_tables(output, refused_to, of="a table")
    if propose_schema is not None:
        require_writable(propose_schema)
    options = Options(null_is_absent, keywords, log_source, multiple or [])
    start = time.perf_counter()
    found = read_rules(rules, source.value)
    if not found:
        raise CommandError(f"there are no rules in {', '.join(map(str, rules))}")
    with err.status("looking at what the rules ask for"):
        base = None if schema is None else Schema.load(schema)
        needs = {} if base is not None and propose_schema is None else _needed(found, source.value, options)
        shape = proposed_schema(needs, base)
    converted, refused = _converted(found, shape, source.value, options)
    if not converted and base is None and not needs:
        report(refused, refused_to)
        raise CommandError("no rule could be read, so there is nothing to make a schema of")
    if propose_schema is not None:
        _write_schema(shape, base, needs, propose_schema)
    write_table(_table(converted), output)
    remark(f"{len(converted):,} of {len(found):,} rules converted in {time.perf_counter() - start:.1f} s")
    if source is Dialect.eventbridge:
        _remark_loosened(found, dict(converted), shape)
    report(refused, refused_to)
    if refused:
        remark(f"{len(refused):,} refused" + (f", see {refused_to}" if refused_to else ""))
        raise typer.Exit(PARTLY_REFUSED)


def _write_schema(shape: Schema, base: Schema | None, needs: Needs, path: Path) -> None:
    path.write_text(shape.to_yaml(), encoding="utf-8")
    added = len(shape.attributes) - (1 if base is None else len(base.attributes))
    remark(f"{path}: {added:,} attributes " + ("proposed" if base is None else "added"))
    disputed = sorted(name for name, need in needs.items() if need.disputed)
    if disputed:
        remark(f"asked for in several domains, the commonest taken: {', '.join(disputed[:10])}")


def _needed(found: list[Rule], source: str, options: Options) -> Needs:
    """Attributes and types that the readable rules need."""
    from tamis.dialects import eventbridge, jms, sigma

    forms = [rule.form for rule in found if rule.error is None]
    if source == "eventbridge":
        needs = eventbridge.needed(forms, multiple=options.multiple)
    elif source == "jms":
        needs = jms.needed(forms)
    else:
        needs = sigma.needed(forms, keywords=options.keywords, log_source=options.log_source)
    for name in options.multiple:
        if name in needs:
            needs[name].multiple = True
    return needs


def _converter(source: str, schema: Schema, options: Options) -> Callable[[Any], str]:
    from tamis.dialects import eventbridge, jms, sigma

    if source == "eventbridge":
        return lambda form: eventbridge.convert(form, schema, null_is_absent=options.null_is_absent)
    if source == "jms":
        return lambda form: jms.convert(form, schema)
    return lambda form: sigma.convert(form, schema, keywords=options.keywords, log_source=options.log_source)


def _converted(
    found: list[Rule], schema: Schema, source: str, options: Options
) -> tuple[list[tuple[str, str]], list[Refusal]]:
    from tamis.cli.work.subscriptions import Refusal
    from tamis.dialects import ConversionError

    convert = _converter(source, schema, options)
    converted: list[tuple[str, str]] = []
    refused: list[Refusal] = []
    with progress_bar() as bar:
        for rule in bar.track(found, description="converting", task_id=bar.add_task("converting", note="")):
            try:
                if rule.error is not None:
                    raise rule.error
                converted.append((rule.id, convert(rule.form)))
            except ConversionError as error:
                refused.append(Refusal.of(rule.id, error))
    return converted, refused


def _remark_loosened(found: list[Rule], converted: Mapping[str, str], schema: Schema) -> None:
    """Warns of rules whose conditions must hold within one object of an array, which their filters do not require."""
    from tamis.dialects import eventbridge

    loose = {
        rule.id: lost[0]
        for rule in found
        if rule.error is None and rule.id in converted and (lost := eventbridge.loosened(rule.form, schema))
    }
    for id, reason in list(loose.items())[:_LOOSE_SHOWN]:
        remark(f"{id}: {reason}")
    if len(loose) > _LOOSE_SHOWN:
        remark(f"and {len(loose) - _LOOSE_SHOWN:,} more rules of this kind")


def _table(converted: Iterable[tuple[str, str]]) -> pa.Table:
    import pyarrow as pa

    rows = list(converted)
    return pa.table(
        {
            "id": pa.array([id for id, _ in rows], pa.string()),
            "filter": pa.array([text for _, text in rows], pa.string()),
        }
    )
