"""Text operators: `mentions` (keywords of a set, by Aho–Corasick automata) and `finds` (regular expressions)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from tamis.errors import OperatorError, PatternError, shown
from tamis.language.patterns import compiled_rlike, rlike_fault
from tamis.language.predicates import Like
from tamis.language.tree import DEFAULT_LIMITS
from tamis.matching.patterns import PatternSet
from tamis.operators.declaring import operator
from tamis.operators.library.offering import Found, answer, each_value, version_of, with_choices
from tamis.operators.registry import Operator, Var
from tamis.yaml_loading import load

# Named sets of keywords, each found in one scan of a text.

SAMPLE = Path(__file__).with_name("keywords.yaml")
"""Words that reports of a city's patrols are searched for: for examples."""

# Any character that is neither letter, mark nor digit parts words.
_BETWEEN_WORDS = r"[^\pL\pM\pN]+"
_BUILDING = threading.Lock()


@dataclass(frozen=True)
class Keywords:
    """Sets of keywords: names, sorted, and the words and phrases of each as written. Travels to other processes."""

    names: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]


def read_keywords(source: str | Path | Mapping[str, Sequence[str]]) -> Keywords:
    """Reads sets of keywords from a YAML file, or from a mapping: names to lists of words and phrases."""
    if isinstance(source, Mapping):
        given: object = source
    else:
        try:
            given = load(Path(source).read_text(encoding="utf-8"))
        except (OSError, UnicodeError, yaml.YAMLError) as error:
            raise OperatorError(f"keywords cannot be read from {source}: {error}") from error
    if not isinstance(given, Mapping) or not given:
        raise OperatorError("keywords are a mapping of names to lists of words")
    for name, words in given.items():
        listed = isinstance(words, Sequence) and not isinstance(words, str) and len(words) > 0
        if not (isinstance(name, str) and listed and all(isinstance(word, str) and _has_word(word) for word in words)):
            raise OperatorError(
                f"the keywords {shown(name)} are {shown(words)}; "
                "a list of words is wanted, each with a letter or a digit"
            )
    names = tuple(sorted(given))
    return Keywords(names, tuple(tuple(dict.fromkeys(given[name])) for name in names))


class KeywordSets:
    """Automata of keyword sets: one Aho–Corasick automaton per set, over texts in lower case, spaces normalised.

    Texts have one space between words and at both ends. So a keyword is found as whole words only, and a phrase across
    whatever stands between its words. Frozen.
    """

    def __init__(self, keywords: Keywords) -> None:
        self._words = dict(zip(keywords.names, keywords.words, strict=True))
        self._sets = {name: PatternSet.build([_pattern(word) for word in words]) for name, words in self._words.items()}

    def find(self, name: str, texts: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Array]:
        """Rows, and the keyword found in each: a row comes once for every keyword that is in it."""
        if name not in self._sets:
            raise OperatorError(f"there are no keywords {name!r}; there are {', '.join(self._sets)}")
        offsets, numbers = self._sets[name].match(_spaced(texts))
        rows = np.repeat(np.arange(len(texts)), np.diff(offsets))
        return rows, pa.array(self._words[name], pa.string()).take(pa.array(numbers))


def keyword_sets_of(keywords: Keywords) -> KeywordSets:
    """Automata of these keywords, built at the first call in a process and cached."""
    with _BUILDING:
        return _built(keywords)


@lru_cache(maxsize=16)
def _built(keywords: Keywords) -> KeywordSets:
    return KeywordSets(keywords)


def _pattern(word: str) -> Like:
    # Of its characters only letters, marks, digits and spaces are left: nothing to escape.
    return Like("text", f"%{_spaced(pa.array([word]))[0].as_py()}%")


def _has_word(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _spaced(texts: pa.Array) -> pa.Array:
    """Words in lower case, a space before each and after the last."""
    words = pc.utf8_trim(pc.replace_substring_regex(pc.utf8_lower(texts), _BETWEEN_WORDS, " "), " ")
    return pc.binary_join_element_wise("", words, "", " ")


_MILLISECONDS = 0.01


class Text(NamedTuple):
    """Text operators on one attribute; `operators=[*text("keywords.yaml")]` hands over both."""

    mentions: Operator
    finds: Operator


def text(keywords: str | Path | Mapping[str, Sequence[str]] = SAMPLE, *, attribute: str = "report") -> Text:
    """Operators on the texts of an attribute. `keywords`: named sets of words and phrases, in YAML or as a mapping."""
    calls = _Calls(read_keywords(keywords))
    declare = operator(
        reads={"text": attribute}, batch=True, prepare=calls.sets, version=version_of(calls), cost=_MILLISECONDS
    )
    return Text(with_choices(declare(calls.mentions), "keywords", calls.sets_of_words.names), declare(calls.finds))


@dataclass(frozen=True)
class _Calls:
    """Functions of the operators over these sets of keywords."""

    sets_of_words: Keywords

    def sets(self) -> KeywordSets:
        return keyword_sets_of(self.sets_of_words)

    def mentions(self, text: pa.Array, keywords: str, word: str = Var) -> pa.Array | pa.Table:
        """True if the text has a keyword of the set, as whole words in any case; binds every one that it has."""
        rows, texts = each_value(text)
        found, words = self.sets().find(keywords, texts)
        return answer(len(text), rows[found], word=Found(word, words))

    def finds(self, text: pa.Array, pattern: str, found: str = Var) -> pa.Array | pa.Table:
        """Binds every match of a regular expression (RE2's): its first group, or the whole without one."""
        search = _compiled(pattern)
        rows, texts = each_value(text)
        each = [[] if value is None else _found(search, value) for value in texts.to_pylist()]
        values = pa.array([value for values in each for value in values], pa.string())
        return answer(len(text), np.repeat(rows, [len(values) for values in each]), found=Found(found, values))


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> Any:
    fault = rlike_fault(pattern, DEFAULT_LIMITS)
    if fault is not None:
        raise PatternError(fault, pattern, 0, len(pattern))
    return compiled_rlike(pattern, DEFAULT_LIMITS.pattern_memory)


def _found(search: Any, text: str) -> list[str]:
    """Distinct matches, in their order; a group that took no part has found nothing."""
    group = min(1, search.groups)
    return [found for found in dict.fromkeys(match[group] for match in search.finditer(text)) if found is not None]
