"""Event bodies on the log, with attributes unknown to the schema put aside and joined again; notifications, and the
cursors of their readers.

A body is a JSON object in which every later reader sees what the door saw. The door skips names that are no attributes.
They are not dropped, because subscribers are shown the event as published, but put aside under `PASSED_OVER`, which no
schema can have: an extension that adds such a name later changes nothing about the event. No version number is needed
on the log, and readers with older and newer schemas agree.

Without a schema, everything but the attributes of CloudEvents is put aside, the event type too, and `PASSED_OVER` is
written even if empty: so the first schema finds no fault with attributes that earlier events lack.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from tamis.errors import TamisError
from tamis.schema import json_lines

if TYPE_CHECKING:
    from tamis.service.store import Subscription


PASSED_OVER: Final = json_lines.PASSED_OVER
MARK: Final = json.dumps(PASSED_OVER) + ":"
"""Text of every body in which something is put aside; an event that comes with it is parted, whatever it holds."""
_ABSENT: Final = object()


def parted_body(
    event: Mapping[str, Any], known: Collection[str], solitary: Collection[str], always: bool = False
) -> str:
    """Body of an event for the log: members that are not under a `known` name are put aside.

    `always`: `PASSED_OVER` is there though there is nothing to put aside.
    `solitary`: the names in whose lists an object is no nesting, as `Schema.solitary` has them.
    """
    kept, rest = _parted_members(event, "", known, solitary)
    body: dict[str, Any] = {} if kept is _ABSENT else dict(kept)
    if rest is not _ABSENT or always:
        body[PASSED_OVER] = {} if rest is _ABSENT else rest
    return _written(body)


def published_text(body: str) -> str:
    """Event as published, as JSON text, from a body of the log."""
    if MARK not in body:
        return body
    try:
        event = published_event(body)
    except ValueError:  # not by the door: somebody else's, on a shared log
        return body
    try:
        return orjson.dumps(event).decode()
    except TypeError:  # an integer of more than 64 bits
        return _written(event)


def published_event(body: str) -> Any:
    """Event as published, as Python values; ValueError if the body is not JSON."""
    if MARK not in body:
        return orjson.loads(body)
    event = json.loads(body)
    if isinstance(event, dict) and isinstance(rest := event.get(PASSED_OVER), dict):
        return _joined({name: value for name, value in event.items() if name != PASSED_OVER}, rest)
    return event


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parted_members(
    members: Mapping[str, Any], prefix: str, known: Collection[str], solitary: Collection[str]
) -> tuple[Any, Any]:
    """Members under known names, and the others; `_ABSENT` for a part without any."""
    kept: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in members.items():
        # Else what a publisher calls by this name would be taken for what was put aside here.
        ours = not prefix and key == PASSED_OVER
        read, passed = (_ABSENT, value) if ours else _parted(value, f"{prefix}{key}", known, solitary)
        if read is not _ABSENT:
            kept[key] = read
        if passed is not _ABSENT:
            rest[key] = passed
    return kept or _ABSENT, rest or _ABSENT


def _parted(value: Any, name: str, known: Collection[str], solitary: Collection[str]) -> tuple[Any, Any]:
    if isinstance(value, dict) and value:
        return _parted_members(value, f"{name}.", known, solitary)
    if isinstance(value, list) and name not in solitary and _holds_objects(value):
        return _parted_items(value, name, known, solitary)
    return (value, _ABSENT) if name in known else (_ABSENT, value)


def _parted_items(items: list[Any], name: str, known: Collection[str], solitary: Collection[str]) -> tuple[Any, Any]:
    """Two lists of equal length, with null where the other has the item."""
    parts = [_parted(item, name, known, solitary) for item in items]
    kept = [None if read is _ABSENT else read for read, _ in parts]
    rest = [None if passed is _ABSENT else passed for _, passed in parts]
    return (
        kept if any(read is not _ABSENT for read, _ in parts) else _ABSENT,
        rest if any(passed is not _ABSENT for _, passed in parts) else _ABSENT,
    )


def _holds_objects(value: list[Any]) -> bool:
    return any(isinstance(item, dict) or (isinstance(item, list) and _holds_objects(item)) for item in value)


def _joined(kept: Any, rest: Any) -> Any:
    """Event put together again from its two parts."""
    if isinstance(kept, dict) and isinstance(rest, dict):
        both = {name: _joined(value, rest[name]) if name in rest else value for name, value in kept.items()}
        return both | {name: value for name, value in rest.items() if name not in kept}
    if isinstance(kept, list) and isinstance(rest, list) and len(kept) == len(rest):
        return [_joined(*pair) for pair in zip(kept, rest, strict=True)]
    return rest if kept is None else kept


# Notifications (one event for one subscription) and the cursors of their readers.

LAST: Final = (1 << 63) - 1
_CURSOR: Final = re.compile(r"(\d{1,19})(?:-(\d{1,19}))?", re.ASCII)


class CursorError(TamisError):
    """Text that is not a valid cursor."""


class Cursor(NamedTuple):
    """Position of a reader (consumer offset): all before `position`, and there the subscriptions up to `number`.

    Cursors compare as tuples, so a notification is new iff `(position, number) > cursor`. To the outside a cursor is a
    text: `"123"` is everything at position 123, `"123-45"` stops at subscription 45, for readers of many subscriptions.
    """

    position: int
    number: int = LAST

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Cursor from the text that a reader was given; `CursorError` if it is not one."""
        found = _CURSOR.fullmatch(text)
        parts = [int(part) for part in found.groups() if part is not None] if found else []
        if not parts or max(parts) > LAST:
            raise CursorError(f"{text[:50]!r} is no cursor; give one as it came with a notification")
        return cls(*parts)

    def of(self, number: int) -> Cursor:
        """The cursor of a reader of one subscription who has seen as much."""
        return Cursor(self.position if number <= self.number else max(self.position - 1, 0))

    @property
    def whole(self) -> int:
        """Last position of which everything has been seen."""
        return self.position if self.number == LAST else self.position - 1

    def __str__(self) -> str:
        return str(self.position) if self.number == LAST else f"{self.position}-{self.number}"


BEGINNING: Final = Cursor(0)


@dataclass(frozen=True, slots=True)
class Notification:
    """Notification as it is sent. `body` is its JSON, rendered once and shared by all receivers.

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
        """Place in the order of all notifications."""
        return self.position, self.subscription.number

    @property
    def wide_cursor(self) -> str:
        """Cursor for a reader of many subscriptions: others may be notified of the same event."""
        return f"{self.position}-{self.subscription.number}"

    @property
    def wide(self) -> bytes:
        """Body with the cursor for readers of many subscriptions."""
        return b'%b-%d"}' % (self.body[:-2], self.subscription.number)


def notification_id(event_id: str, subscription: str) -> str:
    """Id of a notification: a function of event and subscription (its public id), equal wherever it is computed."""
    return "ntf_" + blake2b(f"{event_id}\0{subscription}".encode(), digest_size=16).hexdigest()
