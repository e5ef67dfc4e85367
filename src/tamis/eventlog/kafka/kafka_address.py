"""Addresses and credentials of Kafka, as one text, and the idempotency keys on a topic beside the log's."""

from __future__ import annotations

import re
import ssl
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import TopicAlreadyExistsError, for_code

from tamis.errors import PipelineError
from tamis.eventlog.base.event_log import KEPT_FOR, Keyed, RememberedKeys

_MECHANISMS: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_OPTIONS: Final = frozenset(["mechanism", "tls", "ca", "certificate"])
_SERVER: Final = re.compile(r"([^\s:@/,\[\]]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}")
_FORM: Final = "host:port or kafka://[user:password@]host:port[,host:port][/topic][?tls=true&ca=FILE&mechanism=PLAIN]"


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """Bootstrap servers of Kafka with credentials, and a topic if the text names one.

    With a `user` clients sign in by SASL; with `tls` they speak TLS, and trust the authorities in the PEM file `ca`, or
    those of the system. `certificate` is a PEM file with the client's own certificate and its key.
    """

    servers: str
    topic: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    mechanism: str = "PLAIN"
    tls: bool = False
    ca: str = ""
    certificate: str = ""

    @classmethod
    def parse(cls, text: str) -> KafkaAddress:
        """Parses `host:port`, or a URL; a PipelineError, without the password, if it is neither."""
        plain = "://" not in text
        parts = urlsplit(f"kafka://{text}" if plain else text)
        login, signed_in, servers = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        topic = unquote(parts.path.strip("/"))
        if (
            parts.scheme != "kafka"
            or not all(_SERVER.fullmatch(server) for server in servers.split(","))
            or "/" in topic
            or (plain and (topic or options or login))
            or bool(signed_in) != bool(user)
            or parts.fragment
            or not options.keys() <= _OPTIONS
            or options.get("mechanism", "PLAIN") not in _MECHANISMS
            or options.get("tls", "true") not in ("true", "false")
        ):
            raise PipelineError(f"{_without_password(text)!r} is no address of Kafka: say {_FORM}")
        files = options.get("ca", ""), options.get("certificate", "")
        return cls(
            servers,
            topic,
            unquote(user),
            unquote(password),
            options.get("mechanism", "PLAIN"),
            options.get("tls", "true" if any(files) else "false") == "true",
            *files,
        )

    @property
    def protocol(self) -> str:
        """Security protocol, by Kafka's name."""
        if self.user:
            return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"
        return "SSL" if self.tls else "PLAINTEXT"

    def client(self) -> dict[str, Any]:
        """Settings for aiokafka's clients."""
        told: dict[str, Any] = {"bootstrap_servers": self.servers, "security_protocol": self.protocol}
        if self.user:
            told["sasl_mechanism"] = self.mechanism
            told["sasl_plain_username"], told["sasl_plain_password"] = self.user, self.password
        if self.tls:
            told["ssl_context"] = self._context()
        return told

    def spark(self) -> dict[str, str]:
        """Settings for Spark's connector, except the servers."""
        told = {"kafka.security.protocol": self.protocol}
        if self.user:
            told["kafka.sasl.mechanism"] = self.mechanism
            login = f"username={_quoted(self.user)} password={_quoted(self.password)}"
            told["kafka.sasl.jaas.config"] = f"{_MECHANISMS[self.mechanism]} required {login};"
        for file, store in ((self.ca, "truststore"), (self.certificate, "keystore")):
            if self.tls and file:
                told |= {f"kafka.ssl.{store}.type": "PEM", f"kafka.ssl.{store}.location": file}
        return told if self.protocol != "PLAINTEXT" else {}

    def _context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cafile=self.ca or None)
            if self.certificate:
                context.load_cert_chain(self.certificate)
        except OSError as error:
            files = " or ".join(filter(None, (self.ca, self.certificate)))
            raise PipelineError(f"Kafka at {self.servers}: {files} cannot be used for TLS: {error}") from error
        return context


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _without_password(text: str) -> str:
    """Text with the password removed. In a text that is no address, everything that may belong to it is."""
    return re.sub(r"(^|://).*@", r"\1...@", text, flags=re.DOTALL)


# Idempotency keys of events on a topic: kept for a day on a topic beside it, `<topic>.keys`.

_READ_MS: Final = 1000
_COPIES: Final = 3


def keys_topic(topic: str) -> str:
    """Topic of the keys of a topic."""
    return f"{topic}.keys"


class KafkaKeys:
    """Idempotency keys of a topic, read on demand. For one event loop, one task at a time in `catch_up`.

    A key is written after its events. A crash between the two leaves events without it, and a retry is appended once
    more, under the same event ids.
    """

    def __init__(self, address: KafkaAddress) -> None:
        self._address = address
        self._place = TopicPartition(keys_topic(address.topic), 0)
        self._known = RememberedKeys()
        self._consumer = AIOKafkaConsumer(**address.client(), enable_auto_commit=False)

    async def start(self) -> None:
        """Creates the topic if need be, and reads it."""
        admin = AIOKafkaAdminClient(**self._address.client())
        await admin.start()
        try:
            if self._place.topic not in await admin.list_topics():
                await self._make_topic(admin)
        finally:
            await admin.close()
        await self._consumer.start()
        self._consumer.assign([self._place])
        await self._consumer.seek_to_beginning(self._place)

    async def _make_topic(self, admin: AIOKafkaAdminClient) -> None:
        copies = min(_COPIES, len((await admin.describe_cluster())["brokers"]))
        settings = {"retention.ms": str(int(KEPT_FOR.total_seconds() * 1000))}
        new = NewTopic(self._place.topic, num_partitions=1, replication_factor=copies, topic_configs=settings)
        told = await admin.create_topics([new])
        for _, code, *_ in told.topic_errors:
            error = for_code(code)
            if code and error is not TopicAlreadyExistsError:
                raise error(f"the topic {self._place.topic} cannot be made")

    async def catch_up(self) -> None:
        """Reads every key that was written before now, by any process."""
        end = (await self._consumer.end_offsets([self._place]))[self._place]
        self._consumer.resume(self._place)
        while await self._consumer.position(self._place) < end:
            read = await self._consumer.getmany(self._place, timeout_ms=_READ_MS)
            for record in read.get(self._place, ()):
                # Whoever else writes to this topic must not keep everybody from publishing.
                with suppress(struct.error, TypeError):
                    self._known.add(Keyed.from_bytes(record.value))
        # Else it would fetch on, and the next question wait behind a fetch that finds nothing.
        self._consumer.pause(self._place)

    def find(self, key: bytes, now: int) -> Keyed | None:
        """Append under this key, if it is not too long ago."""
        return self._known.find(key, now)

    async def add(self, producer: AIOKafkaProducer, keyed: Keyed) -> None:
        """Makes a key durable."""
        await producer.send_and_wait(
            self._place.topic, keyed.to_bytes(), key=keyed.key, partition=self._place.partition
        )
        self._known.add(keyed)

    async def stop(self) -> None:
        """Closes the connection."""
        await self._consumer.stop()
