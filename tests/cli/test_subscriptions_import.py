"""`tamis import`."""

from __future__ import annotations

import csv
import json
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from tamis.cli.subscriptions_import import TicketFile
from tamis.service.store import Store, importing
from tests.cli.house import SUBSCRIPTIONS
from tests.cli.service_commands import app

Run = Callable[..., Result]
PLAIN = ("import", "subscriptions.jsonl", "--schema", "schema.yaml")
IMPORT = (*PLAIN, "--no-tickets")


@pytest.fixture
def run(house: Path) -> Run:
    """Runs a command in `house`. Nothing may reach the user as a traceback."""
    runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"})

    def run(*arguments: str) -> Result:
        result = runner.invoke(app, arguments)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return run


@pytest.fixture
def imported(house: Path) -> Iterator[Callable[[], Store]]:
    """The store after an import."""
    opened: list[Store] = []

    def open_it() -> Store:
        opened.append(Store.open(f"sqlite:///{house}/tamis-state/store.sqlite"))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


def test_subscriptions_are_in_the_store_under_their_labels(run: Run, imported: Callable[[], Store]) -> None:
    result = run(*IMPORT)
    assert result.exit_code == 0, result.stderr
    assert "3 subscriptions imported" in result.stderr
    listed = imported().subscriptions.list(None)
    assert {one.label: one.filter for one in listed} == SUBSCRIPTIONS
    assert {one.ends for one in listed} == {None}
    assert "valid until they are cancelled" in result.stderr
    assert "no tickets were kept: administrators read, renew and cancel them" in result.stderr
    assert {one.owner for one in listed} == {""}


def test_the_schema_is_the_stores_from_then_on(run: Run, house: Path, imported: Callable[[], Store]) -> None:
    run(*IMPORT)
    found = imported().schemas.current()
    assert found is not None
    assert found[0] == 1
    again = run("import", "subscriptions.jsonl", "--no-tickets")
    assert again.exit_code == 0, again.stderr
    assert imported().subscriptions.count(None) == 6
    assert run(*IMPORT).exit_code == 0
    (house / "other.yaml").write_text("attributes: {price: integer}\nevent_types: {lot: {price: mandatory}}\n")
    other = run("import", "subscriptions.jsonl", "-s", "other.yaml", "--no-tickets")
    assert other.exit_code == 2
    assert "another schema (version 1)" in other.stderr


def test_a_store_without_a_schema_asks_for_one(run: Run) -> None:
    result = run("import", "subscriptions.jsonl", "--no-tickets")
    assert result.exit_code == 2
    assert "give one with --schema" in result.stderr


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_parquet_and_csv_are_read_too(run: Run, house: Path, imported: Callable[[], Store], form: str) -> None:
    table = pa.table({"id": list(SUBSCRIPTIONS), "filter": list(SUBSCRIPTIONS.values())})
    if form == "parquet":
        pyarrow.parquet.write_table(table, house / "subs.parquet")
    else:
        pyarrow.csv.write_csv(table, house / "subs.csv")
    assert run("import", f"subs.{form}", "-s", "schema.yaml", "--no-tickets").exit_code == 0
    assert {one.label: one.filter for one in imported().subscriptions.list(None)} == SUBSCRIPTIONS


def test_bad_ones_are_reported_by_id_and_the_rest_is_taken(
    run: Run, house: Path, imported: Callable[[], Store]
) -> None:
    (house / "subscriptions.jsonl").write_text(
        '{"id": "good", "filter": "price < 1"}\n{"id": "bad", "filter": "prise < 1"}\nno json\n'
    )
    result = run(*IMPORT, "--refused", "refused.csv")
    assert result.exit_code == 1
    assert "1 subscriptions imported" in result.stderr
    assert "2 refused, see refused.csv" in result.stderr
    with (house / "refused.csv").open() as file:
        refused = {row["id"]: row for row in csv.DictReader(file)}
    assert set(refused) == {"bad", ""}
    assert refused["bad"]["error"] == "FilterTypeError"
    assert [one.label for one in imported().subscriptions.list(None)] == ["good"]


