"""Binding: texts of one shape share a parse, and what a template cannot hold goes its own way."""

from __future__ import annotations

import threading
import time
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tamis.language import bind, kernels, normal_form_of, normalise, parse, shapes
from tamis.language.cutting import cut_one
from tamis.language.forms import Filter
from tamis.language.predicates import Between, Like, Not, OneOf, Order, Present, Slot, equals
from tamis.language.shapes import Bound
from tamis.language.templates import TEMPLATES, Template, TemplateCache, make_template
from tamis.language.tree import DEFAULT_LIMITS, Limits
from tests.language.auction import SCHEMA
from tests.language.test_meaning import rows_of


def bound_twice(texts: list[str]) -> Bound:
    """The texts, and enough others for the compiled way; only the given ones' rows are kept."""
    bound = bind(pa.array([*texts, *["sold"] * 20]), SCHEMA)
    few = rows_of(bind(texts, SCHEMA))
    many = rows_of(bound)
    assert [many[row] for row in range(len(texts))] == [few[row] for row in range(len(texts))]
    return bound


def test_texts_that_differ_in_literals_only_make_one_block() -> None:
    texts = [f"title = 'v{row % 7}' AND bids < {row}" for row in range(50)]
    (block,) = bind(texts, SCHEMA).blocks
    titles, bids = block.columns
    # A bound on integers is closed: the column holds one less than what is written.
    assert block.template == Filter(((Between("bids", None, Slot(1)), equals("title", Slot(0))),))
    assert block.rows.tolist() == list(range(50))
    assert pa.array(titles).to_pylist() == [f"v{row % 7}" for row in range(50)]
    assert bids.tolist() == [row - 1 for row in range(50)]
    assert bids.dtype == np.int64


def test_columns_are_in_the_attributes_types() -> None:
    text = "price > 1.5 AND bids = -3 AND opened >= '1970-01-02' AND period = 'XVI' AND category <= 'desk'"
    text += " AND title LIKE 'a%'"
    (block,) = bind([text] * 30, SCHEMA).blocks
    values = [column[0].as_py() if isinstance(column, pa.Array) else column[0].item() for column in block.columns]
    assert values == [1.5, -3, 86_400_000_000, "XVI", "desk", "a%"]
    assert [str(getattr(column, "dtype", "string")) for column in block.columns] == [
        "float64",
        "int64",
        "int64",
        "string",
        "string",
        "string",
    ]
    assert set(block.template.conjuncts[0]) == {
        Between("price", Slot(0), None, low_closed=False),
        equals("bids", Slot(1)),
        Between("opened", Slot(2), None),
        equals("period", Slot(3)),
        Order("category", "<=", Slot(4)),
        Like("title", Slot(5)),
    }


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("bids = 1 OR bids = 2", ((OneOf("bids", (Slot(0), Slot(1))),),)),
        ("bids != 1 AND bids != 2", ((Not(OneOf("bids", (Slot(0), Slot(1)))),),)),
        ("bids IN (1, 2, 1)", ((OneOf("bids", (Slot(0), Slot(1), Slot(2))),),)),
        ("NOT bids > 5", ((Between("bids", None, Slot(0)),),)),
        ("NOT sizes > 5", ((Not(Between("sizes", Slot(0), None)),),)),
        ("bids > 5 AND bids < 9", ((Between("bids", None, Slot(1)), Between("bids", Slot(0), None)),)),
        ("bids BETWEEN 5 AND 9", ((Between("bids", Slot(0), Slot(1)),),)),
        ("price BETWEEN 5 AND 9.5", ((Between("price", Slot(0), Slot(1)),),)),
        ("NOT price <= 5", ((Between("price", Slot(0), None, low_closed=False),),)),
        ("bids = 5 AND sold", ((equals("bids", Slot(0)), equals("sold", True)),)),
        ("bids = 5 OR bids IS NOT NULL", ((Present("bids"),),)),
    ],
)
def test_templates_keep_slots_apart_but_list_them(text: str, template: tuple[object, ...]) -> None:
    for count in (1, 20):
        (block,) = bind([text] * count, SCHEMA).blocks
        assert block.template.conjuncts == template


@pytest.mark.parametrize(
    "text",
    [
        "bids = 2.5",
        "bids > 9223372036854775807",
        "bids < -9223372036854775808",
        "bids < 9223372036854775808",
        "bids = -9223372036854775808",
        "bids > 99999999999999999999999",
        "price > 9007199254740993",
        "price < 1" + "0" * 320,
        "price > 2 * 3",
        "title LIKE 'a!%' ESCAPE '!'",
        "period BETWEEN 'XVI' AND 'XVII'",
        "1 = 1 AND bids = 3",
        "bids = 3 -- as ever",
        "bids /* or so */ = 3",
        '"bids" = 3 AND title = "artist"',
    ],
)
def test_what_a_template_cannot_hold_is_parsed_by_itself(text: str) -> None:
    bound = bound_twice([text])
    assert rows_of(bound)[0] == normalise(parse(text, SCHEMA), SCHEMA)


