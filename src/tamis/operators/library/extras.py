"""Libraries that Tamis does not install by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tamis.errors import OperatorError


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around imports: where one is missing, says how it is installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        library = str(error.name).partition(".")[0]
        raise OperatorError(f"{library} is not installed; install it: pip install 'tamis[{name}]'") from error