@pytest.mark.parametrize("name", ["tickets.jsonl", "tickets.csv"])
def test_tickets_go_to_a_file_that_nobody_else_reads(
    run: Run, house: Path, imported: Callable[[], Store], name: str
) -> None:
    result = run(*PLAIN, "--tickets", name)
    assert result.exit_code == 0, result.stderr
    assert stat.S_IMODE((house / name).stat().st_mode) == 0o600
    with (house / name).open() as file:
        rows = list(csv.DictReader(file)) if name.endswith("csv") else [json.loads(line) for line in file]
    assert [row["id"] for row in rows] == list(SUBSCRIPTIONS)
    store = imported()
    assert all(store.subscriptions.ticket_fits(row["subscription"], row["ticket"]) for row in rows)
    again = run(*PLAIN, "--tickets", name)
    assert again.exit_code == 2
    assert "tickets overwrite nothing" in again.stderr
    assert store.subscriptions.count(None) == 3


def test_an_import_that_would_lose_its_tickets_is_refused_with_the_remedies(
    run: Run, imported: Callable[[], Store]
) -> None:
    result = run(*PLAIN)
    assert result.exit_code == 2
    for remedy in ("--tickets FILE", "--key ID", "--no-tickets"):
        assert remedy in " ".join(result.stderr.split())
    assert imported().subscriptions.count(None) == 0
    assert run(*PLAIN, "--tickets", "a.jsonl", "--no-tickets").exit_code == 2


def test_tickets_go_to_a_pipe_if_asked_for(run: Run, imported: Callable[[], Store]) -> None:
    result = run(*PLAIN, "--tickets", "-", "--days", "30")
    assert result.exit_code == 0, result.stderr
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    store = imported()
    assert [row["id"] for row in rows] == list(SUBSCRIPTIONS)
    assert all(store.subscriptions.ticket_fits(row["subscription"], row["ticket"]) for row in rows)
    month = datetime.now(UTC) + timedelta(days=30)
    assert all(abs(one.expires - month) < timedelta(minutes=5) for one in store.subscriptions.list(None))


def test_they_belong_to_the_key_that_is_named(run: Run, imported: Callable[[], Store]) -> None:
    key, _ = imported().keys.create("Gallery", ["subscribe"])
    assert run(*PLAIN, "--key", key.id).exit_code == 0
    assert imported().subscriptions.count(key.id) == 3
    result = run(*PLAIN, "--key", "nobody")
    assert result.exit_code == 2
    assert "no key nobody" in result.stderr


def test_an_import_that_was_stopped_is_taken_up_again(
    run: Run, imported: Callable[[], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "_ROWS_AT_ONCE", 1)
    write = TicketFile.write

    def full_at_the_third(self: TicketFile, labels: list[str], ids: list[str], tickets: list[str]) -> None:
        if labels == ["old"]:
            raise OSError(28, "", "tickets.csv")
        write(self, labels, ids, tickets)

    monkeypatch.setattr(TicketFile, "write", full_at_the_third)
    stopped = run(*PLAIN, "--tickets", "tickets.csv")
    assert stopped.exit_code == 2
    assert "no space left" in stopped.stderr
    assert "--skip 2 goes on" in stopped.stderr
    assert run(*IMPORT, "--skip", "2").exit_code == 0
    assert {one.label: one.filter for one in imported().subscriptions.list(None)} == SUBSCRIPTIONS


def test_a_store_that_cannot_be_opened_is_named(run: Run, house: Path) -> None:
    (house / "tamis-state").mkdir()
    (house / "tamis-state" / "store.sqlite").write_text("no database" * 1_000)
    result = run(*IMPORT)
    assert result.exit_code == 2
    assert "StoreFailedError" in result.stderr
    assert "not a database" in result.stderr
