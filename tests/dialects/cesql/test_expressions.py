"""The rules of CESQL 1.0, each with examples of our own."""

from __future__ import annotations

import pytest

from tamis.dialects.cesql import Value, evaluate, holds, parse
from tamis.dialects.cesql.functions import LARGEST, SMALLEST
from tamis.errors import FilterError, FilterSyntaxError, FilterTooComplex, PatternError
from tests.dialects.cesql.cases import SOLD

EVENT = SOLD | {"word": "TRUE", "nothing": None}


def value(expression: str) -> Value:
    found = evaluate(parse(expression), EVENT)
    assert found.error is None, found.error
    return found.value


def failure(expression: str) -> tuple[Value, str]:
    found = evaluate(parse(expression), EVENT)
    assert found.error is not None
    return found.value, found.error.kind


def same(found: object, expected: object) -> bool:
    return type(found) is type(expected) and found == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # Literals
        ("7", 7), ("007", 7), ("+7", 7), ("-7", -7), ("-2147483648", SMALLEST), ("2147483647", LARGEST),
        ("tRuE", True), ("FALSE", False), ("''", ""), ('"it\'s"', "it's"), (r"'it\'s'", "it's"),
        (r"'a\nb'", r"a\nb"), (r"'\"'", r"\""), (r"'\\'", r"\\"), ("'%\u00e9'", "%\u00e9"), ("'AND'", "AND"),
        # Attributes keep their type if it is one of the three
        ("subject", "oak desk"), ("SUBJECT", "oak desk"), ("hops", 3), ("urgent", True),
        # Precedence: signs and NOT, tests, products, sums, comparisons, connectives from left to right
        ("2 + 3 * 4", 14), ("(2 + 3) * 4", 20), ("20 / 5 * 2", 8), ("20 - 5 - 2", 13), ("7 % 4 * 2", 6),
        ("-2 * 3", -6), ("- (2 * 3)", -6), ("1 -1", 0), ("1-1", 0), ("1 - -1", 2), ("--1", 1), ("- - 1", 1),
        ("1 + 2 = 3", True), ("1 < 2 = TRUE", True), ("NOT FALSE = FALSE", False), ("NOT (FALSE = FALSE)", False),
        ("FALSE AND TRUE OR TRUE", True), ("TRUE OR TRUE AND FALSE", False), ("TRUE XOR TRUE OR TRUE", True),
        ("1 + 2 LIKE '2'", 2), ("(1 + 2) LIKE '3'", True), ("NOT TRUE LIKE 'false'", True),
        ("1 IN (1) IN (TRUE)", True), ("3 IN (1 + 2)", True), ("-1 IN (-1)", True),
        # Division and remainder go towards zero
        ("7 / 2", 3), ("-7 / 2", -3), ("7 / -2", -3), ("-7 / -2", 3), ("7 % 3", 1), ("-7 % 3", -1), ("7 % -3", 1),
        ("-7 % -3", -1), ("-2147483648 % -1", 0),
        # Casts of operands
        ("'4' * '5'", 20), ("TRUE + TRUE", 2), ("'+4' + '-5'", -1), ("'00004' + 0", 4), ("-'7'", -7),
        ("hops = '3'", True), ("'3' = hops", True), ("'03' = hops", True), ("hops = '03'", False),
        ("TRUE = 'true'", True), ("TRUE = 'TRUE'", False), ("'TRUE' = TRUE", True), ("word = TRUE", True),
        ("urgent = 'true'", True), ("2 = TRUE", True), ("0 = FALSE", True), ("TRUE = 2", False), ("TRUE = 1", True),
        ("'10' > '9'", True), ("TRUE >= 1", True), ("'a' != 'A'", True), ("1 <> 2", True), ("1 AND 'true'", True),
        ("0 OR FALSE", False), ("'false' XOR 5", True), ("NOT 'False'", True),
        # IN casts to the type on its left
        ("'1' IN (1)", True), ("1 IN ('01')", True), ("'01' IN (1)", False), ("TRUE IN (7)", True),
        ("hops NOT IN (1, 2)", True), ("subject IN ('x', subject)", True), ("1 IN (1, 1 / 0)", True),
        # EXISTS
        ("EXISTS subject", True), ("exists Subject", True), ("EXISTS nothing", False), ("NOT EXISTS absent", True),
        ("EXISTS id AND EXISTS type", True), ("EXISTS 5g", False), ("EXISTS 12", False),
        # Short circuits look no further
        ("FALSE AND absent", False), ("TRUE OR 1 / 0 = 1", True), ("FALSE AND absent OR TRUE", True),
        # Names that begin with words
        ("EXISTS android", False), ("EXISTS notes", False), ("EXISTS truest", False), ("EXISTS inn", False),
    ],
)  # fmt: skip
def test_an_expression_has_the_value_that_the_specification_gives_it(expression: str, expected: Value) -> None:
    assert same(value(expression), expected)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("LENGTH('')", 0), ("LENGTH('\u00e9\U0001f600')", 2), ("LENGTH(12345)", 5), ("length('a')", 1),
        ("CONCAT()", ""), ("CONCAT('a', 1, TRUE)", "a1true"), ("CONCAT_WS('-')", ""),
        ("CONCAT_WS('-', 'a', 2)", "a-2"), ("CONCAT_WS(0, 1, 2)", "102"),
        ("LOWER('ABC d')", "abc d"), ("UPPER('abC d')", "ABC D"), ("TRIM(' \t\u00a0\u2003a b\n')", "a b"),
        ("TRIM('\x1fa\x1f')", "\x1fa\x1f"),
        ("LEFT('abc', 0)", ""), ("LEFT('abc', 2)", "ab"), ("LEFT('abc', 9)", "abc"), ("LEFT(123, '2')", "12"),
        ("RIGHT('abc', 0)", ""), ("RIGHT('abc', 2)", "bc"), ("RIGHT('abc', 9)", "abc"),
        ("SUBSTRING('abc', 2)", "bc"), ("SUBSTRING('abc', 3)", "c"), ("SUBSTRING('abc', -1)", "c"),
        ("SUBSTRING('abc', -3, 2)", "ab"), ("SUBSTRING('abc', 2, 0)", ""), ("SUBSTRING('abc', 2, 99)", "bc"),
        ("SUBSTRING('', 0)", ""), ("SUBSTRING('abc', 0, 2)", ""),
        ("ABS(-5)", 5), ("ABS('-5')", 5), ("ABS(TRUE)", 1),
        ("INT(TRUE)", 1), ("INT('-0')", 0), ("BOOL('tRUE')", True), ("BOOL(-1)", True),
        ("STRING(-3)", "-3"), ("STRING(FALSE)", "false"), ("STRING(007)", "7"),
    ],
)  # fmt: skip
def test_a_function_has_the_value_that_the_specification_gives_it(expression: str, expected: Value) -> None:
    assert same(value(expression), expected)


