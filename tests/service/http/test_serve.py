"""Putting a server together: settings, state folder, schema, port and key."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.responses import Response
from typer.testing import CliRunner

from tamis.errors import SchemaError, TamisError
from tamis.schema import Schema
from tamis.service.base.configuration import ConfigurationError, Settings, read_settings
from tamis.service.http.schemas import ExtensionForm, extend_schema, settle_schema
from tamis.service.http.service import Service
from tamis.service.serve import administrator_key, assemble, keep_private, serve
from tamis.service.store import Store
from tests.service.http.server import AUCTIONS


def end(service: Service) -> None:
    asyncio.run(service.log.close())
    service.store.close()


def extend(service: Service, **extension: Any) -> int:
    return extend_schema(ExtensionForm(**extension), cast("Any", None), service, Response()).version


def write(path: Path, form: dict[str, Any]) -> Path:
    path.write_text(Schema.from_dict(form).to_yaml(), encoding="utf-8")
    return path


def extended(**attributes: str) -> dict[str, Any]:
    antiques = {**AUCTIONS["event_types"]["antiques"], **dict.fromkeys(attributes, "optional")}
    return {
        **AUCTIONS,
        "attributes": {**attributes, **AUCTIONS["attributes"]},
        "event_types": {**AUCTIONS["event_types"], "antiques": antiques},
    }


def test_later_settings_win(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("port: 1\nhost: 0.0.0.0\nlimits: {events: 5, body_bytes: 6}\nretention: {spool: P2D}\n")
    environment = {"TAMIS_PORT": "2", "TAMIS_LIMITS_EVENTS": "7", "TAMIS_ACCESS_PUBLISH": "keys", "TAMIS_X": "y"}
    settings = read_settings({"port": 3, "state": None, "delivery.allow_private": True}, file, environment)
    assert (settings.port, settings.host, settings.limits.events, settings.limits.body_bytes) == (3, "0.0.0.0", 7, 6)
    assert (settings.access.publish, settings.delivery.allow_private) == ("keys", True)
    assert settings.retention.spool.days == 2
    assert Settings.from_json(settings.to_json()) == settings


def test_mappings_and_lists_come_from_the_environment_as_yaml() -> None:
    environment = {"TAMIS_SPARK_CONFIG": "{spark.jars: 'a.jar,b.jar'}", "TAMIS_TRUSTED_PROXIES": "[10.0.0.1]"}
    settings = read_settings({}, None, environment)
    assert settings.spark_config == {"spark.jars": "a.jar,b.jar"}
    assert settings.trusted_proxies == ("10.0.0.1",)
    for bad in ("{", "text"):
        with pytest.raises(ConfigurationError, match="spark_config"):
            read_settings({}, None, {"TAMIS_SPARK_CONFIG": bad})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": "x"}, "port"),
        ({"port": 70_000}, "port"),
        ({"nonsense": 1}, "no setting nonsense"),
        ({"limits.nonsense": 1}, "no setting limits.nonsense"),
        ({"limts": {}}, r"no setting limts; did you mean limits\?"),
        ({"limits.body_byte": 1}, r"did you mean limits.body_bytes\?"),
        ({"limits.events": 0}, "limits.events"),
        ({"default_validity": "P800D", "max_validity": "P366D"}, "longer than max_validity"),
        ({"access.publish": "nobody"}, "access.publish"),
    ],
)
def test_a_setting_that_cannot_be_is_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        read_settings(options, None, {})


def test_a_variable_that_is_almost_a_setting_is_refused_with_the_right_one() -> None:
    with pytest.raises(ConfigurationError, match=r"TAMIS_LIMITS_BODY_BYTE; did you mean TAMIS_LIMITS_BODY_BYTES\?"):
        read_settings({}, None, {"TAMIS_LIMITS_BODY_BYTE": "3"})


def test_a_settings_file_must_be_one(tmp_path: Path) -> None:
    for text in ("[1]", "a: [", "port: {}"):
        (tmp_path / "s.yaml").write_text(text)
        with pytest.raises(ConfigurationError) as refused:
            read_settings({}, tmp_path / "s.yaml", {})
        assert len(str(refused.value).splitlines()) == 1
    with pytest.raises(ConfigurationError):
        read_settings({}, tmp_path / "missing.yaml", {})


def test_a_server_without_a_schema_takes_events_of_any_form(tmp_path: Path) -> None:
    service = assemble(Settings(state=tmp_path / "deep" / "state"))
    assert service.schema_version == 0
    assert "ce.type" in service.schema.attributes
    end(service)


def test_the_schema_of_the_first_start_stays_and_may_be_extended(tmp_path: Path) -> None:
    def version(form: dict[str, Any] | None) -> int:
        path = None if form is None else write(tmp_path / "schema.yaml", form)
        service = assemble(Settings(state=tmp_path / "state", schema_path=path))
        end(service)
        return service.schema_version

    assert version(AUCTIONS) == 1
    assert version(AUCTIONS) == version(None) == 1
    assert version(extended(colour="string")) == 2
    assert version(AUCTIONS) == 2, "an older file does not take an extension back"
    assert version(extended(colour="string")) == 2
    with pytest.raises(SchemaError, match="does not extend version 2"):
        version({**AUCTIONS, "attributes": {**AUCTIONS["attributes"], "price": "integer"}})
    with pytest.raises(SchemaError, match=r"ce\.id"):
        version(extended(**{"ce.id": "integer"}))
    # What failed has let go of the folder.
    assert version(None) == 2


EVERY_EXTENSION: dict[str, dict[str, Any]] = {
    "attributes": {"attributes": {"colour": "string"}, "optional": {"antiques": {"colour": "optional"}}},
    "inline domain": {"attributes": {"size": {"type": "enumerated", "values": ["S", "M"], "order": [["S", "M"]]}}},
    "domains": {
        "domains": {"wood": {"type": "hierarchical", "tree": {"oak": {}, "pine": {}}}},
        "attributes": {"wood": "wood"},
    },
    "event types": {"event_types": {"cars": {"price": "mandatory", "title": ["optional"]}}},
    "tables": {"tables": {"lots": {"key": ["opened"], "join": ["opened"], "retention": {"count": 5}}}},
    "a table of its own": {
        "attributes": {"at": "timestamp", "lot": "integer"},
        "event_types": {"bids": {"lot": "mandatory", "at": "mandatory", "price": "mandatory"}},
        "tables": {"bids": {"key": ["lot", "at"], "join": ["lot"], "retention": {"window": "7 days", "by": "at"}}},
    },
    "context attributes": {"attributes": {"ce.tenant": "string"}, "optional": {"lots": {"ce.tenant": "optional"}}},
}


@pytest.mark.parametrize("extension", EVERY_EXTENSION.values(), ids=EVERY_EXTENSION.keys())
def test_a_server_starts_again_with_its_file_after_any_extension(tmp_path: Path, extension: dict[str, Any]) -> None:
    settings = Settings(state=tmp_path / "state", schema_path=write(tmp_path / "schema.yaml", AUCTIONS))
    first = assemble(settings)
    assert extend(first, **extension) == 2
    grown = first.schema
    end(first)
    again = assemble(settings)
    assert (again.schema_version, again.schema) == (2, grown)
    end(again)
    # The file may say the same by now, in its own order: then it adds nothing.
    form = Schema.from_dict(AUCTIONS).extend(**extension).to_dict()
    turned = {name: dict(reversed(section.items())) for name, section in form.items()}  # type: ignore[attr-defined]
    write(tmp_path / "schema.yaml", turned)
    once_more = assemble(settings)
    assert once_more.schema_version == 2
    end(once_more)


def test_a_server_that_began_without_a_schema_starts_again_after_an_extension(tmp_path: Path) -> None:
    first = assemble(Settings(state=tmp_path))
    assert extend(first, attributes={"price": "float"}) == 1
    end(first)
    again = assemble(Settings(state=tmp_path))
    assert (again.schema_version, "price" in again.schema.attributes) == (1, True)
    end(again)


def test_file_and_extensions_grow_side_by_side(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path / "state", schema_path=write(tmp_path / "schema.yaml", AUCTIONS))
    first = assemble(settings)
    extend(first, **EVERY_EXTENSION["a table of its own"])
    end(first)
    write(tmp_path / "schema.yaml", extended(colour="string"))
    again = assemble(settings)
    assert again.schema_version == 3
    assert {"colour", "lot", "operation"} <= again.schema.attributes.keys()
    assert set(again.schema.tables) == {"bids"}
    end(again)


def test_a_file_that_contradicts_the_stored_schema_is_told_every_difference(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path / "state", schema_path=write(tmp_path / "schema.yaml", AUCTIONS))
    first = assemble(settings)
    extend(first, **EVERY_EXTENSION["tables"])
    end(first)
    antiques = {**AUCTIONS["event_types"]["antiques"], "title": "mandatory", "opened": "mandatory"}
    form = {
        "domains": {"period": {"type": "enumerated", "values": ["XVI", "XVII"]}},
        "attributes": {**AUCTIONS["attributes"], "price": "integer", "title": "string"},
        "event_types": {**AUCTIONS["event_types"], "antiques": antiques},
        "tables": {"lots": {"key": ["opened"], "retention": {"count": 6}}},
        "default_event_type": "lots",
    }
    write(tmp_path / "schema.yaml", form)
    with pytest.raises(SchemaError) as refusal:
        assemble(settings)
    told = str(refusal.value)
    assert "schema.yaml: this schema does not extend version 2" in told
    for place in (
        "domains.period: it lacks 'XVIII' here",
        "attributes.price: 'integer' here, 'float' there",
        "event_types.antiques.title: mandatory here, optional there",
        "event_types.antiques.opened: mandatory here, and not of this type there",
        "tables.lots: {'key': ['opened'], 'retention': {'count': 6}} here, {'key'",
        "default_event_type: 'lots' here, none there",
    ):
        assert place in told
    assert "write them as version 2 has them" in told
    # What failed has let go of the folder.
    end(assemble(replace(settings, schema_path=None)))


def test_two_servers_that_start_at_once_agree_on_the_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "schema.yaml", AUCTIONS)
    store = Store.open(Settings(state=tmp_path).store)
    current = store.schemas.current

    def overtaken() -> Any:
        monkeypatch.setattr(store.schemas, "current", current)
        found = current()
        store.schemas.add(Schema.from_dict(AUCTIONS).to_dict())
        return found

    monkeypatch.setattr(store.schemas, "current", overtaken)
    assert settle_schema(store, path).version == 1
    store.close()


def test_a_kafka_to_deliver_to_is_understood_before_anything_starts(tmp_path: Path) -> None:
    settings = read_settings({"state": tmp_path / "state", "delivery.kafka": "broker"}, None, {})
    with pytest.raises(TamisError, match="'broker' is no address of Kafka"):
        assemble(settings)
    assert not (tmp_path / "state").exists()


def test_matcher_and_schedule_come_from_a_file_the_environment_and_options(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("matcher: mbd\nmatcher_options: {order: [price]}\nschedule: sequential\n")
    settings = read_settings({}, file, {})
    assert (settings.matcher, settings.matcher_options, settings.schedule) == (
        "mbd",
        {"order": ["price"]},
        "sequential",
    )
    environment = {"TAMIS_MATCHER": "tree", "TAMIS_MATCHER_OPTIONS": "{factor: period}", "TAMIS_SCHEDULE": "naive"}
    settings = read_settings({"schedule": "sub-order"}, file, environment)
    assert (settings.matcher, settings.matcher_options, settings.schedule) == (
        "tree",
        {"factor": "period"},
        "sub-order",
    )
    assert Settings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"matcher": "trie"}, "there is no matcher 'trie'; there are columnar, naive"),
        ({"schedule": "fair"}, "there is no schedule 'fair'; there are naive, sequential"),
        ({"matcher_options": {"factor": "price"}}, "the matcher 'columnar' has no options"),
        ({"matcher": "tree", "matcher_options": {"colapse": True}}, "the tree has no option 'colapse'"),
        ({"matcher": "naive"}, "the matcher 'naive' does not tell whose slow patterns take how long"),
    ],
)
def test_algorithms_that_there_are_not_are_refused_before_anything_starts(
    tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        assemble(Settings(state=tmp_path / "state", **settings))
    assert not (tmp_path / "state").exists()


def test_options_of_a_matcher_that_do_not_fit_the_schema_are_refused_at_the_start(tmp_path: Path) -> None:
    path = write(tmp_path / "schema.yaml", AUCTIONS)
    given = Settings(state=tmp_path, schema_path=path, matcher="tree", matcher_options={"factor": "weight"})
    with pytest.raises(ConfigurationError, match="matcher_options: 'weight' is no single-valued attribute"):
        assemble(given)


def test_a_server_is_assembled_with_the_algorithms_of_its_settings(tmp_path: Path) -> None:
    service = assemble(Settings(state=tmp_path, matcher="auto", schedule="sub-order"))
    assert (service.algorithms.choice.matcher, service.algorithms.schedule) == ("columnar", "sub-order")
    end(service)


def test_the_administrators_key_is_made_once_and_kept_to_its_user(tmp_path: Path) -> None:
    service = assemble(Settings(state=tmp_path))
    secret = administrator_key(service.store, tmp_path)
    file = tmp_path / "admin.key"
    assert file.read_text().strip() == secret
    assert file.stat().st_mode & 0o777 == 0o600
    assert administrator_key(service.store, tmp_path) == secret
    key = service.store.keys.find(secret)
    assert key is not None
    assert key.roles == {"administer"}
    service.store.keys.revoke(key.id)
    assert administrator_key(service.store, tmp_path) != secret
    end(service)


@pytest.mark.parametrize(("mode", "complaints"), [(0o755, 1), (0o710, 1), (0o700, 0), (None, 0)])
def test_what_is_made_in_an_open_state_folder_is_closed(
    tmp_path: Path, mode: int | None, complaints: int, caplog: pytest.LogCaptureFixture
) -> None:
    state = tmp_path / "state"
    if mode is not None:
        state.mkdir()
        state.chmod(mode)
    before = os.umask(0o022)
    try:
        keep_private(state)
        end(assemble(Settings(state=state)))
    finally:
        os.umask(before)
    assert not any(path.stat().st_mode & 0o077 for path in state.rglob("*"))
    assert (state / "spool").exists()
    assert [f"chmod -R go= {state}" in record.message for record in caplog.records] == [True] * complaints
    assert mode is None or state.stat().st_mode & 0o777 == mode


def test_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} of 127.0.0.1 is taken"):
            serve(Settings(state=tmp_path / "state", port=port), lambda line: None)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid"])
def test_an_address_of_another_machine_is_one_line(tmp_path: Path, host: str) -> None:
    with pytest.raises(ConfigurationError, match=host):
        serve(Settings(state=tmp_path / "state", host=host, port=0), lambda line: None)


def test_missing_java_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(TamisError, match="needs Java"):
        serve(Settings(state=tmp_path / "state", port=0), lambda line: None)


def test_the_command_ends_with_2_and_says_why(tmp_path: Path) -> None:
    import typer

    from tamis.cli.base.options import Commands
    from tamis.cli.serve import serve as command

    app = typer.Typer(cls=Commands)
    app.callback()(lambda: None)
    app.command()(command)
    (tmp_path / "bad.yaml").write_text("attributes: {price: nonsense}\nevent_types: {a: {price: optional}}\n")
    (tmp_path / "file").write_text("")
    for options, words in (
        (["--state", str(tmp_path / "s"), "--schema", str(tmp_path / "bad.yaml"), "--port", "0"], "nonsense"),
        (["--state", str(tmp_path / "s"), "--schema", str(tmp_path / "none.yaml"), "--port", "0"], "none.yaml"),
        (["--state", str(tmp_path / "file"), "--port", "0"], "file"),
        (["--settings", str(tmp_path / "none.yaml")], "none.yaml"),
        (["--state", str(tmp_path / "s"), "--port", "0", "--log", "nonsense://x"], "nonsense"),
        (["--state", str(tmp_path / "s"), "--port", "0", "--store", "nonsense://x"], "nonsense"),
    ):
        result = CliRunner().invoke(app, ["serve", *options])
        assert result.exit_code == 2, result.output
        assert words in result.output.replace("\n", "")


@pytest.mark.parametrize("lost", ["missing", "empty"])
def test_a_folder_that_has_lost_its_store_is_not_taken_for_a_new_one(tmp_path: Path, lost: str) -> None:
    settings = Settings(state=tmp_path)
    end(assemble(settings))
    end(assemble(settings))
    for file in tmp_path.glob("store.sqlite*"):
        file.unlink()
    if lost == "empty":
        (tmp_path / "store.sqlite").touch()
    with pytest.raises(ConfigurationError, match=f"store.sqlite is {lost}, but there is spool .* from a backup"):
        assemble(settings)
    (tmp_path / "spool").rename(tmp_path / "old")
    end(assemble(settings))


def test_a_key_file_that_is_no_text_is_replaced(tmp_path: Path) -> None:
    service = assemble(Settings(state=tmp_path))
    (tmp_path / "admin.key").write_bytes(b"\xff\xfe")
    secret = administrator_key(service.store, tmp_path)
    assert (tmp_path / "admin.key").read_text().strip() == secret
    end(service)


def test_too_few_files_are_told_before_spark_fails_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 256))
    with pytest.raises(ConfigurationError, match=r"only 256 files open here, and Spark needs 512.*ulimit -n"):
        serve(Settings(state=tmp_path / "state", port=0), print)
    assert not (tmp_path / "state").exists()
