"""What Spark reads of a Kafka log, in a process of its own: a session takes its jars only when it starts.

python -m tests.eventlog.kafka.kafka_frame <url of the log> <jars>      # prints what it read, as JSON
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tamis import pipeline
from tamis.eventlog import open_log
from tamis.pipeline.sources import read_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def main(url: str, jars: str) -> dict[str, Any]:
    spark = pipeline.session("local[2]", config={"spark.jars": jars})
    log = open_log(url)
    batch = read_log(spark, log, stream=False)
    streamed: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        query = (
            read_log(spark, log, stream=True)
            .writeStream.foreachBatch(lambda rows, _: streamed.extend(_rows(rows)))
            .option("checkpointLocation", folder)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    # The other partitions, if there are any, were added since.
    topic, partition = urlsplit(url).path.strip("/"), streamed[0][1]
    reached = json.dumps({topic: {str(partition): 20}})
    told = {
        "columns": batch.dtypes,
        "batch": _rows(batch),
        "stream": streamed,
        "from 25": _rows(read_log(spark, log, stream=False, start=25)),
        "from where a batch ended": _rows(read_log(spark, log, stream=False, start=reached)),
        "times": sorted({int(row["time"].timestamp() * 1000) for row in batch.select("time").toArrow().to_pylist()}),
    }
    asyncio.run(log.close())
    return told


def _rows(frame: DataFrame) -> list[list[Any]]:
    table = frame.select("offset", "partition", "id", "body").orderBy("partition", "offset").toArrow()
    return [list(row.values()) for row in table.to_pylist()]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])) + "\n")
