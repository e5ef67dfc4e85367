"""Worker daemon of Spark with Tamis preloaded: workers are forked from it, and start in milliseconds instead of
seconds.

After every task PySpark has a worker collect garbage, which goes through all objects there are: with those of Numba
that takes longer than the task. What was loaded before the fork is set apart from the collector.

For the setting `spark.python.daemon.module`. PySpark's own daemon loads next to nothing, for a library might start
threads, which a fork does not take along; those loaded here start none that they rely on (jemalloc's, which comes with
Arrow, looks after itself). Spark has a daemon for each kind of worker, and only one kind matches events.
"""

import gc
import sys

from pyspark.daemon import manager


def load() -> None:
    """Loads what a worker needs, kernels included."""
    import pyspark.worker  # noqa: F401

    import tamis.pipeline.workers.charging  # noqa: F401
    from tamis.pipeline.workers.rehearsal import rehearse

    rehearse()


if __name__ == "__main__":
    if sys.argv[1:] == ["pyspark.worker"]:
        load()
        gc.collect()
        gc.freeze()
    manager()
