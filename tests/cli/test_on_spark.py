"""The commands that run on Spark."""

from __future__ import annotations

import json
import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet
import pytest

from tamis.cli.work.spark import interrupts_kept, py4j_quiet
from tests.cli.house import EVENTS, Tamis

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MATCH = ("match", "subscriptions.jsonl", "events.jsonl", "--schema", "schema.yaml", "--spark", "-o", "matches")
BAD = 'no json\n{"price": "dear"}\n'


def _rows(path: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pyarrow.dataset.dataset(path, format="parquet").to_table().to_pylist()
    return rows


def _objects(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for part in path.glob("*.json") for line in part.read_text().splitlines()]


def test_starting_spark_leaves_ctrl_c_as_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interrupts_kept():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what PySpark does, with a handler of its own
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("presses", "started"), [(1, True), (2, False)])
def test_ctrl_c_waits_until_spark_has_started_unless_pressed_twice(presses: int, started: bool) -> None:
    reached = False

    def start() -> None:
        nonlocal reached
        with interrupts_kept():
            for _ in range(presses):
                signal.raise_signal(signal.SIGINT)
            reached = True

    with pytest.raises(KeyboardInterrupt):
        start()
    assert reached == started


def test_what_py4j_logs_of_broken_calls_is_not_shown_and_the_rest_is(caplog: pytest.LogCaptureFixture) -> None:
    with py4j_quiet():
        logging.error("KeyboardInterrupt while sending command.")
        logging.getLogger("py4j.clientserver").error("There was an exception while executing the Python Proxy")
        logging.error("something else")
    logging.getLogger("py4j.clientserver").error("afterwards")
    assert caplog.messages == ["something else", "afterwards"]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_finds_the_same_matches(tamis: Tamis, house: Path) -> None:
    result = tamis(*MATCH)
    assert result.exit_code == 0, result.stderr
    found = sorted((row["title"], row["subscription"]) for row in _rows(house / "matches"))
    assert found == [("carriage clock", "cheap"), ("carriage clock", "clock"), ("chair", "old")]
    assert "3 matches in matches, 0 dead letters" in result.stderr


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_keeps_dead_letters_with_their_reason(tamis: Tamis, house: Path) -> None:
    (house / "events.jsonl").write_text((house / "events.jsonl").read_text() + BAD)
    result = tamis(*MATCH, "--arrays")
    assert result.exit_code == 1
    assert sorted(len(row["subscriptions"]) for row in _rows(house / "matches")) == [1, 2]  # type: ignore[arg-type]
    dead = _rows(house / "matches-dead-letters")
    assert sorted(str(row["event"]) for row in dead) == sorted(BAD.splitlines())
    assert all(row["reason"] for row in dead)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_compiled_index_and_parquet_events_match_on_spark(tamis: Tamis, house: Path) -> None:
    tamis("compile", "subscriptions.jsonl", "-s", "schema.yaml", "-o", "auctions.index")
    pyarrow.parquet.write_table(pa.table({"price": [5.0, 500.0, None]}), house / "events.parquet")
    result = tamis("match", "auctions.index", "events.parquet", "--spark", "-o", "matches.jsonl")
    assert result.exit_code == 1, result.stderr
    assert [row["subscription"] for row in _objects(house / "matches.jsonl")] == ["cheap"]
    assert [json.loads(row["event"]) for row in _objects(house / "matches-dead-letters.jsonl")] == [{}]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_backtest_counts_matches_over_time_and_names_what_never_matched(tamis: Tamis, house: Path) -> None:
    with (house / "subscriptions.jsonl").open("a") as file:
        file.write('{"id": "never", "filter": "price < 0"}\n')
    events = [event | {"opened": f"2024-05-0{day}T10:00:00Z"} for day in (1, 2) for event in EVENTS]
    (house / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events) + BAD)
    result = tamis("backtest", "subscriptions.jsonl", "events.jsonl", "-s", "schema.yaml", "--time", "opened")
    assert result.exit_code == 1, result.stderr
    assert "1 of 4 subscriptions never matched" in result.stdout
    assert "6 events, 2 dead letters" in result.stderr
    results = house / "backtest-results"
    totals = pyarrow.csv.read_csv(results / "totals.csv")
    counted = dict(zip(totals["subscription"].to_pylist(), totals["matches"].to_pylist(), strict=True))
    assert counted == {"cheap": 2, "clock": 2, "old": 2, "never": 0}
    assert len(_rows(results / "counts")) == 6
    assert len((results / "samples.jsonl").read_text().splitlines()) == 6
    assert (results / "plot.png").stat().st_size > 10_000
    assert len(_rows(results / "dead-letters")) == 2


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_what_spark_cannot_read_is_said_in_one_message(tamis: Tamis, house: Path) -> None:
    (house / "events.parquet").write_text("this is no Parquet")
    result = tamis("match", "subscriptions.jsonl", "events.parquet", "-s", "schema.yaml", "--spark", "-o", "matches")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: Spark failed: ")
    assert "is not a Parquet file" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (MATCH[:-2], "use --output"),
        ((*MATCH[:-1], "matches.csv"), "suffix"),
        (("match", "subscriptions.jsonl", "-", "-s", "schema.yaml", "--spark", "-o", "matches"), "standard input"),
        (
            ("backtest", "subscriptions.jsonl", "events.jsonl", "-s", "schema.yaml", "--time", "when"),
            "no attribute when",
        ),
        (("backtest", "subscriptions.jsonl", "events.jsonl", "-s", "schema.yaml", "--window", "soon"), "'soon'"),
        (("backtest", "subscriptions.jsonl", "events.jsonl", "-s", "schema.yaml", "-o", "."), "exists already"),
    ],
)
@pytest.mark.usefixtures("no_spark")
def test_what_cannot_be_done_is_said_before_spark_is_started(
    tamis: Tamis, arguments: tuple[str, ...], message: str
) -> None:
    result = tamis(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("command", ["match", "backtest", "demo"])
def test_a_missing_java_is_said_in_one_line(tamis: Tamis, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("JAVA_HOME", "/there/is/none")
    arguments = {"match": MATCH, "backtest": ("backtest", *MATCH[1:5]), "demo": ("demo",)}[command]
    result = tamis(*arguments)
    assert result.exit_code == 2
    assert "Spark needs Java 17 or newer" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> SparkSession:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("tamis.pipeline.session", refuse)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_contents_of_joins_are_found_on_spark(tamis: Tamis, house: Path) -> None:
    pytest.importorskip("google.protobuf", reason="Spark's state API needs protobuf")
    (house / "stocks.yaml").write_text(
        """
        attributes: {Symbol: string, PER: float, Rating: float, n: integer}
        event_types:
          Stocks: {Symbol: mandatory, PER: mandatory, n: mandatory}
          Reviews: {Symbol: mandatory, Rating: mandatory, n: mandatory}
        tables: {Stocks: {key: [Symbol], join: [Symbol]}, Reviews: {key: [Symbol], join: [Symbol]}}
        """
    )
    (house / "joins.jsonl").write_text(
        json.dumps(
            {"id": "good", "filter": "SELECT Symbol, PER FROM Stocks JOIN Reviews USING (Symbol) WHERE Rating > 5"}
        )
    )
    changes: list[dict[str, object]] = [
        {"event_type": "Stocks", "Symbol": "A", "PER": 1.5, "n": 1},
        {"event_type": "Reviews", "Symbol": "A", "Rating": 9.0, "n": 2},
        {"event_type": "Stocks", "Symbol": "A", "PER": 2.5, "n": 3},
        {"event_type": "Stocks", "Symbol": "B", "operation": "delete", "n": 4},
    ]
    (house / "changes.jsonl").write_text("\n".join(map(json.dumps, reversed(changes))))
    result = tamis("join", "joins.jsonl", "changes.jsonl", "-s", "stocks.yaml", "-o", "contents", "--order", "n")
    assert result.exit_code == 1, result.stderr
    (row,) = _rows(house / "contents")
    assert (row["subscription"], row["change"]) == ("good", "added")
    assert json.loads(str(row["row"])) == {"Symbol": "A", "PER": 2.5}
    (dead,) = _rows(house / "contents-dead-letters")
    assert "no row with the key 'B' to delete" in str(dead["reason"])
