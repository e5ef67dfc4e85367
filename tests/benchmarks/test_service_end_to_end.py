"""The line service-end-to-end: what it counts, what it judges, and a small run of it against a real server."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.findings import LineSkipped, Options
from benchmarks.service.footprint import bytes_on_disk, grown, proportional_bytes
from benchmarks.service.readers import Crowd, Reading
from benchmarks.service.recording import IndexAlone, Recorded, bodies
from benchmarks.service.server import environment
from benchmarks.service_end_to_end import CASES, Case, Measured, cases, findings, measured, run
from tamis.matchlog.segment import encoded
from tamis.workloads import le_subscribe
from tests.matchlog.made import content, plain

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
NOTIFICATION = b'28\r\nid: 17\ndata: {"event": "data: none"}\n\n\r\n'


def options(**given: object) -> Options:
    return dataclasses.replace(Options(Path(), Path()), **given)  # type: ignore[arg-type]


def store_with(rows: int, file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS events (position INTEGER PRIMARY KEY, body TEXT)")
        connection.execute("CREATE TABLE IF NOT EXISTS notifications (position INTEGER, subscription INTEGER)")
        connection.executemany("INSERT INTO events (body) VALUES (?)", [("x" * 1000,)] * rows)
        connection.executemany("INSERT INTO notifications VALUES (?, ?)", [(row, row) for row in range(rows)])
    connection.close()


def test_bodies_of_events_are_told_apart_from_pairs_and_the_log_is_left_out(tmp_path: Path) -> None:
    store_with(10, tmp_path / "store.sqlite")
    for folder in ("spool", "spark", "matches"):
        (tmp_path / folder).mkdir()
    before = bytes_on_disk(tmp_path)
    store_with(1_000, tmp_path / "store.sqlite")
    for folder in ("spool", "spark"):
        (tmp_path / folder / "0").write_bytes(bytes(1_000_000))
    rng = np.random.default_rng(1)
    of = plain([np.sort(rng.choice(9_000, 100, False)).tolist() for _ in range(500)])
    of.told.update({at: ("", 0, rng.bytes(100).hex()) for at in of.told})
    whole = b"".join(encoded(content(of)))
    (tmp_path / "matches" / "1.matches").write_bytes(whole)
    events, pairs = grown(before, bytes_on_disk(tmp_path))
    assert 1_000_000 + 50_000 < events < 1_600_000
    assert 2 * 50_000 <= pairs - 30_000 < len(whole) - 50_000


def test_what_waits_in_the_write_ahead_log_is_counted_where_it_belongs(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE events (body TEXT)")
    connection.commit()
    before = bytes_on_disk(tmp_path)
    connection.executemany("INSERT INTO events VALUES (?)", [("x" * 1000,)] * 100)
    connection.commit()
    assert (tmp_path / "store.sqlite-wal").stat().st_size > 100_000
    events, others = grown(before, bytes_on_disk(tmp_path))
    assert 100_000 <= events < 200_000
    assert others == 0
    connection.close()


def test_memory_is_that_of_a_process_and_none_of_one_that_is_gone() -> None:
    assert proportional_bytes(os.getpid()) > 10 << 20
    assert proportional_bytes(2**22 + 1) == 0


async def crowd_at(pieces: Sequence[bytes], expected: int) -> None:
    """Two readers of a server that answers with these pieces, each by itself."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        assert b"GET /v1/subscriptions/sub_1/stream?cursor=latest" in asked
        assert b"Tamis-Ticket: tkt_1" in asked
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        await reader.read()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    crowd = Crowd(server.sockets[0].getsockname()[1], {0: (one := Reading("sub_1", "tkt_1", expected)), 1: one})
    try:
        await crowd.connect()
        async with asyncio.timeout(5):
            await crowd.complete()
        await asyncio.sleep(0.05)
        assert crowd.missing == 0
    finally:
        crowd.close()
        server.close()


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_readers_count_notifications_however_their_bytes_are_cut(size: int) -> None:
    whole = HEAD + NOTIFICATION * 3
    asyncio.run(crowd_at([whole[at : at + size] for at in range(0, len(whole), size)], 3))


