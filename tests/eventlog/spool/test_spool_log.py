"""The spool as the service's event log."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tamis.errors import PipelineError
from tamis.eventlog import NotAppended, Receipt, open_log
from tamis.eventlog.spool import SpoolError
from tests.eventlog.event_log_contract import EventLogContract, Open, bodies, ids

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def open_again(tmp_path: Path) -> Open:
    return lambda: open_log(f"spool://{tmp_path}/the%20spool", write=True)


class TestSpoolLog(EventLogContract):
    pass


async def test_a_log_that_is_only_read_takes_no_lock_and_makes_no_folder(tmp_path: Path) -> None:
    reader = open_log(f"spool://{tmp_path}/spool")
    assert reader.recent(5).num_rows == 0
    assert not (tmp_path / "spool").exists()
    writer = open_log(f"spool://{tmp_path}/spool", write=True)
    await writer.append(ids(0, 1), bodies(0, 1))
    assert reader.recent(5)["id"].to_pylist() == ["evt_0", "evt_1"]
    assert reader.size()[0] == 2
    with pytest.raises(SpoolError, match="another process writes"):
        await reader.append(ids(2), bodies(2))
    await reader.close()
    await writer.close()


async def test_the_first_append_opens_the_log_for_writing(tmp_path: Path) -> None:
    log = open_log(f"spool://{tmp_path}/spool")
    receipts = await asyncio.gather(*(log.append(ids(number), bodies(number)) for number in range(5)))
    assert sorted(receipt.first for receipt in receipts) == [0, 1, 2, 3, 4]
    await log.close()


async def test_a_closed_log_takes_nothing(tmp_path: Path) -> None:
    log = open_log(f"spool://{tmp_path}/spool", write=True)
    await log.close()
    with pytest.raises(NotAppended):
        await log.append(ids(0), bodies(0))


async def test_a_publisher_who_goes_away_does_not_disturb_the_others(tmp_path: Path) -> None:
    log = open_log(f"spool://{tmp_path}/spool", write=True)
    impatient = [asyncio.create_task(log.append(ids(number), bodies(number))) for number in range(20)]
    await asyncio.sleep(0)
    for task in impatient:
        task.cancel()
    patient = await log.append(ids(99), bodies(99))
    await asyncio.gather(*impatient, return_exceptions=True)
    assert log.recent(100)["id"].to_pylist()[patient.first] == "evt_99"
    assert await log.append(ids(100), bodies(100)) == Receipt(patient.first + 1, 1)
    await log.close()


async def test_sweeping_keeps_what_is_not_processed(tmp_path: Path) -> None:
    log = open_log(f"spool://{tmp_path}/spool", write=True)
    await log.append(ids(0), bodies(0))
    assert log.sweep(datetime.now(UTC) + timedelta(days=1), 1) == 0
    assert log.size()[0] == 1
    await log.close()


@pytest.mark.parametrize(
    "url",
    ["", "spool://", "spool:///", "spool://host/path", "kafka://host:9092", "kafka://u:p@host:9092", "redis://h/x"],
)
async def test_a_url_that_is_no_log_is_refused_with_what_would_be_one(url: str) -> None:
    with pytest.raises(PipelineError, match=r"spool:///folder or kafka://host:port/topic"):
        open_log(url)
