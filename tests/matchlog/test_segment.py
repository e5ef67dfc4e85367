"""Segments: what is put into one comes out of it, in both orders, whatever pieces it is read or merged in."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.matchlog import DamagedSegment, Segment, merged, merging, runs, texts
from tamis.matchlog import segment as segments
from tamis.matchlog.runs import bitmap_of
from tests.matchlog.made import Lists, content, pairs, plain, segment

numbers = st.one_of(st.integers(0, 40), st.integers(0, 1 << 33))
lists = st.lists(st.sets(numbers, max_size=30).map(sorted), min_size=1, max_size=40)


@given(lists, st.integers(1, 1 << 40), st.integers(1, 1_000), st.integers(0, 5))
def test_both_orders_have_what_was_put_in(given_lists: Lists, first: int, step: int, seed: int) -> None:
    of = plain(given_lists, first, step)
    made = segment(content(of, seed))
    made.verify()
    assert pairs(made) == of.lists
    assert (made.events, made.pairs) == (len(given_lists), sum(map(len, of.lists.values())))
    for number in {n for some in given_lists for n in some} | {7}:
        matched = [at for at, some in of.lists.items() if number in some]
        assert made.positions[made.all_of(number)].tolist() == matched
        for most in (1, 3):
            assert made.positions[made.first_of(number, (0, made.events), most)].tolist() == matched[:most]
            assert made.positions[made.last_of(number, (0, made.events), most)].tolist() == matched[-most:]
    ranks = np.arange(made.events)
    assert list(made.told(ranks)) == list(of.told.values())


@given(lists, st.sets(numbers, max_size=20), st.integers(1, 60), st.data())
def test_pairs_of_some_subscriptions_are_found_by_look_ups_and_by_a_scan(
    given_lists: Lists, some: set[int], most: int, data: st.DataObject
) -> None:
    of = plain(given_lists)
    made = segment(content(of))
    wanted = np.array(sorted(some | set(data.draw(st.sampled_from(given_lists)))), np.int64)
    small = wanted[wanted < 1 << 20]  # a bitmap of more is nothing for a test
    low = data.draw(st.integers(0, made.events))
    high = data.draw(st.integers(low, made.events))
    for cost in (0, 10**9):
        asked = wanted if not cost else small
        with patch.object(segments, "_LOOK_UP", cost), patch.object(runs, "_AT_ONCE", 128):
            found, reached = [], low
            while reached < high:
                ranks, its, reached_now = made.pairs_of(asked, bitmap_of(small), (reached, high), most)
                assert reached_now > reached or not len(ranks)
                assert all(reached <= rank < reached_now for rank in ranks.tolist())
                found += list(zip(ranks.tolist(), its.tolist(), strict=True))
                reached = reached_now
            expected = [
                (rank, n)
                for rank in range(low, high)
                for n in sorted(of.lists[int(made.positions[rank])] & set(asked.tolist()))
            ]
            assert found == expected


@given(st.lists(lists, min_size=1, max_size=5), st.integers(0, 3))
def test_a_merged_segment_has_what_its_parts_have(parts: list[Lists], seed: int) -> None:
    first, expected, told, made = 1, dict[int, set[int]](), {}, []
    for part in parts:
        of = plain(part, first, 3)
        first += 3 * len(part)
        expected.update(of.lists)
        told.update(of.told)
        made.append(segment(content(of, seed)))
    for at_once in (128, 1 << 20):
        with patch.object(merging, "_AT_ONCE", at_once):
            whole = segment(merged(made))
        assert pairs(whole) == expected
        for number in {n for part in parts for some in part for n in some}:
            matched = [at for at, some in expected.items() if number in some]
            assert whole.positions[whole.all_of(number)].tolist() == matched
        assert list(whole.told(np.arange(whole.events))) == list(told.values())
        assert (whole.first, whole.last, whole.oldest, whole.newest) == (
            made[0].first, made[-1].last, made[0].oldest, made[-1].newest
        )  # fmt: skip


def test_groups_of_texts_are_copied_when_segments_are_merged_and_made_anew_when_they_are_small() -> None:
    large = [segment(content(plain([[1]] * 500, 1 + 500 * n))) for n in range(3)]
    assert len(merged(large).texts.starts) == 3 * 8 + 1
    small = [segment(content(plain([[1]] * 3, 1 + 3 * n))) for n in range(50)]
    assert len(merged(small).texts.starts) == -(-150 // texts.GROUP) + 1


def test_a_segment_of_many_pairs_is_a_few_bytes_each() -> None:
    rng = np.random.default_rng(5)
    dense = plain([np.flatnonzero(rng.random(20_000) < 0.007).tolist() for _ in range(500)])
    made = content(dense)
    size = sum(run.firsts.nbytes + run.meta.nbytes + run.words.nbytes for run in (made.by_event, made.by_number))
    assert size < 3 * made.pairs


@pytest.mark.parametrize("at", [0, 100, 5_000, -200, -10, -1])
def test_a_flipped_bit_is_noticed_wherever_it_is(at: int) -> None:
    raw = bytearray(b"".join(segments.encoded(content(plain([[1, 2, 9]] * 300)))))
    raw[at] ^= 4
    with pytest.raises(DamagedSegment, match="restore it from a backup"):
        Segment(memoryview(bytes(raw))).verify()


def test_what_is_read_of_a_damaged_segment_is_noticed_and_the_rest_is_readable() -> None:
    rng = np.random.default_rng(3)
    of = plain([rng.choice(9_000, 400, False).tolist() for _ in range(900)])
    of.told.update({at: ("", 0, rng.bytes(200).hex()) for at in of.told})
    raw = bytearray(b"".join(segments.encoded(content(of))))
    made = Segment(memoryview(bytes(raw)))
    at = made._places["texts.blob"][0] + 70_000
    raw[at] ^= 1
    torn = Segment(memoryview(bytes(raw)))
    assert torn.all_of(77).tolist() == made.all_of(77).tolist()
    with pytest.raises(DamagedSegment):
        list(torn.told(np.arange(torn.events)))


@pytest.mark.parametrize("length", [0, 7, 100, 2_000])
def test_a_segment_cut_short_is_noticed_at_once(length: int) -> None:
    raw = b"".join(segments.encoded(content(plain([[1, 2]] * 100))))
    with pytest.raises(DamagedSegment):
        Segment(memoryview(raw[:length]))


def test_a_file_is_written_whole_and_once(tmp_path: Path) -> None:
    pieces = segments.encoded(content(plain([[1, 2]] * 100)))
    segments.write(tmp_path / "a", pieces)
    assert pairs(Segment.open(tmp_path / "a")) == plain([[1, 2]] * 100).lists
    with pytest.raises(FileExistsError):
        segments.write(tmp_path / "a", pieces)
