"""Texts that strangers send, bounded, and without what a database cannot hold."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path
from pydantic import StringConstraints

_LONGEST_FILTER: Final = 500_000  # whatever the settings say: the settings' own limit has the better message

# The patterns say that NUL, which PostgreSQL has no place for, is not part of a text.
Label = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")]
FilterText = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST_FILTER, pattern=r"^[^\x00]*$")]
Id = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,100}$")]
