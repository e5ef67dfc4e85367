"""What stands in registries is loaded when it is asked for by its name, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tamis
from tamis.operators.schedules import SCHEDULES

UNASKED = (
    "tamis.lab",
    "tamis.joins.naive",
    "tamis.matching.naive",
    "tamis.operators.naive",
    "tamis.operators.schedules.adaptive",
    "tamis.routing",
    "tamis.testing",
    "tamis.workloads",
)
"""Rivals of what the product runs on, and what only they, simulations and tests need."""
ADAPTIVE = "tamis.operators.schedules.adaptive"

USE = """
import sys, tamis
schema = tamis.Schema.from_dict({"attributes": {"price": "float"}, "event_types": {"sale": {"price": "mandatory"}}})
%s
print(*sorted(name for name in sys.modules if name.startswith("tamis.")))
"""
PLAIN = """
index = tamis.compile({"cheap": "price < 10"}, schema)
assert index.match([{"price": 5.0}]).to_lists() == [["cheap"]]
"""
CALLING = """
@tamis.operator(cost=1.0)
def dear(price: float) -> bool:
    return price > 4
index = tamis.compile({"cheap": "price < 10 AND dear()"}, schema, operators=[dear]%s)
assert index.match([{"price": 5.0}]).to_lists() == [["cheap"]]
"""


def loaded_by(code: str) -> list[str]:
    """The modules of Tamis that a new process has loaded when it is through with the code."""
    command = [sys.executable, "-c", USE % code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=500).stdout.split()


def among(modules: list[str], rooms: tuple[str, ...]) -> list[str]:
    return [name for name in modules if name.startswith(tuple(f"{room}." for room in rooms)) or name in rooms]


def test_compiling_and_matching_load_no_rival_of_the_matcher_and_nothing_of_the_laboratory() -> None:
    modules = loaded_by(PLAIN)
    assert "tamis.matching.columnar.level" in modules
    assert among(modules, UNASKED) == []


def test_calling_operators_loads_the_adaptive_schedule_and_no_other() -> None:
    modules = loaded_by(CALLING % "")
    assert among(modules, (ADAPTIVE,)) != []
    assert among(modules, tuple(room for room in UNASKED if room != ADAPTIVE)) == []


def test_another_schedule_is_loaded_when_it_is_asked_for() -> None:
    modules = loaded_by(CALLING % ", schedule='sub-order'")
    assert "tamis.lab.schedules.sub_order" in modules
    assert among(modules, (ADAPTIVE,)) == []


def test_the_names_of_matchers_are_told_without_loading_one() -> None:
    modules = loaded_by("assert 'tree' in tamis.MATCHERS and len(list(tamis.MATCHERS)) == len(tamis.MATCHERS)")
    assert among(modules, ("tamis.matching.columnar", *UNASKED)) == []


@pytest.mark.parametrize("name", tamis.MATCHERS)
def test_a_matcher_is_what_its_name_says(name: str) -> None:
    assert tamis.MATCHERS[name].name == name


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_is_what_its_name_says(name: str) -> None:
    assert SCHEDULES[name].name == name
