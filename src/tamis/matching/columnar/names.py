"""The ids of a level's subscriptions, by number and back."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from tamis.matching.columnar.encoding.dictionary import Strings


class Names(Strings):
    """Ids as constants whose rank is the subscription's number."""

    @cached_property
    def ids(self) -> pa.Array:
        """As Arrow strings, in the narrower form where they fit."""
        wide = self.constants.cast(pa.large_string())
        return wide.cast(pa.string()) if len(self._data) < 2**31 else wide
