"""The table in the terminal, and the same in JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.findings import Finding, Options
from tamis.lab.timing import occasion


def show(console: Console, findings: Sequence[tuple[str, Finding]], options: Options) -> None:
    """One row a finding, with the command that repeats it."""
    table = Table(title="Tamis beside its yardsticks", title_justify="left", pad_edge=False)
    for heading, justify in (
        ("what", "left"),
        ("workload", "left"),
        ("measured", "right"),
        ("bar", "right"),
        ("", "left"),
    ):
        table.add_column(heading, justify=justify, overflow="fold")  # type: ignore[arg-type]
    table.add_column("command", overflow="fold")
    for line, finding in findings:
        mark = {True: "[green]reached[/]", False: "[red]missed[/]", None: ""}[finding.reached]
        if options.scale != 1 and finding.reached is not None:
            mark = f"[dim]{'reached' if finding.reached else 'missed'} at scale {options.scale:g}[/]"
        table.add_row(
            finding.what, finding.workload, finding.measured, finding.bar, mark, f"python -m benchmarks {line}"
        )
    console.print(table)


def save(line: str, findings: Sequence[Finding], options: Options) -> Path:
    """Writes one file a line: the findings with their details, and the machine they were made on."""
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / f"{line}.json"
    content = {
        "line": line,
        **occasion(),
        "scale": options.scale,
        "findings": [finding.as_dict() for finding in findings],
    }
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
