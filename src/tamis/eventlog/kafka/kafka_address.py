"""Addresses and credentials of Kafka, as one text, and the idempotency keys on a topic beside the log's."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from tamis.errors import PipelineError

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