@pytest.mark.parametrize(
    ("expression", "expected", "kind"),
    [
        # An operator or function at fault has a value of its own
        ("1 / 0", 0, "math"), ("1 % 0", 0, "math"), ("LEFT('abc', -1)", "abc", "functionEvaluation"),
        ("RIGHT('abc', -1)", "abc", "functionEvaluation"), ("SUBSTRING('abc', 4)", "", "functionEvaluation"),
        ("SUBSTRING('abc', -4)", "", "functionEvaluation"), ("SUBSTRING('abc', 1, -1)", "", "functionEvaluation"),
        ("ABS(-2147483648)", LARGEST, "math"), ("NOT 10", True, "cast"), ("NOT 'yes'", True, "cast"),
        ("INT('5.0')", 0, "cast"), ("INT('2147483648')", 0, "cast"), ("INT('')", 0, "cast"),
        ("INT('1_0')", 0, "cast"), ("INT(' 1')", 0, "cast"), ("INT('\u0661')", 0, "cast"), ("BOOL('1')", False, "cast"),
        ("NOSUCH(1)", False, "missingFunction"), ("ABS()", False, "missingFunction"),
        ("LEFT('a')", False, "missingFunction"), ("SUBSTRING('a', 1, 1, 1)", False, "missingFunction"),
        # Integers have 32 bits
        ("2147483647 + 1", LARGEST, "math"), ("-2147483648 - 1", SMALLEST, "math"), ("65536 * 65536", LARGEST, "math"),
        ("65536 * -65536", SMALLEST, "math"), ("-2147483648 / -1", LARGEST, "math"), ("--2147483648", LARGEST, "math"),
        ("'2147483648' + 0", 0, "cast"),
        # What cannot be cast, and what uses a value that came with an error, is zero
        ("'a' + 1", 0, "cast"), ("'a' = 0", False, "cast"), ("'a' < 1", False, "cast"),
        ("'yes' AND TRUE", False, "cast"),
        ("-'a'", 0, "cast"), ("ABS('a')", 0, "cast"), ("LEFT('abc', 'x')", "", "cast"),
        ("1 IN ('a', 1)", False, "cast"),
        ("1 / 0 + 1", 0, "math"), ("1 / 0 = 0", False, "math"), ("LENGTH(LEFT('abc', -1))", 0, "functionEvaluation"),
        ("TRUE OR FALSE AND 1 / 0 = 0", False, "math"), ("UPPER(NOSUCH())", "", "missingFunction"),
        ("NOT (1 / 0 = 0)", False, "math"),
        # So is what uses an attribute that is not there
        ("absent", False, "missingAttribute"), ("nothing", False, "missingAttribute"),
        ("-absent", 0, "missingAttribute"),
        ("NOT absent", False, "missingAttribute"), ("absent = 'x'", False, "missingAttribute"),
        ("absent != 'x'", False, "missingAttribute"), ("absent + 1", 0, "missingAttribute"),
        ("absent / 0", 0, "missingAttribute"), ("absent LIKE '%'", False, "missingAttribute"),
        ("absent NOT LIKE '%'", False, "missingAttribute"), ("absent NOT IN (1)", False, "missingAttribute"),
        ("1 IN (absent, 1)", False, "missingAttribute"), ("UPPER(absent)", "", "missingAttribute"),
        ("LENGTH(absent)", 0, "missingAttribute"), ("absent AND TRUE", False, "missingAttribute"),
        ("absent OR TRUE", False, "missingAttribute"), ("TRUE XOR absent", False, "missingAttribute"),
    ],
)  # fmt: skip
def test_an_error_comes_with_a_value(expression: str, expected: Value, kind: str) -> None:
    found, error = failure(expression)
    assert same(found, expected)
    assert error == kind


