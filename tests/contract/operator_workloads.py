"""Generated operators, filters that call them, and events: what every schedule is held to the oracle with.

The operators are functions of the event's number and their arguments, so that their answers are scattered but always
the same. Each notes down what it is asked about.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pyarrow as pa
from hypothesis import strategies as st

import tamis
from tamis.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "attributes": {
            "n": "integer",
            "m": "integer",
            "price": "float",
            "sizes": "integer",
            "tags": "string",
            "at": "timestamp",
            "image": "binary",
        },
        "event_types": {
            "seen": {
                "n": "mandatory",
                "m": "optional",
                "price": "optional",
                "sizes": ["optional", "multiple"],
                "tags": ["optional", "multiple"],
                "at": "optional",
                "image": "optional",
            }
        },
    }
)
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass
class House:
    """Operators that count what they are asked: (event, operator, arguments) → how often."""

    asked: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    @property
    def operators(self) -> list[tamis.Operator]:
        asked = self.asked

        @tamis.operator(cost=2.0)
        def flag(n: int, k: int) -> bool | None:
            asked[n, "flag", k] += 1
            if (n + k) % 7 == 0:
                raise ValueError(f"{n} and {k} do not go together")
            return None if (n + 2 * k) % 5 == 0 else (n * 31 + k * 17) % 3 > 0

        @tamis.operator
        def count(n: int, number: int = tamis.Var) -> Any:
            asked[n, "count", number] += 1
            found = [(n * 7 + i) % 6 for i in range(n % 4)]
            return found if number is tamis.Var else number in found

        @tamis.operator(cost=5.0, selectivity=0.6)
        async def pairs(n: int, m: int, a: Any = tamis.Var, b: Any = tamis.Var) -> Any:
            asked[n, "pairs", str(a), str(b)] += 1
            await asyncio.sleep(0)
            found: list[tuple[Any, Any]] = [((n + i) % 4, (m + i * i) % 4) for i in range(3)]
            found += [("x", True), (1.0, "x")] if n % 3 == 0 else []
            wanted = [(a, 0), (b, 1)]
            kept = [one for one in found if all(w is tamis.Var or _same(one[k], w) for w, k in wanted)]
            left = [tuple(one[k] for w, k in wanted if w is tamis.Var) for one in kept]
            return left if any(w is tamis.Var for w, _ in wanted) else bool(kept)

        @tamis.operator(batch=True)
        def far(n: pa.Array, price: pa.Array, place: str, metres: float = tamis.Var) -> Any:
            rows = n.to_pylist()
            for each in rows:
                asked[each, "far", place, str(metres)] += 1
            if metres is not tamis.Var:
                return pa.array([None if each % 6 == 0 else (each * 10.5) % 40 < metres for each in rows])
            found = [(row, (each * 10.5 + i) % 40) for row, each in enumerate(rows) for i in range(each % 3)]
            return {"row": [row for row, _ in found], "metres": pa.array([one for _, one in found], pa.float64())}

        @tamis.operator(batch=True)
        def odd(event: pa.RecordBatch) -> Any:
            rows = event.column("n").to_pylist()
            for each in rows:
                asked[each, "odd"] += 1
            if any(each % 11 == 0 for each in rows):
                raise RuntimeError("one of them is a multiple of eleven")
            return [each % 2 == 1 for each in rows]

        @tamis.operator
        def moments(at: datetime, n: int, moment: datetime = tamis.Var) -> Any:
            asked[n, "moments", str(moment)] += 1
            found = [at + timedelta(hours=i) for i in range(n % 3)]
            return found if moment is tamis.Var else moment in found

        @tamis.operator
        def tagged(event: dict[str, Any], *words: str) -> bool:
            asked[event["n"], "tagged", *words] += 1
            return any(word in event.get("tags", []) for word in words)

        @tamis.operator(together=True)
        def near(n: pa.Array, m: pa.Array, of: int, *, by: int = tamis.Var) -> Any:
            places, limits = cast(pa.Array, of), cast(pa.Array, by)
            wanted = list(zip(n.to_pylist(), m.to_pylist(), places.to_pylist(), strict=True))
            bounds = [None] * len(wanted) if by is tamis.Var else limits.to_pylist()
            for (event, _, place), bound in zip(wanted, bounds, strict=True):
                asked[event, "near", place, bound] += 1
            if any((event + place) % 13 == 0 for event, _, place in wanted):
                raise ZeroDivisionError("thirteen")
            if by is tamis.Var:
                found = [(row, (e * 3 + i * k) % 7) for row, (e, k, of) in enumerate(wanted) for i in range(of % 3)]
                return {"row": [row for row, _ in found], "by": pa.array([one for _, one in found], pa.int64())}
            return [abs(event - place) % 9 < by for (event, _, place), by in zip(wanted, bounds, strict=True)]

        @tamis.operator(reads=("m", "n"))
        def unruly(k: int, m: int, a: Any = tamis.Var, *, n: int) -> Any:
            """Its inputs are scattered among its arguments; it fails in every way there is."""
            asked[n, "unruly", k, str(a)] += 1
            match (n + k) % 8:
                case 0:
                    raise SystemExit(1)
                case 1:
                    raise _Rude
                case 2:
                    return object()
                case 3:
                    return [float("nan")] if a is tamis.Var else "yes"
                case 4:
                    return b"bytes"
            found = [(m * i + k) % 5 for i in range(3)]
            return iter(found) if a is tamis.Var else any(_same(one, a) for one in found)

        return [flag, count, pairs, far, odd, moments, tagged, near, unruly]


class _Rude(BaseException):
    """What no operator should raise."""


def _same(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool) and isinstance(a, str) == isinstance(b, str)


_VALUES = st.sampled_from(("0", "1", "2", "3", "'x'", "TRUE", "2.5"))
_PLAIN = st.sampled_from(
    (
        "m > 2", "price < 20", "m IS NULL", "tags = 'a'", "NOT tags = 'b'", "sizes >= 3", "n != 4", "price > m", "TRUE",
        "image IS NOT NULL", "n IN (1, 2, 3, 5, 8, 12)",
    )
)  # fmt: skip
_SIGNS = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))


def _call(draw: st.DrawFn, names: st.SearchStrategy[str]) -> str:
    """A call; variables are drawn from these names."""
    match draw(st.integers(0, 9)):
        case 0 | 1:
            return f"flag({draw(st.integers(0, 6))})"
        case 2:
            return f"count({draw(st.one_of(names, names, st.sampled_from(('', '3'))))})"
        case 3:
            return f"pairs({draw(st.one_of(names, _VALUES))}, {draw(st.one_of(names, _VALUES))})"
        case 4:
            place = draw(st.sampled_from(("'here'", "'there'")))
            return f"far({place}, {draw(st.one_of(names, st.sampled_from(('10', '25.5'))))})"
        case 5:
            return "odd()"
        case 6:
            return f"moments({draw(st.one_of(names, st.sampled_from(('', '2024-01-01T02:00Z')).map(_quoted)))})"
        case 7:
            return f"near({draw(st.integers(0, 8))}, {draw(st.one_of(names, st.sampled_from(('3', '6'))))})"
        case 8:
            return f"unruly({draw(st.integers(0, 3))}, {draw(st.one_of(names, _VALUES))})"
    return f"tagged({draw(st.sampled_from(_TAGGED))})"


_TAGGED = ("'a'", "'a', 'b'", "'c'")


_TERMS = ("2", "0", "m", "price", "9007199254740993", "1e308")


def _quoted(text: str) -> str:
    return f"'{text}'" if text else ""


def _constraint(draw: st.DrawFn, bound: list[str]) -> str:
    some = st.sampled_from(bound)
    side = st.one_of(
        some,
        _VALUES,
        st.sampled_from(("m", "price", "n", "sizes", "tags", "at")),
        st.builds("{} {} {}".format, some, st.sampled_from("+-*/"), st.one_of(some, st.sampled_from(_TERMS))),
        st.builds("-({} - {}) * {} / {}".format, some, some, st.sampled_from(_TERMS), some),
        st.just("TIMESTAMP '2024-01-01 01:00'"),
    )
    match draw(st.integers(0, 5)):
        case 0:
            return f"{draw(some)} BETWEEN {draw(side)} AND {draw(side)}"
        case 1:
            no = draw(st.sampled_from(("", "NOT ")))
            return f"{draw(some)} {no}IN ({draw(_VALUES)}, {draw(_VALUES)})"
        case 2:
            return f"{draw(side)} {draw(_SIGNS)} {draw(some)}"
    return f"{draw(some)} {draw(_SIGNS)} {draw(side)}"


@st.composite
def conjunctions(draw: st.DrawFn, names: str = "abc") -> str:
    """Plain conditions, calls, negated calls and constraints, all of which must hold."""
    variables = st.sampled_from([f"?{name}" for name in names])
    calls = [_call(draw, variables) for _ in range(draw(st.integers(1, 3)))]
    bound = [f"?{name}" for name in names if any(f"?{name}" in call for call in calls)]
    parts = [*calls, *(draw(_PLAIN) for _ in range(draw(st.integers(0, 2))))]
    if bound:
        parts += [_constraint(draw, bound) for _ in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        parts.append(f"NOT {_call(draw, st.sampled_from(('?p', '?q')))}")
    return " AND ".join(draw(st.permutations(parts)))


@st.composite
def joins(draw: st.DrawFn) -> str:
    """Calls that mostly bind something, and constraints over the variables of several of them."""
    first, second = draw(st.permutations(("?a", "?b", "?c")))[:2]
    calls = [
        draw(st.sampled_from((f"count({first})", f"pairs({first}, 1)", f"pairs({first}, {second})"))),
        draw(
            st.sampled_from((f"count({second})", f"near(4, {second})", f"unruly(2, {second})", f"far('x', {second})"))
        ),
    ]
    term = st.sampled_from(("0", "1", "2", "m", "n", first, second))
    sign = st.sampled_from(("+", "-", "*", "/"))
    shapes = (
        f"{first} {draw(_SIGNS)} {second}",
        f"{first} {draw(_SIGNS)} {second} {draw(sign)} {draw(term)}",
        f"{first} {draw(sign)} {second} {draw(_SIGNS)} {draw(term)}",
        f"{second} BETWEEN {first} AND {draw(term)}",
        f"{first} {draw(sign)} {second} IN (0, 1, 2, 6)",
        f"NOT {first} {draw(sign)} {second} IN (0, 1, 2, 6)",
        f"({first} < {second} OR {second} = {draw(term)})",
        f"NOT ({first} < {second} AND {second} {draw(_SIGNS)} {draw(term)})",
    )
    constraints = draw(st.lists(st.sampled_from(shapes), min_size=1, max_size=2))
    return " AND ".join(draw(st.permutations([*calls, *constraints])))


@st.composite
def thresholds(draw: st.DrawFn) -> str:
    """What one call binds compared with numbers: what a matcher decides for all filters at once."""
    call = draw(st.sampled_from(("count(?a)", "near(4, ?a)", "far('x', ?a)", "unruly(2, ?a)", "pairs(?a, ?b)")))
    bound = st.sampled_from(("0", "1", "2", "3", "4", "2.5", "10.5", "-1"))
    some = [f"?a {draw(_SIGNS)} {draw(bound)}" for _ in range(draw(st.integers(1, 2)))]
    some += [f"?a BETWEEN {draw(bound)} AND {draw(bound)}"] if draw(st.booleans()) else []
    return " AND ".join([call, *some])


@st.composite
def filters(draw: st.DrawFn) -> str:
    """One conjunction, or a tree of several; some are refused, which all implementations must agree on."""
    first = draw(st.one_of(conjunctions(), joins(), thresholds()))
    match draw(st.integers(0, 9)):
        case 0:
            return f"({first}) OR ({draw(conjunctions('de'))})"
        case 1:
            return f"({draw(_PLAIN)} OR {draw(_PLAIN)}) AND {first}"
        case 2:
            return f"({first}) OR {draw(_PLAIN)}"
        case 3:
            return f"({_call(draw, st.just('?a'))} OR {draw(_PLAIN)}) AND {draw(conjunctions('bc'))}"
        case 4:
            return f"NOT ({_call(draw, st.just('?z'))} AND {draw(_PLAIN)})"
        case 5:
            # What a constraint takes away may be what the other alternative leaves: variables are shared by both.
            bound = _call(draw, st.just("?a"))
            if "?a" in bound:
                return (
                    f"{bound} AND ({_constraint(draw, ['?a'])} OR NOT ({_constraint(draw, ['?a'])}) OR {draw(_PLAIN)})"
                )
        case 6:
            return f"NOT (({draw(_PLAIN)} OR {_call(draw, st.just('?z'))}) AND NOT ({first}))"
    return first


@st.composite
def events(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Events with different numbers, so that operators can tell them apart."""
    numbers = draw(st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True))
    return [draw(_event(number)) for number in numbers]


@st.composite
def _event(draw: st.DrawFn, number: int) -> dict[str, Any]:
    optional = {
        "m": st.integers(0, 5),
        "price": st.sampled_from((0.5, 2.0, 10.5, 21.0, 30.0)),
        "sizes": st.lists(st.integers(0, 5), min_size=1, max_size=3),
        "tags": st.lists(st.sampled_from("abx"), min_size=1, max_size=2),
        "at": st.integers(0, 3).map(lambda hour: EPOCH + timedelta(hours=hour)),
        "image": st.just(b"x"),
    }
    return {"n": number} | {name: draw(values) for name, values in optional.items() if draw(st.integers(0, 5))}
