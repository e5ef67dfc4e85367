"""Plain conjunctions are cut at their ANDs, and only there; whatever else joins conditions is left whole."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.language import bind
from tamis.language.kernels import terms_of
from tamis.language.tree import DEFAULT_LIMITS, Limits
from tamis.testing import Generated, conjunctions, events, reference_matches, schemas
from tests.generated import cases
from tests.language.auction import SCHEMA

# Enough shapes that no other text has, so that those beside them are looked at term by term.
MANY = [
    " AND ".join(some)
    for some in permutations(["bids > 1", "price < 2", "title = 'x'", "sold", "opened IS NULL", "period = 'XVI'"], 4)
]


def cut(*texts: str) -> list[list[str]]:
    """Each text's terms; none where it is left whole."""
    # The texts are a slice, as they are when a larger batch is cut into chunks.
    array = pa.array(["a AND b", *texts, "c AND d"]).slice(1, len(texts))
    terms, owners = terms_of(array, np.arange(len(texts)))
    found: list[list[str]] = [[] for _ in texts]
    for term, owner in zip(terms.to_pylist(), owners.tolist(), strict=True):
        found[owner].append(term)
    return found


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a = 1 AND b = 2", ["a = 1", "b = 2"]),
        ("a = 1 and b = 2 And c = 3", ["a = 1", "b = 2", "c = 3"]),
        ("  a = 1\n AND\tb = 2  ", ["a = 1", "b = 2"]),
        ("a = 1 AND(b = 2)AND c = 3", ["a = 1", "(b = 2)", "c = 3"]),
        ("a BETWEEN 1 AND 2 AND b = 3", ["a BETWEEN 1 AND 2", "b = 3"]),
        ("a NOT between 1 AND 2 AND b BETWEEN 3 and 4", ["a NOT between 1 AND 2", "b BETWEEN 3 and 4"]),
        ("a = 'x AND y' AND b = 2", ["a = 'x AND y'", "b = 2"]),
        ("a = 'it''s AND' AND b = 2", ["a = 'it''s AND'", "b = 2"]),
        ('"a AND b" = 1 AND `c AND d` = 2', ['"a AND b" = 1', "`c AND d` = 2"]),
        ('"a "" AND" = 1 AND b = 2', ['"a "" AND" = 1', "b = 2"]),
        ("a = 'OR' AND b = 2", ["a = 'OR'", "b = 2"]),
        ("(a = 1 OR b = 2) AND c = 3", ["(a = 1 OR b = 2)", "c = 3"]),
        ("(a = 1 AND b = 2) AND c = 3", ["(a = 1 AND b = 2)", "c = 3"]),
        ("NOT a = 1 AND NOT (b = 2 AND c = 3)", ["NOT a = 1", "NOT (b = 2 AND c = 3)"]),
        ("a IN (1, 2) AND b LIKE 'x!%' ESCAPE '!'", ["a IN (1, 2)", "b LIKE 'x!%' ESCAPE '!'"]),
        ("a IS NOT NULL AND b CONTAINS 'c'", ["a IS NOT NULL", "b CONTAINS 'c'"]),
        ("band = 1 AND sand = 2 AND order_ = 3", ["band = 1", "sand = 2", "order_ = 3"]),
        ("éand = 1 AND andé = 2", ["éand = 1", "andé = 2"]),
        ("a - 1 = 2 AND b / 2 = 1", ["a - 1 = 2", "b / 2 = 1"]),
    ],
)  # fmt: skip
def test_a_conjunction_is_cut_at_its_ands(text: str, terms: list[str]) -> None:
    assert cut(text) == [terms]


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "a = 1", "a BETWEEN 1 AND 2", "a = 1 OR b = 2", "a = 1 AND b = 2 OR c = 3", "a = 1 or b = 2 AND c = 3",
        "a = 1 XOR b = 2 AND c = 3", "CASE WHEN a THEN b END AND c", "a = 'x AND b = 2", 'a = "x AND b = 2',
        "(a = 1 AND b = 2", "a = 1) AND (b = 2", "a = 1 AND b = 2 -- c", "a = 1 /* AND */ AND b = 2",
        "a BETWEEN 1", "a = 1 AND b BETWEEN 2", "(a = 1 AND b = 2)", "a = 'AND'",
    ],
)  # fmt: skip
def test_what_is_no_plain_conjunction_is_left_whole(text: str) -> None:
    assert cut(text) == [[]]


