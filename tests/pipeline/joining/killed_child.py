"""A process that runs a stream of changes and is killed in the middle of a batch: `killed_child.py FOLDER BATCH`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tamis import pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def main() -> None:
    folder, last = Path(sys.argv[1]), int(sys.argv[2])
    spark = pipeline.session("local[2]", name="killed", config={"spark.driver.memory": "1g"})
    write = pipeline.to_files(folder / "changes", "json")

    def changes(rows: DataFrame, batch: int) -> None:
        write(rows, batch)
        if batch == last:
            # The state has the batch, the sink has it, and Spark has not noted that it is done.
            os.kill(os.getpid(), signal.SIGKILL)

    pipeline.join_stream(
        pipeline.read_json_lines(spark, folder / "events", stream=True, maxFilesPerTrigger=1),
        folder / "table",
        changes=changes,
        dead_letters=lambda rows, batch: None,
        checkpoint=folder / "checkpoint",
        json="value",
        parts=2,
        trigger={"availableNow": True},
    ).awaitTermination()


if __name__ == "__main__":
    main()
