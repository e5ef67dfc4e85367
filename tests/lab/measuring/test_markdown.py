"""Tables for pages."""

from __future__ import annotations

from tamis.lab.timing import markdown


def test_columns_after_the_words_are_aligned_as_numbers_are() -> None:
    assert markdown(["what", "µs"], [["tree", "1.5"]], words=1) == "| what | µs |\n|---|--:|\n| tree | 1.5 |"


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert markdown(["a | b"], []) == "| a \\| b |\n|---|"
