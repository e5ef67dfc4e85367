"""Filters of a broker: subscription and advertisement routing tables, matching index, stored rows, and messages of
changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tamis.broker.events import Sieve
from tamis.broker.messages import Alter, FilterChange, Table
from tamis.broker.store import BrokerStore
from tamis.routing.tables import Policy, RoutedFilter, RoutingTable, RowChange, read_canonical
from tamis.schema import Schema

Kind = Literal["advertisement", "subscription"]

ADVERTISEMENT: Final[Kind] = "advertisement"
SUBSCRIPTION: Final[Kind] = "subscription"


NO_CHANGE: Final = RowChange()


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes for a neighbour, of both tables."""

    advertisements: RowChange = NO_CHANGE
    subscriptions: RowChange = NO_CHANGE

    def __bool__(self) -> bool:
        return bool(self.advertisements or self.subscriptions)


class Filters:
    """Subscription routing table (`advertisements`), publication routing table (`subscriptions`), and the matching
    index.

    What came from a neighbour is a set of texts; a client has filters under ids of its own. The tables, the sieve and
    the store always hold the same.
    """

    def __init__(self, schema: Schema, policy: Policy, store: BrokerStore) -> None:
        self.schema = schema
        self.advertisements = RoutingTable(schema, policy)
        self.subscriptions = RoutingTable(schema, policy, gated=True)
        self.sieve = Sieve(schema)
        self._store = store
        self._of_links: dict[str, dict[Kind, dict[str, RoutedFilter]]] = {}
        self.held: dict[str, dict[Kind, dict[str, RoutedFilter]]] = {}
        self._load()

    def _load(self) -> None:
        rows, held = list(self._store.rows()), list(self._store.held())
        texts = dict.fromkeys([*(text for _, _, text in rows), *(text for _, _, _, text in held)])
        known = dict(zip(texts, read_canonical(list(texts), self.schema), strict=True))
        for hop, kind, text in rows:
            self._link(hop)[_kind(kind)][text] = known[text]
        for hop, kinds in self._of_links.items():
            self.advertisements.change(hop, kinds[ADVERTISEMENT].values(), ())
            self.subscriptions.change(hop, kinds[SUBSCRIPTION].values(), ())
            self.sieve.add(hop, {text: text for text in kinds[SUBSCRIPTION]})
        for client, kind, id, text in held:
            self._client(client)[_kind(kind)][id] = known[text]
        for hop, kinds in self.held.items():
            self.advertisements.change(hop, kinds[ADVERTISEMENT].values(), ())
            self.subscriptions.change(hop, kinds[SUBSCRIPTION].values(), ())
            self.sieve.add(hop, {id: filter.text for id, filter in kinds[SUBSCRIPTION].items()})

    def add_link(self, hop: str) -> None:
        """Adds a neighbour, to which the filters of the others are forwarded from now on."""
        self.advertisements.add_target(hop)
        self.subscriptions.add_target(hop, self._link(hop)[ADVERTISEMENT].values())

    def remove_link(self, hop: str) -> dict[str, Changes]:
        """Removes a neighbour with its filters; nothing is forwarded to it any more."""
        self.advertisements.remove_target(hop)
        self.subscriptions.remove_target(hop)
        kinds = self._link(hop)
        told = self.change_link(hop, (), kinds[ADVERTISEMENT], (), kinds[SUBSCRIPTION])
        del self._of_links[hop]
        return told

    def replace_link(self, hop: str, advertisements: Iterable[str], subscriptions: Iterable[str]) -> dict[str, Changes]:
        """Replaces all filters of a neighbour."""
        kinds = self._link(hop)
        ads, subs = dict.fromkeys(advertisements), dict.fromkeys(subscriptions)
        return self.change_link(
            hop,
            ads,
            [text for text in kinds[ADVERTISEMENT] if text not in ads],
            subs,
            [text for text in kinds[SUBSCRIPTION] if text not in subs],
        )

    def change_link(
        self,
        hop: str,
        advertised: Iterable[str],
        unadvertised: Iterable[str],
        subscribed: Iterable[str],
        unsubscribed: Iterable[str],
    ) -> dict[str, Changes]:
        """Applies a neighbour's changes; `FilterError`, and no change, if one of the texts is no filter."""
        ads = self._news(hop, ADVERTISEMENT, advertised, unadvertised)
        subs = self._news(hop, SUBSCRIPTION, subscribed, unsubscribed)
        for kind, news in ((ADVERTISEMENT, ads), (SUBSCRIPTION, subs)):
            rows = self._of_links[hop][kind]
            for text in news.removed:
                del rows[text]
            rows.update((filter.text, filter) for filter in news.added)
            self._store.change_rows(hop, kind, (filter.text for filter in news.added), news.removed)
        self.sieve.remove(hop, subs.removed)
        self.sieve.add(hop, {filter.text: filter.text for filter in subs.added})
        return self._change(hop, ads, subs)

    def change_client(
        self, hop: str, kind: Kind, added: Mapping[str, RoutedFilter], removed: Iterable[str]
    ) -> dict[str, Changes]:
        """Adds filters of a client under new ids, and withdraws some under ids that it had."""
        mine = self._client(hop)[kind]
        gone = {id: mine.pop(id) for id in removed}
        mine.update(added)
        for id in gone:
            self._store.let_go(hop, kind, id)
        for id, filter in added.items():
            self._store.hold(hop, kind, id, filter.text)
        change = RowChange(tuple(added.values()), tuple(filter.text for filter in gone.values()))
        if kind == ADVERTISEMENT:
            return self._change(hop, change, RowChange())
        self.sieve.remove(hop, gone)
        self.sieve.add(hop, {id: filter.text for id, filter in added.items()})
        return self._change(hop, RowChange(), change)

    def of_client(self, hop: str, kind: Kind) -> Mapping[str, RoutedFilter]:
        """Filters of a client, by its ids."""
        return self._client(hop)[kind]

    def _change(self, hop: str, ads: RowChange, subs: RowChange) -> dict[str, Changes]:
        told = {target: Changes(change) for target, change in self._applied(self.advertisements, hop, ads).items()}
        if ads and hop in self.subscriptions.targets:
            # What was waiting for somebody over there to advertise goes there now.
            told[hop] = Changes(subscriptions=self.subscriptions.open_gates(hop, ads.added, ads.removed))
        for target, change in self._applied(self.subscriptions, hop, subs).items():
            told[target] = Changes(told.get(target, Changes()).advertisements, change)
        return {target: changes for target, changes in told.items() if changes}

    @staticmethod
    def _applied(table: RoutingTable, hop: str, change: RowChange) -> dict[str, RowChange]:
        return table.change(hop, change.added, change.removed) if change else {}

    def _news(self, hop: str, kind: Kind, added: Iterable[str], removed: Iterable[str]) -> RowChange:
        """Effective change: without filters that are there already, and removals of filters that are not."""
        rows = self._link(hop)[kind]
        unknown = [text for text in dict.fromkeys(added) if text not in rows]
        new = {filter.text: filter for filter in read_canonical(unknown, self.schema)}
        return RowChange(
            tuple(filter for text, filter in new.items() if text not in rows),
            tuple(text for text in dict.fromkeys(removed) if text in rows and text not in new),
        )

    def _link(self, hop: str) -> dict[Kind, dict[str, RoutedFilter]]:
        return self._of_links.setdefault(hop, {ADVERTISEMENT: {}, SUBSCRIPTION: {}})

    def _client(self, hop: str) -> dict[Kind, dict[str, RoutedFilter]]:
        return self.held.setdefault(hop, {ADVERTISEMENT: {}, SUBSCRIPTION: {}})


