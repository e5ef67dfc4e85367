"""Ids by number and numbers by id."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.codes import names as module
from tamis.matching.codes.names import Names

ids = st.text(st.characters(codec="utf-8"), max_size=10)


@given(present=st.lists(ids, unique=True, max_size=40), others=st.lists(ids, max_size=10))
def test_every_id_is_found_and_no_other(present: list[str], others: list[str]) -> None:
    names = Names(Names.build(pa.array(present, pa.large_string())).arrays())
    assert len(names) == len(present)
    assert names.ids.to_pylist() == present
    assert [names.find(id) for id in present] == list(range(len(present)))
    assert all(names.find(id) is None for id in others if id not in present)


def test_half_a_surrogate_pair_is_no_id() -> None:
    assert Names.build(pa.array(["a", "\ufffd"])).find("\ud800") is None


def test_many_ids_that_differ_little() -> None:
    present = [f"subscription-{k:06}" for k in range(5000)]
    names = Names.build(pa.array(present).slice(100))
    assert [names.find(id) for id in present] == [None] * 100 + list(range(4900))


def test_ids_of_more_than_two_gigabytes_are_large_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_NARROW", 10)
    names = Names.build(pa.array(["abcdef", "ghijkl"]))
    assert names.ids.type == pa.large_string()
    assert names.arrays()["offsets"].dtype == np.int64
    assert [names.find("ghijkl"), names.find("abcdeg")] == [1, None]
