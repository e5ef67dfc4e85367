"""Commands whose subscriptions call operators: `--operators module:name`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.house import Tamis

MODULE = """
import tamis


@tamis.operator(cost=1.0)
def worth(title: str, least: int = tamis.Var):
    return [len(title)] if least is tamis.Var else len(title) >= least
"""
FILTERS = {"long": "worth(6)", "between": "worth(?n) AND ?n BETWEEN 4 AND 5 AND price > 1", "cheap": "price < 100"}
CALLING = ("--operators", "appraisal:worth")
SCHEMA = ("--schema", "schema.yaml")


@pytest.fixture(autouse=True)
def appraisal(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the user's own in the folder where the command runs."""
    (house / "appraisal.py").write_text(MODULE)
    lines = (json.dumps({"id": id, "filter": filter}) for id, filter in FILTERS.items())
    (house / "subscriptions.jsonl").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(house))


def matched(text: str) -> list[tuple[int, str]]:
    rows = map(json.loads, text.splitlines())
    return sorted((row["event"], row["subscription"]) for row in rows)


def test_operators_are_called_by_match(tamis: Tamis) -> None:
    result = tamis("match", "subscriptions.jsonl", "events.jsonl", *SCHEMA, *CALLING, "--numbers")
    assert result.exit_code == 0, result.stderr
    assert matched(result.stdout) == [(0, "cheap"), (0, "long"), (1, "between")]


def test_a_compiled_index_is_given_its_operators_again(tamis: Tamis) -> None:
    compiled = tamis("compile", "subscriptions.jsonl", *SCHEMA, *CALLING, "--schedule", "sub-order", "-o", "a.index")
    assert compiled.exit_code == 0, compiled.stderr
    result = tamis("match", "a.index", "events.jsonl", *CALLING, "--numbers")
    assert matched(result.stdout) == [(0, "cheap"), (0, "long"), (1, "between")]
    without = tamis("match", "a.index", "events.jsonl")
    assert without.exit_code == 2
    assert "there is no operator worth" in without.stderr


@pytest.mark.parametrize("source", ["subscriptions.jsonl", "a.index"])
def test_an_explanation_tells_what_was_evaluated(tamis: Tamis, source: str) -> None:
    tamis("compile", "subscriptions.jsonl", *SCHEMA, *CALLING, "-o", "a.index")
    schema = SCHEMA if source != "a.index" else ()
    result = tamis("explain", source, "between", '{"price": 5.0, "title": "carriage"}', *schema, *CALLING)
    assert result.exit_code == 0, result.stderr
    assert "no match; first to fail: ?n <= 5" in result.stdout
    assert "worth(?x1) is true: ?x1 = 8" in result.stdout


def test_without_the_operator_filters_are_refused_by_name(tamis: Tamis) -> None:
    result = tamis("match", "subscriptions.jsonl", "events.jsonl", *SCHEMA, "--numbers")
    assert result.exit_code == 1
    assert matched(result.stdout) == [(0, "cheap")]
    assert "worth" in result.stderr


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("appraisal:nothing", "appraisal has no operator nothing"),
        ("no_such_module:worth", "there is no module no_such_module"),
        ("no_such_operator", "no installed package offers an operator no_such_operator"),
    ],
)
def test_an_operator_that_is_not_there_is_named(tamis: Tamis, named: str, message: str) -> None:
    result = tamis("match", "subscriptions.jsonl", "events.jsonl", *SCHEMA, "--operators", named)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_subscriptions_are_validated_with_their_operators(tamis: Tamis) -> None:
    checked = ("validate", "schema.yaml", "--subscriptions", "subscriptions.jsonl")
    assert tamis(*checked, *CALLING).exit_code == 0
    assert tamis(*checked).exit_code == 1


def test_what_calls_operators_is_not_analysed_and_said_so(tamis: Tamis) -> None:
    result = tamis("analyze", "subscriptions.jsonl", *SCHEMA, *CALLING, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["refused"] == 2
    assert "it calls operators" in " ".join(result.stderr.split())


def test_covers_knows_no_operators(tamis: Tamis) -> None:
    result = tamis("covers", "worth(3)", "worth(4)", *SCHEMA)
    assert result.exit_code == 2
    assert "worth" in result.stderr
