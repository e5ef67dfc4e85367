"""Arguments that must be one of certain names, where the names are known only once an operator is configured."""

from __future__ import annotations

import dataclasses
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
