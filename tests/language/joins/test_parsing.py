"""Join texts: what they mean, how they are printed, and what is said of those that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import FilterError, FilterSyntaxError, FilterTooComplex, FilterTypeError
from tamis.language import Limits
from tamis.language.joins import Edge, Signature, parse_join, print_join
from tamis.schema import Schema
from tamis.testing import join_schemas, joins
from tests.generated import cases

SCHEMA = Schema.from_yaml("""
attributes: {Symbol: string, Market: string, PER: float, Rating: float, Analyst: string, day: integer, open: boolean,
             select: integer, Stocks.PER: integer}
event_types:
  Stocks:  {Symbol: mandatory, Market: mandatory, PER: mandatory, day: optional, select: optional}
  Reviews: {Symbol: mandatory, Analyst: mandatory, Rating: mandatory, day: optional}
  Markets: {Market: mandatory, open: mandatory, Analyst: mandatory}
  Prices:  {Symbol: mandatory, Market: mandatory, day: mandatory}
  News:    {Symbol: optional}
tables:
  Stocks:  {key: [Symbol], join: [Symbol, Market]}
  Reviews: {key: [Symbol, Analyst], join: [Symbol, Analyst]}
  Markets: {key: [Market], join: [Market, Analyst]}
  Prices:  {join: [Symbol, Market]}
