"""Context in which a filter is examined: schema, limits, operators and tables, in whichever process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tamis.schema import Schema
from tamis.service.base.configuration import LimitSettings, Settings
from tamis.service.base.offering import Offering
from tamis.service.store import Store


class Reads(Protocol):
    """Whatever filters can be read by: a service, or the bench of an examiner."""

    @property
    def limits(self) -> LimitSettings: ...
    @property
    def offering(self) -> Offering: ...
    @property
    def schema(self) -> Schema: ...


class Shows(Reads, Protocol):
    """Whatever joins can be shown by: the store has their tables."""

    @property
    def store(self) -> Store: ...


@dataclass(slots=True)
class Bench:
    """An examiner's own: the schema as of the last question, operators loaded once, and a store that opens when asked.

    `learned` are the costs and selectivities that matching has found of operators, by name. `loading` is called before
    something is loaded that is loaded only once, and `begun` after it, with the seconds that the answer may take from
    then on; None: what was left.
    """

    settings: Settings
    offering: Offering
    schema: Schema
    ignores_unknown: bool = True
    learned: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    loading: Callable[[], None] = lambda: None
    begun: Callable[[float | None], None] = lambda seconds: None
    columnar: bool = False
    """Whether the kernels of the columnar matcher are loaded."""
    _store: Store | None = None

    @property
    def limits(self) -> LimitSettings:
        return self.settings.limits

    @property
    def store(self) -> Store:
        """Opened when a join is first looked at."""
        if self._store is None:
            self._store = Store.open(self.settings.store)
        return self._store
