"""Compiles the kernels that most tests need, before several processes would each compile them.

`python -m tests.compiling` does in two processes what a fresh installation does on first use; what is compiled already
is read from Numba's cache, and takes seconds.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable
from pathlib import Path

import tamis
from tamis.analysis import analyze
from tamis.joins.schemes.scheme import SCHEMES
from tamis.joins.trial import Trial
from tamis.workloads import auctions, le_subscribe
from tamis.workloads.select_joins import select_joins


def main() -> None:
    context = multiprocessing.get_context("spawn")
    working = [context.Process(target=work) for work in (_index, _rivals)]
    for process in working:
        process.start()
    for process in working:
        process.join()


def _index() -> None:
    workload = auctions(1_000, 200)
    index = tamis.compile(workload.subscriptions, workload.schema)
    _changed(index, lambda: index.match(workload.events))
    analyze(index)


def _rivals() -> None:
    for scheme in SCHEMES:
        Trial(scheme, select_joins(500, 50)).play(50)
    workload = le_subscribe(500, 100)
    for name in tamis.MATCHERS:
        if name not in ("columnar", "naive"):
            index = tamis.compile(workload.subscriptions, workload.schema, matcher=name)
            index.match(workload.events)


def _changed(index: tamis.Index, match: Callable[[], object]) -> None:
    match()
    index.add({"one more": "price < 10"})
    match()
    index.remove(["one more"])
    match()
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        tamis.Index.open(Path(folder) / "index")


if __name__ == "__main__":
    main()
