"""Which attributes Sigma rules ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tamis.dialects.conversion import ConversionError
from tamis.dialects.needs import Needs, need
from tamis.dialects.sigma.reading import asked, read
from tamis.dialects.sigma.tests import Compare, Equal, Given, SameAs, Test


def needed(
    rules: Iterable[Mapping[str, Any] | str], *, keywords: str | None = None, log_source: str | None = None
) -> Needs:
    """The fields of all rules that can be read.

    Sigma compares numbers with texts as they are written, so a field is `float` only where no rule asks for a text.
    """
    needs: Needs = {}
    for rule in rules:
        try:
            found = list(asked(read(rule, keywords, log_source)))
        except ConversionError:
            continue  # `convert` tells of it
        for field, domain in dict.fromkeys(pair for item in found for pair in _asked(item.field, item.test)):
            wanted = need(needs, field)
            if domain is not None:
                wanted.ask(domain)
        for item in found:
            match item.test:
                case Equal(value) | Compare(_, value) if not isinstance(value, bool):
                    need(needs, item.field).name_number(value)
    for wanted in needs.values():
        if "string" in wanted.asked:
            wanted.asked = {"string": sum(wanted.asked.values())}
    return needs


def _asked(field: str, test: Test) -> Iterable[tuple[str, str | None]]:
    match test:
        case Given():
            return [(field, None)]
        case SameAs(other):
            return [(field, None), (other, None)]
        case Equal(bool()):
            return [(field, "boolean")]
        case Equal() | Compare():
            return [(field, "float")]
    return [(field, "string")]
