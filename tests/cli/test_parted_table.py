"""Tables that are wider than the screen."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Column

from tamis.cli.base.terminal import PartedTable
from tamis.cli.work.analysis_shown import _filter


def shown(table: PartedTable, width: int) -> list[str]:
    screen = io.StringIO()
    Console(file=screen, width=width).print(table)
    return [line.rstrip() for line in screen.getvalue().splitlines()]


def numbers() -> PartedTable:
    headings = ("kB between nodes", "messages", "kB from the server", "hops to a subscriber")
    table = PartedTable(Column("scheme", no_wrap=True), *(Column(each, justify="right") for each in headings))
    table.add_row("ref-sj-clu+", "1,234,567", "8.00", "0.33", "0.71")
    return table


def test_a_table_that_fits_is_shown_in_one() -> None:
    assert shown(numbers(), 100) == [
        "scheme       kB between nodes  messages  kB from the server  hops to a subscriber",
        "ref-sj-clu+         1,234,567      8.00                0.33                  0.71",
    ]


def test_headings_are_broken_between_words_before_the_table_is() -> None:
    assert shown(numbers(), 52)[-1] == "ref-sj-clu+  1,234,567      8.00    0.33        0.71"


@pytest.mark.parametrize("width", [25, 30, 40, 50, 60, 80])
def test_no_word_or_number_is_cut_off_and_every_part_names_its_rows(width: int) -> None:
    lines = shown(numbers(), width)
    words = " ".join(lines).split()
    for word in ("between", "messages", "server", "subscriber", "1,234,567", "8.00", "0.33", "0.71"):
        assert words.count(word) == 1
    assert "…" not in " ".join(lines)
    assert max(map(len, lines)) <= width
    assert words.count("scheme") == words.count("ref-sj-clu+") == lines.count("") + 1


def test_filters_share_what_is_left_over_and_are_cut_there() -> None:
    table = PartedTable("id", _filter("filter"), _filter("its filter"))
    table.add_row("a", "price < 100 AND " * 10, "price < 200 AND " * 10)
    (heading, row) = shown(table, 60)
    assert heading.index("its filter") == 33
    assert row == "a   price < 100 AND price < 10…  price < 200 AND price < 20…"


def test_what_is_left_out_of_a_row_is_empty() -> None:
    table = PartedTable("id", "first", "last")
    table.add_row("a problem")
    assert shown(table, 40) == ["id         first  last", "a problem"]