def test_an_error_has_its_place() -> None:
    text = "subject = 'x' OR 4 / 0 = 1"
    error = evaluate(parse(text), EVENT).error
    assert error is not None
    assert text[error.start : error.end] == "4 / 0"


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("abc", ["abc"], ["ab", "abcd", "ABC", ""]),
        ("", [""], ["a"]),
        ("%", ["", "a", "a\nb"], []),
        ("_", ["a", "\n", "\U0001f600"], ["", "ab"]),
        ("a%", ["a", "abc"], ["ba", ""]),
        ("%a", ["a", "bca"], ["ab", ""]),
        ("%a%", ["a", "bab"], ["b"]),
        ("a%a", ["aa", "aba"], ["a"]),
        ("%ab%ab%", ["abab", "xabyabz"], ["ab", "xaby"]),
        ("a_%c", ["abc", "abbc"], ["ac"]),
        ("%%", ["", "x"], []),
        (r"100\%", ["100%"], ["1000", r"100\x"]),
        (r"a\_b", ["a_b"], ["axb"]),
        (r"a\b", [r"a\b"], ["ab"]),
        (r"a\\%", [r"a\%"], [r"a\b", "a%"]),
        (".*", [".*"], ["abc"]),
        ("[a]", ["[a]"], ["a"]),
    ],
)
def test_like_takes_percent_for_any_run_and_underscore_for_one_character(
    pattern: str, matching: list[str], others: list[str]
) -> None:
    like = parse(f"x LIKE '{pattern}'")
    unlike = parse(f"x NOT LIKE '{pattern}'")
    for text in matching:
        assert holds(like, {"x": text})
        assert not holds(unlike, {"x": text})
    for text in others:
        assert not holds(like, {"x": text})
        assert holds(unlike, {"x": text})


