"""What a text says."""

from __future__ import annotations

import pickle
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tamis
from tamis.errors import OperatorError, PatternError
from tamis.operators.library.text import finds, mentions, text
from tamis.operators.library.text import operators as keyword_sets

REPORTS = pa.array(["Smoke, and FLAMES over the roofs", "The gunner rows a gunboat", None, "Shots\n fired; a knife"])


def test_keywords_are_found_as_whole_words_whatever_their_case() -> None:
    assert mentions(REPORTS, "fire", tamis.Var).to_pylist() == [
        {"row": 0, "word": "smoke"},
        {"row": 0, "word": "flames"},
    ]
    assert mentions(REPORTS, "weapons", tamis.Var)["row"].to_pylist() == [3, 3]


def test_a_phrase_is_found_across_whatever_parts_its_words() -> None:
    assert mentions(REPORTS, "weapons", "shots fired").to_pylist() == [False, False, False, True]
    assert mentions(REPORTS, "weapons", "gun").to_pylist() == [False, False, False, False]


WORDS = ("fire", "Fire brigade", "été", "x1")


@given(
    st.lists(st.lists(st.sampled_from(["fire", "FIRE", "brigade", "fires", "été", "ÉTÉ", "x1", "x", "1"])), max_size=5)
)
def test_keywords_are_those_that_a_reading_word_by_word_finds(words: list[list[str]]) -> None:
    texts = [" - ".join(each) for each in words]
    bound = {(each["row"], each["word"]) for each in _mentions(WORDS, texts)}
    assert bound == {
        (row, word)
        for row, each in enumerate(texts)
        for word in WORDS
        if re.search(rf"\b{word.replace(' ', ' - ')}\b", each, re.IGNORECASE)
    }


def _mentions(words: Sequence[str], texts: Sequence[str]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = (
        text({"set": words}).mentions(pa.array(texts, pa.string()), "set", tamis.Var).to_pylist()
    )
    return found


def test_wildcards_of_like_have_no_meaning_in_keywords() -> None:
    assert _mentions(["a_b", "100%"], ["a b", "axb", "100", "1005"]) == [
        {"row": 0, "word": "a_b"},
        {"row": 2, "word": "100%"},
    ]


def test_what_a_pattern_finds_is_bound_once_each() -> None:
    reports = pa.array(["plate KXA-4471, then ABC-12, then KXA-4471", "none", None])
    assert finds(reports, r"[A-Z]{3}-\d+", tamis.Var).to_pylist() == [
        {"row": 0, "found": "KXA-4471"},
        {"row": 0, "found": "ABC-12"},
    ]
    assert finds(reports, r"plate (\w+)", tamis.Var).to_pylist() == [{"row": 0, "found": "KXA"}]
    assert finds(reports, r"plate (\w+)", "KXA").to_pylist() == [True, False, False]
    assert finds(reports, r"(\w+)-(\d+)", tamis.Var)["found"].to_pylist() == ["KXA", "ABC"]
    assert finds(reports, r"(z)?n(o)", tamis.Var)["row"].to_pylist() == []


def test_no_pattern_takes_longer_than_its_text_is_long() -> None:
    long = pa.array(["a" * 50_000 + "!"])
    for pattern in ("(a+)+$", "(a|aa)+b", "(.*)(.*)(.*)b"):
        began = time.perf_counter()
        assert len(finds(long, pattern, tamis.Var)) == 0
        assert time.perf_counter() - began < 5


def test_of_several_values_each_is_read() -> None:
    several = pa.array([["smoke", "no"], [], None, ["flames A-1", "smoke A-1"]])
    assert mentions(several, "fire", tamis.Var)["row"].to_pylist() == [0, 3, 3]
    assert finds(several, r"A-\d", tamis.Var)["row"].to_pylist() == [3, 3]
    assert finds(several, r"A-\d", "A-1").to_pylist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("pattern", "said"), [("(", "RE2"), ("a(?=b)", "lookaround"), ("((a{1,100}){1,100}){1,100}", "repetition")]
)
def test_a_pattern_that_is_none_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(PatternError, match=said):
        finds(REPORTS, pattern, tamis.Var)


def test_keywords_come_from_a_file_or_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "words.yaml").write_text("birds: [heron, Grey Gull]\n")
    for source in (tmp_path / "words.yaml", {"birds": ["heron", "Grey Gull"]}):
        operators = text(source, attribute="note.text")
        assert operators.mentions(pa.array(["a grey gull"]), "birds", tamis.Var).to_pylist() == [
            {"row": 0, "word": "Grey Gull"}
        ]
        assert operators.mentions.formals[1].parameter.choices == ("birds",)
        assert operators.mentions.reads == {"text": "note.text"}


@pytest.mark.parametrize("given", [{}, {"a": []}, {"a": "word"}, {"a": [3]}, {"a": ["--"]}, {3: ["word"]}])
def test_what_is_no_set_of_words_is_refused(given: Mapping[str, Sequence[str]]) -> None:
    with pytest.raises(OperatorError, match="words"):
        text(given)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("{")
    for name in ("missing.yaml", "bad.yaml"):
        with pytest.raises(OperatorError, match=name):
            text(tmp_path / name)


def test_a_set_that_is_not_there_is_refused() -> None:
    with pytest.raises(OperatorError, match="there are crowd, fire"):
        mentions(REPORTS, "birds", tamis.Var)


def test_operators_travel_and_automata_are_made_once_a_process() -> None:
    operators = text({"once": ["only"]})
    before = keyword_sets._built.cache_info().misses
    travelled = pickle.loads(pickle.dumps(operators.mentions))
    for _ in range(3):
        assert travelled(pa.array(["only"]), "once", "only").to_pylist() == [True]
    assert keyword_sets._built.cache_info().misses == before + 1
    assert travelled.version == operators.finds.version != mentions.version