def test_of_texts_that_differ_in_literals_only_one_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    normal_form_of("bids > 4711 AND title LIKE 'a%'", SCHEMA)
    monkeypatch.delattr(shapes, "parse")
    text = "bids > 815 AND title LIKE 'oak%'"
    assert normal_form_of(text, SCHEMA) == normalise(parse(text, SCHEMA), SCHEMA)


def test_a_row_that_does_not_fit_leaves_its_block() -> None:
    texts = [f"price > {value}" for value in (1, 2, 2**53 + 1, 4)] * 10
    bound = bind(texts, SCHEMA)
    assert sorted(len(block.rows) for block in bound.blocks) == [1] * 10 + [30]
    assert all(not block.columns for block in bound.blocks if len(block.rows) == 1)


def test_a_value_outside_the_domain_is_an_error_of_its_row_only() -> None:
    bound = bind([f"period = '{value}'" for value in ("XVI", "XX", "XVII")] * 10, SCHEMA)
    assert [row for row, _ in bound.errors] == list(range(1, 30, 3))
    assert bound.errors[0][1].message == bound.errors[9][1].message
    assert sum(len(block.rows) for block in bound.blocks) == 20


def test_quotes_within_strings_and_characters_outside_ascii_are_read_right() -> None:
    texts = ["title = 'it''s'", "title = ''", "title = ''''", "title = 'é''ü€'", "artist = '–' AND title = '😀'"]
    filters = rows_of(bound_twice(texts))
    assert [filters[row] for row in range(5)] == [normalise(parse(text, SCHEMA), SCHEMA) for text in texts]


def test_numbers_of_all_forms_are_read_as_python_reads_them() -> None:
    written = [
        "0.1",
        "1e22",
        "1E-7",
        "123456789.987654321",
        "4.9e-324",
        "1.7976931348623157e308",
        "0.30000000000000004",
    ]
    written += ["5.", "007.5", "9007199254740992.5", "2e0", "1e+2"]
    (block,) = bind([f"price > {number}" for number in written] * 2, SCHEMA).blocks
    assert block.columns[0].tolist() == [float(number) for number in written] * 2


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_all_arrow_strings_are_taken_whole_or_in_slices(kind: pa.DataType) -> None:
    texts = [f"bids = {row}" for row in range(100)]
    array = pa.array(texts, pa.string()).cast(kind)
    assert bind(array, SCHEMA).blocks[0].columns[0].tolist() == list(range(100))
    assert bind(array[50:], SCHEMA).blocks[0].columns[0].tolist() == list(range(50, 100))
    chunked = pa.chunked_array([array[:30], array[30:]])
    bound = bind(chunked, SCHEMA)
    assert bound.count == 100
    assert sorted(row for block in bound.blocks for row in block.rows.tolist()) == list(range(100))


def test_what_is_no_text_is_an_error_of_its_row() -> None:
    for texts in ([None, "sold", 5], [None, *["sold"] * 20, 5], [b"sold", *["sold"] * 40, 5.0]):
        bound = bind(texts, SCHEMA)
        assert [row for row, _ in bound.errors] == [0, len(texts) - 1]
        assert "a filter is a text, and this is" in bound.errors[0][1].message
        assert sum(len(block.rows) for block in bound.blocks) == len(texts) - 2
    assert [row for row, _ in bind(pa.array([None, *["sold"] * 20]), SCHEMA).errors] == [0]
    assert bind([], SCHEMA) == Bound(0)
    assert bind(pa.array([None] * 20, pa.null()), SCHEMA).count == 20


def test_both_ways_of_cutting_agree_on_the_shape() -> None:
    from tamis.language.cutting import Cutting

    texts = ["a1 = 'v1' AND b < 1.5e3", "x1y = 5 OR é2 = 'é'", "price IN (1, 2.5, '3')", "bids=-5"]
    cutting = Cutting(pa.array(texts), 100)
    for row, text in enumerate(texts):
        found = cut_one(text)
        assert found is not None
        assert cutting.example(row, text) == (found.shape, found.spans())


