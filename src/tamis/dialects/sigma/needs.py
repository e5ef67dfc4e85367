"""Which attributes Sigma rules ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tamis.dialects.needs import Needs, Use, collected
from tamis.dialects.sigma.reading import asked, read
from tamis.dialects.sigma.tests import Compare, Equal, Given, SameAs, Test


def needed(
    rules: Iterable[Mapping[str, Any] | str], *, keywords: str | None = None, log_source: str | None = None
) -> Needs:
    """The fields of all rules that can be read.

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
