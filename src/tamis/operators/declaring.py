"""Decorator `@tamis.operator`: declares a Python function as an operator, from its signature and annotations."""

from __future__ import annotations

import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, overload

from tamis.errors import OperatorError
from tamis.language.calls import Parameter, ParameterKind
from tamis.language.syntax import WORDS
from tamis.operators.asking import code_of
from tamis.operators.registry import TIME_LIMIT, Formal, Operator, Var

Function = Callable[..., Any]
Reads = Sequence[str] | Mapping[str, str]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_KINDS: dict[object, ParameterKind] = {
    int: "integer",
    float: "float",
    str: "string",
    bool: "boolean",
    datetime: "timestamp",
    Any: "any",
    object: "any",
    inspect.Parameter.empty: "any",
}
_BY_NAME: dict[str, object] = {
    **{kind.__name__: kind for kind in (int, float, str, bool, datetime)},
    "datetime.datetime": datetime,
    "Any": Any,
}


@overload
def operator(function: Function, /) -> Operator: ...
@overload
def operator(
    *,
    name: str | None = None,
    version: str = "1",
    cost: float | None = None,
    selectivity: float | None = None,
    time_limit: float | None = TIME_LIMIT,
    batch: bool = False,
    together: bool = False,
    reads: Reads | None = None,
    prepare: Callable[[], object] | None = None,
) -> Callable[[Function], Operator]: ...
def operator(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    version: str = "1",
    cost: float | None = None,
    selectivity: float | None = None,
    time_limit: float | None = TIME_LIMIT,
    batch: bool = False,
    together: bool = False,
    reads: Reads | None = None,
    prepare: Callable[[], object] | None = None,
) -> Operator | Callable[[Function], Operator]:
    """Makes a function, which may be `async def`, callable from filters.

    - `name`: what filters call it; the function's own name if left out. `version`: change it when results change.
    - `cost`: what a call costs, in any unit that all operators of an index share; None: learned, in milliseconds.
    - `selectivity`: how likely a call is to hold, from 0 to 1: what the first plan goes by, until observation replaces
      it. None: learned, and 0.5 until then.
    - `time_limit`: seconds that a call may take before it is given up and its predicate is unknown; None: any.
    - `batch`: the function takes Arrow arrays with a row for each event, and returns Arrow.
    - `together`: a batch function whose arguments are arrays too, with a value a row beside the event's: calls that
      differ in their values only are then made at once.
    - `reads`: which parameters the event fills: attribute names (a parameter has `__` for each dot), or `{parameter:
      attribute}`. Without it: the leading parameters that are called `event`, or as an attribute of the schema.
    - `prepare`: called once in each process, before the first call and outside its time: to load models and the like.
      It may take five minutes, or any time if calls may.
    """

    def declare(function: Function) -> Operator:
        formals = _formals(function)
        _check_calls(function, prepare, batch or together, formals)
        declared = name or str(getattr(function, "__name__", ""))
        fields: dict[str, Any] = {"version": str(version), "cost": cost, "selectivity": selectivity}
        fields["time_limit"] = time_limit
        _check(declared, fields)
        return Operator(
            declared,
            function,
            formals,
            reads=None if reads is None else _reads(declared, reads, formals),
            prepare=prepare,
            about=inspect.getdoc(function) or "",
            batch=batch or together,
            together=together,
            **fields,
        )

    return declare if function is None else declare(function)


def _check_calls(function: Function, prepare: object, batch: bool, formals: Sequence[Formal]) -> None:
    """Refuses functions whose calls could only be unknown, such as generators."""
    code = code_of(function)
    if inspect.isasyncgenfunction(code):
        raise OperatorError(f"{function!r} is an async generator; collect what it yields, and return a list of it")
    if inspect.isgeneratorfunction(code) and (batch or not any(formal.parameter.variable for formal in formals)):
        raise OperatorError(f"{function!r} is a generator, whose calls give no answer; return one instead of yielding")
    if callable(prepare) and inspect.iscoroutinefunction(code_of(prepare)):
        raise OperatorError(f"{prepare!r} is async, and prepare is called and not awaited; make it a plain function")


