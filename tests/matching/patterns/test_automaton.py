from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matching.patterns import automaton
from tamis.matching.patterns import automaton as kernels
from tamis.matching.patterns.automaton import Automaton
from tamis.matching.patterns.kernels import find_keys

keys = st.lists(st.binary(min_size=1, max_size=6).map(lambda key: bytes(byte % 3 + 97 for byte in key)), max_size=12)
texts = st.text("abcd", max_size=30).map(str.encode)


def build(wanted: list[bytes], row_entries: int = 1 << 17) -> Automaton:
    with patch.object(automaton, "_MOST_ROW_ENTRIES", row_entries):
        return Automaton.build(wanted, np.arange(len(wanted), dtype=np.int32))


def owners_found(built: Automaton, text: bytes, scan: Any = find_keys) -> list[int]:
    numbers = np.empty(len(built.owners), np.int32)
    marks = np.zeros(len(built.next_key), np.int64)
    data = np.frombuffer(bytearray(text), np.uint8) if text else np.zeros(0, np.uint8)
    used = scan(built, data, 0, len(text), 1, marks, numbers, 0)
    return sorted(numbers[:used].tolist())


@pytest.mark.parametrize("row_entries", [1, 20, 1 << 17])
@given(keys, texts)
def test_finds_exactly_the_keys_that_occur_however_many_nodes_have_rows(
    row_entries: int, wanted: list[bytes], text: bytes
) -> None:
    built = build(wanted, row_entries)
    assert owners_found(built, text) == [number for number, key in enumerate(wanted) if key in text]


def test_the_interpreted_kernel_finds_the_same() -> None:
    built = build([b"he", b"she", b"his", b"hers", b"s\xff", b"\xfeu"], row_entries=1)
    assert owners_found(built, b"ushers", find_keys.py_func) == owners_found(built, b"ushers") == [0, 1, 3, 4, 5]


def test_interpreted_kernels_build_the_same_automaton() -> None:
    wanted = [b"he", b"she", b"his", b"hers", b"hershey", b"ershe", b"h", b"\xfeshe\xff"]
    names = ("shared_prefixes", "grow", "link", "fill_rows", "shorten")
    compiled = build(wanted, row_entries=30)
    interpreted = [patch.object(automaton, name, getattr(kernels, name).py_func) for name in names]
    for name in interpreted:
        name.start()
    try:
        built = build(wanted, row_entries=30)
    finally:
        for name in interpreted:
            name.stop()
    for one, other in zip(compiled, built, strict=True):
        np.testing.assert_array_equal(one, other)


def test_keys_that_share_a_prefix_share_its_nodes() -> None:
    prefix = b"https://example.com/lots/"
    built = build([prefix + b"%04d" % number for number in range(10_000)])
    assert len(built.nodes) == 1 + len(prefix) + 10 + 100 + 1_000 + 10_000


def test_equal_keys_share_one_node_and_keep_all_their_owners() -> None:
    built = build([b"sofa"] * 3)
    assert len(built.nodes) == 5
    assert owners_found(built, b"a sofa") == [0, 1, 2]


def test_failure_links_pass_over_nodes_that_would_only_fail_again() -> None:
    built = build([b"a" * 50], row_entries=1)
    assert (built.nodes[1:50, kernels.FAIL] == 0).all()


def test_the_complete_rows_are_bounded() -> None:
    built = build([b"%06d" % number for number in range(50_000)])
    assert built.rows.size <= 1 << 17
    assert len(built.rows) < len(built.nodes)
