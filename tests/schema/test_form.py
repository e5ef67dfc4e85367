"""The dict and YAML form: what is read, what is written back, and how mistakes are placed."""

from __future__ import annotations

import pickle
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from tamis.errors import SchemaError
from tamis.schema import EnumeratedDomain, Schema
from tamis.testing import schemas
from tests.schema.cases import AUCTIONS, FORM


def spoilt(path: str, value: Any) -> dict[str, Any]:
    form: Any = deepcopy(FORM)
    *way, last = path.split("/")
    node = form
    for key in way:
        node = node[key]
    node[last] = value
    return form


def test_event_type_is_built_in_and_comes_first() -> None:
    assert next(iter(AUCTIONS.attributes)) == "event_type"
    event_type = AUCTIONS.attributes["event_type"]
    assert isinstance(event_type.domain, EnumeratedDomain)
    assert event_type.domain.values == ("antiques", "furniture")
    assert event_type.multiple
    assert not event_type.domain.ordered


def test_attributes_are_numbered_as_declared() -> None:
    assert [attribute.number for attribute in AUCTIONS.attributes.values()] == list(range(10))
    assert list(AUCTIONS.attributes)[1:] == list(FORM["attributes"])


def test_an_attribute_is_multiple_if_some_event_type_says_so() -> None:
    assert [name for name, attribute in AUCTIONS.attributes.items() if attribute.multiple] == ["event_type", "tags"]


def test_the_canonical_columns_follow_the_attributes() -> None:
    assert AUCTIONS.arrow_schema == pa.schema(
        [
            ("event_type", pa.list_(pa.string())),
            ("price", pa.float64()),
            ("quantity", pa.int64()),
            ("sold", pa.bool_()),
            ("opened", pa.timestamp("us", "UTC")),
            ("title", pa.string()),
            ("tags", pa.list_(pa.string())),
            ("period", pa.string()),
            ("furniture_category", pa.string()),
            ("seller.rating", pa.int64()),
        ]
    )


@given(schemas())
def test_every_schema_survives_dict_yaml_and_pickle(schema: Schema) -> None:
    for again in (
        Schema.from_dict(schema.to_dict()),
        Schema.from_yaml(schema.to_yaml()),
        pickle.loads(pickle.dumps(schema)),
    ):
        assert again == schema
        assert again.fingerprint == schema.fingerprint
        assert list(again.attributes) == list(schema.attributes)
        assert again.arrow_schema == schema.arrow_schema


def test_equal_schemas_written_differently_have_one_fingerprint() -> None:
    written = spoilt("attributes/price", {"type": "float"})
    written["event_types"]["antiques"]["price"] = ["mandatory", "unique"]
    assert Schema.from_dict(written).fingerprint == AUCTIONS.fingerprint
    assert Schema.from_dict(spoilt("attributes/price", "integer")).fingerprint != AUCTIONS.fingerprint


def test_the_fingerprint_never_changes() -> None:
    assert AUCTIONS.fingerprint == "16762ac12ca285211c65dc227f6044ac3215f52c369b660ff61cb4876745da51"


def test_domains_may_be_written_inline_and_named_domains_may_be_plain() -> None:
    form = spoilt("attributes/size", {"type": "enumerated", "values": ["S", "M"], "order": [["S", "M"]]})
    form["domains"]["euros"] = {"type": "float"}
    form["attributes"]["price"] = "euros"
    schema = Schema.from_dict(form)
    assert schema.attributes["price"].domain.kind == "float"
    assert schema.attributes["price"].domain == AUCTIONS.attributes["price"].domain
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.to_dict()["attributes"]["price"] == "euros"  # type: ignore[index]


