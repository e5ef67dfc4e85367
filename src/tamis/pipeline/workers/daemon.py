"""Spark's worker daemon with Tamis loaded: workers are forked from it, and start in milliseconds instead of seconds.

After every task PySpark has a worker collect garbage, which goes through all objects there are: with those of Numba
that takes longer than the task. What was loaded before the fork is set apart from the collector.

For the setting `spark.python.daemon.module`. PySpark's own daemon loads next to nothing, for a library might start
threads, which a fork does not take along; those loaded here start none that they rely on (jemalloc's, which comes with
Arrow, looks after itself). Spark has a daemon for each kind of worker, and only one kind matches events.
"""

import gc
import sys

from pyspark.daemon import manager


def rehearse() -> None:
    """Loads what a worker needs, kernels included: they are loaded when they are first called."""
    import pyarrow as pa
    import pyspark.worker  # noqa: F401

    import tamis
    import tamis.pipeline.workers.sieve

    kinds = {"name": "string", "number": "float", "count": "integer"}
    schema = tamis.Schema.from_dict({"attributes": kinds, "event_types": {"event": dict.fromkeys(kinds, "optional")}})
    filters = ("number < 1", "count = 1 AND number > 2", "name = 'a' OR name LIKE '%b%'", "name RLIKE 'c+'")
    index = tamis.compile({str(place): text for place, text in enumerate(filters)}, schema)
    events = schema.check_json(pa.array(['{"name": "b", "number": 0.5, "count": 1}'])).valid
    index.match(events).to_arrow()


if __name__ == "__main__":
    if sys.argv[1:] == ["pyspark.worker"]:
        rehearse()
        gc.collect()
        gc.freeze()
    manager()
