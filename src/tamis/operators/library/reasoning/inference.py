"""All that follows from an ontology, worked out once."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from tamis.errors import OperatorError
from tamis.operators.library.offering import extra
from tamis.operators.library.reasoning.ontology import Names, Ontology, graph_of, rules_of, value_of, vocabulary_of

with extra("reasoning"):
    import owlrl
    from rdflib import BNode, Graph, URIRef
    from rdflib.namespace import RDF, RDFS

_MOST_ROUNDS = 100
_WORKING = threading.Lock()


class Knowledge:
    """Knowledge of each thing, stated or inferred, in tables by name. Frozen: any number of threads look.

    `kinds`: of an individual its classes, and of a class itself and those above it. `relations`: by property and thing.
    """

    def __init__(self, closure: Graph, names: Names) -> None:
        self._names = names
        kinds: dict[URIRef, set[Any]] = {}
        relations: dict[URIRef, dict[URIRef, list[Any]]] = {}
        for thing, relation, other in closure:
            if not isinstance(thing, URIRef) or not isinstance(relation, URIRef):
                continue
            if relation in (RDF.type, RDFS.subClassOf):
                kinds.setdefault(thing, set()).add(other)
            if relation == RDFS.subClassOf:
                kinds[thing].add(thing)
                if isinstance(other, URIRef):
                    kinds.setdefault(other, set()).add(other)
            elif value_of(other, self._names) is not None:
                relations.setdefault(relation, {}).setdefault(thing, []).append(value_of(other, self._names))
        self._kinds = {thing: self._called(classes) for thing, classes in kinds.items()}
        self._relations: Mapping[URIRef, Mapping[URIRef, tuple[Any, ...]]] = {
            relation: {thing: tuple(sorted(set(values), key=_order)) for thing, values in by_thing.items()}
            for relation, by_thing in relations.items()
        }

    def kinds(self, thing: str) -> tuple[str, ...]:
        """The classes of what is called so, sorted; none if nothing is."""
        node = self._names.node(thing)
        return self._kinds.get(node, ()) if node is not None else ()

    def class_called(self, name: str) -> str:
        """The name under which `kinds` has this class."""
        return self._names.name(self._known(name))

    def related(self, thing: str, relation: str) -> tuple[Any, ...]:
        """Things and literals that a thing is related to, sorted."""
        node = self._names.node(thing)
        return self._relations.get(self._known(relation), {}).get(node, ()) if node is not None else ()

    def same(self, one: Any, other: Any) -> bool:
        """True if two values are equal, or names of one thing."""
        if isinstance(one, str) and isinstance(other, str):
            node = self._names.node(one)
            return one == other or (node is not None and node == self._names.node(other))
        return bool(one == other)

    def _known(self, name: str) -> URIRef:
        node = self._names.node(name)
        if node is None:
            raise OperatorError(f"the ontology has no {name!r}, or several; write its whole address")
        return node

    def _called(self, classes: Iterable[Any]) -> tuple[str, ...]:
        own = (self._names.name(each) for each in classes if isinstance(each, URIRef))
        return tuple(sorted(name for name in own if self._names.node(name) is not None))


def knowledge_of(ontology: Ontology) -> Knowledge:
    """All that follows from it, worked out at the first call in a process and kept."""
    with _WORKING:
        return _worked_out(ontology)


@lru_cache(maxsize=4)
def _worked_out(ontology: Ontology) -> Knowledge:
    closure = Graph()
    closure += graph_of(ontology)
    rules = rules_of(ontology)
    for _ in range(_MOST_ROUNDS):
        owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(closure)
        before = len(closure)
        for rule in rules:
            closure += _without_blanks(closure.query(rule).graph)
        if len(closure) == before:
            # What a rule might have added has a name though it found nothing.
            return Knowledge(closure, Names(closure + vocabulary_of(ontology)))
    raise OperatorError(f"the rules find something new even after {_MOST_ROUNDS} rounds; one of them makes up values")


def _without_blanks(found: Graph | None) -> Graph:
    """A rule that makes up a new node each time it is run would never end: such nodes are left out."""
    kept = Graph()
    for triple in found or ():
        if not any(isinstance(node, BNode) for node in triple):
            kept.add(triple)
    return kept


def _order(value: Any) -> tuple[str, Any]:
    return (type(value).__name__, value)
