"""All LIKE, ILIKE and RLIKE patterns on one attribute as one set, shared out to the LIKE and the RE2 engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tamis.arrays import Arrays, Int32s
from tamis.language.predicates import Like, RLike
from tamis.matching.patterns.kernels import lower_texts, merge
from tamis.matching.patterns.like import program_of
from tamis.matching.patterns.like_set import Hits, LikeSet
from tamis.matching.patterns.metering import Gauge
from tamis.matching.patterns.regex_search import like_program_of
from tamis.matching.patterns.regex_set import RegexSet
from tamis.matching.patterns.texts import Texts, frozen, prefixed, under

# Pattern texts, kept flat and decoded one at a time.


class PatternTexts(Sequence[str]):
    """Pattern texts in flat arrays, decoded one at a time.

    Text n is the UTF-8 bytes `data[offsets[n]:offsets[n + 1]]`; or, for a part, text `numbers[n]` of the whole.
    """

    def __init__(
        self, data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32] | None = None
    ) -> None:
        self.data = frozen(data)
        self.offsets = frozen(offsets)
        self._numbers = numbers

    @classmethod
    def of(cls, texts: Sequence[str]) -> PatternTexts:
        encoded = [text.encode() for text in texts]
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=offsets[1:])
        return cls(np.frombuffer(bytearray(b"".join(encoded)), np.uint8), offsets)

    def part(self, numbers: npt.NDArray[np.int32]) -> PatternTexts:
        return PatternTexts(self.data, self.offsets, numbers)

    def __len__(self) -> int:
        return len(self.offsets) - 1 if self._numbers is None else len(self._numbers)

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(f"no pattern {number}: there are {len(self)}")
        n = number if self._numbers is None else self._numbers[number]
        return self.data[self.offsets[n] : self.offsets[n + 1]].tobytes().decode()


_LIKE, _ILIKE, _RLIKE = 0, 1, 2
_AS_IS, _LOWERED, _SEARCHED = "as_is.", "lowered.", "searched."
_NO_NUMBERS = np.zeros(0, np.int32)


class PatternSet:
    """LIKE, ILIKE and RLIKE patterns on one attribute, numbered by position, decided together.

    Three parts share them out: LIKE patterns, and regular expressions that say no more than a LIKE, go to a `LikeSet`
    that scans the values as they are; ILIKE patterns to one that scans them lower-cased; the other regular expressions
    to a `RegexSet`. Each part numbers its own from 0, in the order of the whole; `_numbers` leads back. Frozen once
    built; any number of threads match at once.
    """

    def __init__(
        self,
        attribute: str,
        texts: PatternTexts,
        kinds: npt.NDArray[np.uint8],
        numbers: dict[str, Int32s],
        parts: dict[str, LikeSet | RegexSet],
    ) -> None:
        self._attribute = attribute
        self._texts = texts
        self._kinds = kinds
        self._numbers = numbers
        self._parts = parts

    @classmethod
    def build(cls, patterns: Sequence[Like | RLike]) -> PatternSet:
        """Builds the set. Patterns must be texts, not slots, and all on the same attribute."""
        if len({pattern.attribute for pattern in patterns}) > 1:
            raise ValueError("the patterns of a set are all on one attribute")
        texts: list[str] = []
        kinds = np.zeros(len(patterns), np.uint8)
        shares: dict[str, list[int]] = {_AS_IS: [], _LOWERED: [], _SEARCHED: []}
        programs: dict[str, list[bytes]] = {_AS_IS: [], _LOWERED: []}
        for number, pattern in enumerate(patterns):
            text = _text_of(pattern)
            texts.append(text)
            kinds[number] = _kind_of(pattern)
            part, program = _share(kinds[number], text)
            shares[part].append(number)
            if program is not None:
                programs[part].append(program)
        flat = PatternTexts.of(texts)
        numbers = {part: frozen(np.array(share, np.int32)) for part, share in shares.items() if share}
        parts: dict[str, LikeSet | RegexSet] = {
            part: LikeSet.build(programs[part]) for part in numbers if part in programs
        }
        if _SEARCHED in numbers:
            parts[_SEARCHED] = RegexSet.build(flat.part(numbers[_SEARCHED]))
        return cls(patterns[0].attribute if patterns else "", flat, frozen(kinds), numbers, parts)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PatternSet:
        """The set that `arrays()` came from. The arrays are kept, not copied: they may be memory-mapped."""
        texts = PatternTexts(arrays["texts"], arrays["text_offsets"])
        numbers: dict[str, Int32s] = {}
        parts: dict[str, LikeSet | RegexSet] = {}
        for name in (_AS_IS, _LOWERED, _SEARCHED):
            part = under(name, arrays)
            if part:
                numbers[name] = frozen(part.pop("numbers"))
                if name == _SEARCHED:
                    parts[name] = RegexSet.from_arrays(texts.part(numbers[name]), part)
                else:
                    parts[name] = LikeSet.from_arrays(part)
        attribute = arrays["attribute"].tobytes().decode()
        return cls(attribute, texts, frozen(arrays["kinds"]), numbers, parts)

    def arrays(self) -> Arrays:
        """The set as flat arrays under stable names; a part without patterns has none."""
        arrays: Arrays = {
            "attribute": np.frombuffer(bytearray(self._attribute.encode()), np.uint8),
            "texts": self._texts.data,
            "text_offsets": self._texts.offsets,
            "kinds": self._kinds,
        }
        for name, part in self._parts.items():
            arrays |= prefixed(name, part.arrays() | {"numbers": self._numbers[name]})
        return arrays

    def __len__(self) -> int:
        return len(self._kinds)

    def pattern(self, number: int) -> Like | RLike:
        text = self._texts[number]
        if self._kinds[number] == _RLIKE:
            return RLike(self._attribute, text)
        return Like(self._attribute, text, ignore_case=bool(self._kinds[number] == _ILIKE))

    def match(self, values: pa.Array) -> tuple[npt.NDArray[np.int64], Int32s]:
        """Patterns that each value matches: `numbers[offsets[r]:offsets[r + 1]]`, ascending; a null matches none."""
        hits = self.hits(values)
        return hits.offsets, hits.numbers

    def hits(self, values: pa.Array) -> Hits:
        """Patterns that each value matches, as `match`, with the number of patterns run by themselves to know it."""
        if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
            values = values.cast(pa.large_string())
        texts = Texts.of(values)
        whole: Hits | None = None
        for name, part in self._parts.items():
            gauge = Gauge.of(self, self._numbers[name])
            if isinstance(part, RegexSet):
                hits = part.match(values, gauge)
            else:
                hits = part.match(lower_texts(texts) if name == _LOWERED else texts, gauge)
            if len(self._parts) > 1:
                hits = hits._replace(numbers=self._numbers[name][hits.numbers])
            whole = hits if whole is None else _merged(whole, hits)
        return Hits(np.zeros(len(values) + 1, np.int64), _NO_NUMBERS, 0) if whole is None else whole


def _text_of(pattern: Like | RLike) -> str:
    if not isinstance(pattern.pattern, str):
        raise TypeError(f"a pattern of a template has no text yet: {pattern}")
    return pattern.pattern


def _kind_of(pattern: Like | RLike) -> int:
    if isinstance(pattern, RLike):
        return _RLIKE
    return _ILIKE if pattern.ignore_case else _LIKE


def _share(kind: int, text: str) -> tuple[str, bytes | None]:
    """Part that a pattern goes to, and its program there."""
    if kind == _RLIKE:
        program = like_program_of(text)
        return (_SEARCHED if program is None else _AS_IS), program
    return (_LOWERED, program_of(text.lower())) if kind == _ILIKE else (_AS_IS, program_of(text))


def _merged(one: Hits, other: Hits) -> Hits:
    offsets = np.zeros(len(one.offsets), np.int64)
    numbers = np.empty(len(one.numbers) + len(other.numbers), np.int32)
    merge(one.offsets, one.numbers, other.offsets, other.numbers, offsets, numbers)
    return Hits(offsets, numbers, one.programs_run + other.programs_run)
