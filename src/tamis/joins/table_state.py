"""One table as it is: its rows by identity and number, and what its retention goes by."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from dataclasses import dataclass, field

from tamis.joins.index.tables import NO_ROW
from tamis.joins.rows import Identity
from tamis.schema import Table
from tamis.schema.tables import DELETE, INSERT, UPDATE


@dataclass(slots=True)
class TableState:
    """The rows of one table by identity, the one that changed last at the end, with their numbers."""

    table: Table
    rows: OrderedDict[Identity, int] = field(default_factory=OrderedDict)
    arrived: int = 0
    latest: int | None = None
    times: dict[int, int] = field(default_factory=dict)
    by_time: list[tuple[int, int, Identity]] = field(default_factory=list)

    def refusal(self, operation: str | None, identity: Identity, time: int | None) -> str:
        name, shown = self.table.name, repr(identity[0] if len(identity) == 1 else identity)
        if operation == INSERT and identity in self.rows:
            return f"{name} has a row with the key {shown} already; update it, or leave the operation out"
        if operation in (UPDATE, DELETE) and identity not in self.rows:
            return f"{name} has no row with the key {shown} to {operation}"
        if operation != DELETE and self.is_late(time):
            return f"the row is too late for {name}: it would have gone before it came"
        return ""

    def is_late(self, time: int | None) -> bool:
        window = self.table.retention.window
        return window is not None and time is not None and self.latest is not None and time <= self.latest - window

    def put(self, identity: Identity, number: int, time: int | None) -> int:
        """Puts a row; the number of the one it replaces."""
        self.arrived += 1
        old = self.rows.pop(identity, NO_ROW)
        self.rows[identity] = number
        if time is not None:
            self.latest = time if self.latest is None else max(self.latest, time)
            self.times[number] = time
            self.times.pop(old, None)
            heapq.heappush(self.by_time, (time, number, identity))
        return old

    def delete(self, identity: Identity) -> int:
        number = self.rows.pop(identity)
        self.times.pop(number, None)
        return number

    def expired(self) -> list[int]:
        """Takes out what retention does not keep."""
        gone: list[int] = []
        count = self.table.retention.count
        while count is not None and len(self.rows) > count:
            gone.append(self.rows.popitem(last=False)[1])
        while self.by_time and self.is_late(self.by_time[0][0]):
            time, number, identity = heapq.heappop(self.by_time)
            # A row that was replaced, or a number that another row has by now, is not meant.
            if self.rows.get(identity) == number and self.times.get(number) == time:
                gone.append(self.delete(identity))
        return gone
