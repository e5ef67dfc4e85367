"""The demo's stream of auctions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tamis.cli.demo.stream import WRITTEN, AuctionHouse, demo_schema


def test_a_file_holds_so_many_lots_each_with_the_moment_it_was_written(tmp_path: Path) -> None:
    house = AuctionHouse(tmp_path, rate=5_000)
    house.write_files(2)
    assert (house.files, house.events) == (2, 2_000)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["lots-000000.jsonl", "lots-000001.jsonl"]
    lines = files[0].read_text(encoding="utf-8").splitlines()
    checked = demo_schema().check_json(pa.array(lines))
    assert len(lines) == 1_000
    assert len(checked.valid) > 980
    assert checked.valid.column(WRITTEN).null_count == 0


def test_a_closed_house_writes_no_more(tmp_path: Path) -> None:
    house = AuctionHouse(tmp_path, rate=50)
    house.start()
    house.close()
    written = house.files
    assert written >= 1
    assert len(list(tmp_path.glob("lots-*"))) == written
