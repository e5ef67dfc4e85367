"""What one text says about a Kafka, for our own clients and for Spark's."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tamis.errors import PipelineError
from tamis.eventlog.kafka.kafka_address import KafkaAddress


@pytest.mark.parametrize("text", ["broker:9092", "kafka://broker:9092"])
def test_servers_alone_are_spoken_to_in_the_open(text: str) -> None:
    address = KafkaAddress.parse(text)
    assert address == KafkaAddress("broker:9092")
    assert address.client() == {"bootstrap_servers": "broker:9092", "security_protocol": "PLAINTEXT"}
    assert address.spark() == {}


def test_several_servers_and_a_topic() -> None:
    address = KafkaAddress.parse("kafka://a:9092,[::1]:9093/my%2Devents")
    assert (address.servers, address.topic) == ("a:9092,[::1]:9093", "my-events")


def test_a_user_signs_in_here_and_in_spark() -> None:
    address = KafkaAddress.parse("kafka://tamis:s%40c%22r%5Ct@a:9092,b:9092/events?mechanism=SCRAM-SHA-512&tls=true")
    assert address.protocol == "SASL_SSL"
    told = address.client()
    assert (told["sasl_mechanism"], told["sasl_plain_username"]) == ("SCRAM-SHA-512", "tamis")
    assert told["sasl_plain_password"] == 's@c"r\\t'
    assert told["ssl_context"].verify_mode == ssl.CERT_REQUIRED
    assert address.spark() == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="tamis" password="s@c\\"r\\\\t";',
    }
    assert "s@c" not in repr(address)


def test_a_file_of_authorities_means_tls() -> None:
    address = KafkaAddress.parse("kafka://a:9093/events?ca=/etc/ca.pem&certificate=/etc/tamis.pem")
    assert address.spark() == {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "/etc/ca.pem",
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.location": "/etc/tamis.pem",
    }


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing of the kind")
    for file in ("ca.pem", "missing.pem"):
        with pytest.raises(PipelineError, match=rf"{file} cannot be used for TLS"):
            KafkaAddress.parse(f"kafka://a:9093/events?ca={tmp_path}/{file}").client()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "broker",
        "broker:port",
        "broker:9092/topic",
        "kafka:///topic",
        "kafka://broker/topic",
        "kafka://a:9092,/topic",
        "kafka://a:9092/one/two",
        "kafka://:hidden@a:9092/topic",
        "kafka://user:hidden@a/topic",
        "kafka://user:hidden@a:9092/topic?mechanism=GSSAPI",
        "kafka://user:hidden@a:9092/topic?tls=perhaps",
        "kafka://user:hidden@a:9092/topic?acks=0",
        "user:hidden@a:9092",
        "user:hid/hidden@a:9092",
        "kafka://user:123#hidden@a:9092/topic",
        "http://a:9092/topic",
    ],
)
def test_what_is_no_address_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(PipelineError, match=r"is no address of Kafka: say host:port or kafka://") as refused:
        KafkaAddress.parse(text)
    assert "hidden" not in str(refused.value)
