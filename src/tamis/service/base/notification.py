"""A notification: one event on its way to one subscription, and where a reader stands among them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from tamis.errors import TamisError

if TYPE_CHECKING:
    from tamis.service.store import Subscription

LAST: Final = (1 << 63) - 1
_CURSOR: Final = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?", re.ASCII)


class CursorError(TamisError):
    """A text that is no cursor."""


class Cursor(NamedTuple):
    """Position of a reader: all up to `position`, and there the subscriptions up to `number`.

    Cursors compare as tuples, so a notification is new iff `(position, number) > cursor`. To the outside a cursor is a
    text: `"123"` is everything at position 123, `"123-45"` stops at subscription 45, for readers of many subscriptions.
    """

    position: int
    number: int = LAST

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor that a reader was given before; `CursorError` if it was given no such text."""
        found = _CURSOR.fullmatch(text)
        parts = [int(part) for part in found.groups() if part is not None] if found else []
        if not parts or max(parts) > LAST:
            raise CursorError(f"{text[:50]!r} is no cursor; give one as it came with a notification")
        return cls(*parts)

    @property
    def whole(self) -> int:
        """The last position of which everything has been seen."""
        return self.position if self.number == LAST else self.position - 1

    def __str__(self) -> str:
        return str(self.position) if self.number == LAST else f"{self.position}-{self.number}"


BEGINNING: Final = Cursor(0)


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification as it is sent: `body` is its JSON, made once and shared by all who are sent it.

    `bindings` is a JSON object, what the filter's variables were bound to; None if it has none. `changes` is a JSON
    list, what the event did to the content of a join; None if it is none. `notice` is a JSON object: a message about
    the subscription, with its `type`; None for a match. All three are in the body too.

    The member `cursor` comes last in `body`, so that `wide` can give it the form that readers of many subscriptions
    need, without the rest being written again.
    """

    id: str
    subscription: Subscription
    position: int
    event_id: str
    time: datetime
    event: str
    body: bytes
    bindings: str | None = None
    changes: str | None = None
    notice: str | None = None

    @property
    def key(self) -> tuple[int, int]:
        """Its place in the order of all notifications."""
        return self.position, self.subscription.number

    @property
    def wide_cursor(self) -> str:
        """The cursor for a reader of many subscriptions: others may be notified of the same event."""
        return f"{self.position}-{self.subscription.number}"

    @property
    def wide(self) -> bytes:
        """The body with that cursor."""
        return b'%b-%d"}' % (self.body[:-2], self.subscription.number)


def notification_id(event_id: str, subscription: str) -> str:
    """Id of a notification, a function of event and subscription (its public id), wherever it is made."""
    return "ntf_" + blake2b(f"{event_id}\0{subscription}".encode(), digest_size=16).hexdigest()
