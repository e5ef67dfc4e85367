"""`tamis experiments`: reproduces the papers' figures: list, run, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

import tamis
from tamis.cli.base.options import FAILED, CommandError
from tamis.cli.base.terminal import complain, out, progress_bar, remark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tamis.lab.experiments.point_store import PointStore
    from tamis.lab.measuring import Figure, Verdict

RESULTS = Path("experiments-results")

ResultsOption = Annotated[
    Path, typer.Option("--results", metavar="FOLDER", help="Folder of finished points.", show_default=True)
]
ScaleOption = Annotated[
    float,
    typer.Option("--scale", min=1e-6, help="Share of the full number of subscriptions, for a quick try."),
]
FiguresArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FIGURE", help="A figure, p2/figure-9, or a paper, p2. All of them by default.", show_default=False
    ),
]

experiments = typer.Typer(
    name="experiments",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""The figures of the papers, run anew on Spark.

    \b
    [bold]Examples[/bold]
      tamis experiments list
      tamis experiments run p2/figure-9 --scale 0.01
      tamis experiments report
    """,
)


@experiments.command("list")
def listed(results: ResultsOption = RESULTS, scale: ScaleOption = 1.0) -> None:
    """List the figures, with the number of finished points of each.

    \b
    [bold]Examples[/bold]
      tamis experiments list
      tamis experiments list --scale 0.01
    """
    from tamis.lab.experiments.point_store import PointStore
    from tamis.lab.experiments.reporting import PAPERS

    kept = PointStore(results)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("figure", "what", "points done", "run"):
        table.add_column(heading, no_wrap=heading != "what")
    for paper in PAPERS:
        table.add_row(Text(paper.name, style="bold"), Text(paper.title, style="bold"))
        for figure in paper.figures:
            points = figure.grid(scale)
            done = f"{len(points) - len(kept.missing(figure, points))} of {len(points)}"
            table.add_row(figure.name, figure.title, done, "one by one" if figure.alone else "side by side")
    out.print(table)


@experiments.command()
def run(
    figures: FiguresArgument = None,
    scale: ScaleOption = 1.0,
    results: ResultsOption = RESULTS,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure finished points again.")] = False,
) -> None:
    """Measure the points of figures on Spark, plot them, and compare them with the papers.

    Finished points are kept: a run that was stopped, or killed, continues where it was. Points that count run in
    parallel on all of Spark's workers; those that measure time run one after the other on one of them.

    \b
    [bold]Examples[/bold]
      tamis experiments run p2/figure-9
      tamis experiments run p1 p2 --scale 0.01 --results /tmp/tried

    \b
    [bold]Exit codes[/bold]
      0  all done
      2  not done, or not all of it
    """
    from tamis.cli.work.spark import spark_session
    from tamis.pipeline.session import require_spark

    require_spark()
    from tamis.lab.experiments.point_store import PointStore
    from tamis.lab.experiments.reporting import chosen

    asked, kept = chosen(figures or []), PointStore(results)
    failed = False
    with spark_session() as session:
        for figure in asked:
            if fresh:
                kept.forget(figure, figure.grid(scale))
            failed = _run(session, figure, kept, scale) or failed
    if failed:
        raise typer.Exit(FAILED)


def _run(session: SparkSession, figure: Figure, kept: PointStore, scale: float) -> bool:
    """Runs one figure, and prints the outcome; returns True if some of its points failed."""
    from tamis.lab.experiments.reporting import run_missing
    from tamis.lab.measuring import save

    points = figure.grid(scale)
    done = len(points) - len(kept.missing(figure, points))
    note = f"{done} were there already" if done else ""
    with progress_bar() as bar:
        task = bar.add_task(figure.name, total=len(points), completed=done, note=note)
        try:
            failures = run_missing(session, figure, points, kept, lambda now: bar.update(task, completed=now))
        except BaseException:  # interrupted, or a worker was killed
            done = len(points) - len(kept.missing(figure, points))
            remark(f"{figure.name}: {done} of {len(points)} points are kept; the same command goes on from there")
            raise
    for failure in failures:
        complain(f"{figure.name}: {dict(failure.point)}: {failure.why}")
    if failures:
        return True
    rows = kept.rows(figure, points)
    pictures = kept.pictures(figure, "plot" if scale == 1 else f"plot-{scale:g}")
    save(figure, rows, pictures)
    _show(figure, figure.verdict(rows), scale)
    remark(f"rows are in {kept.folder(figure)}, pictures in {pictures[0].parent}")
    return False


@experiments.command()
def report(
    results: ResultsOption = RESULTS,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Write the page to this folder. Without it: docs/ of the source tree.",
        ),
    ] = None,
    scale: ScaleOption = 1.0,
) -> None:
    """Write docs/reproduction.md and its pictures from the results: claim, command, curve, verdict, why.

    Unfinished figures keep their text on the page.

    \b
    [bold]Examples[/bold]
      tamis experiments report
      tamis experiments report --scale 0.01 --output /tmp/tried
    """
    from tamis.lab.experiments.point_store import PointStore
    from tamis.lab.experiments.reporting import PAGE, PAPERS
    from tamis.lab.experiments.reporting import report as write

    if scale != 1 and output is None:
        raise CommandError("docs/ is for results of full size; name another folder with --output")
    folder = output if output is not None else _docs()
    written, left = write(PAPERS, PointStore(results), folder, scale)
    remark(f"{folder / PAGE}: {', '.join(written) or 'nothing new'}")
    if left:
        remark(f"not done, and left as they were: {', '.join(left)}")


def _docs() -> Path:
    """Folder `docs/` of the source tree that this package is run from; an installed package has none."""
    folder = Path(tamis.__file__).resolve().parents[2] / "docs"
    if not (folder / "reproduction.md").exists():
        raise CommandError("docs/ is in a clone of the repository only; name a folder with --output")
    return folder


def _show(figure: Figure, verdict: Verdict, scale: float) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("what", "paper", "ours", "holds"):
        table.add_column(heading)
    marks = {True: Text("yes", "green"), False: Text("no", "red"), None: Text("")}
    for check in verdict.checks:
        table.add_row(Text(check.what), Text(check.paper), Text(check.ours), marks[check.holds])
    small = "" if scale == 1 else f" (at scale {scale:g})"
    out.print(Text.assemble((f"{figure.name}: {verdict.outcome}{small}", "bold")))
    out.print(table)
    out.print(Text(verdict.why), soft_wrap=True)
