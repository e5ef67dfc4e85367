"""A join's canonical text, which parses back to the same join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tamis.language.joins.head import WORDS
from tamis.language.joins.join import Join
from tamis.language.joins.signature import Signature
from tamis.language.normal_form import Filter
from tamis.language.predicates import Literal, Not, Versus
from tamis.language.printing import print_filter, print_name
from tamis.schema import Attribute, Schema


def print_join(join: Join, schema: Schema) -> str:
    """The join's canonical text: equal joins have equal texts."""
    names = _names(join.signature)
    shown = "*" if join.columns is None else ", ".join(_quoted(f"{names[t]}.{a}") for t, a in join.columns)
    conditions = [
        _condition(filter, names[table], schema)
        for table, filter in zip(join.signature.tables, join.filters, strict=True)
        if filter != Filter(((),))
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {shown} FROM {_sources(join.signature, names, schema)}{where}"


def _names(signature: Signature) -> dict[str, str]:
    """What the tables are called: a dot in a name would make columns of it ambiguous."""
    if any("." in table for table in signature.tables):
        return {table: f"t{number}" for number, table in enumerate(signature.tables, 1)}
    return {table: table for table in signature.tables}


def _sources(signature: Signature, names: Mapping[str, str], schema: Schema) -> str:
    """Every table after the first one joined with one before it."""
    first, *left = signature.tables
    text = _source(first, names)
    taken = [first]
    while left:
        table = next(table for table in left if any(signature.between(table, other) for other in taken))
        left.remove(table)
        equalities: dict[str, str] = {}
        for attribute in schema.tables[table].join:
            # One of the tables that it agrees with will do: those agree with each other.
            agreeing = [other for other in taken if attribute in signature.between(table, other)]
            if agreeing:
                equalities[attribute] = agreeing[0]
        text += f" JOIN {_source(table, names)} "
        if all(_plain(attribute, table, taken, signature, schema) for attribute in equalities):
            text += f"USING ({', '.join(map(_quoted, equalities))})"
        else:
            pairs = [(f"{names[o]}.{attribute}", f"{names[table]}.{attribute}") for attribute, o in equalities.items()]
            text += "ON " + " AND ".join(f"{_quoted(left)} = {_quoted(right)}" for left, right in pairs)
        taken.append(table)
    return text


def _plain(attribute: str, table: str, taken: list[str], signature: Signature, schema: Schema) -> bool:
    """Whether USING says it: every table so far that has the attribute agrees with this one on it."""
    holders = [other for other in taken if attribute in schema.tables[other].attributes]
    return all(attribute in signature.between(table, other) for other in holders)


def _source(table: str, names: Mapping[str, str]) -> str:
    return _quoted(table) if names[table] == table else f"{_quoted(table)} AS {names[table]}"


def _quoted(name: str) -> str:
    if any(part.upper() in WORDS for part in name.split(".")[:1]):
        return '"' + name.replace('"', '""') + '"'
    return print_name(name)


@dataclass(frozen=True, slots=True)
class _Qualified:
    """A table's attributes under the names that they have in a join's text."""

    attributes: Mapping[str, Attribute]


def _condition(filter: Filter, name: str, schema: Schema) -> str:
    qualified = Filter(tuple(tuple(_renamed(one, name) for one in conjunct) for conjunct in filter.conjuncts))
    attributes = {f"{name}.{own}": attribute for own, attribute in schema.attributes.items()}
    text = print_filter(qualified, _Qualified(attributes))
    return f"({text})" if len(filter.conjuncts) > 1 else text


def _renamed(literal: Literal, name: str) -> Literal:
    match literal:
        case Not(leaf):
            renamed = _renamed(leaf, name)
            assert not isinstance(renamed, Not)
            return Not(renamed)
        case Versus(left, _, right):
            return replace(literal, left=f"{name}.{left}", right=f"{name}.{right}")
    return replace(literal, attribute=f"{name}.{literal.attribute}")
