from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.language.predicates import Like, RLike, Slot
from tamis.matching.patterns import PatternSet
from tests.matching.patterns.reference import expected, likes, matched, regexes, searched_values, values


def like(*texts: str) -> list[Like | RLike]:
    return [Like("title", text) for text in texts]


def ilike(*texts: str) -> list[Like | RLike]:
    return [Like("title", text, ignore_case=True) for text in texts]


def rlike(*texts: str) -> list[Like | RLike]:
    return [RLike("title", text) for text in texts]


@given(st.lists(likes, max_size=12), st.lists(st.none() | values, max_size=8))
def test_like_and_ilike_agree_with_the_reference(patterns: list[Like | RLike], rows: list[str | None]) -> None:
    assert matched(PatternSet.build(patterns), pa.array(rows, pa.string())) == expected(patterns, rows)


@given(
    st.lists(likes | regexes.map(lambda text: RLike("title", text)), max_size=8),
    st.lists(st.none() | searched_values, max_size=6),
)
def test_all_kinds_together_agree_with_the_reference_before_and_after_saving(
    patterns: list[Like | RLike], rows: list[str | None]
) -> None:
    built = PatternSet.build(patterns)
    reopened = PatternSet.from_arrays(built.arrays())
    array = pa.array(rows, pa.string())
    assert matched(built, array) == matched(reopened, array) == expected(patterns, rows)
    assert [reopened.pattern(number) for number in range(len(reopened))] == patterns


@pytest.mark.parametrize("string", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_layout_of_strings_and_slices_of_them(string: pa.DataType) -> None:
    patterns = like("%b%", "_", "", "%") + ilike("%B%") + rlike("b+", "^a")
    rows = ["abc", None, "é", "", "b", "B", None]
    built = PatternSet.build(patterns)
    array = pa.array(rows, string)
    assert matched(built, array) == expected(patterns, rows)
    for start in range(len(rows)):
        assert matched(built, array[start : start + 3]) == expected(patterns, rows[start : start + 3])


def test_empty_batches_and_batches_of_nulls() -> None:
    built = PatternSet.build(like("%", "a_") + ilike("A") + rlike("a+"))
    assert matched(built, pa.array([], pa.string())) == []
    assert matched(built, pa.array([None, None], pa.string())) == [[], []]
    assert matched(built, pa.array(["", ""])) == [[0], [0]]


def test_a_set_without_patterns_matches_nothing() -> None:
    empty = PatternSet.build([])
    assert len(empty) == 0
    assert matched(PatternSet.from_arrays(empty.arrays()), pa.array(["a", None])) == [[], []]


def test_patterns_of_wildcards_only_go_by_the_length() -> None:
    patterns = like("%", "_", "__%", "___", "_%_", "")
    built = PatternSet.build(patterns)
    rows: list[str | None] = ["", "a", "é€", "abc", "\U0001f600" * 4]
    assert matched(built, pa.array(rows)) == [[0, 5], [0, 1], [0, 2, 4], [0, 2, 3, 4], [0, 2, 4]]
    assert built.hits(pa.array(rows)).programs_run == 0


def test_prefixes_suffixes_infixes_and_whole_values_are_decided_without_running_them() -> None:
    built = PatternSet.build(like("oak%", "%oak", "%oak%", "oak") + ilike("OAK%") + rlike("oak$"))
    hits = built.hits(pa.array(["oak", "oak table", "old oak", "soaked", "elm"]))
    assert np.diff(hits.offsets).tolist() == [6, 3, 3, 1, 0]
    assert hits.programs_run == 0


def test_a_pattern_in_pieces_is_run_only_where_its_rarest_piece_occurs() -> None:
    built = PatternSet.build(like(*(f"%the%lot {number}_%" for number in range(10_000, 20_000))))
    hits = built.hits(pa.array(["the chair of lot 12345!", "the table", "lot 12345!", "the lot 1234"]))
    assert hits.numbers.tolist() == [2345]
    assert hits.programs_run == 2


def test_a_pattern_is_run_once_on_a_value_however_often_its_piece_occurs() -> None:
    built = PatternSet.build(like("%ab_c%"))
    assert built.hits(pa.array(["ab" * 1_000])).programs_run == 1


def test_nested_patterns_all_match_a_value_of_a_megabyte() -> None:
    built = PatternSet.build(like(*("%" + "a" * length + "%" for length in range(1, 500))) + ilike("%Ab_%", "a%B"))
    assert matched(built, pa.array(["a" * 1_000_000, "aaa"])) == [list(range(499)), [0, 1, 2]]


def test_output_grows_where_every_value_matches_everything() -> None:
    built = PatternSet.build(like(*["%"] * 300, *["%a%"] * 300))
    offsets, numbers = built.match(pa.array(["a"] * 200))
    assert np.diff(offsets).tolist() == [600] * 200
    assert (numbers.reshape(200, 600) == np.arange(600)).all()


def test_sigma_and_dotted_i_are_lower_cased_on_both_sides() -> None:
    patterns = ilike("%ΟΣ", "i̇%", "İ%", "I%", "__")
    rows: list[str | None] = ["ΛΟΓΟΣ", "λογοσ", "λογος", "İ", "İstanbul", "Istanbul"]
    assert matched(PatternSet.build(patterns), pa.array(rows)) == expected(patterns, rows)


def test_regular_expressions_search_and_see_no_line_ends() -> None:
    patterns = rlike("b$", "^b", "a.b", "(?s)a.b", "(?m)^b", "")
    rows: list[str | None] = ["a\nb", "b\n", "b", ""]
    assert matched(PatternSet.build(patterns), pa.array(rows)) == expected(patterns, rows)


def test_a_hundred_thousand_patterns_are_found_in_one_scan() -> None:
    built = PatternSet.build(like(*(f"%lot {number:06d}%" for number in range(100_000))))
    hits = built.hits(pa.array(["lot 012345 and lot 099999", "lot 100000", None]))
    assert hits.numbers.tolist() == [12_345, 99_999]
    assert hits.offsets.tolist() == [0, 2, 2, 2]
    assert hits.programs_run == 0


def test_saved_arrays_are_flat_and_may_be_memory_mapped(tmp_path: Path) -> None:
    patterns = like("%sofa%", "a_c%") + ilike("%SOFA%") + rlike("sofa [0-9]+", "[0-9]x", "(?i)bed [a-z]")
    mapped = {}
    for name, array in PatternSet.build(patterns).arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r" if array.size else None)
    rows: list[str | None] = ["a sofa 12", "abc", "SOFA", "9x", "Bed x"]
    assert matched(PatternSet.from_arrays(mapped), pa.array(rows)) == expected(patterns, rows)


def test_threads_share_a_set() -> None:
    patterns = (
        like(*(f"%{number}%" for number in range(200)), "%1_2%") + ilike("%X%") + rlike("[0-9]x", "1(2|3)4", "x1+0")
    )
    built = PatternSet.build(patterns)
    batches = [[f"{number}x{number * 7}" for number in range(start, start + 50)] for start in range(0, 400, 50)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda batch: matched(built, pa.array(batch)), batches * 3))
    assert results == [expected(patterns, [*batch]) for batch in batches] * 3


def test_patterns_on_two_attributes_or_without_a_text_are_refused() -> None:
    with pytest.raises(ValueError, match="one attribute"):
        PatternSet.build([Like("title", "a"), Like("tags", "a")])
    with pytest.raises(TypeError, match="template"):
        PatternSet.build([Like("title", Slot(0))])
