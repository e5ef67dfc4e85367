"""Numbers as people write and read them: `10k`, `1.5M`, `4G`; `0.99 µs`, `12.3 ms`."""

from __future__ import annotations

from tamis.cli.base.failures import CommandError

_COUNTS = {"": 1, "k": 1_000, "m": 1_000_000}
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def count(text: str) -> int:
    """`10k` is 10,000 and `1.5M` is 1,500,000."""
    return _read(text, _COUNTS, "a number of subscriptions, as 500, 10k or 1M")


def memory(text: str) -> int:
    """`4G` is four times 2³⁰ bytes."""
    return _read(text, _BYTES, "an amount of memory, as 500M or 4G")


def short(number: int) -> str:
    """The other way round: 10,000 is `10k`."""
    for letter, unit in (("M", 1_000_000), ("k", 1_000)):
        if number >= unit and number % (unit // 10) == 0:
            return f"{number / unit:g}{letter}"
    return f"{number:,}"


def duration(seconds: float) -> str:
    """Three figures and the unit that suits them."""
    unit, name = _unit(seconds)
    return f"{figures(seconds / unit)} {name}"


def round_duration(seconds: float) -> str:
    """For the ticks of an axis: no digit that says nothing."""
    unit, name = _unit(seconds)
    return f"{seconds / unit:g} {name}"


def figures(number: float) -> str:
    """Three significant figures, and no exponent."""
    if number >= 99.95:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def _unit(seconds: float) -> tuple[float, str]:
    # A thousandth less: 0.9996 ms would be written as 1,000 µs.
    return next((pair for pair in _TIMES if seconds >= 0.9995 * pair[0]), _TIMES[-1])


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
