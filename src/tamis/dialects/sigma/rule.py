"""Sigma rules: their YAML files, parsing by pySigma into a tree of tests, conversion to filters, needed attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv6Network
from typing import Any

import yaml

from tamis.dialects.conversion import ConversionError, Needs, Use, checked, collected
from tamis.dialects.sigma.leaves import (
    Asked,
    Compare,
    Condition,
    Equal,
    Given,
    Match,
    Network,
    Node,
    Regex,
    SameAs,
    Test,
    leaves,
)
from tamis.dialects.sigma.writing import filter_of
from tamis.dialects.text_patterns import v4_range, v6_network
from tamis.language.patterns import Wildcard
from tamis.language.tree import And, Negation, Or
from tamis.schema import Schema
from tamis.yaml_loading import QuickLoader, load_all

# Files: YAML with one rule a document.


def documents(text: str) -> Iterator[Mapping[str, Any]]:
    """Rules of a file, each of which may be refused by itself; a text that is no YAML is refused as a whole.

    In a collection, a document with `action: global` is part of each rule after it, up to `action: reset`; one with
    `action: repeat` is the rule before it with changes.
    """
    shared: Mapping[str, Any] = {}
    last: Mapping[str, Any] = {}
    try:
        for document in load_all(text, QuickLoader):
            if document is None:
                continue
            action = document.get("action") if isinstance(document, Mapping) else None
            if action == "global":
                # An id is of one rule only.
                shared = _without(_merged(shared, document), "action", "id")
            elif action == "reset":
                shared = {}
            elif action == "repeat":
                last = _merged(_without(last, "id"), _without(document, "action"))
                yield last
            elif isinstance(document, Mapping):
                last = _merged(shared, document)
                yield last
            else:
                yield document
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split()) or "nested too deeply"
        raise ConversionError(f"the rule is no YAML: {reason[:200]}") from None


def _without(rule: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    return {key: value for key, value in rule.items() if key not in keys}


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> Mapping[str, Any]:
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def rule_of(rule: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Single rule, given as text or as it was loaded."""
    if isinstance(rule, str):
        found = list(documents(rule))
        if len(found) != 1:
            raise ConversionError(f"expected one rule, found {len(found)}", "", "convert each document by itself")
        rule = found[0]
    if not isinstance(rule, Mapping):
        raise ConversionError("a rule is a mapping with a detection", "", "see sigmahq.io for the form")
    if "correlation" in rule:
        reason = "a correlation counts or orders several events, and a filter looks at one"
        raise ConversionError(
            reason, "correlation", "convert the rules that it refers to, and correlate what they find"
        )
    if "filter" in rule and "detection" not in rule:
        raise ConversionError("a Sigma filter changes other rules", "filter", "apply it to them first (sigma convert)")
    if "action" in rule:
        raise ConversionError("this is part of a collection and no rule", "action", "convert the whole file")
    if not isinstance(rule.get("detection"), Mapping):
        raise ConversionError("the rule has no detection", "detection")
    return rule


