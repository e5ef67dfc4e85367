"""Operators by name, handed over or offered by installed packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

import tamis
from tamis.errors import OperatorError
from tamis.operators import Registry, installed, installed_names, registry


@tamis.operator
def even(number: int) -> bool:
    return number % 2 == 0


def odd(number: int) -> bool:
    return not even(number)


_HERE = __name__
OFFERED = EntryPoints(
    EntryPoint(name, value, registry.GROUP)
    for name, value in (
        ("even", f"{_HERE}:even"),
        ("odd", f"{_HERE}:odd"),
        ("strange", f"{_HERE}:even"),
        ("missing", f"{_HERE}:nothing"),
        ("elsewhere", "no_such_package:operator"),
        ("twice", "a:operator"),
        ("twice", "b:operator"),
    )
)


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(**asked: Any) -> EntryPoints:
        return OFFERED.select(**asked)

    monkeypatch.setattr(registry, "entry_points", found)


@pytest.mark.usefixtures("offers")
def test_a_package_offers_operators_by_entry_point() -> None:
    assert installed("even") is even
    assert Registry(["even"])["even"] is even
    assert installed_names() == ["elsewhere", "even", "missing", "odd", "strange", "twice"]


@pytest.mark.usefixtures("offers")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("evn", "did you mean even"),
        ("odd", "is no operator"),
        ("strange", "calls itself even"),
        ("missing", "cannot be loaded"),
        ("elsewhere", "cannot be loaded"),
        ("twice", "several packages"),
    ],
)
def test_an_offer_that_cannot_be_taken_says_why(name: str, message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        installed(name)


def test_two_operators_of_one_name_are_refused() -> None:
    other = tamis.operator(name="even")(odd)
    with pytest.raises(OperatorError, match="two operators even"):
        Registry([even, other])
    assert len(Registry([even, even])) == 1


def test_only_operators_are_taken() -> None:
    with pytest.raises(OperatorError, match=r"declare it with @tamis.operator"):
        Registry([odd])  # type: ignore[list-item]
    with pytest.raises(OperatorError, match="given as a list"):
        Registry("even")
