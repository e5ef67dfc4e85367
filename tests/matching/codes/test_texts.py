"""Texts come back as they were written, one at a time and all together."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.codes.names import BLOCK, CompressedTexts

texts = st.text(st.characters(codec="utf-8"), max_size=5)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@given(given_texts=st.lists(texts, max_size=12), before=st.integers(0, 3))
def test_any_texts_come_back(kind: pa.DataType, given_texts: list[str], before: int) -> None:
    array = pa.array([*["other"] * before, *given_texts], kind).slice(before)
    stored = CompressedTexts(CompressedTexts.build(array).arrays())
    assert [stored[number] for number in range(len(given_texts))] == given_texts
    assert stored.to_arrow().to_pylist() == given_texts


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_any_number_of_blocks(count: int) -> None:
    given_texts = [f"price > {k} AND title = 'é{k % 7}'" for k in range(count)]
    stored = CompressedTexts.build(pa.array(given_texts, pa.string()))
    assert stored.to_arrow().to_pylist() == given_texts
    for number in {0, BLOCK - 1, BLOCK, BLOCK + 1, count - 1} & set(range(count)):
        assert stored[number] == given_texts[number]


def test_texts_that_look_alike_take_little_room() -> None:
    given_texts = [f"price > {k} AND title = 'a chair'" for k in range(BLOCK)]
    arrays = CompressedTexts.build(pa.array(given_texts)).arrays()
    assert sum(array.nbytes for array in arrays.values()) < 0.25 * sum(map(len, given_texts))
