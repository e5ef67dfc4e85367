"""Compiles the kernels that most tests need, before several processes would each compile them.

`python -m tests.compiling` does in two processes what a fresh installation does on first use; what is compiled already
is read from Numba's cache, and takes seconds.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from pathlib import Path

import tamis
from tamis.analysis import analyze
from tamis.joins.schemes.scheme import SCHEMES
from tamis.lab.simulation.joins import Trial
from tamis.operators.schedules import SCHEDULES
from tamis.workloads import Workload, auctions, le_subscribe
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
    _changed(index, workload)
    analyze(index, events=workload.events)
    for schedule in SCHEDULES:
        calling = {"calling": "price < 100 AND longer(5)", "bound": "longer(?length) AND ?length > 3 OR price > 900"}
        tamis.compile(calling, workload.schema, operators=[longer], schedule=schedule).match(workload.events)


def _rivals() -> None:
    for scheme in SCHEMES:
        Trial(scheme, select_joins(500, 50)).play(50)
    for name in tamis.MATCHERS:
        if name not in ("columnar", "naive"):
            for workload in (le_subscribe(500, 100), auctions(200, 50)):
                _changed(tamis.compile(workload.subscriptions, workload.schema, matcher=name), workload)


@tamis.operator(cost=5.0)
def longer(title: str, length: int = tamis.Var) -> object:
    return [len(title)] if length is tamis.Var else len(title) > length


def _changed(index: tamis.Index, workload: Workload) -> None:
    index.match(workload.events)
    index.add({"one more": workload.subscriptions["filter"][0].as_py()})
    index.match(workload.events)
    index.remove(["one more"])
    index.match(workload.events)
    with tempfile.TemporaryDirectory() as folder:
        index.save(Path(folder) / "index")
        tamis.Index.open(Path(folder) / "index")


if __name__ == "__main__":
    main()
