"""From the URL of a log to the log."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from tamis.errors import PipelineError
from tamis.service.log.event_log import EventLog
from tamis.service.log.spool_log import SpoolLog


def open_log(url: str, *, write: bool = False) -> EventLog:
    """The log at `spool:///folder` or `kafka://host:port[,host:port]/topic`.

    With `write` it is made ready for appends now: a spool takes its lock and cuts off what a crash left half written,
    Kafka connects. Otherwise that happens with the first append, and a log that is only read never does it.
    """
    parts = urlsplit(url)
    if parts.scheme == "spool" and not parts.netloc and parts.path not in ("", "/"):
        return SpoolLog(unquote(parts.path), write=write)
    topic = parts.path.strip("/")
    if parts.scheme == "kafka" and parts.netloc and topic and "/" not in topic:
        from tamis.service.log.kafka_log import KafkaLog

        return KafkaLog(parts.netloc, unquote(topic), write=write)
    raise PipelineError(f"{url!r} is no event log: say spool:///folder or kafka://host:port/topic")
