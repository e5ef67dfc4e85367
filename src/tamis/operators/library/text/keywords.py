"""Named sets of keywords, each found in one scan of a text."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from tamis.errors import OperatorError
from tamis.language.predicates import Like
from tamis.matching.patterns import PatternSet
from tamis.quoting import shown
from tamis.yaml_loading import load

SAMPLE = Path(__file__).with_name("keywords.yaml")
"""Words that reports of a city's patrols are searched for: for examples."""

# Whatever is neither letter, mark nor digit parts words.
_BETWEEN_WORDS = r"[^\pL\pM\pN]+"
_BUILDING = threading.Lock()


@dataclass(frozen=True)
class Keywords:
    """Names of sets, sorted, and the words and phrases of each, as they were written. Travels to other processes."""

    names: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]


def read_keywords(source: str | Path | Mapping[str, Sequence[str]]) -> Keywords:
    """Sets from a YAML file, or from a mapping: names to lists of words and phrases."""
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
    """An Aho–Corasick automaton a set, over texts in lower case with one space between words and at both ends.

    So a keyword is found as whole words only, and a phrase across whatever stands between its words. Frozen.
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
    """The automata of these keywords, made at the first call in a process and kept."""
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
