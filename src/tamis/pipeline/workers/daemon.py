"""Spark's worker daemon with Tamis loaded: workers are forked from it, and start in milliseconds instead of seconds.

After every task PySpark has a worker collect garbage, which goes through all objects there are: with those of Numba
that takes longer than the task. What was loaded before the fork is set apart from the collector.

For the setting `spark.python.daemon.module`. PySpark's own daemon loads next to nothing, for a library might start
threads, which a fork does not take along; those loaded here start none that they rely on (jemalloc's, which comes with
Arrow, looks after itself). Spark has a daemon for each kind of worker, and only one kind matches events.
"""

from __future__ import annotations

import gc
import sys

import pyarrow as pa
from pyspark.daemon import manager

import tamis


def load() -> None:
    """Loads what a worker needs, kernels included."""
    import pyspark.worker  # noqa: F401

    import tamis.pipeline.workers.sieve  # noqa: F401

    rehearse()


if __name__ == "__main__":
    if sys.argv[1:] == ["pyspark.worker"]:
        load()
        gc.collect()
        gc.freeze()
    manager()


# Everything that matching does, done once on next to nothing: what is slow only the first time is over then.


@tamis.operator(reads=("name",), time_limit=None)  # without a limit, no thread is started: workers are forked from here
def _length(name: str, size: int = tamis.Var) -> list[int] | bool:
    """Operator that a rehearsal's filters call."""
    return [len(name)] if size is tamis.Var else len(name) == size


def rehearse() -> None:
    """Loads the kernels, which are loaded when they are first called, and compiled when there is no cache of them."""
    kinds = {"name": "string", "number": "float", "count": "integer"}
    schema = tamis.Schema.from_dict({"attributes": kinds, "event_types": {"event": dict.fromkeys(kinds, "optional")}})
    filters = ("number < 1", "count = 1 AND number > 2", "name = 'a' OR name LIKE '%b%'", "name RLIKE 'c+'")
    calls = ("_length(?n) AND ?n > 3 OR number > 2 AND _length(7)", "_length(1) AND count = 1")
    called = {f"?{place}": text for place, text in enumerate(calls)}
    texts = {str(place): text for place, text in enumerate(filters)} | called
    index = tamis.compile(texts, schema, operators=[_length])
    events = schema.check_json(pa.array(['{"name": "b", "number": 0.5, "count": 1}'])).valid
    index.match(events).bindings()
    # As the changes between two versions of a table are applied, and matched by beside what was there before.
    index.add({f"+{place}": text for place, text in enumerate(filters)})
    index.add({"+?": calls[0]})
    index.remove(["0", "+1", "?0"])
    index.match(events).to_arrow()