_LONG = 1 << 63
_LOG_SOURCE = ("category", "product", "service")
_OPERATORS = {"LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}


def read(rule: Mapping[str, Any] | str, keywords: str | None, log_source: str | None) -> Node[Asked]:
    """Tree of a rule's tests.

    `keywords` is the field that tests without a field look at; `log_source` the prefix of the fields that hold an
    event's log source, where the rule's is to be asked for.
    """
    form = rule_of(rule)
    parts: list[Node[Asked]] = []
    if log_source is not None:
        source = form.get("logsource")
        source = source if isinstance(source, Mapping) else {}
        parts += [
            Asked(f"{log_source}{key}", Match((str(source[key]),), False)) for key in _LOG_SOURCE if key in source
        ]
    return And((*parts, _Reader(keywords).detection(form["detection"])))


def asked(node: Node[Asked]) -> Iterator[Asked]:
    """Tests of the tree."""
    match node:
        case Asked():
            yield node
        case Negation(item):
            yield from asked(item)
        case And(items) | Or(items):
            for item in items:
                yield from asked(item)


class _Reader:
    def __init__(self, keywords: str | None) -> None:
        # Here, not above: `import tamis` needs no pySigma.
        try:
            from sigma import conditions, types
        except ImportError:
            raise ConversionError("pySigma is not installed", "", "pip install 'tamis[sigma]'") from None
        self.conditions: Any = conditions
        self.types: Any = types
        self.keywords = keywords
        self.wide: dict[float, set[int]] = {}

    def detection(self, detection: Mapping[str, Any]) -> Node[Asked]:
        """Tree of a detection: several conditions are alternatives."""
        from pyparsing import ParseBaseException
        from sigma.exceptions import SigmaError
        from sigma.rule.detection import SigmaDetections

        given = {str(key): value for key, value in detection.items() if key != "timeframe"}
        self.wide = _wide_numbers(given)
        try:
            parsed = [condition.parsed for condition in SigmaDetections.from_dict(given).parsed_condition]
        except SigmaError as error:
            raise _refusal(error) from None
        except (ParseBaseException, AttributeError, TypeError, ValueError, KeyError, RecursionError) as error:
            raise ConversionError(f"pySigma cannot read the detection: {error}", "detection") from None
        nodes = tuple(self.node(condition) for condition in parsed if condition is not None)
        if not nodes:
            raise ConversionError("the condition asks for nothing", "detection.condition")
        return nodes[0] if len(nodes) == 1 else Or(nodes)

    def node(self, condition: Any) -> Node[Asked]:
        kinds = self.conditions
        if isinstance(condition, kinds.ConditionAND):
            return And(tuple(self.node(part) for part in condition.args))
        if isinstance(condition, kinds.ConditionOR):
            return Or(tuple(self.node(part) for part in condition.args))
        if isinstance(condition, kinds.ConditionNOT):
            return Negation(self.node(condition.args[0]))
        if isinstance(condition, kinds.ConditionFieldEqualsValueExpression):
            return self.value(condition.field, condition.value)
        if isinstance(condition, kinds.ConditionValueExpression):
            return self.keyword(condition.value)
        raise ConversionError(f"{type(condition).__name__} is not known", "detection.condition")

    def keyword(self, value: Any) -> Node[Asked]:
        """Test of a keyword, found anywhere in the event's text, of which a filter knows attributes only."""
        if self.keywords is None:
            reason = f"the keyword {str(value)[:60]!r} has no field: it is looked for in all of the log line"
            raise ConversionError(
                reason, "detection", "name the attribute that holds the line: keywords=..., --keywords"
            )
        types = self.types
        if isinstance(value, types.SigmaExpansion):
            return Or(tuple(self.keyword(member) for member in value.values))
        if isinstance(value, types.SigmaCompareExpression) and value.op is types.CompareOperators.NEQ:
            return Negation(self.keyword(value.number))
        match self.test(self.keywords, value):
            case Match(parts, cased):
                return Asked(self.keywords, Match((Wildcard.ANY, *parts, Wildcard.ANY), cased))
            case Equal() as number:
                return Asked(self.keywords, Match((Wildcard.ANY, number.text, Wildcard.ANY), False))
            case Regex() as regex:
                return Asked(self.keywords, regex)
        reason = "a keyword is a text or a regular expression that is looked for in the line, and this is another test"
        raise ConversionError(reason, "detection", "ask for it of a field")

    def value(self, field: str, value: Any) -> Node[Asked]:
        types = self.types
        if isinstance(value, types.SigmaExpansion):
            return Or(tuple(self.value(field, member) for member in value.values))
        if isinstance(value, types.SigmaCompareExpression) and value.op is types.CompareOperators.NEQ:
            return Negation(Asked(field, Equal(self.number(field, value.number))))
        return Asked(field, self.test(field, value))

    def test(self, field: str, value: Any) -> Test:
        types = self.types
        if isinstance(value, types.SigmaString):
            return Match(self.parts(field, value), isinstance(value, types.SigmaCasedString))
        if isinstance(value, types.SigmaTimestampPart):
            remedy = "publish that part as an attribute of its own"
            raise ConversionError("a filter does not look at a part of a time", field, remedy)
        if isinstance(value, types.SigmaNumber):
            return Equal(self.number(field, value))
        if isinstance(value, types.SigmaBool):
            return Equal(value.boolean)
        if isinstance(value, types.SigmaNull):
            return Given(False)
        if isinstance(value, types.SigmaExists):
            return Given(value.exists)
        if isinstance(value, types.SigmaRegularExpression):
            self.parts(field, value.regexp)
            letters = "".join(sorted(value.sigma_to_re_flag[flag] for flag in value.flags))
            return Regex((f"(?{letters})" if letters else "") + str(value.regexp))
        if isinstance(value, types.SigmaCompareExpression):
            return Compare(_OPERATORS[value.op.name], self.number(field, value.number))
        if isinstance(value, types.SigmaCIDRExpression):
            return _network(value.network)
        if isinstance(value, types.SigmaFieldReference):
            if value.starts_with or value.ends_with:
                reason = "a filter compares two attributes as wholes, not a part of one with the other"
                raise ConversionError(reason, field)
            return SameAs(value.field)
        raise ConversionError(f"{type(value).__name__} is not known", field)

    def number(self, field: str, value: Any) -> int | float:
        """Number as the rule has it: pySigma takes a whole one that is no double for the double beside it."""
        read: int | float = value.number
        meant = sorted(self.wide.get(read, ())) if isinstance(read, float) else []
        if len(meant) > 1:
            remedy = "write them in quotes, and declare the attribute integer"
            raise ConversionError(f"pySigma takes {meant[0]} and {meant[1]} for one number", field, remedy)
        return meant[0] if meant else read

    def parts(self, field: str, text: Any) -> tuple[str | Wildcard, ...]:
        """Parts of the text; placeholders must have been filled in."""
        wildcards = {
            self.types.SpecialChars.WILDCARD_MULTI: Wildcard.ANY,
            self.types.SpecialChars.WILDCARD_SINGLE: Wildcard.ONE,
        }
        for part in text.s:
            if isinstance(part, self.types.Placeholder):
                raise _placeholder(part.name, field)
        return tuple(part if isinstance(part, str) else wildcards[part] for part in text.s)


def _wide_numbers(detection: Any) -> dict[float, set[int]]:
    """Whole numbers of a detection that are no doubles, under the double beside them."""
    found: dict[float, set[int]] = {}
    parts, seen = [detection], set()
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping | list) and id(part) not in seen:
            # YAML's aliases may lead to one part many times, or into itself.
            seen.add(id(part))
            parts += part.values() if isinstance(part, Mapping) else part
        elif isinstance(part, int) and abs(part) < _LONG and float(part) != part:
            found.setdefault(float(part), set()).add(part)
    return found


