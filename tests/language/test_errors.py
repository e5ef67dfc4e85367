"""What is no filter over the schema is refused with the place in the text and what would be right."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import FilterError, FilterSyntaxError, FilterTypeError, PatternError
from tamis.language import Filter, bind, normalise, parse, print_filter
from tests.language.auction import SCHEMA


def refused(text: str) -> FilterError:
    with pytest.raises(FilterError) as caught:
        parse(text, SCHEMA)
    return caught.value


# In each text the part at fault is between ‹ and ›; an empty part is where something is missing.
SYNTAX = [
    ("‹›", "the filter is empty"),
    ("‹  ›", "the filter is empty"),
    ("price > ‹and› bids < 3", "expected a value after '>'"),
    ("price >‹›", "expected a value after '>'"),
    ("‹>› 5", "expected a condition such as price > 10"),
    ("sold AND‹›", "expected a condition such as price > 10 after AND"),
    ("sold ‹price› > 5", "expected AND, OR or an operator before price"),
    ("‹SELECT› * FROM lots WHERE price < 5", "only what would stand after WHERE"),
    ("‹select› title from lots", "only what would stand after WHERE"),
    ("price > 5 ‹)›", "closes nothing"),
    ("‹(›price > 5", "never closed"),
    ("title = ‹'abc›", "never closed"),
    ("price > 5 ‹/* and so on›", "never closed"),
    ("price > 5‹;›", "leave ';' out"),
    ("sold ‹||› price > 5", "write OR"),
    ("sold ‹&&› price > 5", "write AND"),
    ("price‹::›int > 5", "casts are not part of filters"),
    ("‹CAST›(price AS int) > 5", "casts are not part of filters"),
    ("‹lower›(title) = 'a'", "there is no function lower"),
    ("bids IN (‹SELECT› id FROM t)", "subqueries are not part of filters"),
    ("‹EXISTS›(SELECT 1)", "subqueries are not part of filters"),
    ("bids ‹BETWEEN› 1 OR sold", "write x BETWEEN 1 AND 5"),
    ("bids BETWEEN 1 ‹5›", "expected AND, OR or an operator before 5"),
    ("bids ‹IN› 5", "write x IN (1, 2)"),
    ("bids IN (‹)›", "expected a value after '('"),
    ("bids IN (1, ‹)›", "expected a value after ','"),
    ("bids IS ‹TRUE›", "IS is followed by NULL or NOT NULL"),
    ("bids IS NOT ‹DISTINCT› FROM 3", "IS is followed by NULL or NOT NULL"),
    ("bids ‹NOT› = 3", "NOT is followed by LIKE, IN, BETWEEN or CONTAINS"),
    ("title LIKE 'a' ‹ESCAPE› 5", "write ESCAPE '!'"),
    ("title LIKE 'a' ESCAPE ‹'ab'›", "ESCAPE takes one character"),
    ("title = 'a' ‹'b'›", "expected AND, OR or an operator before 'b'"),
    ("opened > date ‹'2024-05-01'›", "TIMESTAMP '2024-05-01 10:00:00'"),
    ("price > ‹.›5", "write 0.5"),
    ("price > ‹1e›", "this is no number"),
    ("price > 5‹kg›", "expected AND, OR or an operator before kg"),
    ("‹in› = 5", 'quoted: "in"'),
    ("tags‹[›1] = 'red'", "write tags CONTAINS 'red'"),
    ("‹1 < bids› < 5", "write 1 < x AND x < 5"),
    ("‹bids + 1› > 5", "compute with values"),
    ("(‹bids > 5›) = TRUE", "a condition cannot be compared"),
    ("bids IN (‹quantity›, 3)", "IN takes values, not attributes"),
    ("bids BETWEEN ‹quantity› AND 3", "BETWEEN takes values, not attributes"),
    ("‹5› BETWEEN 1 AND 9", "an attribute is expected here"),
    ("price > ‹?limit›", "?limit is a variable of an operator"),
    ("price > ‹?› 5", "write ?name"),
    ("‹5›", "a condition is expected here"),
    ("a‹.›", "a name is expected after '.'"),
]

TYPES = [
    ("‹prise› > 5", "there is no attribute prise; did you mean price?"),
    ("‹Price› > 5", "did you mean price?"),
    ("‹rating› > 5", "did you mean seller.rating?"),
    ("‹xyzzy› > 5", "the schema has event_type, price"),
    ("title = ‹desk›", "there is no attribute desk; a text stands in single quotes: 'desk'"),
    ('title = ‹"oak desk"›', "a text stands in single quotes: 'oak desk'"),
    ('title = ‹"Harry\'s"›', "a text stands in single quotes: 'Harry''s'"),
    ("title = ‹‘desk’›", "a text stands in single quotes: 'desk'"),
    ("title LIKE ‹desk›", "a text stands in single quotes: 'desk'"),
    ('title IN (‹"oak"›, 3)', "a text stands in single quotes: 'oak'"),
    ("5 < ‹xyzzy›", "the schema has event_type, price"),
    ("price > 5 AND ‹xyzzy›", "the schema has event_type, price"),
    ("price > ‹prise›", "there is no attribute prise; did you mean price?"),
    ("price > ‹'ten'›", "price is float and this is a string; write a value like 1.5"),
    ("title = ‹5›", "title is string and this is a number; write a value like 'red'"),
    ("sold = ‹1›", "sold is boolean and this is a number; write a value like TRUE"),
    ("opened > ‹5›", "write a value like TIMESTAMP '2024-05-01 10:00:00'"),
    ("opened > ‹'soon'›", "'soon' is no timestamp"),
    ("opened > ‹'2024-13-01'›", "is no timestamp"),
    ("title = TIMESTAMP ‹'2024-05-01'›", "title is string and this is a timestamp"),
    ("period = ‹'XX'›", "period has no value 'XX'; did you mean 'XIX'?"),
    ("period < ‹'modern'›", "it has 'XVI', 'XVII', 'XVIII', 'XIX'"),
    ("condition < ‹'worn'›", "condition is enumerated without an order"),
    ("sold > ‹TRUE›", "sold is boolean; compare it by =, != or IN"),
    ("event_type CONTAINS ‹'antique'›", "did you mean 'antiques'?"),
    ("price = ‹NULL›", "write price IS NULL"),
    ("bids IN (1, ‹NULL›)", "write bids IS NULL"),
    ("‹price›", "price is float and no condition by itself"),
    ("‹title = price›", "title is string and price is float"),
    ("‹period = category›", "period is enumerated (period) and category is hierarchical (furniture)"),
    ("price LIKE ‹'1%'›", "patterns match strings and price is float"),
    ("title LIKE ‹5›", "a pattern is a string"),
    ("‹1 = 'a'›", "a number cannot be compared with a string"),
    ("price > ‹1 / 0›", "division by zero"),
    ("price > 1 + ‹'a'›", "arithmetic needs numbers"),
    ("price > ‹1e309›", "too large"),
    (f"price > ‹1{'0' * 500}›", "too large"),
    (f"price > ‹1{'0' * 5000}›", "too large"),
]

PATTERNS = [
    ("title LIKE ‹'abc\\'›", "ends within an escape"),
    ("title LIKE ‹'abc!'› ESCAPE '!'", "ends within an escape"),
    (f"title LIKE ‹'{'a' * 1001}'›", "1,001 characters"),
    ("title RLIKE ‹'(a'›", "missing )"),
    ("title RLIKE ‹'(a)\\1'›", "without lookaround and backreferences"),
    ("title RLIKE ‹'(?=a)b'›", "without lookaround and backreferences"),
    ("title RLIKE ‹'((a{100}){100}){100}'›", "must stay small"),
    (f"title RLIKE ‹'{'(a|b)' * 250}'›", "1,250 characters"),
]


@pytest.mark.parametrize(
    ("marked", "message", "kind"),
    [
        *((text, message, FilterSyntaxError) for text, message in SYNTAX),
        *((text, message, FilterTypeError) for text, message in TYPES),
        *((text, message, PatternError) for text, message in PATTERNS),
    ],
)
def test_an_error_names_its_place_and_the_remedy(marked: str, message: str, kind: type[FilterError]) -> None:
    start, end = marked.index("‹"), marked.index("›") - 1
    text = marked.replace("‹", "").replace("›", "")
    error = refused(text)
    assert type(error) is kind
    assert message in error.message
    assert (error.text, error.start, error.end) == (text, start, end)


@pytest.mark.parametrize("marked", [text for text, _ in (*SYNTAX, *TYPES, *PATTERNS)])
def test_an_error_is_the_same_by_shape_as_alone_and_stops_no_other_filter(marked: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    expected = refused(text)
    for many in ([text, "price > 5", text], [text, *["price > 5"] * 20, text]):
        bound = bind(many, SCHEMA)
        assert [row for row, _ in bound.errors] == [0, len(many) - 1]
        assert all(type(error) is type(expected) and error.args == expected.args for _, error in bound.errors)
        assert sum(len(block.rows) for block in bound.blocks) == len(many) - 2


def test_an_error_shows_the_text_with_the_part_at_fault_underlined() -> None:
    assert str(refused("price > and bids < 3")) == "expected a value after '>'\n  price > and bids < 3\n          ^^^"


def test_an_error_survives_pickling() -> None:
    error = refused("price > and bids < 3")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_half_a_surrogate_pair_is_refused() -> None:
    assert "surrogate" in refused("title = '\ud800'").message
    bound = bind(["sold", "title = '\ud800'", *["sold"] * 20], SCHEMA)
    assert [row for row, _ in bound.errors] == [1]


_PIECES = (
    "price title tags period AND OR NOT ( ) , = != < BETWEEN IN IS NULL LIKE CONTAINS ESCAPE TIMESTAMP TRUE 1 2.5 'a'"
)
_ODD = "'XVI' - + * / . ? ?v ; : :: || [ { } @ # ! % \" ` ' -- /* */ \\ $ \0 é {# #} 1e .5 5. 0x1 N'a' <=> -> any("


@given(st.lists(st.sampled_from([*_PIECES.split(" "), *_ODD.split(" ")]), max_size=12), st.sampled_from(["", " "]))
def test_whatever_is_written_is_a_filter_or_a_filter_error(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    found: Filter | FilterError
    try:
        found = normalise(parse(text, SCHEMA), SCHEMA)
    except FilterError as error:
        found = error
    errors = bind([text] * 17, SCHEMA).errors
    if isinstance(found, FilterError):
        assert 0 <= found.start <= found.end <= len(text)
        assert errors[16][1].args == found.args
    else:
        assert normalise(parse(print_filter(found, SCHEMA), SCHEMA), SCHEMA) == found
        assert not errors
