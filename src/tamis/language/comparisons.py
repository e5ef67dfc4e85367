"""Comparisons of an attribute with known values, as leaves in the attribute's own type."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from tamis.errors import FilterTooComplex, FilterTypeError, PatternError
from tamis.language.constants import Known, moment, number
from tamis.language.limits import Limits
from tamis.language.numbers import INT_MAX, INT_MIN, Bounds, float_bounds, integer_bounds
from tamis.language.patterns import inner_wildcards, like_fault, rlike_fault
from tamis.language.predicates import Between, Like, Never, Operand, Order, RLike, Value, among, equals
from tamis.language.tree import Negation, Tree
from tamis.schema import Attribute, EnumeratedDomain, HierarchicalDomain

_KINDS: dict[str, tuple[str, ...]] = {
    "integer": ("number",),
    "float": ("number",),
    "string": ("string",),
    "boolean": ("boolean",),
    "timestamp": ("timestamp", "string"),
    "enumerated": ("string",),
    "hierarchical": ("string",),
}
_EXAMPLES = {
    "integer": "12",
    "float": "1.5",
    "string": "'red'",
    "boolean": "TRUE",
    "timestamp": "TIMESTAMP '2024-05-01 10:00:00'",
}


class Comparisons:
    """Makes the leaves of one text, and raises where the types or the values do not fit.

    `compare`, `between`, `one_of`, `like` and `rlike` first check what follows from the text's shape alone, then call
    the method of the same name with an underscore, which looks at the values.
    """

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.wildcards = 0

    def compare(self, attribute: Attribute, operator: str, known: Known) -> Tree:
        """`attribute operator known` for =, <, <=, > and >=."""
        self._require_kind(attribute, known)
        if operator != "=":
            self.require_order(attribute, known.start, known.end)
        return self._compare(attribute, operator, known)

    def between(self, attribute: Attribute, low: Known, high: Known) -> Tree:
        """`attribute BETWEEN low AND high`: one value lies within both."""
        for known in (low, high):
            self._require_kind(attribute, known)
        self.require_order(attribute, low.start, high.end)
        return self._between(attribute, low, high)

    def one_of(self, attribute: Attribute, listed: Sequence[Known]) -> Tree:
        """`attribute IN (listed)`."""
        for known in listed:
            self._require_kind(attribute, known)
        return self._one_of(attribute, listed)

    def like(self, attribute: Attribute, pattern: Known, ignore_case: bool) -> Tree:
        """`attribute LIKE pattern`, its escapes already backslashes."""
        self._require_pattern(attribute, pattern)
        return self._like(attribute, pattern, ignore_case)

    def rlike(self, attribute: Attribute, pattern: Known) -> Tree:
        """`attribute RLIKE pattern`."""
        self._require_pattern(attribute, pattern)
        return self._rlike(attribute, pattern)

    def given(self, attribute: Attribute, known: Known) -> Operand:
        """A value by itself, of a call or constraint; `attribute` says what it is called and what it may be."""
        self._require_kind(attribute, known)
        return self._given(attribute, known)

    def require_order(self, attribute: Attribute, start: int, end: int) -> None:
        """Refuses < on domains that have no order."""
        domain = attribute.domain
        if domain.kind == "boolean" or (isinstance(domain, EnumeratedDomain) and not domain.ordered):
            what = "boolean" if domain.kind == "boolean" else "enumerated without an order"
            raise FilterTypeError(f"{attribute.name} is {what}; compare it by =, != or IN", self.text, start, end)

    def require_comparable(self, attribute: Attribute, start: int, end: int) -> None:
        """Refuses every comparison of bytes."""
        if attribute.domain.kind == "binary":
            message = f"{attribute.name} is binary; filters ask only whether it IS NULL or IS NOT NULL, operators more"
            raise FilterTypeError(message, self.text, start, end)

    def _require_kind(self, attribute: Attribute, known: Known) -> None:
        domain = attribute.domain
        if known.kind == "null":
            message = f"a comparison with NULL never holds; write {attribute.name} IS NULL or IS NOT NULL"
            raise FilterTypeError(message, self.text, known.start, known.end)
        self.require_comparable(attribute, known.start, known.end)
        if known.kind not in _KINDS[domain.kind]:
            example = _EXAMPLES.get(domain.kind) or repr(domain.values[0])  # type: ignore[union-attr]
            message = f"{attribute.name} is {domain.kind} and this is a {known.kind}; write a value like {example}"
            raise FilterTypeError(message, self.text, known.start, known.end)

    def _require_pattern(self, attribute: Attribute, pattern: Known) -> None:
        if attribute.domain.kind != "string":
            message = f"patterns match strings and {attribute.name} is {attribute.domain.kind}; compare it by = or IN"
            raise FilterTypeError(message, self.text, pattern.start, pattern.end)
        if pattern.kind != "string":
            raise FilterTypeError("a pattern is a string in quotes", self.text, pattern.start, pattern.end)

    def _compare(self, attribute: Attribute, operator: str, known: Known) -> Tree:
        domain = attribute.domain
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            value = self._listed_value(attribute, domain, known)
            return equals(attribute.name, value) if operator == "=" else Order(attribute.name, operator, value)
        return self._within(attribute, Bounds.of(operator, self._value(attribute, known)))

    def _between(self, attribute: Attribute, low: Known, high: Known) -> Tree:
        domain = attribute.domain
        if isinstance(domain, EnumeratedDomain | HierarchicalDomain):
            above = domain.satisfying(">=", self._listed_value(attribute, domain, low))
            below = domain.satisfying("<=", self._listed_value(attribute, domain, high))
            return among(attribute.name, {domain.values[position] for position in set(above) & set(below)})
        return self._within(attribute, Bounds(self._value(attribute, low), self._value(attribute, high)))

    def _one_of(self, attribute: Attribute, listed: Sequence[Known]) -> Tree:
        values: set[Value] = set()
        for known in listed:
            match self._compare(attribute, "=", known):
                case Between(_, value):
                    values.add(value)  # type: ignore[arg-type]
        return among(attribute.name, values)

    def _like(self, attribute: Attribute, pattern: Known, ignore_case: bool) -> Tree:
        if fault := like_fault(str(pattern.value), self.limits):
            raise PatternError(fault, self.text, pattern.start, pattern.end)
        self.wildcards += inner_wildcards(str(pattern.value))
        if self.wildcards > self.limits.wildcards_in_all:
            message = (
                f"up to here the filter has {self.wildcards:,} wildcards inside its LIKE patterns, and at most "
                f"{self.limits.wildcards_in_all:,} are taken; leave some out, or split it into several subscriptions"
            )
            raise FilterTooComplex(message, self.text, pattern.start, pattern.end)
        return Like(attribute.name, str(pattern.value), ignore_case)

    def _rlike(self, attribute: Attribute, pattern: Known) -> Tree:
        if fault := rlike_fault(str(pattern.value), self.limits):
            raise PatternError(fault, self.text, pattern.start, pattern.end)
        return RLike(attribute.name, str(pattern.value))

    def _given(self, attribute: Attribute, known: Known) -> Operand:
        domain = attribute.domain
        if isinstance(domain, EnumeratedDomain):
            return self._listed_value(attribute, domain, known)
        value = self._value(attribute, known)
        if domain.kind == "float":
            return float(value) + 0.0  # of two zeros there is one
        if domain.kind == "integer":
            if not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
                raise FilterTypeError(f"{attribute.name} is a whole number", self.text, known.start, known.end)
            if not INT_MIN <= value <= INT_MAX:
                message = f"{attribute.name} is beyond 64 bits; write a decimal number if it need not be exact"
                raise FilterTypeError(message, self.text, known.start, known.end)
            return int(value)
        return value

    def _value(self, attribute: Attribute, known: Known) -> Value:
        if attribute.domain.kind == "timestamp":
            return moment(known, self.text)
        if known.kind == "number":
            return number(known, self.text)
        assert known.value is not None
        return known.value

    def _listed_value(self, attribute: Attribute, domain: EnumeratedDomain | HierarchicalDomain, known: Known) -> str:
        value = str(known.value)
        if domain.position(value) is None:
            close = get_close_matches(value, domain.values, 1)
            remedy = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(map(repr, domain.values[:8]))}"
            remedy += ", ..." if not close and len(domain.values) > 8 else ""
            message = f"{attribute.name} has no value {value!r}; {remedy}"
            raise FilterTypeError(message, self.text, known.start, known.end)
        return value

    def _within(self, attribute: Attribute, bounds: Bounds[Value]) -> Tree:
        """The values within bounds that may not be of the attribute's type."""
        within: Bounds[int] | Bounds[float] | Bounds[Value] | None = bounds
        if attribute.domain.kind in ("integer", "timestamp"):
            within = integer_bounds(bounds)  # type: ignore[arg-type]
        elif attribute.domain.kind == "float":
            within = float_bounds(bounds)  # type: ignore[arg-type]
        elif bounds.low is not None and bounds.high is not None and bounds.low > bounds.high:  # type: ignore[operator]
            within = None
        if within is None:
            return Never(attribute.name)
        if within.low is None and within.high is None:
            return Negation(Never(attribute.name))
        return Between(attribute.name, within.low, within.high, within.low_closed, within.high_closed)
