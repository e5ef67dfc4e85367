"""Numbers with suffixes in options: `10k`, `1.5M`, `4G`."""

from __future__ import annotations

from tamis.cli.base.options import CommandError

_COUNTS = {"": 1, "k": 1_000, "m": 1_000_000}
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def count(text: str) -> int:
    """Parses a count: `10k` is 10,000 and `1.5M` is 1,500,000."""
    return _read(text, _COUNTS, "a number of subscriptions, as 500, 10k or 1M")


def memory(text: str) -> int:
    """Parses a size: `4G` is four times 2³⁰ bytes."""
    return _read(text, _BYTES, "an amount of memory, as 500M or 4G")


def _read(text: str, units: dict[str, int], what: str) -> int:
    given = text.strip().lower()
    letter = given[-1:] if given[-1:].isalpha() else ""
    try:
        number = float(given.removesuffix(letter)) * units[letter]
    except (ValueError, KeyError):
        number = 0.0
    if not 1 <= number < 1e15:
        raise CommandError(f"{text!r} is not {what}")
    return round(number)