def test_readers_who_expect_nothing_are_complete_at_once() -> None:
    asyncio.run(crowd_at([HEAD], 0))


def test_a_reader_who_is_refused_or_notified_too_often_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="refused"):
        asyncio.run(crowd_at([b"HTTP/1.1 429 Too Many\r\n\r\n"], 1))
    with pytest.raises(RuntimeError, match="more than 1 times"):
        asyncio.run(crowd_at([HEAD + NOTIFICATION * 2], 1))


def test_requests_have_all_events_without_what_they_lack() -> None:
    workload = le_subscribe(10, 25, seed=1)
    found = bodies(workload.events, 10)
    assert [body.count(b"\n") + 1 for body in found] == [10, 10, 5]
    assert not any(b"null" in body for body in found)


def test_the_index_alone_counts_what_each_reader_is_to_get() -> None:
    workload = le_subscribe(300, 6_000, seed=1)
    labels = ["s0", "s17", "s299"]
    whole, part = (IndexAlone(workload, labels, counted) for counted in (6_000, 5_000))
    everybody = IndexAlone(workload, workload.subscriptions["id"].to_pylist(), 6_000)
    assert sum(everybody.matches_by_label.values()) == whole.matches == part.matches
    assert {label: everybody.matches_by_label[label] for label in labels} == whole.matches_by_label
    assert 0 < sum(part.matches_by_label.values()) < sum(whole.matches_by_label.values())


def test_workloads_are_chosen_by_a_part_of_their_name_and_made_smaller() -> None:
    assert cases(options()) == list(CASES)
    (one,) = cases(options(only="p=0.5, 100,000", events=2_000, scale=0.1))
    assert (one.p, one.subscriptions, one.events) == (0.5, 10_000, 2_000)
    with pytest.raises(LineSkipped, match=r"no workload has 'p=0\.7'"):
        next(run(options(only="p=0.7")))


def test_sources_of_another_checkout_come_first() -> None:
    assert environment(Path("/elsewhere"))["PYTHONPATH"].startswith("/elsewhere/src:")
    assert "/elsewhere" not in environment()["PYTHONPATH"]


def one_second(case: Case) -> Measured:
    return Measured(
        case=case,
        recorded=Recorded(accepted=0.5, seconds=1.0, matches=case.events * 100),
        pairs_bytes=case.events * 400,
        bodies_bytes=case.events * 100,
        peak=3 << 30,
        peak_by_process={"service": 1 << 30, "java": 2 << 30},
        read_events=10,
        notifications=1_000,
        read_seconds=2.0,
        read_recorded_seconds=1.5,
        empty=Recorded(accepted=0.1, seconds=0.2, matches=0),
        index_seconds=0.4,
        fsync_seconds=0.1,
    )


def test_bars_are_judged_at_the_number_of_events_that_they_are_for() -> None:
    case = Case(0.5, 1_000, 20_000, events_a_second=20_000, bytes_a_pair=3.0)
    assert [one.reached for one in findings(one_second(case), judged=True)] == [True, False, None, None, None]
    assert {one.reached for one in findings(one_second(case), judged=False)} == {None}


def test_the_limit_is_what_the_parts_take_after_one_another() -> None:
    *_, last = findings(one_second(CASES[0]), judged=True)
    assert last.measured == "0.500×"
    assert last.details["of_the_empty_pipeline"] == 0.2
    assert last.details["index_million_pairs_per_second"] == 25.0


@pytest.mark.slow
def test_a_small_run_records_and_delivers_all_that_the_index_finds() -> None:
    found = measured(Case(0.5, 2_000, 6_000))
    assert found.recorded.matches > 50_000
    assert found.notifications > 20_000
    assert 0 < found.recorded.accepted <= found.recorded.seconds
    assert 0 < found.read_seconds < 60
    assert 0 < found.bytes_a_pair < 60
    assert set(found.peak_by_process) >= {"service", "pipeline", "java", "workers"}
    assert 200 << 20 < found.peak < 8 << 30
