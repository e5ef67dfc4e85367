"""Lots through Kafka and back, in a process of its own: a session takes its jars only when it starts.

python -m tests.pipeline.kafka_round <servers> <folder>      # prints what the topics hold at the end, as JSON
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from tamis import pipeline
from tests.pipeline.auction_day import compiled, some_lots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOTS = some_lots(120)
BAD_LINES = ["not JSON", '{"event_type": ["antiques"], "quantity": 1}']


def produce(session: SparkSession, servers: str, lines: list[str]) -> None:
    """Writes lines as messages, as a publisher would."""
    rows = session.createDataFrame([(line,) for line in lines], "value string")
    rows.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", "lots").save()


def run(session: SparkSession, servers: str, folder: str) -> None:
    """Everything there is on the topic, then stop."""
    query = pipeline.stream(
        pipeline.read_kafka(session, servers, "lots", startingOffsets="earliest"),
        compiled(),
        matches=pipeline.to_kafka(servers, "matches"),
        dead_letters=pipeline.to_kafka(servers, "dead"),
        checkpoint=f"{folder}/checkpoint",
        json="value",
        key=pipeline.KAFKA_KEY,
        keep=["title", "kafka_offset"],
        trigger={"availableNow": True},
    )
    query.awaitTermination()


def messages(session: SparkSession, servers: str, topic: str) -> list[dict[str, Any]]:
    """What a subscriber finds on a topic: each message with its key."""
    rows = pipeline.read_kafka(session, servers, topic, stream=False).collect()
    return [{**json.loads(row["value"]), "key": row["kafka_key"].decode()} for row in rows]


def main(servers: str, folder: str, jars: str) -> dict[str, Any]:
    session = pipeline.session("local[2]", config={"spark.jars": jars})
    lines = [json.dumps(lot) for lot in LOTS]
    produce(session, servers, lines[:70] + BAD_LINES)
    run(session, servers, folder)
    # The same lot again is another message, and so another event.
    produce(session, servers, lines[70:] + lines[:1])
    run(session, servers, folder)
    return {topic: messages(session, servers, topic) for topic in ("matches", "dead")}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*sys.argv[1:])) + "\n")
