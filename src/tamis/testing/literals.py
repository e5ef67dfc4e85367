"""Constants and names as filters write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from hypothesis import strategies as st

from tamis.schema import Attribute, Domain, EnumeratedDomain, HierarchicalDomain
from tamis.testing.edge_values import BEYOND_INTEGERS, finite_floats, integers, strings, timestamps
from tamis.testing.written import Constant

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN_NAMES = {"price", "bids", "title", "tags", "a", "b", "c", "x1", "old.price", "seller.rating.mean", "event_type"}


def quoted(text: str) -> str:
    """A string as a literal."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """A name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def draw_name(draw: st.DrawFn, attribute: Attribute) -> str:
    """The attribute's name as a filter may write it: quoted where it must be, and sometimes where it need not."""
    if attribute.name in _PLAIN_NAMES and draw(_MOSTLY):
        return attribute.name
    return quoted_name(attribute.name)


@lru_cache(maxsize=1000)
def literals(domain: Domain) -> st.SearchStrategy[Constant]:
    """Constants that an attribute of the domain may be compared with."""
    if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
        return st.sampled_from([_string(value) for value in domain.values])
    if domain.kind in ("integer", "float"):
        return _numbers(domain)
    if domain.kind == "timestamp":
        return st.one_of(timestamps().map(_timestamp), timestamps().map(_iso))
    return strings().map(_string) if domain.kind == "string" else _BOOLEANS


def _numbers(domain: Domain) -> st.SearchStrategy[Constant]:
    """Integer and decimal literals alike, whichever the domain holds, some beyond its range."""
    own: st.SearchStrategy[int | float] = integers() if domain.kind == "integer" else finite_floats()
    whole = st.one_of(integers(), st.sampled_from(BEYOND_INTEGERS))
    fraction = st.sampled_from((0.5, 1.5, 2.0, -0.5, 1e19, 5e-324))
    return st.one_of(own, own, whole, fraction).map(lambda value: Constant(repr(value), value))


def _string(text: str) -> Constant:
    return Constant(quoted(text), text)


def _timestamp(microseconds: int) -> Constant:
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return Constant(f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(sep=' ')}'", microseconds)


def _iso(microseconds: int) -> Constant:
    return Constant(quoted((_EPOCH + timedelta(microseconds=microseconds)).isoformat()), microseconds)


_MOSTLY = st.sampled_from((True, True, False))
_BOOLEANS = st.sampled_from((Constant("TRUE", True), Constant("FALSE", False), Constant("true", True)))
