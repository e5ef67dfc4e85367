"""What the store cannot do, in one line a user can act on."""

from __future__ import annotations

from tamis.errors import TamisError


class StoreError(TamisError):
    """A store that cannot be opened, reached or written, or a change that its rows do not allow."""


class TextError(TamisError):
    """A text that no database holds. The fault is the sender's, not the store's."""


class NotFoundError(StoreError):
    """There is no row of that id, or it has ended for good."""
