"""Errors of the store, each one line that a user can act on."""

from __future__ import annotations

import logging

from tamis.errors import TamisError


class StoreError(TamisError):
    """A store that cannot be opened, reached or written, or a change that its rows do not allow."""


class StoreFailedError(StoreError):
    """Failure of the database. Names the database and its user: for logs, not for those who ask the service."""


class StoreAwayError(StoreFailedError):
    """The database does not answer, or cannot do anything for now: the same may succeed later."""


class TextError(TamisError):
    """A text that no database holds. The fault is the sender's, not the store's."""


class RevokedError(StoreError):
    """The key that a subscription belongs to, or is to belong to, is revoked or there is none."""


class TicketError(StoreError):
    """A ticket that opened a subscription which has another one by now."""


class NotFoundError(StoreError):
    """There is no row of that id, or it has ended for good."""


class TooManyError(StoreError):
    """The owner has as many as are allowed."""


def warn(logger: logging.Logger, failed: str, error: TamisError) -> None:
    """A line about what failed and is tried again. That the store is away is said once, by the store itself."""
    if not isinstance(error, StoreAwayError):
        logger.warning("%s, and is tried again: %s", failed, error)


# Which texts both databases can hold: PostgreSQL has no NUL in a text, and neither has half a surrogate pair.

LARGEST = (1 << 63) - 1


def is_storable(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_storable(text: str, what: str) -> str:
    if not is_storable(text):
        raise TextError(f"{what}: a text with a NUL or with half a surrogate pair cannot be kept")
    return text


def made_storable(text: str) -> str:
    """The text with what cannot be held written as an escape, for what is kept only to be looked at."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def within(number: int) -> int:
    """A cursor as an int64: one beyond all positions stays beyond all positions."""
    return max(-1, min(number, LARGEST))
