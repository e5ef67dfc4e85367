"""JSON bodies cut into texts: the same events as a parser finds, whatever stands in their strings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.service.intake.door import read_document, read_lines
from tamis.service.intake.problems import Problem

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\{}[],:\n\r '))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
events = st.lists(st.dictionaries(texts, values, max_size=4), min_size=1, max_size=6)


@given(events, st.sampled_from([None, 1, "\t", "\r\n"]), st.booleans())
def test_an_array_is_cut_into_its_elements(given: list[dict[str, Any]], indent: Any, ascii: bool) -> None:
    body = json.dumps(given, indent=indent, ensure_ascii=ascii).encode()
    assert [json.loads(text) for text in read_document(body).to_pylist()] == given


@given(st.dictionaries(texts, values, max_size=5), st.sampled_from([None, 2]))
def test_an_object_is_one_event_without_line_ends(given: dict[str, Any], indent: int | None) -> None:
    (text,) = read_document(b" \n" + json.dumps(given, indent=indent).encode() + b"\r\n ").to_pylist()
    assert json.loads(text) == given
    assert "\n" not in text


@given(events)
def test_lines_are_events_and_blank_lines_are_not(given: list[dict[str, Any]]) -> None:
    body = "\r\n\n".join(json.dumps(event) for event in given).encode() + b"\n  \n"
    assert [json.loads(text) for text in read_lines(body).to_pylist()] == given


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"17",
        b'"text"',
        b"null",
        b"[",
        b"[{}",
        b"[{}]]",
        b"{}]",
        b'{"a"',
        b'[{"a": "]',
        b"[{},]",
        b"[,{}]",
        b"[{},,{}]",
        b"[{}}",
        b'{"a": 1\n}, {"b": 2}',
        b"\xff{}",
        b'{"a": "\xc3"}',
        b"[{}] [{}]",
    ],
)
def test_a_body_that_is_no_document_is_refused_as_a_whole(body: bytes) -> None:
    with pytest.raises(Problem) as refused:
        read_document(body)
    assert refused.value.status == 400


def test_an_empty_array_has_no_events() -> None:
    assert len(read_document(b" [ \n ] ")) == 0


def test_a_line_end_in_a_string_stays_a_fault_of_its_element() -> None:
    good, bad = read_document(b'[{"a": "fine"}, {"a": "br\noken"}]').to_pylist()
    assert json.loads(good) == {"a": "fine"}
    with pytest.raises(json.JSONDecodeError):
        json.loads(bad)


def test_a_byte_order_mark_is_passed_over() -> None:
    assert read_document(b'\xef\xbb\xbf{"a": 1}').to_pylist() == ['{"a": 1}']
