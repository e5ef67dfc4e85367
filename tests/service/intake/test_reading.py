"""CloudEvents as they come in: three modes, one body."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from tamis.service.intake.cloudevents import CloudEventError, read_batch, read_binary, read_structured
from tamis.service.intake.door import read

EVENT: dict[str, Any] = {"specversion": "1.0", "id": "7", "source": "/shop/3", "type": "com.shop.sold"}
HEADERS = {"ce-specversion": "1.0", "ce-id": "7", "ce-source": "/shop/3", "ce-type": "com.shop.sold"}


def structured(event: object, *event_types: str) -> tuple[str, dict[str, Any]]:
    [found] = read_structured(json.dumps(event).encode(), event_types)
    return found


def binary(headers: dict[str, str], body: bytes = b"") -> dict[str, Any]:
    [(_, found)] = read_binary(Headers(HEADERS | headers), body)
    return found


def test_the_members_of_the_data_stand_beside_the_attributes() -> None:
    id, body = structured({**EVENT, "subject": "desk", "hops": 3, "urgent": True, "data": {"price": 5, "ok": None}})
    assert id == "/shop/3 7"
    assert body == {"ce": {**EVENT, "subject": "desk", "hops": 3, "urgent": True}, "price": 5, "ok": None}


@pytest.mark.parametrize("data", [5, "text", [1, {"a": 2}], True, None, {}, ""])
def test_data_that_has_no_members_is_kept_as_data(data: object) -> None:
    assert structured({**EVENT, "data": data})[1] == {"ce": EVENT, "data": data}


def test_bytes_are_kept_in_base64() -> None:
    assert structured({**EVENT, "data_base64": "AQID"})[1] == {"ce": EVENT, "data_base64": "AQID"}


def test_an_event_without_data_has_its_attributes_only() -> None:
    assert structured(EVENT)[1] == {"ce": EVENT}


def test_an_attribute_that_is_null_is_not_there() -> None:
    assert structured({**EVENT, "subject": None, "data_base64": None})[1] == {"ce": EVENT}


def test_an_event_is_of_the_schemas_type_that_it_names() -> None:
    assert structured({**EVENT, "data": {"a": 1}}, "com.shop.sold")[1]["event_type"] == ["com.shop.sold"]
    assert structured({**EVENT, "data": 5}, "com.shop.sold")[1]["event_type"] == ["com.shop.sold"]
    assert structured({**EVENT, "data": {"event_type": "x"}}, "com.shop.sold")[1]["event_type"] == "x"
    assert "event_type" not in structured(EVENT, "another")[1]


@pytest.mark.parametrize(
    ("change", "place", "said"),
    [
        ({"specversion": None}, "specversion", "every CloudEvent"),
        ({"specversion": "0.3"}, "specversion", "1.0"),
        ({"specversion": 1.0}, "specversion", "a string"),
        ({"id": None}, "id", "every CloudEvent"),
        ({"id": ""}, "id", "not empty"),
        ({"id": 7}, "id", "not empty"),
        ({"type": ""}, "type", "not empty"),
        ({"source": ""}, "source", "URI reference"),
        ({"source": "a b"}, "source", "URI reference"),
        ({"subject": ""}, "subject", "not empty"),
        ({"subject": True}, "subject", "not empty"),
        ({"time": "yesterday"}, "time", "RFC 3339"),
        ({"time": "2024-05-01"}, "time", "RFC 3339"),
        ({"time": "2024-05-01T10:00:00"}, "time", "RFC 3339"),
        ({"dataschema": "relative"}, "dataschema", "absolute URI"),
        ({"datacontenttype": "json"}, "datacontenttype", "media type"),
        ({"Shop": "x"}, "", "lower-case"),
        ({"my_shop": "x"}, "", "lower-case"),
        ({"x" * 101: "x"}, "", "lower-case"),
        ({"hops": 1 << 31}, "hops", "32 bits"),
        ({"hops": 1.5}, "hops", "a string"),
        ({"hops": [1]}, "hops", "a string"),
        ({"hops": {"a": 1}}, "hops", "a string"),
        ({"note": "a\nb"}, "note", "control characters"),
        ({"note": "\u0085"}, "note", "control characters"),
        ({"note": "\ufdd0"}, "note", "noncharacters"),
        ({"note": "x" * 16_385}, "note", "16,384"),
        ({f"x{number}": "x" for number in range(100)}, "", "100"),
        ({"data": 1, "data_base64": "AQID"}, "", "not both"),
        ({"data_base64": "A"}, "data_base64", "base64"),
        ({"data_base64": "A*=="}, "data_base64", "base64"),
        ({"data_base64": 5}, "data_base64", "base64"),
        ({"data": {"ce": 1}}, "data.ce", "call it otherwise"),
        ({"data": {"data": 5}}, "data", "add another"),
        ({"data": {"data_base64": "AQID"}}, "data", "add another"),
    ],
)
def test_what_is_no_event_is_refused_with_its_place(change: dict[str, Any], place: str, said: str) -> None:
    with pytest.raises(CloudEventError, match=said) as refused:
        structured({**EVENT, **change})
    assert refused.value.place == place
    taken, fault = read_batch([json.dumps(EVENT), json.dumps({**EVENT, **change})])
    assert taken == ("/shop/3 7", {"ce": EVENT})
    assert str(fault) == str(refused.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[]", "a JSON object"),
        (b"5", "a JSON object"),
        (b'{"id": NaN}', "no JSON"),
        (b'{"id": "\\ud800"}', "no JSON"),
        (b'{"id": "1", "id": "2"}', "twice"),
        (b'{"data": {"a": {"b": 1, "b": 1}}}', "twice"),
        (b'{"data": ' + b"[" * 100_000, "no JSON"),
        (b'{"data": ' + b"[" * 1_000 + b"]" * 1_000 + b"}", "every CloudEvent|too far"),
        (b'{"data": ' + b"1" * 5_000 + b"}", "no JSON"),
    ],
)
def test_a_body_that_every_parser_would_not_read_alike_is_refused(body: bytes, said: str) -> None:
    with pytest.raises(CloudEventError, match=said):
        read_structured(body)


def test_a_batch_has_its_events_in_order() -> None:
    events = [{**EVENT, "id": str(number), "data": {"n": number}} for number in range(3)]
    found = read_batch(map(json.dumps, events), ["com.shop.sold"])
    assert found == [structured(event, "com.shop.sold") for event in events]
    assert read_batch([]) == []


@pytest.mark.parametrize(
    ("content_type", "body", "data"),
    [
        ("application/json", b'{"price": 5}', {"price": 5}),
        ("Application/JSON; charset=utf-8", b'{"price": 5}', {"price": 5}),
        ("application/vnd.shop+json", b"[1]", {"data": [1]}),
        ("text/plain", "caf\u00e9".encode(), {"data": "caf\u00e9"}),
        ("text/plain; charset=iso-8859-1", "caf\u00e9".encode("latin-1"), {"data": "caf\u00e9"}),
        ("text/plain", b"\xff", {"data_base64": "/w=="}),
        ("text/plain; charset=utf-7", b"a", {"data_base64": "YQ=="}),
        ("application/octet-stream", b"\x01\x02\x03", {"data_base64": "AQID"}),
        ("image/png", b"", {}),
    ],
)
def test_binary_mode_takes_data_by_its_content_type(content_type: str, body: bytes, data: dict[str, Any]) -> None:
    attributes = {**EVENT, "datacontenttype": content_type}
    assert binary({"Content-Type": content_type}, body) == {"ce": attributes, **data}


@pytest.mark.parametrize("data", [{"price": 5}, {}, [1], "text", 5, None])
def test_binary_mode_without_a_content_type_takes_json(data: object) -> None:
    """The official SDK sends JSON so."""
    assert binary({}, json.dumps(data).encode()) == structured({**EVENT, "data": data})[1]


@pytest.mark.parametrize("body", [b"\x89PNG", b"{price: 5}", b'{"a": 1, "a": 2}'])
def test_what_is_no_json_needs_a_content_type(body: bytes) -> None:
    with pytest.raises(CloudEventError, match="has no Content-Type and is read as JSON") as refused:
        binary({}, body)
    assert refused.value.place == "data"
    assert binary({"Content-Type": "application/octet-stream"}, body)["data_base64"] == b64encode(body).decode()


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("desk", "desk"),
        ("oak desk", "oak desk"),
        ("caf%C3%A9", "caf\u00e9"),
        ("caf%c3%a9%20%22%25", 'caf\u00e9 "%'),
        ("%F0%9F%98%80", "\U0001f600"),
        ("%2520", "%20"),
        ('"oak desk"', "oak desk"),
        (r'"a \"b\" \\ %C3%A9"', 'a "b" \\ \u00e9'),
        (" x ", "x"),
    ],
)
def test_a_header_is_unquoted_and_percent_decoded_once(header: str, value: str) -> None:
    assert binary({"CE-Subject": header})["ce"]["subject"] == value


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Cn"]), min_size=1, max_size=20))
def test_what_is_percent_encoded_by_the_binding_comes_back(text: str) -> None:
    encoded = "".join(
        character if "!" <= character <= "~" and character not in '"%' else
        "".join(f"%{byte:02X}" for byte in character.encode())
        for character in text
    )  # fmt: skip
    assert binary({"ce-subject": encoded})["ce"]["subject"] == text


@pytest.mark.parametrize(
    ("headers", "place", "said"),
    [
        ([("ce-subject", "100%")], "ce-subject", "two hexadecimal"),
        ([("ce-subject", "%FF")], "ce-subject", "UTF-8"),
        ([("ce-subject", "caf\u00e9")], "ce-subject", "printable ASCII"),
        ([("ce-subject", '"open')], "ce-subject", "do not close"),
        ([("ce-subject", "a%00b")], "subject", "control characters"),
        ([("ce-note", "a"), ("ce-note", "b")], "ce-note", "twice"),
        ([("ce-datacontenttype", "a/b")], "ce-datacontenttype", "not here"),
        ([("ce-my-note", "a")], "", "lower-case"),
        ([("ce-", "a")], "", "lower-case"),
        ([("content-type", "json")], "datacontenttype", "media type"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(headers: list[tuple[str, str]], place: str, said: str) -> None:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in [*HEADERS.items(), *headers]]
    with pytest.raises(CloudEventError, match=said) as refused:
        read_binary(Headers(raw=raw), b"")
    assert refused.value.place == place


def test_binary_mode_needs_every_required_attribute() -> None:
    for name in HEADERS:
        left = {header: value for header, value in HEADERS.items() if header != name}
        with pytest.raises(CloudEventError) as refused:
            read_binary(Headers(left), b"")
        assert refused.value.place == name.removeprefix("ce-")


def test_data_that_is_not_the_json_it_says_is_refused() -> None:
    with pytest.raises(CloudEventError, match="no JSON") as refused:
        binary({"content-type": "application/json"}, b"{")
    assert refused.value.place == "data"


def test_a_content_type_of_cloudevents_means_structured_mode_whatever_the_headers_say() -> None:
    other = {**EVENT, "id": "8"}
    headers = Headers(HEADERS | {"content-type": "application/cloudevents+json; charset=utf-8"})
    assert read_binary(headers, json.dumps(other).encode()) == [("/shop/3 8", {"ce": other})]
    headers = Headers(HEADERS | {"content-type": "application/cloudevents-batch+json"})
    batch = read(headers, json.dumps([other]).encode(), 10, 1_000, [])
    assert batch.ids is not None
    assert batch.ids.to_pylist() == ["/shop/3 8"]
