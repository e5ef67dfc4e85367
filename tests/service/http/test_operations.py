"""The server watched, and what it does beside its requests."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from tamis.eventlog import open_log
from tamis.operators.health import Tally
from tamis.service.app import create_app
from tamis.service.base.configuration import Settings
from tamis.service.http import service as api_service
from tamis.service.http.background import expire, let_go
from tamis.service.http.metrics import Meter
from tamis.service.http.service import Service
from tamis.service.store import NewSubscription
from tamis.service.worker import Batch, Fared
from tests.service.http.server import CHEAP, PlayedPipeline, Server, make_service


def test_the_server_is_ready_when_all_its_parts_are(server: Server) -> None:
    assert server.client.get("/health").json() == {"status": "alive"}
    assert server.client.get("/ready").json() == {"ready": True, "store": "ok", "log": "ok", "pipeline": "ok"}
    server.pipeline.become(state="restarting")
    answer = server.client.get("/ready")
    assert (answer.status_code, answer.json()["pipeline"]) == (503, "restarting")


def test_a_server_whose_log_another_matches_is_ready(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.pipeline.become(state="waiting")
    assert server.client.get("/ready").status_code == 503, "nobody else sees its spool"
    monkeypatch.setattr(type(server.service.log), "shared", "kafka events")
    assert server.client.get("/ready").json()["pipeline"] == "ok"


@pytest.mark.parametrize("state", ["starting", "building", "failed", "restarting"])
def test_a_server_that_takes_over_is_ready_for_it_takes_events(
    server: Server, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    server.pipeline.become(state=state)
    monkeypatch.setattr(type(server.service.log), "shared", "kafka events")
    answer = server.client.get("/ready")
    assert (answer.status_code, answer.json()["ready"], answer.json()["pipeline"]) == (200, True, state)
    assert "tamis_pipeline_up 0.0" in server.client.get("/metrics").text, "what is alarmed on"


@pytest.fixture
def hanging_log(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A log of which nobody gets an answer; the list has its questioners."""
    asked, released = list[int](), threading.Event()

    def hang() -> tuple[int, int]:
        asked.append(threading.get_ident())
        released.wait()
        return 0, 0

    monkeypatch.setattr(server.service.log, "size", hang)
    monkeypatch.setattr(server.service.log_probe, "_patience", 0.05)
    yield asked
    released.set()


def test_a_log_that_hangs_is_told_soon_and_holds_up_nobody(server: Server, hanging_log: list[int]) -> None:
    boss = server.key("administer")
    for _ in range(60):
        answer = server.client.get("/ready")
        assert (answer.status_code, answer.json()["log"]) == (503, "does not answer (TimeoutError)")
    assert len(hanging_log) == 1, "one thread waits for it, however many asked"
    assert server.client.get("/v1/status").json()["log"] is None
    assert server.client.get("/metrics").status_code == 200
    assert server.client.get("/v1/subscriptions", headers=boss).status_code == 200


