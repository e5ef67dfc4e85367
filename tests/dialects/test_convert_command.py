"""`tamis convert`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

import tamis
from tamis.cli.base.options import Commands
from tamis.cli.convert import convert

PAGE = Path(__file__).resolve().parents[2] / "docs" / "importing.md"

Convert = Callable[..., Result]

SCHEMA = """
attributes: {source: string, detail.state: string, detail.count: float}
event_types: {event: {source: mandatory, detail.state: optional, detail.count: optional}}
"""
SIGMA = """
title: A tool
id: 5013fbe4-0c30-4a5b-a2b2-1f1f2d7a0001
detection: {sel: {Image|endswith: '\\tool.exe'}, filter: {User: SYSTEM}, condition: sel and not filter}
---
title: A keyword
detection: {words: [evil], condition: words}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Convert:
    """Runs the command in an empty folder with a schema. Nothing may reach the user as a traceback."""
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    app = typer.Typer(cls=Commands, pretty_exceptions_enable=False)
    app.callback()(lambda: None)
    app.command()(convert)
    runner = CliRunner(env={"COLUMNS": "120", "TERM": "dumb", "NO_COLOR": "1"})

    def invoke(*arguments: str) -> Result:
        result = runner.invoke(app, ("convert", *arguments))
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.output
        return result

    return invoke


def subscriptions(path: str | Path) -> dict[str, str]:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["filter"] for row in map(json.loads, lines)}


def test_patterns_become_subscriptions_that_compile(run: Convert) -> None:
    Path("busy.json").write_text('{"source": ["a"], "detail": {"state": [{"prefix": "run"}]}}')
    result = run("--from", "eventbridge", "busy.json", "-s", "schema.yaml", "-o", "subs.jsonl")
    assert result.exit_code == 0, result.output
    assert subscriptions("subs.jsonl") == {"busy": "source = 'a' AND detail.state LIKE 'run%'"}
    assert "1 of 1 rules converted" in result.stderr
    assert len(tamis.compile(subscriptions("subs.jsonl"), tamis.Schema.load("schema.yaml"))) == 1


def test_what_aws_lists_is_read_with_its_names(run: Convert) -> None:
    rules = [
        {"Name": "one", "EventPattern": '{"source": ["a"]}', "State": "ENABLED"},
        {"Name": "two", "EventPattern": '{"detail": {"count": [{"numeric": [">", 5]}]}}'},
        {"Name": "three", "EventPattern": '{"source": [5]}'},
    ]
    Path("rules.json").write_text(json.dumps({"Rules": rules}))
    result = run(
        "--from", "eventbridge", "rules.json", "-s", "schema.yaml", "-o", "subs.jsonl", "--refused", "no.jsonl"
    )
    assert result.exit_code == 1
    assert subscriptions("subs.jsonl") == {"one": "source = 'a'", "two": "detail.count > 5"}
    (refused,) = [json.loads(line) for line in Path("no.jsonl").read_text().splitlines()]
    assert (refused["id"], refused["error"]) == ("three", "ConversionError")
    assert "source[0]: the pattern asks for a number" in refused["message"]
    assert "three refused" in result.stderr


def test_lines_of_json_and_of_selectors_are_read(run: Convert) -> None:
    Path("p.jsonl").write_text('{"id": "x", "pattern": {"source": ["a"]}}\nno json\n{"source": ["b"]}\n')
    result = run("--from", "eventbridge", "p.jsonl", "-s", "schema.yaml", "-o", "subs.jsonl")
    assert result.exit_code == 1
    assert subscriptions("subs.jsonl") == {"x": "source = 'a'", "p-3": "source = 'b'"}
    Path("s.txt").write_text("source = 'a'\n\nNOT detail.count > 5\nnope >\n")
    result = run("--from", "jms", "s.txt", "-s", "schema.yaml", "-o", "-")
    assert result.exit_code == 1
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert found == [{"id": "s-1", "filter": "source = 'a'"}, {"id": "s-3", "filter": "NOT detail.count > 5"}]
    Path("s.yaml").write_text(yaml.safe_dump({"first": "source = 'a'"}))
    assert run("--from", "jms", "s.yaml", "-s", "schema.yaml", "-o", "-").stdout.startswith('{"id": "first"')


def test_a_folder_of_sigma_rules_gets_a_schema_of_its_own(run: Convert) -> None:
    pytest.importorskip("sigma", reason="the Sigma extra is not installed")
    Path("rules/deep").mkdir(parents=True)
    Path("rules/deep/tool.yml").write_text(SIGMA)
    Path("rules/broken.yml").write_text("title: [")
    result = run("--from", "sigma", "rules", "-o", "subs.jsonl", "--propose-schema", "logs.yaml")
    assert result.exit_code == 1
    filter = r"Image ILIKE '%\\tool.exe' AND (User IS NULL OR NOT User ILIKE 'SYSTEM')"
    assert subscriptions("subs.jsonl") == {"5013fbe4-0c30-4a5b-a2b2-1f1f2d7a0001": filter}
    assert "1 of 3 rules converted" in result.stderr
    assert set(tamis.Schema.load("logs.yaml").attributes) == {"event_type", "Image", "User"}
    result = run("--from", "sigma", "rules/deep", "-o", "s.jsonl", "--keywords", "line", "--log-source", "src.")
    assert result.exit_code == 0, result.output
    assert subscriptions("s.jsonl")["tool-2"] == "line ILIKE '%evil%'"