def _check(name: str, fields: Mapping[str, Any]) -> None:
    if _NAME.fullmatch(name) is None or name.upper() in WORDS:
        raise OperatorError(f"{name!r} is no name that filters can call; give one: @tamis.operator(name='...')")
    cost, selectivity, limit = fields["cost"], fields["selectivity"], fields["time_limit"]
    if cost is not None and not (isinstance(cost, int | float) and math.isfinite(cost) and cost > 0):
        raise OperatorError(f"operator {name}: cost is a number above 0, or None to learn it, and not {cost!r}")
    number = isinstance(selectivity, int | float) and not isinstance(selectivity, bool)
    if selectivity is not None and not (number and 0 <= selectivity <= 1):
        message = "selectivity is the probability that a call holds, from 0 to 1, or None to learn it"
        raise OperatorError(f"operator {name}: {message}, and not {selectivity!r}")
    if limit is not None and not (isinstance(limit, int | float) and limit > 0):
        raise OperatorError(f"operator {name}: time_limit is in seconds, above 0, or None for any, and not {limit!r}")


def _formals(function: Function) -> tuple[Formal, ...]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise OperatorError(f"{function!r} is no function whose parameters can be read: {error}") from error
    try:
        hints = typing.get_type_hints(function)
    except (TypeError, NameError, AttributeError):
        # One annotation that cannot be looked up from outside the function spoils them all; most have plain names.
        listed = signature.parameters.items()
        hints = {name: _BY_NAME.get(p.annotation, p.annotation) for name, p in listed if isinstance(p.annotation, str)}
    return tuple(
        _formal(parameter, hints.get(name, parameter.annotation)) for name, parameter in signature.parameters.items()
    )


def _formal(parameter: inspect.Parameter, hint: object) -> Formal:
    kind, choices = _kind(hint)
    unfit = (
        "" if kind is not None else f"it is annotated with {hint!r}; a filter spells int, float, str, bool or datetime"
    )
    variable, optional, default = parameter.default is Var, False, None
    if not variable and parameter.default is not inspect.Parameter.empty:
        optional, default = True, parameter.default
        if isinstance(default, datetime):
            unfit = "its default is a datetime; make it None and fill it in within the function"
        elif not (default is None or isinstance(default, int | float | str | bool)):
            unfit = f"its default is {default!r}, which a filter cannot spell; make it None"
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        unfit = "operators take no ** parameter; name its parameters"
    made = Parameter(parameter.name, kind or "any", variable, optional, None if unfit else default, choices)
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return Formal(made, "as rest", unfit)
    by_name = parameter.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    return Formal(made, "by name" if by_name else "by position", unfit)


def _kind(hint: object) -> tuple[ParameterKind | None, tuple[str, ...]]:
    """Kind of value that an annotation asks for, and its choices; no kind if a filter cannot spell such values."""
    if hint in _KINDS:
        return _KINDS[hint], ()
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _kind(arguments[0])
    if origin is typing.Literal:
        kinds = {type(value) for value in arguments}
        if kinds == {str}:
            return "string", tuple(arguments)
        return (_KINDS[kinds.pop()], ()) if len(kinds) == 1 and kinds <= {int, bool} else (None, ())
    if origin in (typing.Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        if len(inner) == 1:
            return _kind(inner[0])
        return ("float", ()) if set(inner) == {int, float} else ("any", ()) if set(inner) <= set(_KINDS) else (None, ())
    return None, ()


def _reads(name: str, reads: Reads, formals: Sequence[Formal]) -> dict[str, str]:
    """Parameter → attribute; the whole event is `event` → `event`."""
    if isinstance(reads, str):
        raise OperatorError(f"operator {name}: reads is a tuple of attribute names; write reads=({reads!r},)")
    listed = reads if isinstance(reads, Mapping) else {attribute.replace(".", "__"): attribute for attribute in reads}
    known = [formal.parameter.name for formal in formals if formal.passed != "as rest"]
    for parameter, attribute in listed.items():
        if parameter not in known:
            message = f"operator {name} reads {attribute}, and has no parameter {parameter}"
            raise OperatorError(
                f"{message}; it has {', '.join(known) or 'none'}; or write reads={{parameter: attribute}}"
            )
    return dict(listed)