def test_texts_with_equal_hashes_but_different_shapes_stay_apart() -> None:
    texts = pa.array(["bids = 1", "bids < 1", "bids = 2"])
    offsets, data = np.frombuffer(texts.buffers()[1], np.int32), np.frombuffer(texts.buffers()[2], np.uint8)
    owners, hashes = np.empty(4, np.int64), np.empty(3, np.uint64)
    spans = kernels.cut(data, offsets, owners, hashes)
    hashes[:] = 7
    groups, firsts = np.empty(3, np.int64), np.empty(3, np.int64)
    assert kernels.group(data, offsets, spans, owners, hashes, groups, firsts) == 2
    assert groups.tolist() == [0, 1, 0]


def test_a_shape_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(text: str, *rest: Any) -> Template | None:
        made.append(text)
        return make_template(text, *rest)

    monkeypatch.setattr("tamis.language.shapes.TEMPLATES", TemplateCache(counted))
    bind([f"bids = {row} AND sold" for row in range(1_000)], SCHEMA)
    bind(["bids = 7 AND sold"], SCHEMA)
    assert made == ["bids = 0 AND sold"]


def test_many_rare_shapes_are_parsed_by_their_few_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(text: str, *rest: Any) -> Template | None:
        made.append(text)
        return make_template(text, *rest)

    monkeypatch.setattr("tamis.language.shapes.TEMPLATES", TemplateCache(counted))
    terms = [
        "bids = 1",
        "quantity BETWEEN 2 AND 5",
        "title LIKE 'a%'",
        "NOT price > 3",
        "sold",
        "tags IN ('and', 'or')",
    ]
    texts = [" AND ".join(some) for count in (2, 3, 4) for some in permutations(terms, count)]
    bound = bind(texts, SCHEMA)
    assert len(texts) == 510
    assert not bound.errors
    assert not bound.blocks
    assert len(made) <= len(terms)
    counts = np.bincount(np.concatenate([block.rows for block in bound.terms]))
    assert counts.tolist() == [text.count(" AND ") + 1 - text.count("BETWEEN") for text in texts]


def test_the_cache_of_shapes_is_bounded() -> None:
    cache = TemplateCache(make_template, size=3, longest=20)
    for number in range(10):
        cache.template(f"shape {number}", "sold", list, SCHEMA, DEFAULT_LIMITS)
    cache.template("x" * 21, "sold", list, SCHEMA, DEFAULT_LIMITS)
    assert len(cache) == 3


def test_a_template_belongs_to_its_schema_and_limits() -> None:
    other = SCHEMA.extend(attributes={"weight": "integer"})
    assert bind(["weight = 5"], SCHEMA).errors
    assert not bind(["weight = 5"], other).errors
    assert bind(["title LIKE 'abc'"], SCHEMA, Limits(pattern=2)).errors
    assert not bind(["title LIKE 'abc'"], SCHEMA).errors


def test_threads_can_bind_at_once() -> None:
    results: list[int] = []

    def work(seed: int) -> None:
        texts = [f"bids = {row} AND title = 'v{row}' AND quantity > {seed}" for row in range(200)]
        results.append(sum(len(block.rows) for block in bind(texts, SCHEMA).blocks))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [200] * 4


def test_many_texts_of_few_shapes_cost_microseconds_each() -> None:
    texts = pa.array([f"title = 'v{row % 200}' AND bids < {row % 5000}" for row in range(100_000)])
    bind(texts[:100], SCHEMA)
    start = time.process_time()
    bound = bind(texts, SCHEMA)
    # An eighth of this was measured; the margin is for busy machines.
    assert (time.process_time() - start) / len(texts) < 8e-6
    assert len(bound.blocks) == 1
    assert len(TEMPLATES) <= 4_096


def test_a_value_that_is_refused_does_not_spoil_its_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.language.shapes.TEMPLATES", TemplateCache(make_template))
    for bad, good in [
        ("price > 1e999", "price > 1e9"),
        ("period = 'XX'", "period = 'XVI'"),
        ("opened > ''", "opened > '2024-05-01'"),
    ]:
        bound = bind([bad, *[good] * 20], SCHEMA)
        assert [row for row, _ in bound.errors] == [0]
        assert [len(block.rows) for block in bound.blocks] == [20]


def test_a_text_that_is_too_long_is_refused_among_texts_of_its_shape() -> None:
    texts = ["title = 'a'", "title = '" + "a" * 100 + "'", *["title = 'b'"] * 20]
    assert [row for row, _ in bind(texts, SCHEMA, Limits(text=50)).errors] == [1]
    assert [row for row, _ in bind(texts[:3], SCHEMA, Limits(text=50)).errors] == [1]


@pytest.mark.parametrize("count", [1, 20])
def test_half_a_character_is_refused_however_well_its_shape_is_known(count: int) -> None:
    assert bind(["title = 'known'"] * count, SCHEMA).errors == []
    bound = bind(["title = '\ud800'"] * count, SCHEMA)
    assert [row for row, _ in bound.errors] == list(range(count))