def test_a_schema_that_is_given_is_extended_where_that_is_asked_for(run: Convert) -> None:
    Path("p.json").write_text('{"source": ["a"], "detail": {"new": ["x"], "tags": ["t"]}}')
    assert run("--from", "eventbridge", "p.json", "-s", "schema.yaml", "-o", "s.jsonl").exit_code == 1
    options = ("-s", "schema.yaml", "--propose-schema", "wider.yaml", "--multiple", "detail.tags")
    result = run("--from", "eventbridge", "p.json", "-o", "s.jsonl", *options)
    assert result.exit_code == 0, result.output
    assert "2 attributes added" in result.stderr
    wider = tamis.Schema.load("wider.yaml")
    assert wider.attributes["detail.tags"].multiple
    assert wider.attributes["detail.count"].domain.kind == "float"


def test_rules_with_one_id_are_told_apart(run: Convert) -> None:
    Path("p.json").write_text(json.dumps([{"id": "x", "pattern": {"source": [value]}} for value in "ab"]))
    result = run("--from", "eventbridge", "p.json", "-s", "schema.yaml", "-o", "s.jsonl")
    assert result.exit_code == 1
    assert subscriptions("s.jsonl") == {"x": "source = 'a'"}
    assert "there is a rule with this id before it" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "eventbridge", "missing.json", "-s", "schema.yaml", "-o", "s.jsonl"), "no such file"),
        (("--from", "eventbridge", "empty", "-s", "schema.yaml", "-o", "s.jsonl"), "there are no rules in"),
        (("--from", "eventbridge", "bad.json", "-o", "s.jsonl"), "no rule could be read"),
        (("--from", "eventbridge", "bad.json", "-s", "schema.yaml", "-o", "s.xml"), "suffix"),
        (("--from", "eventbridge", "bad.json", "-s", "nope.yaml", "-o", "s.jsonl"), "cannot read the schema file"),
        (("--from", "drools", "bad.json", "-s", "schema.yaml", "-o", "s.jsonl"), "drools"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(run: Convert, arguments: tuple[str, ...], message: str) -> None:
    Path("empty").mkdir()
    Path("bad.json").write_text("{")
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_reasons_are_told_where_no_rule_can_be_read(run: Convert) -> None:
    Path("p.json").write_text('{"source": [{"shellstyle": "a*"}]}')
    result = run("--from", "eventbridge", "p.json", "-o", "s.jsonl", "--propose-schema", "new.yaml")
    assert result.exit_code == 2
    assert "source[0].shellstyle: there is no operator shellstyle" in result.stderr
    assert not Path("new.yaml").exists()


def test_a_rule_that_asks_for_no_attribute_needs_no_schema(run: Convert) -> None:
    Path("s.txt").write_text("TRUE\n")
    result = run("--from", "jms", "s.txt", "-o", "s.jsonl", "--propose-schema", "new.yaml")
    assert result.exit_code == 0, result.output
    assert subscriptions("s.jsonl") == {"s-1": "TRUE"}
    assert set(tamis.Schema.load("new.yaml").attributes) == {"event_type"}


def test_where_no_rule_can_be_read_the_reasons_are_told(run: Convert) -> None:
    Path("bad.json").write_text("{")
    result = run(
        "--from", "eventbridge", "bad.json", "-o", "s.jsonl", "--refused", "no.csv", "--propose-schema", "p.yaml"
    )
    assert result.exit_code == 2
    assert "the file cannot be read" in result.stderr
    assert "the file cannot be read" in Path("no.csv").read_text()
    assert not Path("p.yaml").exists()


def test_the_commands_of_the_page_run(run: Convert) -> None:
    pytest.importorskip("sigma", reason="the Sigma extra is not installed")
    text = PAGE.read_text(encoding="utf-8")
    Path("events.yaml").write_text(SCHEMA)
    Path("rules.json").write_text('{"source": ["a"]}')
    Path("selectors.txt").write_text("source = 'a'\n")
    Path("rules").mkdir()
    Path("rules/tool.yml").write_text(SIGMA.split("---")[0])
    commands = [
        shlex.split(line)
        for block in re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)
        for line in block.splitlines()
    ]
    ours = [command[2:] for command in commands if command[:2] == ["tamis", "convert"]]
    assert len(ours) >= 3
    for arguments in ours:
        result = run(*arguments)
        assert result.exit_code == 0, (arguments, result.output)
