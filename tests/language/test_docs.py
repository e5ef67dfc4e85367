"""Every example in docs/language.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tamis.errors import FilterError
from tamis.language import bind, normalise, parse, print_filter
from tamis.language.predicates import read_timestamp
from tamis.language.syntax import WORDS
from tamis.schema import Schema
from tests.language.evaluation import filter_holds, tree_holds
from tests.language.test_meaning import filled

PAGE = (Path(__file__).parents[2] / "docs/language.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SCHEMA = Schema.from_yaml(next(body for kind, body in BLOCKS if kind == "yaml"))


def examples(wanted: str) -> Iterator[tuple[str, str]]:
    """The filters of one kind of block, each with what its comment says."""
    for kind, body in BLOCKS:
        lines = [line for line in body.splitlines() if line and not line.startswith("event ")]
        if kind == wanted == "filters":
            for line in lines:
                text, _, expected = line.rpartition(" -- ")
                yield body.splitlines()[0] + "\n" + text.rstrip(), expected
        elif kind == wanted:
            for text, comment in zip(lines[::2], lines[1::2], strict=True):
                yield text, comment.strip().removeprefix("-- ")


def event_of(line: str) -> dict[str, list[Any]]:
    event: dict[str, list[Any]] = {}
    for name, value in json.loads(line.removeprefix("event ")).items():
        values = value if isinstance(value, list) else [] if value is None else [value]
        is_moment = SCHEMA.attributes[name].domain.kind == "timestamp"
        event[name] = [read_timestamp(each) if is_moment else each for each in values]
    return event


@pytest.mark.parametrize(("example", "expected"), list(examples("filters")))
def test_a_filter_holds_where_the_page_says_so(example: str, expected: str) -> None:
    line, text = example.split("\n")
    event, tree = event_of(line), parse(text, SCHEMA)
    assert expected.startswith(("yes", "no"))
    assert tree_holds(tree, event, SCHEMA) == expected.startswith("yes")
    assert filter_holds(normalise(tree, SCHEMA), event, SCHEMA) == expected.startswith("yes")
    (block,) = bind([text], SCHEMA).blocks
    assert filter_holds(filled(block, 0), event, SCHEMA) == expected.startswith("yes")


@pytest.mark.parametrize(("text", "expected"), list(examples("refused")))
def test_a_filter_is_refused_as_the_page_says(text: str, expected: str) -> None:
    with pytest.raises(FilterError, match=re.escape(expected)):
        parse(text, SCHEMA)


@pytest.mark.parametrize(("text", "expected"), list(examples("canonical")))
def test_a_filter_has_the_canonical_text_that_the_page_says(text: str, expected: str) -> None:
    assert print_filter(normalise(parse(text, SCHEMA), SCHEMA), SCHEMA) == expected


def test_the_page_lists_the_words_of_the_language() -> None:
    listed = re.search(r"The words of the language, in upper or lower case: ([A-Z,\s]+)\.", PAGE)
    assert listed is not None
    assert re.split(r",\s+", listed.group(1)) == sorted(WORDS)


def test_every_block_of_the_page_is_run() -> None:
    assert {kind for kind, _ in BLOCKS} == {"yaml", "filters", "refused", "canonical"}
    assert len(list(examples("filters"))) > 70
