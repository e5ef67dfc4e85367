"""Tamis' own operators are offered as a plug-in's are, and cost nothing until they are asked for."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from tamis.errors import OperatorError
from tamis.operators import Operator, Registry, registry
from tamis.operators.library.offering import extra

ROOT = Path(__file__).resolve().parents[3]
OFFERED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][registry.GROUP]


@pytest.fixture
def _offers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this source tree were installed."""
    entries = EntryPoints(EntryPoint(name, value, registry.GROUP) for name, value in OFFERED.items())
    monkeypatch.setattr(registry, "entry_points", lambda **selection: entries.select(**selection))


@pytest.mark.usefixtures("_offers")
@pytest.mark.parametrize(
    ("module", "needed"),
    [("spatial", "shapely"), ("images", "cv2"), ("reasoning", "owlrl"), ("text", "re2")],
)
def test_every_operator_of_a_module_is_offered_by_its_name(module: str, needed: str) -> None:
    pytest.importorskip(needed, reason=f"the extra `{module}` is not installed")
    place = f"tamis.operators.library.{module}"
    names = sorted(name for name, value in OFFERED.items() if value.startswith(f"{place}:"))
    found = Registry(names)
    assert list(found) == names
    here = sys.modules[place]
    declared = {name for name in here.__all__ if isinstance(getattr(here, name), Operator)}
    assert declared == set(names)
    assert all(operator.about for operator in found.values())


def test_every_offer_is_of_a_module_with_tests() -> None:
    modules = {value.rpartition(":")[0].rpartition(".")[2] for value in OFFERED.values()}
    assert modules == {"spatial", "images", "reasoning", "text"}
    assert all((Path(__file__).parent / f"test_{module}.py").exists() for module in modules)


def test_every_operator_is_called_in_an_example_that_runs() -> None:
    page = (ROOT / "docs/operators-library.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"^```(?:python|text)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    assert [name for name in OFFERED if f"{name}(" not in blocks] == []
    assert [name for name in OFFERED if f"`{name}(" not in page] == []


def test_tamis_alone_imports_none_of_the_libraries() -> None:
    code = "import sys, tamis; print({'cv2', 'shapely', 'rdflib', 'owlrl', 'geographiclib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "src")
    assert done.stdout == "set()\n"


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(["cv2", "shapely", "geographiclib", "rdflib", "owlrl"]))  # cannot be imported
import tamis
from importlib.metadata import EntryPoint, EntryPoints
from tamis.operators import registry
from tamis.workloads.city_subscriptions import city_watch_schema
entries = EntryPoints(EntryPoint(name, value, registry.GROUP) for name, value in {offered!r}.items())
registry.entry_points = lambda **selection: entries.select(**selection)
print(len(registry.installed_names()))
for name in ("loc_in", "distance_from", "mob_pattern", "is_a"):
    try:
        tamis.compile({{"a": "mentions('fire')"}}, city_watch_schema(), operators=[name])
    except tamis.TamisError as error:
        print(error)
index = tamis.compile({{"a": "mentions('fire')"}}, city_watch_schema(), operators=["mentions", "finds"])
print(len(index), index.errors)
"""


def test_without_the_extras_tamis_works_and_says_which_is_missing() -> None:
    code = WITHOUT.format(offered=OFFERED)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "src")
    count, *errors, last = done.stdout.splitlines()
    assert int(count) == len(OFFERED)
    assert len(errors) == 4
    for error, name, library, extra_name in zip(
        errors,
        ("loc_in", "distance_from", "mob_pattern", "is_a"),
        ("geographiclib", "geographiclib", "cv2", "rdflib"),
        ("spatial", "spatial", "images", "reasoning"),
        strict=True,
    ):
        assert error.startswith(f"the operator {name} cannot be loaded")
        assert error.endswith(f"{library} is not installed; install it: pip install 'tamis[{extra_name}]'")
    assert last == "1 []"


def test_a_library_that_is_missing_is_named_with_its_remedy() -> None:
    with (
        pytest.raises(OperatorError, match=r"^shapely is not installed; .*: pip install 'tamis\[spatial\]'$"),
        extra("spatial"),
    ):
        raise ModuleNotFoundError("No module named 'shapely'", name="shapely")