def _network(network: Any) -> Network:
    if isinstance(network, IPv6Network):
        return Network(tuple(v6_network(network)))
    return Network((v4_range(int(network.network_address), int(network.broadcast_address)),))


# pySigma takes a value for a network before it takes it for a placeholder.
_NO_NETWORK = re.compile(r"CIDR expression: '%(.+?)%'")


def _refusal(error: Any) -> ConversionError:
    reason = " ".join(str(error).split())
    if "pipe syntax" in reason:
        remedy = "write the counting as a Sigma correlation, outside Tamis"
        return ConversionError("the condition counts events, and a filter looks at one", "detection.condition", remedy)
    if placeholder := _NO_NETWORK.search(reason):
        return _placeholder(placeholder[1], "detection")
    if "egular expression" in reason and "invalid" in reason:
        remedy = "patterns are RE2's: no lookaround, no backreferences"
        return ConversionError(reason, "detection", remedy)
    return ConversionError(reason, "detection")


def _placeholder(name: str, place: str) -> ConversionError:
    reason = f"the placeholder %{name}% stands for values that are not in the rule"
    return ConversionError(reason, place, "write its values in its place")


# Conversion to filters.


def convert(
    rule: Mapping[str, Any] | str, schema: Schema, *, keywords: str | None = None, log_source: str | None = None
) -> str:
    """Filter that holds for exactly the events that the rule's detection matches.

    `keywords` names the attribute that detections without a field look at. With `log_source`, events must be of the
    rule's log source, too: `log_source="logsource."` asks for `logsource.category`, `.product` and `.service`.
    """
    asked = read(rule, keywords, log_source)
    return checked(filter_of(_resolved(asked, schema), _mandatory(schema)), schema)


def _resolved(node: Node[Asked], schema: Schema) -> Node[Condition]:
    match node:
        case Asked():
            return leaves(node, schema)
        case Negation(item):
            return Negation(_resolved(item, schema))
        case And(items):
            return And(tuple(_resolved(item, schema) for item in items))
        case Or(items):
            return Or(tuple(_resolved(item, schema) for item in items))
    raise AssertionError(node)


def _mandatory(schema: Schema) -> frozenset[str]:
    """Attributes that every event type requires."""
    required = [
        {name for name, annotation in event_type.annotations.items() if annotation.mandatory}
        for event_type in schema.event_types.values()
    ]
    return frozenset(set.intersection(*required))


# Needed attributes of rules.


def needed(
    rules: Iterable[Mapping[str, Any] | str], *, keywords: str | None = None, log_source: str | None = None
) -> Needs:
    """Fields of all rules that can be read.

    Sigma compares numbers with texts as they are written, so a field is `float` only where no rule asks for a text.
    """

    def uses(rule: Mapping[str, Any] | str) -> Iterator[Use]:
        for item in asked(read(rule, keywords, log_source)):
            yield from _uses(item.field, item.test)

    needs = collected(rules, uses)
    for wanted in needs.values():
        if "string" in wanted.asked:
            wanted.asked = {"string": sum(wanted.asked.values())}
    return needs


def _uses(field: str, test: Test) -> list[Use]:
    match test:
        case Given():
            return [Use(field)]
        case SameAs(other):
            return [Use(field), Use(other)]
        case Equal(bool()):
            return [Use(field, "boolean")]
        case Equal(value) | Compare(_, value):
            return [Use(field, "float", value)]
    return [Use(field, "string")]
