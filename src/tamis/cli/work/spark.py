"""Spark session for a command: quiet, with a progress bar, interruptible, and its output folders."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tamis import pipeline
from tamis.cli.base.options import Format, format_of, require_new_folder
from tamis.cli.base.terminal import progress_bar
from tamis.pipeline.session import require_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_POLL = 0.25  # seconds

FORMATS = (Format.JSON_LINES, Format.JSON, Format.PARQUET)


@contextmanager
def spark_session(log: Path | None = None) -> Iterator[SparkSession]:
    """Running session, or a new one, which ends with the command.

    Its JVM, and so its workers, write to a log and not between the lines of a table on the screen.
    """
    require_spark()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    with _standard_error_to(log if log is not None else Path(os.devnull)), interrupts_kept():
        session = pipeline.session()
    with py4j_quiet():
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Defers Ctrl-C until Spark has started, unless it is pressed twice; then restores its usual meaning.

    A JVM that nobody waits for while it starts would stay behind. And PySpark, once started, has a handler of its own
    that calls Java, perhaps in the midst of another call.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = False

    def note(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def py4j_quiet() -> Iterator[None]:
    """Silences py4j, which logs a page for each failed or interrupted call, though the error is raised as well."""
    py4j, root = logging.getLogger("py4j"), logging.getLogger()
    level = py4j.level
    py4j.setLevel(logging.CRITICAL)
    root.addFilter(_is_no_broken_call)
    try:
        yield
    finally:
        root.removeFilter(_is_no_broken_call)
        py4j.setLevel(level)


def _is_no_broken_call(record: logging.LogRecord) -> bool:
    """True for log records other than those of a failed call. Some of them py4j logs under no name of its own."""
    return not record.getMessage().endswith("while sending command.")


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """Redirects standard error of this process and its new children: a child keeps the descriptor that it was started
    with.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextmanager
def tasks_shown(session: SparkSession, what: str) -> Iterator[None]:
    """Shows a progress bar over the tasks of Spark jobs within."""
    tracker = session.sparkContext.statusTracker()
    ended = threading.Event()
    with progress_bar() as bar:
        task = bar.add_task(what, total=None, note="")

        def watch() -> None:
            while not ended.wait(_POLL):
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                total = sum(stage.numTasks for stage in stages if stage is not None)
                done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
                if total:
                    bar.update(task, total=total, completed=done, note=f"{done:,} of {total:,} tasks")

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def require_new(output: Path, dead_letters_to: Path | None) -> Path:
    """Refuses paths that Spark could not write; returns the path of dead letters: beside the output by default."""
    dead_to = dead_letters_to or output.with_name(f"{output.stem}-dead-letters{output.suffix}")
    for path in (output, dead_to):
        _form(path)
        require_new_folder(path)
    return dead_to


def written(rows: DataFrame, path: Path) -> int:
    """Writes a folder; returns the number of its rows, counted as they went by."""
    from pyspark.sql import Observation, functions

    seen = Observation()
    rows.observe(seen, functions.count(functions.lit(1)).alias("rows")).write.format(_form(path)).save(
        str(path.absolute())
    )
    return int(seen.get["rows"])


def _form(path: Path) -> str:
    return "json" if path.suffix and format_of(path, FORMATS, "results of Spark") is not Format.PARQUET else "parquet"
