"""Faults of Kafka's, as far as they are to be told apart."""

from __future__ import annotations

from typing import Final

from aiokafka.errors import KafkaError, OutOfOrderSequenceNumber, ProducerClosed, ProducerFenced

_FINAL: Final = (OutOfOrderSequenceNumber, ProducerClosed, ProducerFenced)


def ends_producer(error: BaseException) -> bool:
    """Whether a producer that said this will never send again; aiokafka has no name for some of the reasons."""
    return isinstance(error, _FINAL) or type(error) is KafkaError
