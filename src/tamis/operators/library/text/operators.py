"""What a text says: keywords of a set, and whatever a regular expression finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tamis.errors import PatternError
from tamis.language.limits import DEFAULT_LIMITS
from tamis.language.patterns import compiled_rlike, rlike_fault
from tamis.operators.declaring import operator
from tamis.operators.definition import Operator, Var
from tamis.operators.library.offering import Found, answer, each_value, version_of, with_choices
from tamis.operators.library.text.keywords import SAMPLE, Keywords, KeywordSets, keyword_sets_of, read_keywords

_MILLISECONDS = 0.01


class Text(NamedTuple):
    """The operators on one attribute's texts; `operators=[*text("keywords.yaml")]` hands over both."""

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
    """What filters call, over these sets of keywords."""

    sets_of_words: Keywords

    def sets(self) -> KeywordSets:
        return keyword_sets_of(self.sets_of_words)

    def mentions(self, text: pa.Array, keywords: str, word: str = Var) -> pa.Array | pa.Table:
        """Whether the text has a keyword of the set, as whole words in any case; binds every one that it has."""
        rows, texts = each_value(text)
        found, words = self.sets().find(keywords, texts)
        return answer(len(text), rows[found], word=Found(word, words))

    def finds(self, text: pa.Array, pattern: str, found: str = Var) -> pa.Array | pa.Table:
        """Binds every text that a regular expression (RE2's) finds: of its first group, or of the whole without one."""
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
    """Each once, in their order; a group that took no part has found nothing."""
    group = min(1, search.groups)
    return [found for found in dict.fromkeys(match[group] for match in search.finditer(text)) if found is not None]
