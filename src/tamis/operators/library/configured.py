"""Operators made with settings: what follows from those."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence

from tamis.operators.definition import Operator


def with_choices(operator: Operator, parameter: str, choices: Sequence[str]) -> Operator:
    """The operator, taking only these strings there: a filter with another is refused when it is read."""
    formals = tuple(
        dataclasses.replace(formal, parameter=dataclasses.replace(formal.parameter, choices=tuple(choices)))
        if formal.parameter.name == parameter
        else formal
        for formal in operator.formals
    )
    return dataclasses.replace(operator, formals=formals)


def version_of(settings: object) -> str:
    """A version that tells these settings from others by all that their `repr` says, under the version of the code."""
    return "1." + hashlib.blake2b(repr(settings).encode(), digest_size=8).hexdigest()
