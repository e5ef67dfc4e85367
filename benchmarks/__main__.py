"""`python -m benchmarks [line ...]`: runs the lines, shows one table, writes one JSON file a line."""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
from pathlib import Path

from rich.console import Console

from benchmarks.findings import Finding, LineSkipped, Options
from benchmarks.report import save, show

WIDTH = 160  # of the table where there is no terminal to say

LINES = {
    "match-p2": "match_p2",
    "matchers": "matchers",
    "exploration": "exploration",
    "growth": "growth",
    "compile": "compile_texts",
    "change": "change",
    "covering": "covering",
    "standing": "standing",
    "spark-overhead": "spark_overhead",
    "spark-operators": "spark_operators",
    "spark-join": "spark_join",
    "spark-scaling": "spark_scaling",
    "spark-joins": "spark_joins",
    "streaming-latency": "streaming_latency",
    "json-lines": "json_lines",
    "schedules": "schedules",
    "joins": "joins",
    "joins-apply": "joins_applied",
    "joins-exact": "joins_exact",
    "simulation": "simulation",
    "service-throughput": "service_throughput",
    "service-latency": "service_latency",
    "service-end-to-end": "service_end_to_end",
    "service-kills": "service_kills",
}


def main() -> int:
    lines, options = _arguments()
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    everything: list[tuple[str, Finding]] = []
    skipped: dict[str, str] = {}
    for line in lines:
        module = importlib.import_module(f"benchmarks.{LINES[line]}")
        console.rule(f"{line}: {(module.__doc__ or '').splitlines()[0]}", align="left")
        findings: list[Finding] = []
        try:
            for finding in module.run(options):
                findings.append(finding)
                mark = {True: "reached", False: "MISSED", None: ""}[finding.reached]
                console.print(f"{finding.workload}: {finding.what}: {finding.measured} {finding.bar} {mark}")
                console.print(f"  {finding.details}", style="dim", highlight=False)
        except LineSkipped as skip:
            skipped[line] = str(skip)
            console.print(f"skipped: {skip}", style="yellow")
        if findings:
            save(line, findings, options)
        everything += [(line, finding) for finding in findings]
        gc.collect()
    show(console, everything, options)
    for line, reason in skipped.items():
        console.print(f"{line} was skipped: {reason}", style="yellow")
    console.print(f"details in {options.results}/")
    missed = [finding for _, finding in everything if finding.reached is False]
    return 1 if missed and options.scale == 1 else 0


def _arguments() -> tuple[list[str], Options]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("lines", nargs="*", metavar="line", help=f"any of {', '.join(LINES)}; all of them by default")
    parser.add_argument(
        "--reference",
        type=Path,
        default=Path(os.environ.get("TAMIS_REFERENCE", "../shared/reference")),
        help="folder of the yardsticks (default: $TAMIS_REFERENCE, else ../shared/reference)",
    )
    parser.add_argument("--results", type=Path, default=Path("build/bench"), help="folder for the JSON results")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="shrink the numbers of subscriptions, to try things out"
    )
    parser.add_argument("--repetitions", type=int, default=5, help="the best of so many is taken")
    alone = parser.add_argument_group("service-end-to-end")
    alone.add_argument("--events", type=int, help="so many events in place of each workload's own number")
    alone.add_argument(
        "--only", default="", metavar="TEXT", help="workloads whose name has this in it: 'p=0.5, 100,000'"
    )
    alone.add_argument("--tree", type=Path, metavar="FOLDER", help="another checkout of Tamis, whose service is run")
    given = parser.parse_args()
    unknown = [line for line in given.lines if line not in LINES]
    if unknown:
        parser.error(f"there is no line {unknown[0]!r}; there are {', '.join(LINES)}")
    options = Options(
        given.reference.resolve(), given.results, given.scale, given.repetitions, given.events, given.only, given.tree
    )
    return given.lines or list(LINES), options


if __name__ == "__main__":
    sys.exit(main())
