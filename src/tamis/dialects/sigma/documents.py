"""Sigma's files: YAML with one rule a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tamis.dialects.conversion import ConversionError
from tamis.yaml_loading import QuickLoader, load_all


def documents(text: str) -> Iterator[Mapping[str, Any]]:
    """The rules of a file, each of which may be refused by itself; a text that is no YAML is refused as a whole.

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
    """The one rule that is given, as text or as it was loaded."""
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