def test_like_does_not_run_away() -> None:
    pattern = "%a" * 400 + "b"
    assert not holds(parse(f"x LIKE '{pattern}'"), {"x": "a" * 16_000})


@pytest.mark.parametrize(
    ("text", "at_fault"),
    [
        ("", ""), ("   ", ""), ("ABC(", ""), ("(1", ""), ("1)", ")"), ("1 +", ""), ("a b", "b"), ("a == 1", "="),
        ("'open", "'open"), ("\"open'", "\"open'"), ("'it''s'", "'s'"), ("a ; b", ";"), ("a LIKE b", "b"),
        ("a LIKE 5", "5"), ("a LIKE ('x')", "("), ("a IN ()", ")"), ("a IN 1", "1"), ("EXISTS 'a'", "'a'"), ("NOT", ""),
        ("a NOT 1", "1"), ("like = 1", "like"), ("a_b = 1", "a_b"), ("f1(2)", "f1"), ("_f(2)", "_f"), ("+ 5", "+"),
        ("2147483648", "2147483648"), ("-2147483649", "-2147483649"), ("- 2147483648", "2147483648"), ("1.5", "."),
        ("f(1,)", ")"), ("f(,1)", ","), ("a.b = 1", "."), ("caf\u00e9 = 1", "\u00e9"), ("a AND AND b", "AND"),
    ],
)  # fmt: skip
def test_what_is_no_expression_is_refused_at_its_place(text: str, at_fault: str) -> None:
    with pytest.raises(FilterSyntaxError) as refused:
        parse(text)
    assert text[refused.value.start : refused.value.end] == at_fault


def test_expressions_have_limits() -> None:
    with pytest.raises(FilterTooComplex, match="20,000"):
        parse("1" + " " * 20_000)
    with pytest.raises(FilterTooComplex, match="levels"):
        parse("1" + " + 1" * 4_000)
    with pytest.raises(PatternError, match="1,000"):
        parse("a LIKE '" + "a" * 1_001 + "'")
    # Runs of AND and OR are one level, and parentheses none.
    assert evaluate(parse("FALSE" + " OR FALSE" * 2_000), {}).value is False
    assert evaluate(parse("(" * 5_000 + "TRUE" + ")" * 5_000), {}).value is True


def test_a_text_that_would_fill_the_memory_is_not_made() -> None:
    inner = "CONCAT(" + ", ".join(["x"] * 3_000) + ")"
    found = evaluate(parse(f"LENGTH({inner}) > 0"), {"x": "x" * 16_000})
    assert found.value is False
    assert found.error is not None
    assert found.error.kind == "functionEvaluation"


@pytest.mark.parametrize("expression", ["TRUE", "urgent", "hops = 3", "type LIKE 'com.%' AND NOT EXISTS absent"])
def test_as_a_filter_an_expression_holds_if_it_is_true(expression: str) -> None:
    assert holds(parse(expression), EVENT)


@pytest.mark.parametrize("expression", ["FALSE", "1", "'true'", "word", "NOT 10", "absent = 1", "1 / 0 = 0 OR TRUE"])
def test_as_a_filter_an_expression_that_is_no_boolean_or_fails_does_not_hold(expression: str) -> None:
    assert not holds(parse(expression), EVENT)


def test_the_event_is_left_as_it_is() -> None:
    before = dict(EVENT)
    evaluate(parse("UPPER(subject) = 'X' AND hops + 1 = 2"), EVENT)
    assert before == EVENT


def test_values_of_other_types_are_strings() -> None:
    assert evaluate(parse("x"), {"x": 1 << 40}).value == str(1 << 40)
    assert evaluate(parse("x"), {"x": 1.5}).value == "1.5"
    assert evaluate(parse("x"), {"x": {"a": [1]}}).value == '{"a":[1]}'


def test_every_refusal_is_one_error() -> None:
    for text in ("a LIKE 5", "1 +", "9" * 50):
        with pytest.raises(FilterError):
            parse(text)
