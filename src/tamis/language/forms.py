"""Normal forms of filters: a disjunction of conjuncts, or, with calls, of cases (guard, calls, constraints)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from tamis.errors import FilterTooComplex, FilterTypeError
from tamis.language.call_rewrites import Case, has_calls, name_variables, separate_calls
from tamis.language.calls import Call, Called, Constraint, inner_parts, sides_of, variables_of
from tamis.language.predicates import Literal, Never, Not, OneOf, Versus, sort_key
from tamis.language.syntax import place_of_variable
from tamis.language.tree import DEFAULT_LIMITS, And, Conjunct, Limits, Negation, Or, Pushed, Tree
from tamis.language.tree_rewrites import push_negation, simplify_leaves, to_disjunctive_form
from tamis.schema import Schema


@dataclass(frozen=True, slots=True)
class Filter:
    """Normal form of a plain filter: holds iff every literal of some conjunct holds.

    Literals in a conjunct and the conjuncts themselves are unique and sorted (`predicates.sort_key`), so that filters
    compare by value. TRUE is one empty conjunct, FALSE is no conjunct.
    """

    conjuncts: tuple[tuple[Literal, ...], ...]


def normalise(tree: Tree, schema: Schema, limits: Limits = DEFAULT_LIMITS, text: str = "") -> Filter:
    """Normal form of a plain tree; `FilterTooComplex`, shown in `text`, if that is larger than the limits.

    For trees that may have calls there is `normal_form`.
    """
    return plain_form(push_negation(tree), schema, limits, text)


def plain_form(pushed: Pushed, schema: Schema, limits: Limits, text: str) -> Filter:
    """Normal form of a tree that calls nothing and has negations at its leaves only."""
    simple = simplify_leaves(pushed, schema)
    conjunct = settled(simple, limits)
    return Filter(tuple(to_disjunctive_form(simple, schema, limits, text)) if conjunct is None else (conjunct,))


def settled(pushed: Pushed, limits: Limits) -> Conjunct | None:
    """The single conjunct of a filter that is in normal form as it stands; None if a rewrite would find work to do.

    That is so where its leaves, each in its simplest form, are on different attributes: most filters are of this kind.
    """
    items = pushed.items if isinstance(pushed, And) else (pushed,)
    names: set[str] = set()
    size = len(items)
    for item in items:
        leaf = item.leaf if isinstance(item, Not) else item
        if isinstance(leaf, And | Or | Call | Constraint | Versus | Never) or leaf.attribute in names:
            return None
        names.add(leaf.attribute)
        size += len(leaf.values) if isinstance(leaf, OneOf) else 1
    if size > limits.steps or len(items) > limits.literals or not limits.conjuncts:
        return None  # the long way says what is too large
    return tuple(sorted((cast(Literal, item) for item in items), key=sort_key))


@dataclass(frozen=True, slots=True)
class CalledFilter:
    """Normal form of a filter with operator calls: holds iff some case does.

    Cases are unique and sorted by what they call, then by guard. Variables are named ?x1, ?x2, ... whatever the text
    called them, so that equal filters look equal; no two cases have one in common.
    """

    cases: tuple[Case, ...]


def normal_form(tree: Tree, schema: Schema, limits: Limits = DEFAULT_LIMITS, text: str = "") -> Filter | CalledFilter:
    """Normal form of a tree, with cases if it has calls; `FilterError`, shown in `text`, if it has none.

    There is none if it is larger than the limits, and if in some case a constraint has a variable that no call binds,
    or a negated call shares a variable with anything else: there would be nothing to compare, or nothing to bind it.
    """
    pushed = push_negation(tree)
    if not has_calls(pushed):
        return plain_form(pushed, schema, limits, text)
    return called_form(simplify_leaves(pushed, schema), schema, limits, text)


def bound_form(tree: Tree, schema: Schema, limits: Limits, text: str) -> Filter | CalledFilter:
    """Normal form as `normal_form`, but with cases wherever the text calls something, even in vain."""
    filter = normal_form(tree, schema, limits, text)
    if isinstance(filter, Filter) and _calls(tree):
        return CalledFilter((Case(filter.conjuncts, ()),) if filter.conjuncts else ())
    return filter


def _calls(tree: Tree) -> bool:
    match tree:
        case And(items) | Or(items):
            return any(map(_calls, items))
        case Negation(item):
            return _calls(item)
    return isinstance(tree, Call)


def called_form(pushed: Pushed, schema: Schema, limits: Limits, text: str) -> Filter | CalledFilter:
    """Normal form of a tree with calls; plain if another case makes all the cases with calls superfluous."""
    cases = separate_calls(pushed, schema, limits, text)
    for case in cases:
        _check_variables(case, text)
    _check_sizes(cases, limits, text)
    while True:
        named = [Case(case.guard, name_variables(case.called)) for case in cases]
        if len(named) == 1:
            break
        # Cases that differed in their variables' names may be one, or make another superfluous.
        again = separate_calls(Or(tuple(map(_pushed, named))), schema, limits, text)
        if again == named:
            break
        cases = again
    if all(not case.called for case in named):
        return Filter(tuple(conjunct for case in named for conjunct in case.guard))
    return CalledFilter(tuple(_numbered_on(named)))


def _pushed(case: Case) -> Pushed:
    return And((Or(tuple(And(conjunct) for conjunct in case.guard)), *case.called))


def _numbered_on(cases: list[Case]) -> Iterator[Case]:
    """No two cases share a name: they share no variable."""
    first = 0
    for case in cases:
        yield Case(case.guard, name_variables(case.called, first))
        first += len({name for leaf in case.called for name in variables_of(leaf)})


def _check_variables(case: Case, text: str) -> None:
    bound = {name for leaf in case.called if _binds(leaf) for name in variables_of(leaf)}
    for leaf in case.called:
        if isinstance(leaf, Constraint):
            for name in variables_of(leaf):
                if name not in bound:
                    raise _unbound(name, text)
        elif leaf.negated:
            others = {name for other in case.called if other is not leaf for name in variables_of(other)}
            for name in variables_of(leaf):
                if name in others:
                    message = f"?{name} stands in a negated call, which binds nothing, and elsewhere beside it"
                    raise FilterTypeError(
                        f"{message}; use another name in one of them", text, *place_of_variable(name, text)
                    )


def _check_sizes(cases: Sequence[Case], limits: Limits, text: str) -> None:
    counts = [sum(bool(variables_of(leaf)) for leaf in case.called) for case in cases]
    sides = (side for case in cases for leaf in case.called if isinstance(leaf, Constraint) for side in sides_of(leaf))
    for found, most, what in (
        (max(counts, default=0), limits.bound, "calls with variables and comparisons of these in one alternative"),
        (sum(counts), limits.bound_in_all, "calls with variables and comparisons of these in all its alternatives"),
        (max((len(list(inner_parts(side))) for side in sides), default=0), limits.arithmetic, "terms in a comparison"),
    ):
        if found > most:
            message = f"the filter has {found:,} {what}, and at most {most:,} are taken"
            raise FilterTooComplex(f"{message}; split it into several subscriptions", text, 0, len(text))


def _binds(leaf: Called) -> bool:
    return isinstance(leaf, Call) and not leaf.negated


def _unbound(name: str, text: str) -> FilterTypeError:
    message = f"nothing binds ?{name} here: no operator that must hold beside this comparison has it as an argument"
    return FilterTypeError(f"{message}; call one with ?{name}", text, *place_of_variable(name, text))
