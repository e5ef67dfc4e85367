"""The API as it describes itself: complete, with examples, and true of every answer."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal

import httpx
import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tamis.service.app import create_app
from tamis.service.base.configuration import AccessSettings, LimitSettings, Settings
from tests.service.http.server import CHEAP, PlayedPipeline, Server, make_service

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# These answer for as long as somebody listens.
ENDLESS = ["stream_notifications", "stream_all"]
# Rooms whose forms are their own business.
ELSEWHERE = {"notifications", "dead letters", "CloudEvents subscriptions"}


def operations(server: Server) -> Iterator[tuple[str, dict[str, Any]]]:
    described = server.client.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_operation_is_described_with_examples(server_once: Server) -> None:
    described = server_once.client.get("/openapi.json").json()
    parts = described["components"]["schemas"]

    def has_example(content: dict[str, Any]) -> bool:
        schema = content.get("schema", {})
        name = schema.get("$ref", "").rpartition("/")[2]
        return bool({"example", "examples"} & (content.keys() | schema.keys() | parts.get(name, {}).keys()))

    names: list[str] = []
    lacking: list[tuple[str, str]] = []
    for name, operation in operations(server_once):
        names.append(operation["operationId"])
        assert operation["summary"], name
        assert operation["description"], name
        if ELSEWHERE & set(operation["tags"]):
            continue
        for status, answer in operation["responses"].items():
            for media_type, content in answer.get("content", {}).items():
                if media_type.endswith("json") and not has_example(content):
                    lacking.append((name, status))
        body = operation.get("requestBody", {}).get("content", {})
        for media_type, content in body.items():
            # A form that may be left out is a choice between it and nothing.
            forms = [content, *({"schema": each} for each in content["schema"].get("anyOf", []))]
            if "arrow" not in media_type and not any(map(has_example, forms)):
                lacking.append((name, media_type))
    assert lacking == []
    assert len(set(names)) == len(names)
    assert all(name.replace("_", "").isalpha() for name in names)


def test_every_refusal_is_a_problem(server_once: Server) -> None:
    for name, operation in operations(server_once):
        for status, answer in operation["responses"].items():
            if status.startswith("4"):
                assert list(answer["content"]) == ["application/problem+json"], (name, status)
        if not name.endswith(("/health", "/ready", "/metrics")):
            assert "429" in operation["responses"], name


@pytest.mark.parametrize("who", ["anyone", "keys"])
def test_an_operation_that_says_it_needs_no_key_takes_none_and_the_others_do(
    start: Callable[..., Server], who: Literal["anyone", "keys"]
) -> None:
    server = start(Settings(access=AccessSettings(publish=who, subscribe=who)))
    open_ones = set()
    for name, operation in operations(server):
        method, path = name.split()
        address = re.sub(r"\{\w+\}", "1", path)
        answer = server.client.request(method, address, json={} if "requestBody" in operation else None)
        ways = operation.get("security", [{}])
        if {} in ways:
            open_ones.add(operation["operationId"])
        if {"ticket": []} not in ways or {} in ways:
            assert (answer.status_code == 401) == ({} not in ways), (name, answer.text)
    assert ("subscribe" in open_ones) == ("publish" in open_ones) == ("get_schema" in open_ones) == (who == "anyone")
    assert "list_keys" not in open_ones


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        ("PUT /v1/subscriptions", {"GET", "POST"}),
        ("PUT /v1/subscriptions/sub_1", {"GET", "PATCH", "DELETE"}),
        ("DELETE /v1/keys", {"GET", "POST"}),
        ("PATCH /v1/events", {"POST"}),
        ("POST /health", {"GET"}),
        ("PATCH /cloudevents/v1/subscriptions/sub_1", {"GET", "PUT", "DELETE", "OPTIONS"}),
        ("DELETE /v1/dead-letters", {"GET"}),
        ("POST /console/", {"GET"}),
    ],
)
def test_a_method_that_a_path_does_not_take_is_answered_with_those_it_takes(
    server_once: Server, asked: str, allowed: set[str]
) -> None:
    answer = server_once.client.request(*asked.split())
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == allowed


def test_with_keys_the_schema_and_advertisements_are_for_those_who_have_one(start: Callable[..., Server]) -> None:
    server = start(Settings(access=AccessSettings(publish="keys", subscribe="keys")))
    for path in ("/v1/schema", "/v1/advertisements"):
        assert server.client.get(path).status_code == 401
        for role in ("publish", "subscribe", "administer"):
            assert server.client.get(path, headers=server.key(role)).status_code == 200
    half = start(Settings(access=AccessSettings(publish="keys")))
    assert half.client.get("/v1/advertisements").status_code == 200, "anyone may subscribe"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A server behind real HTTP, and the header of an administrator's key."""
    limits = LimitSettings(requests_per_second=1e6, request_burst=1_000_000, subscriptions_per_key=50)
    service = make_service(tmp_path_factory.mktemp("http") / "state", PlayedPipeline(), Settings(limits=limits))
    _, secret = service.store.keys.create("test", ["administer"])
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=0, log_level="critical", access_log=False))
    thread = threading.Thread(target=server.run)
    started = threading.Event()
    original = server.startup

    async def startup(*arguments: Any, **more: Any) -> None:
        await original(*arguments, **more)
        started.set()

    server.startup = startup  # type: ignore[method-assign]
    thread.start()
    assert started.wait(30)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        url = f"http://127.0.0.1:{port}"
        httpx.post(f"{url}/v1/events", json=[CHEAP] * 3).raise_for_status()
        yield url, {"Authorization": f"Bearer {secret}"}
    finally:
        server.should_exit = True
        thread.join(30)


def ask_everything(url: str, key: dict[str, str], examples: int) -> None:
    """Requests as the description allows them and as it does not, to every operation, with a key and without one."""
    described = schemathesis.openapi.from_url(f"{url}/openapi.json").exclude(operation_id=ENDLESS)
    faults: list[str] = []
    operations = [found.ok() for found in described.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) > 30
    for operation, mode in itertools.product(operations, GenerationMode):

        @settings(
            max_examples=examples,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(operation.as_strategy(generation_mode=mode), st.sampled_from([key, {}]))
        def ask(case: Case[Any], headers: dict[str, str]) -> None:
            case.validate_response(case.call(headers=headers, timeout=20), checks=CHECKS)

        try:
            ask()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE, operation.label
        except FailureGroup as group:
            faults += [f"{operation.label} ({mode.value}): {each}" for each in group.exceptions]
    assert faults == []


def test_every_answer_is_one_that_is_described(address: tuple[str, dict[str, str]]) -> None:
    ask_everything(*address, examples=5)


@pytest.mark.slow
def test_every_answer_is_one_that_is_described_at_length(address: tuple[str, dict[str, str]]) -> None:
    ask_everything(*address, examples=150)