def test_texts_are_cut_apart_from_each_other() -> None:
    assert cut("a AND b", "c", "d OR e AND f", "g AND h AND i", "") == [["a", "b"], [], [], ["g", "h", "i"], []]


def test_more_terms_than_there_was_room_for() -> None:
    text = " AND ".join(f"a{k} = {k}" for k in range(1000))
    (terms,) = cut(text)
    assert terms == text.split(" AND ")


def test_a_word_that_only_looks_like_between_does_no_harm() -> None:
    schema = tamis.Schema.from_dict(
        {
            "attributes": {"betting": "integer", "bets": "integer", "x": "integer"},
            "event_types": {"e": dict.fromkeys(["betting", "bets", "x"], "optional")},
        }
    )
    texts = {text: text for text in map(" AND ".join, permutations(["betting = 1", "x = 2", "bets = 3"]))}
    pairs = list(permutations(texts, 2))
    for count in range(2, 9):  # shapes enough, each of them rare
        texts |= {str((count, some)): " AND ".join(["x > 0"] * count + [*some]) for some in pairs}
    index = tamis.compile(texts, schema)
    rows = [{"betting": 1, "x": 2, "bets": 3}, {"betting": 1, "x": 2, "bets": 4}, {"betting": 2, "x": 2, "bets": 3}]
    assert [sorted(ids) for ids in index.match(rows).to_lists()] == reference_matches(texts, schema, rows)


def test_a_text_with_a_wrong_term_has_its_error_in_the_whole_text() -> None:
    wrong = "bids > 1 AND prise < 2 AND sold"
    bound = bind(pa.array([*MANY, wrong]), SCHEMA)
    ((row, error),) = bound.errors
    assert row == len(MANY)
    assert (error.text, error.text[error.start : error.end]) == (wrong, "prise")
    assert bound.terms


def test_a_row_is_in_one_block_or_in_terms_or_wrong() -> None:
    texts = [*MANY, "sold OR bids > 1", "FALSE AND sold", "bids > 1 AND (price < 1 OR sold)", "bids >", "TRUE AND sold"]
    bound = bind(pa.array(texts), SCHEMA)
    whole = {int(row) for block in bound.blocks for row in block.rows}
    parts = {int(row) for block in bound.terms for row in block.rows}
    wrong = {row for row, _ in bound.errors}
    assert len(whole) + len(parts) + len(wrong) == len(texts) == len(whole | parts | wrong)
    assert parts >= {*range(len(MANY)), len(texts) - 1}
    assert wrong == {len(texts) - 2}
    assert sum(len(block.rows) for block in bound.blocks) == len(whole)


def test_a_long_text_is_held_to_the_same_limits_as_when_it_stands_alone() -> None:
    limits = Limits(terms=30)
    long = " AND ".join(f"(bids > {k} AND price > {k})" for k in range(16))  # 16 terms, 32 comparisons
    (alone,) = bind([long], SCHEMA, limits).errors
    bound = bind(pa.array([*MANY, long]), SCHEMA, limits)
    assert [(row, str(error)) for row, error in bound.errors] == [(len(MANY), str(alone[1]))]
    assert bind(pa.array([*MANY, long]), SCHEMA, DEFAULT_LIMITS).errors == []


@st.composite
def conjunctive_workloads(draw: st.DrawFn) -> Generated:
    """Conjunctions of so many shapes that most of them are bound by their terms."""
    schema = draw(schemas())
    parts = draw(st.lists(conjunctions(schema, 2), min_size=8, max_size=12))
    rng = draw(st.randoms(use_true_random=False))
    texts = {f"s{k}": " AND ".join(rng.choices(parts, k=rng.randint(1, 4))) for k in range(200)}
    return Generated(schema, texts, draw(st.lists(events(schema), min_size=2, max_size=5)))


@settings(max_examples=cases(25))
@given(conjunctive_workloads())
def test_conjunctions_bound_by_terms_match_what_they_match_whole(workload: Generated) -> None:
    index = tamis.compile(workload.subscriptions, workload.schema)
    assert index.errors == []
    found = [sorted(ids) for ids in index.match(workload.events).to_lists()]
    assert found == reference_matches(workload.subscriptions, workload.schema, workload.events)
