"""What the store cannot do, in one line a user can act on."""

from __future__ import annotations

import logging

from tamis.errors import TamisError


class StoreError(TamisError):
    """A store that cannot be opened, reached or written, or a change that its rows do not allow."""


class StoreFailedError(StoreError):
    """What the database said. Names the database and its user: for logs, not for those who ask the service."""


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
