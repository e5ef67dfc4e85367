"""Which texts both databases can hold: PostgreSQL has no NUL in a text, and neither has half a surrogate pair."""

from __future__ import annotations

from tamis.service.store.errors import TextError

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
