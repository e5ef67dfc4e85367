from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.patterns.kernels import lower, lower_table, lower_texts
from tamis.matching.patterns.texts import Texts

_SURROGATES = range(0xD800, 0xE000)


def lowered(values: list[str | None]) -> list[str | None]:
    texts = lower_texts(Texts.of(pa.array(values, pa.string())))
    return [None if texts.ends[row] < texts.starts[row] else texts.row(row).decode() for row in range(len(values))]


def test_every_code_point_is_lower_cased_as_by_str_lower() -> None:
    characters = [chr(point) for point in range(sys.maxunicode + 1) if point not in _SURROGATES]
    assert lowered([*characters]) == [character.lower() for character in characters]


@given(st.lists(st.none() | st.text(max_size=8) | st.text("aZΣσİ. ", max_size=8), max_size=8))
def test_values_are_lower_cased_as_by_str_lower(values: list[str | None]) -> None:
    assert lowered(values) == [None if value is None else value.lower() for value in values]


def test_sigma_depends_on_its_place_in_the_word() -> None:
    assert lowered(["ΟΔΥΣΣΕΥΣ", "Σ", "ΑΣ Β"]) == ["οδυσσευς", "σ", "ας β"]


def test_values_that_grow_have_room() -> None:
    assert lowered(["Ⱥ" * 1_000, "İ" * 1_000]) == ["ⱥ" * 1_000, "i\u0307" * 1_000]


def test_the_interpreted_kernel_lowers_the_same() -> None:
    texts = Texts.of(pa.array(["Été À LA MER", None, "ÅÇ\U00010400", ""]))
    data = np.zeros(64, np.uint8)
    starts, ends, odd = (np.zeros(4, np.int64) for _ in range(3))
    used, odds = lower.py_func(texts, lower_table(), data, starts, ends, odd)
    assert data[:used].tobytes().decode() == "été à la meråç\U00010428"
    assert odds == 0
    assert ends[1] < starts[1]
    assert starts[3] == ends[3]