def test_whoever_reads_events_of_a_log_that_hangs_holds_up_nobody_else(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    boss, released = server.key("administer"), threading.Event()
    monkeypatch.setattr(server.service.log, "recent", lambda _: released.wait() and None)
    monkeypatch.setattr(api_service, "_LOG_SECONDS", 0.05)
    with ThreadPoolExecutor(50) as readers:
        asked = [readers.submit(server.client.get, "/v1/events/recent", headers=boss) for _ in range(50)]
        refused = next(as_completed(asked)).result()
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert server.client.get("/v1/subscriptions", headers=boss).status_code == 200
        released.set()


def test_numbers_of_a_store_that_hangs_are_left_out_and_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(server.service.store.dead_letters, "count", lambda: released.wait() and 0)
    monkeypatch.setattr(server.service.counts_probe, "_patience", 0.05)
    metrics = server.client.get("/metrics").text
    assert "tamis_pipeline_up 1.0" in metrics
    assert "\ntamis_dead_letters" not in metrics
    assert server.client.get("/v1/status").status_code == 503
    released.set()


@pytest.mark.parametrize("state", ["waiting", "starting", "building", "failed"])
def test_a_server_that_matches_no_more_tells_no_lag(server: Server, state: str) -> None:
    server.publish([CHEAP] * 3)
    server.pipeline.tell(Batch(1, head=99, events=3, processed=0, lag_events=0))
    server.publish([CHEAP] * 2)
    assert server.client.get("/v1/status").json()["lag"] == {"events": 2}
    assert "\ntamis_lag_events 2.0" in server.client.get("/metrics").text
    server.pipeline.become(state=state)
    assert server.client.get("/v1/status").json()["lag"] == {"events": None}
    assert "\ntamis_lag_events" not in server.client.get("/metrics").text, "0 would say that all is matched"


def test_a_store_that_is_gone_is_told_and_is_no_fault(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from tamis.service.store import StoreError

    def gone() -> int:
        raise StoreError("the database cannot be reached")

    monkeypatch.setattr(server.service.store.notifications, "head", gone)
    answer = server.client.get("/ready")
    assert answer.status_code == 503
    assert answer.json()["store"].startswith("does not answer")


def test_a_batch_wakes_delivery_and_is_counted(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[int] = []
    monkeypatch.setattr(server.service.delivery, "wake", heads.append)
    server.publish([CHEAP] * 3)
    server.pipeline.tell(Batch(1, head=99, events=3, matches=5, dead=1, ms=250.0, processed=0, lag_events=0))
    assert heads == [99]
    status = server.client.get("/v1/status").json()
    assert status["totals"]["matched"] == 5
    assert status["pipeline"]["last_batch"] == {"events": 3, "matches": 5, "dead": 1, "milliseconds": 250.0}
    assert status["latency"]["p50"] >= 0
    assert status["lag"] == {"events": 0}
    metrics = server.client.get("/metrics").text
    for line in ("tamis_batches_total 1.0", "tamis_matches_total 5.0", "tamis_events_accepted_total 3.0"):
        assert line in metrics
    assert 'tamis_http_requests_total{operation="publish",status="202"} 1.0' in metrics


def test_a_process_that_comes_up_wakes_delivery_but_is_no_batch(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads: list[int] = []
    monkeypatch.setattr(server.service.delivery, "wake", heads.append)
    server.pipeline.tell(Batch(-1, head=7))
    assert heads == [7]
    assert "tamis_batches_total 0.0" in server.client.get("/metrics").text


def test_prometheus_is_told_what_only_grows_as_counters_and_the_rest_as_what_it_is(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names and types as Prometheus has them: `rate` is for counters, and for what is named so."""
    counted = {"listeners": 2, "handed_out": 7, "delivered": 5, "failed": 3, "breakers_open": 1}
    monkeypatch.setattr(server.service.delivery, "status", lambda: counted)
    fared = {"slow": Fared(Tally(9, 8, 7, 6, 5, 4, seconds=2.5), 1.5, 0.25, 1, False)}
    server.pipeline.become(restarts=4, operators=fared)
    server.publish([CHEAP, CHEAP])
    families = list(text_string_to_metric_families(server.client.get("/metrics").text))
    samples = {sample.name: sample.value for each in families for sample in each.samples}
    assert not [name for name in samples if name.endswith("_created")]
    for each in families:
        assert each.documentation, f"{each.name} is explained"
        assert each.type in ("counter", "gauge", "histogram"), each.name
        totals = [sample.name.endswith("_total") for sample in each.samples]
        assert all(totals) if each.type == "counter" else not any(totals), each.name
    assert {each.name for each in families if each.type == "gauge"} == {
        "tamis_batch_busy_seconds", "tamis_breakers_open", "tamis_dead_letters", "tamis_lag_events", "tamis_listeners",
        "tamis_operator_cost", "tamis_operator_selectivity", "tamis_operator_suspended", "tamis_pipeline_up",
        "tamis_subscriptions_active",
    }  # fmt: skip
    for name, total in {
        "deliveries": 5, "delivery_failures": 3, "notifications_read": 7, "pipeline_restarts": 4,
        "events_accepted": 2, "operator_calls": 9, "operator_evaluations": 8, "operator_held": 7,
        "operator_unknown": 6, "operator_failures": 5, "operator_timeouts": 4, "operator_seconds": 2.5,
    }.items():  # fmt: skip
        assert samples[f"tamis_{name}_total"] == total, name
    server.pipeline.become(restarts=5)
    assert "tamis_pipeline_restarts_total 5.0" in server.client.get("/metrics").text


def test_paths_that_lead_nowhere_share_one_name_in_the_metrics(server: Server) -> None:
    for number in range(5):
        server.client.get(f"/nowhere/{number}")
    metrics = server.client.get("/metrics").text
    assert 'operation="unknown",status="404"} 5.0' in metrics
    assert "nowhere" not in metrics


def test_endpoints_that_fail_are_for_administrators(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = {"endpoint": "https://intranet:443", "state": "open", "failures": 5, "next_attempt": None}
    monkeypatch.setattr(server.service.delivery, "endpoints", lambda: [failing])
    assert server.client.get("/v1/status", headers=server.key("administer")).json()["delivery"]["endpoints"] == [
        failing
    ]
    for headers in ({}, server.key("subscribe")):
        answer = server.client.get("/v1/status", headers=headers)
        assert answer.json()["delivery"]["breakers_open"] == 0
        assert "intranet" not in answer.text


def test_the_pipelines_error_is_for_administrators(server: Server) -> None:
    words = ("java.net.SocketException: Too many open files", "in /secret/place")
    server.pipeline.become(state="failed", error="cannot open /secret/place", stderr=words)
    assert "secret" not in server.client.get("/v1/status").text
    status = server.client.get("/v1/status", headers=server.key("administer")).json()
    assert status["pipeline"]["error"] == "cannot open /secret/place"
    assert status["pipeline"]["last_words"] == list(words)


def test_a_batch_that_does_not_end_is_seen(server: Server) -> None:
    server.pipeline.become(state="running", busy=83.5)
    assert server.client.get("/v1/status").json()["pipeline"]["busy_seconds"] == 83.5
    assert "tamis_batch_busy_seconds 83.5" in server.client.get("/metrics").text


@pytest.fixture
def resting(tmp_path: Path) -> Iterator[tuple[Service, PlayedPipeline]]:
    """A service that does nothing by itself."""
    pipeline = PlayedPipeline()
    service = make_service(tmp_path / "state", pipeline, Settings())
    yield service, pipeline
    asyncio.run(service.log.close())
    service.store.close()


def test_a_subscription_ends_when_its_time_has_come(resting: tuple[Service, PlayedPipeline]) -> None:
    service, _ = resting
    subscriptions = service.store.subscriptions
    now = datetime.now(UTC)
    ended, _ = subscriptions.create(NewSubscription("", "TRUE", "TRUE", now - timedelta(seconds=1)))
    other, _ = subscriptions.create(NewSubscription("", "TRUE", "TRUE", now + timedelta(hours=1)))
    expire(service)
    states = {number: found.state for number, found in subscriptions.by_number([ended.number, other.number]).items()}
    assert states == {ended.number: "expired", other.number: "active"}


def test_what_was_kept_long_enough_goes(resting: tuple[Service, PlayedPipeline]) -> None:
    service, _ = resting
    old = datetime.now(UTC) - timedelta(days=8)
    found, _ = service.store.subscriptions.create(NewSubscription("", "TRUE", "TRUE", old + timedelta(days=30)))
    for batch, time in ((1, old), (2, datetime.now(UTC))):
        position = batch << 24
        events = pa.table(
            {
                "position": [position],
                "id": [f"e{batch}"],
                "time": pa.array([time], pa.timestamp("us", "UTC")),
                "body": ["{}"],
            }
        )
        pairs = pa.table({"position": [position], "subscription": [found.number]})
        service.store.notifications.record("s", batch, events, pairs)
    let_go(service)
    kept = service.store.notifications.after(found.number, 0)
    assert [each.event_id for each in kept] == ["e2"]


def test_the_log_is_swept_only_up_to_what_is_processed(
    resting: tuple[Service, PlayedPipeline], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, pipeline = resting
    swept: list[int] = []
    monkeypatch.setattr(service.log, "sweep", lambda before, processed: swept.append(processed))
    let_go(service)
    assert swept == []
    pipeline.become(last=Batch(4, head=1, processed=40))
    let_go(service)
    assert swept == [40]


def test_the_server_starts_and_stops_its_parts_with_itself(tmp_path: Path) -> None:
    pipeline = PlayedPipeline()
    service = make_service(tmp_path / "state", pipeline, Settings())
    with TestClient(create_app(service)) as client:
        assert client.get("/health").status_code == 200
        assert (pipeline.started, pipeline.stopped) == (1, 0)
    assert pipeline.stopped == 1
    reopened = open_log(service.settings.log, write=True)
    asyncio.run(reopened.close())


def test_rates_are_taken_over_whole_seconds() -> None:
    now = 1_000.0
    meter = Meter(clock=lambda: now)
    for second in range(20):
        now = 1_000.0 + second
        meter.count("published", 100)
    now = 1_020.0
    assert meter.rate("published") == 100
    assert meter.total("published") == 2_000
    now = 1_100.0
    assert meter.rate("published") == 0


def test_latency_is_from_accepted_to_matched() -> None:
    now = 0.0
    meter = Meter(clock=lambda: now)
    assert meter.latency(0.5) is None
    for end in (10, 20, 30):
        meter.accepted(end)
        now += 1.0
    assert meter.matched({0: 20}) == [3.0, 2.0]
    assert meter.latency(0.99) == 3.0
    assert meter.matched({0: 20}) == []
    assert meter.unmatched({0: 20}) == 10


def test_a_slow_start_is_forgotten_after_a_minute() -> None:
    now = 0.0
    meter = Meter(clock=lambda: now)
    meter.accepted(1)
    now = 22.0
    meter.matched({0: 1})
    meter.accepted(2)
    now = 22.5
    meter.matched({0: 2})
    assert (meter.latency(0.5), meter.latency(0.99)) == (22.0, 22.0)
    now = 82.2
    assert meter.latency(0.99) == 0.5
    now = 83.0
    assert meter.latency(0.99) is None


def test_what_another_service_matches_is_not_waited_for() -> None:
    now = 0.0
    meter = Meter(clock=lambda: now)
    meter.accepted(5)
    meter.await_nothing()
    now = 3600.0
    meter.accepted(7)
    assert meter.matched({0: 7}) == [0.0]
    assert meter.unmatched({0: 6}) == 1


def test_partitions_are_numbered_apart() -> None:
    meter = Meter(clock=lambda: 0.0)
    assert meter.unmatched({0: 5}) is None
    meter.accepted(10)
    meter.accepted(4, partition=1)
    assert meter.matched({0: 9, 1: 3}) == []
    assert meter.unmatched({0: 9, 1: 3}) == 2
    assert meter.matched({0: 9, 1: 4}) == [0.0]
    assert meter.unmatched({0: 12}) == 4


def test_rates_and_latencies_go_by_a_clock_that_does_not_jump() -> None:
    assert inspect.signature(Meter).parameters["clock"].default is monotonic


def test_the_status_names_the_matcher_its_options_and_the_schedule(start: Callable[..., Server]) -> None:
    usual = start().client.get("/v1/status").json()["pipeline"]
    assert (usual["matcher"], usual["matcher_options"], usual["schedule"]) == ("columnar", {}, "adaptive")
    server = start(Settings(matcher="tree", matcher_options={"factor": ["price"]}, schedule="sub-order"))
    told = server.client.get("/v1/status").json()["pipeline"]
    assert (told["matcher"], told["matcher_options"]) == ("tree", {"factor": ["price"]})
    assert told["schedule"] == "sub-order"
