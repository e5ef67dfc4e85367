"""YAML whose aliases stand for much more than is written."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tamis.cli.rules import read_rules
from tamis.dialects import sigma
from tamis.dialects.conversion import ConversionError
from tamis.errors import SchemaError, TamisError, shown
from tamis.operators.library.spatial.gazetteer import read_places
from tamis.operators.library.text.operators import read_keywords
from tamis.schema import Schema
from tamis.service.base.configuration import read_settings
from tamis.yaml_loading import Loader, QuickLoader, TooManyAliasesError, load


def nested(depth: int, before: str) -> str:
    """Lists of ten aliases each: every level stands for ten times as much."""
    levels = [f"&a0 [{', '.join('x' * 10)}]"]
    levels += [f"&a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, depth)]
    return f"{before}[{', '.join(levels)}]"


def of_schema(text: str, _: Path) -> object:
    return Schema.from_yaml(text)


def of_settings(text: str, folder: Path) -> object:
    (folder / "settings.yaml").write_text(text)
    return read_settings({}, folder / "settings.yaml", {})


def of_variable(text: str, _: Path) -> object:
    return read_settings({}, environment={"TAMIS_TRUSTED_PROXIES": text})


def of_sigma(text: str, _: Path) -> object:
    return list(sigma.documents(text))


def of_rules(text: str, folder: Path) -> object:
    (folder / "rules.yaml").write_text(text)
    (rule,) = read_rules([folder / "rules.yaml"], "eventbridge")
    if rule.error is not None:
        raise rule.error
    return rule


def of_keywords(text: str, folder: Path) -> object:
    (folder / "words.yaml").write_text(text)
    return read_keywords(folder / "words.yaml")


def of_places(text: str, folder: Path) -> object:
    (folder / "places.yaml").write_text(text)
    return read_places(folder / "places.yaml")


READERS = [of_schema, of_settings, of_variable, of_sigma, of_rules, of_keywords, of_places]


@pytest.mark.parametrize("depth", [4, 7, 40])
@pytest.mark.parametrize("reader", READERS)
def test_what_aliases_stand_for_is_never_written_out(
    reader: Callable[[str, Path], object], depth: int, tmp_path: Path
) -> None:
    """Depth 4 is within the bound, and the value is wrong all the same; 7 was a message of 116 million characters."""
    text = nested(depth, "attributes: ")
    tracemalloc.start()
    try:
        said = ""
        try:
            reader(text, tmp_path)
        except TamisError as error:
            said = str(error)
        assert len(said) < 1_000
        assert said or (depth == 4 and reader in (of_sigma, of_rules))
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_a_schema_says_where_its_aliases_stand_for_too_much() -> None:
    with pytest.raises(SchemaError, match="stand for more than 100,000 values; write the values out") as refused:
        Schema.from_yaml(nested(7, "attributes: "))
    assert refused.value.place.startswith("line 1, column ")


def test_an_alias_for_what_it_is_part_of_is_refused() -> None:
    with pytest.raises(SchemaError, match="an alias stands for what it is a part of"):
        Schema.from_yaml("attributes: &a {p: *a}")
    with pytest.raises(ConversionError, match="an alias stands for what it is a part of"):
        list(sigma.documents("&a [1, [*a]]"))


@pytest.mark.parametrize("loader", [Loader, QuickLoader])
def test_aliases_within_the_bound_are_read(loader: type) -> None:
    text = "base: &b {x: 1, y: [2, 3]}\nof: [*b, *b, {<<: *b, x: 4}]\nnone: &n\nagain: *n"
    assert load(text, loader) == yaml.safe_load(text)
    assert len(load(f"- &a [{'x, ' * 1_000}]\n" + "- *a\n" * 99, loader)) == 100
    with pytest.raises(TooManyAliasesError):
        load(f"- &a [{'x, ' * 1_000}]\n" + "- *a\n" * 101, loader)


def test_values_without_aliases_may_be_as_many_as_there_are() -> None:
    assert len(load(json.dumps(list(range(150_000))), QuickLoader)) == 150_000


@pytest.mark.parametrize(
    "value",
    [[], [1, [2.5, None]], (), (1,), (1, "a"), {}, {"a": {"b": [True]}, 2: b"x"}, {1}, frozenset({1}), set(), "é'"],
)
def test_short_values_are_shown_as_python_writes_them(value: object) -> None:
    assert shown(value) == repr(value)


def test_long_values_are_cut() -> None:
    assert shown("x" * 100, 10) == "'xxxxxxxxx..."
    assert shown(1 << 100_000) == "a number of thousands of digits"
    deep: list[object] = []
    deep.append(deep)
    assert shown(deep, 5) == "[[[[[..."
    assert shown({"k" * 1_000: 1}, 5) == "{'kkk..."