def test_a_file_is_loaded_and_its_name_is_in_the_errors(tmp_path: Path) -> None:
    path = tmp_path / "auctions.yaml"
    path.write_text(AUCTIONS.to_yaml(), encoding="utf-8")
    assert Schema.load(path) == AUCTIONS
    path.write_text("attributes: {x: nothing}\nevent_types: {e: {x: optional}}", encoding="utf-8")
    with pytest.raises(SchemaError, match=r"auctions\.yaml: attributes\.x: domain 'nothing' is not defined"):
        Schema.load(path)
    with pytest.raises(SchemaError, match="cannot read"):
        Schema.load(tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    ("path", "value", "place", "message"),
    [
        ("extra", {}, "extra", "unknown key 'extra'; the keys are domains, attributes"),
        ("domains/float", {"type": "float"}, "domains.float", "built-in"),
        ("domains/period/sort", 1, "domains.period.sort", "unknown key 'sort'"),
        ("domains/period/type", "enum", "domains.period.type", "no such type of domain: 'enum'; use one of integer"),
        ("domains/period", "enumerated", "domains.period", "expected a mapping"),
        ("domains/period", {}, "domains.period.type", "has no type"),
        ("domains/period/values", [], "domains.period.values", "no values"),
        ("domains/period/values", "XVI", "domains.period.values", "expected a list"),
        ("domains/period/values", ["XVI", "XVI"], "domains.period.values[1]", "twice"),
        ("domains/period/values", [16, 17], "domains.period.values[0]", "expected a string, found 16; quote it: '16'"),
        ("domains/period/order", [["XVI", "XVI"]], "domains.period.order", "cycle: 'XVI' < 'XVI'"),
        ("domains/period/order", [["XVI", "XX"]], "domains.period.order[0][1]", "value 'XX' is not defined"),
        ("domains/period/order", [["XVI"]], "domains.period.order[0]", "a pair has two values"),
        (
            "domains/period/order",
            [["XVI", "XVII"], ["XVII", "XVIII"], ["XVIII", "XVI"]],
            "domains.period.order",
            "cycle: 'XVI' < 'XVII' < 'XVIII' < 'XVI'",
        ),
        ("domains/furniture/tree", {"a": {"b": {}}, "b": {}}, "domains.furniture.tree.b", "two nodes 'b'"),
        ("domains/furniture/tree", {"a": {"a": {}}}, "domains.furniture.tree.a.a", "two nodes 'a'"),
        ("domains/furniture/tree", {}, "domains.furniture.tree", "no nodes"),
        ("domains/furniture/tree", {"a b": ["c"]}, "domains.furniture.tree['a b']", "expected a mapping"),
        ("attributes/price", "flaot", "attributes.price", "'flaot' is not defined; did you mean 'float'"),
        ("attributes/event_type", "string", "attributes.event_type", "built in"),
        ("attributes/", "string", "attributes['']", "not empty"),
        ("attributes/a\0b", "string", "attributes['a\\x00b']", "NUL"),
        ("attributes/\ud800", "string", "attributes['\\ud800']", "lone surrogate"),
        ("attributes", ["price"], "attributes", "expected a mapping"),
        ("event_types", {}, "event_types", "no event type"),
        ("event_types/antiques/prize", "optional", "event_types.antiques.prize", "did you mean 'price'?"),
        ("event_types/antiques/event_type", "optional", "event_types.antiques.event_type", "built in"),
        ("event_types/antiques/price", "required", "event_types.antiques.price", "no such annotation: 'required'"),
        ("event_types/antiques/price", "multiple", "event_types.antiques.price", "either mandatory or optional"),
        ("event_types/antiques/price", [], "event_types.antiques.price", "either mandatory or optional"),
        ("event_types/antiques/price", {}, "event_types.antiques.price", "expected a list"),
        ("event_types/antiques/price", [["mandatory"]], "event_types.antiques.price", "no such annotation"),
        ("event_types/antiques/price", ["optional", "mandatory"], "event_types.antiques.price", "either mandatory"),
        ("event_types/antiques/price", ["optional", "unique", "multiple"], "event_types.antiques.price", "unique or"),
        ("default_event_type", "antique", "default_event_type", "did you mean 'antiques'?"),
    ],
)
def test_mistakes_are_refused_with_place_and_remedy(path: str, value: Any, place: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(spoilt(path, value))
    assert caught.value.place == place
    assert message in str(caught.value)
    assert caught.value.remedy
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attributes: {x: float, x: string}", "line 1, column 24: 'x' is given twice"),
        ("domains: {d: {type: hierarchical, tree: {a: {b: }, a: }}}", "'a' is given twice"),
        ("attributes: {x: float", "line 1, column 22: this is no YAML: expected ',' or '}'"),
        ("attributes: {x: 2024-13-45}", "this is no YAML: month must be in 1..12"),
        ("attributes: {x: '\0'}", "this is no YAML: unacceptable character"),
        ("attributes: {x: float\nevent_types: {e: }", "close the bracket that was opened before"),
        (
            "attributes:\n\tx: float",
            "line 2, column 1: this is no YAML: found character '\\t' that cannot start any token; indent by spaces",
        ),
        ("attributes: {}\n---\nevent_types: {}", "this is no YAML: found another document; leave '---' out"),
        ("- a", "expected a mapping"),
        ("", "expected a mapping, found nothing; a schema has attributes and event_types"),
        ("{attributes: {x: }, event_types: {e: }}", "attributes.x: expected a string, found nothing; write it after"),
        ("event_types: {e: {x: optional}}", "attribute 'x' is not defined; declare it"),
        ("{attributes: [x], event_types: {e: }}", "found ['x']; write {price: float, title: string}"),
        ("attributes: !!python/object:os.system {}", "no YAML"),
        (
            "{attributes: {x: {type: enumerated, values: [yes, no]}}, event_types: {e: }}",
            "quote it, for without quotes yes",
        ),
        (
            "{domains: {d: {type: hierarchical, tree: &t {a: *t}}}, event_types: {e: }}",
            "stands for what it is a part of",
        ),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_yaml_is_read_strictly(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(message)):
        Schema.from_yaml(text)


def test_a_tree_may_be_deep_but_not_bottomless() -> None:
    def chain(depth: int) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for level in range(depth):
            tree = {f"n{level}": tree}
        return {"domains": {"d": {"type": "hierarchical", "tree": tree}}, "event_types": {"e": {}}}

    schema = Schema.from_dict(chain(100))
    assert Schema.from_yaml(schema.to_yaml()) == schema
    with pytest.raises(SchemaError, match="deeper than 100"):
        Schema.from_dict(chain(101))