def _kind(text: str) -> Kind:
    return ADVERTISEMENT if text == ADVERTISEMENT else SUBSCRIPTION


# Messages that forward filters to a neighbour.


def table_messages(number: int, filters: Filters, hop: str, most: int) -> Iterator[Table]:
    """Messages of the whole table for the other end of a link: parts of at most so many characters, and an end mark."""
    for kind, table in (("advertisements", filters.advertisements), ("subscriptions", filters.subscriptions)):
        part: list[str] = []
        size = 0
        for text in sorted(table.forwarded(hop)):
            if part and size + len(text) > most:
                yield _part(number, kind, part)
                part, size = [], 0
            part.append(text)
            size += len(text)
        if part:
            yield _part(number, kind, part)
    yield Table(number)


def alter_message(number: int, changes: Changes) -> Alter:
    """Message of the changes since the last one."""
    return Alter(number, _texts(changes.advertisements), _texts(changes.subscriptions))


def length(alter: Alter) -> int:
    """Number of characters of the filters in a message."""
    parts = (alter.advertisements.added, alter.advertisements.removed, alter.subscriptions.added)
    return sum(len(text) for part in (*parts, alter.subscriptions.removed) for text in part)


def _texts(change: RowChange) -> FilterChange:
    return FilterChange(tuple(filter.text for filter in change.added), change.removed)


def _part(number: int, kind: str, texts: list[str]) -> Table:
    if kind == "advertisements":
        return Table(number, advertisements=tuple(texts), last=False)
    return Table(number, subscriptions=tuple(texts), last=False)
