"""The conformance cases that CloudEvents publishes with CESQL. They are read where they are, and not kept here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tamis.dialects.cesql import Evaluated, evaluate, parse
from tamis.errors import FilterError

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("TAMIS_CESQL_TCK") or ROOT.parent / "shared" / "data" / "cesql_tck")
EVENT = {"specversion": "1.0", "id": "1", "source": "/conformance", "type": "a.test"}


class _Loader(yaml.SafeLoader):
    """Leaves times as they are written: attributes that hold them are strings to CESQL."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _cases() -> list[Any]:
    found = []
    for file in sorted(FOLDER.glob("*.yaml")):
        with file.open(encoding="utf-8") as opened:
            suite = yaml.load(opened, _Loader)
        found += [pytest.param(case, id=f"{file.stem}: {case['name']}") for case in suite["tests"]]
    return found


CASES = _cases()

pytestmark = pytest.mark.skipif(
    not CASES,
    reason="needs CESQL's conformance cases (cesql/cesql_tck of the CloudEvents specification): set TAMIS_CESQL_TCK",
)


def test_there_are_as_many_cases_as_the_specification_has() -> None:
    assert len(CASES) == 275


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    event = {**(case.get("event") or EVENT), **case.get("eventOverrides", {})}
    # YAML reads some expressions, such as 0 or TRUE, as values.
    expression = str(case["expression"])
    if case.get("error") == "parse":
        with pytest.raises(FilterError):
            parse(expression)
        return
    found = evaluate(parse(expression), event)
    assert _kind(found) == case.get("error")
    if "result" in case:
        assert (type(found.value), found.value) == (type(case["result"]), case["result"])


def _kind(found: Evaluated) -> str | None:
    return None if found.error is None else found.error.kind