""")
PAIR = Signature(("Stocks", "Reviews"), (Edge("Stocks", "Reviews", ("Symbol",)),))


def canonical(text: str) -> str:
    join = parse_join(text, SCHEMA)
    printed = print_join(join, SCHEMA)
    assert parse_join(printed, SCHEMA) == join
    return printed


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM Stocks JOIN Reviews USING (Symbol)",
        "select * from Reviews inner join Stocks using (Symbol)",
        "SELECT * FROM Stocks AS s JOIN Reviews r ON s.Symbol = r.Symbol",
        "SELECT * FROM Stocks JOIN Reviews ON (Reviews.Symbol = Stocks.Symbol) WHERE TRUE",
        'SELECT * FROM "Stocks" JOIN `Reviews` ON ("Stocks"."Symbol" = Reviews.Symbol AND Stocks.Symbol = Reviews.Symbol)',  # noqa: E501
        "SELECT * -- all\n FROM Stocks /* and */ JOIN Reviews\n USING (Symbol) WHERE 1 < 2",
    ],
)
def test_one_join_has_many_texts(text: str) -> None:
    assert parse_join(text, SCHEMA).signature == PAIR
    assert canonical(text) == "SELECT * FROM Stocks JOIN Reviews USING (Symbol)"


def test_a_natural_join_is_on_all_attributes_of_one_name() -> None:
    join = parse_join("SELECT * FROM Reviews NATURAL JOIN Markets", SCHEMA)
    assert join.signature.edges == (Edge("Reviews", "Markets", ("Analyst",)),)


def test_agreeing_is_transitive_and_closes_cycles() -> None:
    join = parse_join("SELECT * FROM Stocks JOIN Reviews USING (Symbol) JOIN Prices USING (Symbol, Market)", SCHEMA)
    assert join.signature.edges == (
        Edge("Stocks", "Reviews", ("Symbol",)),
        Edge("Stocks", "Prices", ("Symbol", "Market")),
        Edge("Reviews", "Prices", ("Symbol",)),
    )
    assert join.signature.neighbours("Reviews") == ("Stocks", "Prices")
    triangle = "SELECT * FROM Markets JOIN Stocks USING (Market) JOIN Reviews USING (Symbol, Analyst)"
    assert len(parse_join(triangle, SCHEMA).signature.edges) == 3
    assert canonical(triangle) == (
        "SELECT * FROM Stocks JOIN Reviews USING (Symbol) JOIN Markets USING (Market, Analyst)"
    )


def test_a_path_is_no_cycle_if_an_end_is_left_open() -> None:
    text = "SELECT * FROM Prices JOIN Stocks USING (Symbol) JOIN Markets ON Prices.Market = Markets.Market"
    assert [edge.attributes for edge in parse_join(text, SCHEMA).signature.edges] == [("Symbol",), ("Market",)]
    assert canonical(text).endswith("JOIN Prices USING (Symbol) JOIN Markets ON Prices.Market = Markets.Market")
    with pytest.raises(FilterTypeError, match="Market is an attribute of Prices and of Stocks; say which by ON"):
        parse_join("SELECT * FROM Prices JOIN Stocks USING (Symbol) JOIN Markets USING (Market)", SCHEMA)


def test_conditions_go_to_their_tables() -> None:
    text = """
        SELECT Rating, Stocks.PER, Symbol FROM Stocks JOIN Reviews USING (Symbol)
        WHERE (PER BETWEEN 45 AND 70 AND Rating >= 6) AND (Analyst LIKE 'A%' OR Reviews.day > 5)
          AND Symbol = 'GOOG' AND NOT (Stocks.day > 3) AND select = 1
    """
    assert canonical(text) == (
        "SELECT Reviews.Rating, Stocks.PER, Stocks.Symbol FROM Stocks JOIN Reviews USING (Symbol) "
        "WHERE Stocks.PER BETWEEN 45 AND 70 AND Stocks.Symbol = 'GOOG' AND Stocks.day <= 3 AND Stocks.select = 1 "
        "AND ((Reviews.Analyst LIKE 'A%' AND Reviews.Rating >= 6 AND Reviews.Symbol = 'GOOG') "
        "OR (Reviews.Rating >= 6 AND Reviews.Symbol = 'GOOG' AND Reviews.day >= 6))"
    )


def test_what_cannot_hold_is_said_in_one_way() -> None:
    for condition in ("FALSE", "Rating > 6 AND Reviews.Rating < 5", "PER < 1 AND PER > 2", "1 > 2"):
        assert canonical(f"SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE {condition}") == (
            "SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE FALSE"
        )


FROM = "SELECT * FROM Stocks JOIN Reviews USING (Symbol)"


@pytest.mark.parametrize(
    ("text", "at_fault", "message"),
    [
        ("SELECT", "", r"expected \* or names of columns after SELECT"),
        ("SELECT * Stocks", "Stocks", "expected FROM and a table"),
        ("SELECT * FROM", "", "expected the name of a table"),
        ("SELECT DISTINCT * FROM Stocks JOIN Reviews USING (Symbol)", "DISTINCT", "leave DISTINCT out"),
        ("SELECT count(PER) FROM Stocks", "(", "functions are not part of joins"),
        ("SELECT PER AS p FROM Stocks", "AS", "columns keep their names"),
        ("SELECT Stocks.* FROM Stocks", "*", r"select \*, or list the columns"),
        ("SELECT PER, PER FROM Stocks JOIN Reviews USING (Symbol)", "PER", "PER is selected twice"),
        ("SELECT day FROM Stocks JOIN Reviews USING (Symbol)", "day", "of Stocks and of Reviews; write Stocks.day"),
        ("SELECT * FROM Stocks", "Stocks", "a join has two tables or more; of one, write a filter"),
        ("SELECT * FROM Stocks, Reviews", ",", r"put together by JOIN; write a JOIN b USING \(x\)"),
        ("SELECT * FROM Stocks LEFT JOIN Reviews USING (Symbol)", "LEFT", "no LEFT JOIN here"),
        ("SELECT * FROM Stocks JOIN Reviews", "JOIN Reviews", r"expected USING \(attribute\) or ON"),
        ("SELECT * FROM Stocks JOIN Reviews USING Symbol", "Symbol", r"write USING \(x\)"),
        ("SELECT * FROM Stocks JOIN Reviews USING (Symbol", "(", r"expected ',' or '\)' here"),
        ("SELECT * FROM Stocks JOIN Reviews USING (Symbl)", "Symbl", "they have Symbol in common"),
        ("SELECT * FROM Stocks JOIN Reviews USING (PER)", "PER", "Reviews has no attribute PER"),
        ("SELECT * FROM Stocks JOIN Reviews USING (day)", "day", "day is no join attribute of Stocks; it can be"),
        ("SELECT * FROM Stocks NATURAL JOIN Reviews", "Reviews", "day is no join attribute of Stocks"),
        ("SELECT * FROM Stocks JOIN Reviews ON Symbol = Symbol", "Symbol", "of Stocks and of Reviews"),
        ("SELECT * FROM Stocks JOIN Reviews ON Stocks.Symbol = Reviews.Analyst", None, "attributes of one name"),
        ("SELECT * FROM Stocks JOIN Reviews ON Stocks.Symbol = Stocks.Symbol", None, "the same column"),
        ("SELECT * FROM Stocks JOIN Reviews ON Stocks.PER > 5", ">", "put other conditions after WHERE"),
        ("SELECT * FROM Stocks JOIN Reviews ON Stocks.Symbol = 'GOOG'", "'GOOG'", "put other conditions after WHERE"),
        ("SELECT * FROM Stocks JOIN Reviews ON (Stocks.Symbol = Reviews.Symbol", "(", "is not closed"),
        (
            "SELECT * FROM Stocks JOIN Reviews ON Stocks.Symbol = Reviews.Symbol OR Stocks.Symbol = Reviews.Symbol",
            "OR",
            "there is no OR among them",
        ),
        (
            FROM + " JOIN Prices ON Stocks.Symbol = Reviews.Symbol",
            "JOIN Prices",
            "nothing joins Prices with the tables",
        ),
        ("SELECT * FROM Stocks JOIN Stocks USING (Symbol)", "Stocks", "Stocks stands here for the second time"),
        ("SELECT * FROM Stocks a JOIN Reviews a USING (Symbol)", "Reviews", "two tables are called a"),
        ("SELECT * FROM Stonks JOIN Reviews USING (Symbol)", "Stonks", "Stonks is no table; did you mean Stocks"),
        ("SELECT * FROM News JOIN Reviews USING (Symbol)", "News", "News is an event type but no table"),
        ("SELECT * FROM join JOIN Reviews USING (Symbol)", "join", "join is a word of the language, quote it"),
        (FROM + " WHERE", "WHERE", "expected a condition after WHERE"),
        (FROM + " GROUP BY PER", "GROUP", "GROUP is not part of joins"),
        (FROM + ";", ";", "leave ';' out"),
        (FROM + " WHERE PER >", "", "expected a value after '>'"),
        (FROM + " WHERE PER > 'a'", "'a'", "PER is float and this is a string"),
        (FROM + " WHERE price > 5", "price", "none of the tables has an attribute price"),
        (FROM + " WHERE Stocks.Rating > 5", "Stocks.Rating", "Stocks has no attribute Rating"),
        (FROM + " WHERE day > 5", "day", "day is an attribute of Stocks and of Reviews; write Stocks.day"),
        ("SELECT * FROM Stocks s JOIN Reviews USING (Symbol) WHERE Stocks.PER > 5", "Stocks.PER", "write s.PER"),
        (FROM + " WHERE PER > 5 OR Rating > 3", "PER > 5 OR Rating > 3", "make a subscription of each side"),
        (FROM + " WHERE NOT (PER > 5 AND Rating > 3)", None, "write a condition on each, put together by AND"),
        (FROM + " WHERE Stocks.day = Reviews.day", "Stocks.day = Reviews.day", "by USING or ON, before WHERE"),
        (FROM + " WHERE PER < Rating", "Rating", "a condition between ANDs is about one table"),
        (FROM + " WHERE operation = 'insert'", "operation", "none of the tables has an attribute operation"),
        (FROM + " WHERE mob(PER)", "mob", "there is no function mob"),
    ],
)
def test_a_mistake_has_a_place_and_a_remedy(text: str, at_fault: str | None, message: str) -> None:
    with pytest.raises(FilterError, match=message) as caught:
        parse_join(text, SCHEMA)
    assert caught.value.text == text
    if at_fault is not None:
        assert text[caught.value.start : caught.value.end] == at_fault


def test_a_schema_without_tables_says_so() -> None:
    plain = Schema.from_dict({"attributes": {"x": "integer"}, "event_types": {"a": {"x": "optional"}}})
    with pytest.raises(FilterTypeError, match="the schema has no tables; declare"):
        parse_join("SELECT * FROM a JOIN b USING (x)", plain)


def test_joins_are_limited() -> None:
    with pytest.raises(FilterTooComplex, match="more than 1 tables"):
        parse_join(FROM, SCHEMA, Limits(tables=1))
    with pytest.raises(FilterTooComplex, match="characters"):
        parse_join(FROM, SCHEMA, Limits(text=20))
    with pytest.raises(FilterTooComplex, match="comparisons"):
        parse_join(FROM + " WHERE " + " AND ".join(["PER > 5"] * 5), SCHEMA, Limits(terms=3))
    with pytest.raises(FilterTooComplex, match="deep"):
        parse_join(FROM + " WHERE " + "(" * 100 + "PER > 5" + ")" * 100, SCHEMA)


@given(st.data(), join_schemas())
@settings(max_examples=cases(150), deadline=None)
def test_the_canonical_text_parses_back(data: st.DataObject, schema: Schema) -> None:
    join = parse_join(data.draw(joins(schema)).text, schema)
    printed = print_join(join, schema)
    assert parse_join(printed, schema) == join
    assert print_join(parse_join(printed, schema), schema) == printed


@given(
    st.lists(st.sampled_from([*FROM.split(), "WHERE", "PER", ">", "5", "AND", ",", "(", ")", "ON", ".", "'", "NOT"]))
)
def test_whatever_the_text_it_is_a_join_or_an_error_with_a_place(words: list[str]) -> None:
    text = " ".join(["SELECT", *words])
    found = None
    try:
        parse_join(text, SCHEMA)
    except (FilterSyntaxError, FilterTypeError) as error:
        found = error
    assert found is None or 0 <= found.start <= found.end <= len(text)
