"""What the network is told of a store's subscriptions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

from tamis.errors import FilterError
from tamis.language import CalledFilter, Filter, Limits, Signatures, normal_form, parse, print_filter
from tamis.schema import Schema
from tamis.service.store import Store

_logger: Final = logging.getLogger("tamis.service")
_PAGE: Final = 50_000


class WantedFilters:
    """The filters of all active subscriptions, each once, by an id made of its text.

    A filter that calls operators is asked for without the calls: they are made here, by whoever matches. Follows the
    store by its revisions, from the first on whenever the service starts.
    """

    def __init__(self, store: Store, schema: Schema, limits: Limits, signatures: Callable[[], Signatures]) -> None:
        self._store = store
        self._schema = schema
        self._limits = limits
        self._signatures = signatures
        self._revision = 0
        self._texts: dict[int, str] = {}  # by the subscription's number
        self._counts: dict[str, int] = {}

    def refresh(self) -> bool:
        """Takes in what changed; whether anything did."""
        changed = False
        while rows := self._store.subscriptions.changes(self._revision, _PAGE):
            changed = True
            self._revision = rows[-1].revision
            for row in rows:
                self._put(row.number, None if row.filter is None else self._plain(row.filter))
        return changed

    def filters(self) -> dict[str, str]:
        """By id."""
        return {blake2b(text.encode(), digest_size=16).hexdigest(): text for text in self._counts}

    def _put(self, number: int, text: str | None) -> None:
        old = self._texts.pop(number, None)
        if old is not None:
            self._counts[old] -= 1
            if not self._counts[old]:
                del self._counts[old]
        if text is not None:
            self._texts[number] = text
            self._counts[text] = self._counts.get(text, 0) + 1

    def _plain(self, text: str) -> str | None:
        try:
            form = normal_form(parse(text, self._schema, self._limits, self._signatures()), self._schema, self._limits)
        except FilterError as error:
            _logger.warning("the network is not told of a filter that its schema does not know: %s", error)
            return None
        if isinstance(form, CalledFilter):
            form = Filter(tuple(dict.fromkeys(conjunct for case in form.cases for conjunct in case.guard)))
        return print_filter(form, self._schema)
