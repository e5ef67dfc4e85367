"""Which changes are known to have reached every broker that they concern."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Sent = tuple[str, int]
"""A change that was sent on: the link, and its number there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A change that somebody asked for, by the number they gave it; `upto`: and all that they asked for before."""

    hop: str
    number: int
    upto: bool = False


class Settling:
    """For each change that was asked for, the changes sent on because of it that are not settled yet.

    It is settled when there are none left. Kept in memory only: whoever asked asks again over a new connection.
    """

    def __init__(self) -> None:
        self._waiting: dict[Asked, set[Sent]] = {}
        self._sent: dict[Sent, set[Asked]] = {}

    def begin(self, asked: Asked, sent: Iterable[Sent]) -> bool:
        """Whether it is settled at once."""
        waits = set(sent)
        if not waits:
            return True
        self._waiting[asked] = waits
        for each in waits:
            self._sent.setdefault(each, set()).add(asked)
        return False

    def settled(self, link: str, number: int, upto: bool) -> list[Asked]:
        """A change that was sent over a link is settled; returns what is settled by that."""
        ended = [s for s in self._sent if s[0] == link and s[1] <= number] if upto else [(link, number)]
        done: list[Asked] = []
        for each in ended:
            for asked in self._sent.pop(each, ()):
                waits = self._waiting.get(asked)
                if waits is None:
                    continue
                waits.discard(each)
                if not waits:
                    del self._waiting[asked]
                    done.append(asked)
        return done

    def forget(self, hop: str) -> None:
        """Whoever asked is gone, and will ask again."""
        for asked in [asked for asked in self._waiting if asked.hop == hop]:
            for each in self._waiting.pop(asked):
                self._sent[each].discard(asked)

    def outstanding(self, *, but: str) -> set[Sent]:
        """What was sent over links other than this one and is not settled."""
        return {sent for sent, asked in self._sent.items() if sent[0] != but and asked}

    def over(self, link: str) -> int:
        """How many changes that were sent over a link are not settled."""
        return sum(sent[0] == link and bool(asked) for sent, asked in self._sent.items())
