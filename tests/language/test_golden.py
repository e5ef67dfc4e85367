"""Each rewrite against its file of pairs in tests/golden: a filter, then `=>` and what the rewrite makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import isfunction
from pathlib import Path
from types import ModuleType

import pytest

from tamis.language import CalledFilter, normalise, parse, print_filter
from tamis.language.absorption import absorb
from tamis.language.call_rewrites import Case, name_variables, separate_calls
from tamis.language.calls import Call, Constraint
from tamis.language.conjunct_rewrites import drop_implied, find_contradictions, merge_intervals, merge_versus
from tamis.language.disjunction_rewrites import find_tautologies, join_alternatives, join_versus
from tamis.language.predicates import Never, sort_key
from tamis.language.printing import print_called, print_literal
from tamis.language.tree import DEFAULT_LIMITS, And, Conjunct, Or, Pushed
from tamis.language.tree_rewrites import fold_constants, push_negation, simplify_leaves, to_disjunctive_form
from tests.language.auction import SCHEMA
from tests.language.calls import OPERATORS

GOLDEN = Path(__file__).parents[1] / "golden"
REWRITING = GOLDEN.parents[1] / "src/tamis/language"


def pushed(text: str) -> Pushed:
    return push_negation(parse(text, SCHEMA, operators=OPERATORS))


def cases(text: str) -> list[Case]:
    return separate_calls(simplify_leaves(pushed(text), SCHEMA), SCHEMA, DEFAULT_LIMITS)


def conjuncts(text: str) -> list[Conjunct]:
    """The conjuncts of a text that is already a disjunction of them."""
    tree = fold_constants(pushed(text))
    items = tree.items if isinstance(tree, Or) else (tree,)
    parts = [item.items if isinstance(item, And) else (item,) for item in items]
    return [tuple(sorted(part, key=sort_key)) for part in parts]  # type: ignore[arg-type]


def shown(tree: Pushed) -> str:
    match tree:
        case And(()) | Or(()):
            return "TRUE" if isinstance(tree, And) else "FALSE"
        case And(items) | Or(items):
            return f" {'AND' if isinstance(tree, And) else 'OR'} ".join(
                f"({shown(item)})" if isinstance(item, And | Or) and item.items else shown(item) for item in items
            )
        case Never(attribute):
            return f"{attribute} never"
        case Call() | Constraint():
            return print_called(tree)
    return print_literal(tree, SCHEMA)


def shown_all(found: list[Conjunct]) -> str:
    return shown(Or(tuple(conjunct[0] if len(conjunct) == 1 else And(conjunct) for conjunct in found)))


def shown_cases(found: list[Case]) -> str:
    return print_filter(CalledFilter(tuple(found)), SCHEMA) if found else "FALSE"


REWRITES: dict[str, Callable[[str], str]] = {
    "push_negation": lambda text: shown(pushed(text)),
    "fold_constants": lambda text: shown(fold_constants(pushed(text))),
    "simplify_leaves": lambda text: shown(simplify_leaves(pushed(text), SCHEMA)),
    "merge_intervals": lambda text: shown_all([merge_intervals(one, SCHEMA) for one in conjuncts(text)]),
    "merge_versus": lambda text: shown_all([merge_versus(one, SCHEMA) for one in conjuncts(text)]),
    "drop_implied": lambda text: shown_all([drop_implied(one) for one in conjuncts(text)]),
    "find_contradictions": lambda text: shown_all([one for one in conjuncts(text) if not find_contradictions(one)]),
    "find_tautologies": lambda text: shown_all(find_tautologies(conjuncts(text))),
    "absorb": lambda text: shown_all(absorb(conjuncts(text), SCHEMA)),
    "join_alternatives": lambda text: shown_all(join_alternatives(conjuncts(text), SCHEMA)),
    "join_versus": lambda text: shown_all(join_versus(conjuncts(text), SCHEMA)),
    "to_disjunctive_form": lambda text: shown_all(to_disjunctive_form(pushed(text), SCHEMA, DEFAULT_LIMITS)),
    "separate_calls": lambda text: shown_cases(cases(text)),
    "name_variables": lambda text: shown_cases([Case(one.guard, name_variables(one.called)) for one in cases(text)]),
    "canonical": lambda text: print_filter(normalise(parse(text, SCHEMA), SCHEMA), SCHEMA),
}


def pairs() -> Iterator[tuple[str, str, str]]:
    for name in REWRITES:
        lines = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        wanted = [line for line in lines if line and not line.startswith("#")]
        for before, after in zip(wanted[::2], wanted[1::2], strict=True):
            yield name, before, after.removeprefix("=> ")


@pytest.mark.parametrize(("name", "before", "after"), list(pairs()))
def test_a_rewrite_makes_of_a_filter_what_its_golden_file_says(name: str, before: str, after: str) -> None:
    assert REWRITES[name](before) == after


def _is_public(made: object, module: ModuleType) -> bool:
    return isfunction(made) and made.__module__ == module.__name__ and not made.__name__.startswith("_")


def test_every_rewrite_has_a_golden_file_and_every_golden_file_a_rewrite() -> None:
    modules = (import_module(f"tamis.language.{path.stem}") for path in REWRITING.glob("*_rewrites.py"))
    functions = {made.__name__ for module in modules for made in vars(module).values() if _is_public(made, module)}
    rewrites = {absorb.__name__, *functions} - {"has_calls", "relation_of", "literals_of_relation"}  # what rewrites ask
    assert {path.stem for path in GOLDEN.glob("*.txt")} == rewrites | {"canonical"}
