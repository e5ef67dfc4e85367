"""Operators on the things that an event names: their kinds and relations, stated or inferred."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tamis.operators.declaring import operator
from tamis.operators.library.offering import version_of, with_choices
from tamis.operators.library.reasoning.ontology import (
    SAMPLE,
    Knowledge,
    Names,
    Ontology,
    knowledge_of,
    read_ontology,
    stated_classes,
    stated_properties,
    vocabulary_of,
)
from tamis.operators.registry import Operator, Var

_MILLISECONDS = 0.02


class Reasoning(NamedTuple):
    """The operators over one ontology; `operators=[*reasoning("city.ttl")]` hands over both."""

    is_a: Operator
    related: Operator


def reasoning(ontology: str | Path = SAMPLE, *, thing: str = "sighted", rules: Sequence[str] = ()) -> Reasoning:
    """Operators over an RDF file with OWL 2 RL semantics, and over rules: SPARQL CONSTRUCT queries run to the end.

    `thing` is the attribute that names things of the ontology, by the end of their address, their label or the whole
    address; of several, any may be meant. What the ontology does not know is nothing and related to nothing.
    """
    calls = _Calls(read_ontology(ontology, rules))
    declare = operator(reads={"thing": thing}, prepare=calls.knowledge, version=version_of(calls), cost=_MILLISECONDS)
    vocabulary = vocabulary_of(calls.ontology)
    names = Names(vocabulary)
    return Reasoning(
        with_choices(declare(calls.is_a), "kind", names.callable_as(stated_classes(vocabulary))),
        with_choices(declare(calls.related), "relation", names.callable_as(stated_properties(vocabulary))),
    )


@dataclass(frozen=True)
class _Calls:
    """Functions that filters call, over this ontology."""

    ontology: Ontology

    def knowledge(self) -> Knowledge:
        return knowledge_of(self.ontology)

    def is_a(self, thing: Any, kind: str = Var) -> bool | list[str]:
        """Whether a thing is of a kind, or a kind of it; a variable binds every kind that it is of."""
        knowledge = self.knowledge()
        found = sorted({each for name in _things(thing) for each in knowledge.kinds(name)})
        return found if kind is Var else knowledge.class_called(kind) in found

    def related(self, thing: Any, relation: str, to: Any = Var) -> bool | list[Any]:
        """Whether a thing is so related to another, or has that value; a variable binds all it is so related to."""
        knowledge = self.knowledge()
        found = dict.fromkeys(each for name in _things(thing) for each in knowledge.related(name, relation))
        return list(found) if to is Var else any(knowledge.same(each, to) for each in found)


def _things(thing: str | Iterable[str]) -> Iterable[str]:
    return (thing,) if isinstance(thing, str) else thing
