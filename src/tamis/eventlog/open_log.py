"""Opens the event log at a URL: spool or Kafka."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from tamis.errors import PipelineError
from tamis.eventlog.base.event_log import EventLog
from tamis.eventlog.kafka.kafka_address import KafkaAddress
from tamis.eventlog.spool.spool_log import SpoolLog


def open_log(url: str, *, write: bool = False) -> EventLog:
    """Opens the log at `spool:///folder` or `kafka://host:port[,host:port]/topic`; see KafkaAddress for credentials.

    With `write` it is prepared for appends now: a spool takes its lock and truncates what a crash left half written,
    Kafka connects. Otherwise that happens with the first append, and never for a log that is only read.
    """
    parts = urlsplit(url)
    if parts.scheme == "spool" and not parts.netloc and parts.path not in ("", "/"):
        return SpoolLog(unquote(parts.path), write=write)
    if parts.scheme == "kafka":
        from tamis.eventlog.kafka.kafka_log import KafkaLog

        address = KafkaAddress.parse(url)
        if address.topic:
            return KafkaLog(address, write=write)
        url = f"kafka://{address.servers}"
    raise PipelineError(f"{url!r} is no event log: say spool:///folder or kafka://host:port/topic")
