"""Ontology reasoning: RDF with OWL 2 RL and rules, materialised once; the operators `is_a` and `related` over it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from tamis.errors import OperatorError
from tamis.operators.declaring import operator
from tamis.operators.library.offering import extra, version_of, with_choices
from tamis.operators.registry import Operator, Var

with extra("reasoning"):
    from rdflib import BNode, Graph, Literal, URIRef, Variable
    from rdflib.namespace import OWL, RDF, RDFS, XSD
    from rdflib.plugins.sparql import prepareQuery
    from rdflib.util import guess_format

SAMPLE = Path(__file__).with_name("city.ttl")
"""Vehicles of a city, their kinds, and who runs them: for examples."""

_NESTED = re.compile(r"<!ENTITY\s[^>]*&[^#]")
_OF_CLASSES = (RDFS.subClassOf, OWL.equivalentClass, OWL.disjointWith)
_OF_PROPERTIES = (RDFS.subPropertyOf, OWL.equivalentProperty, OWL.inverseOf)
_OF_THE_LANGUAGE = tuple(str(namespace) for namespace in (OWL, RDF, RDFS, XSD))


@dataclass(frozen=True)
class Ontology:
    """An ontology: RDF in one of its notations, and rules as SPARQL CONSTRUCT queries. Travels to processes as text."""

    text: str
    notation: str
    rules: tuple[str, ...] = ()

    def __hash__(self) -> int:
        # Asked at every call, and the text may be long: those that agree in this are told apart by comparing.
        return hash((len(self.text), self.text[:100], self.text[-100:]))


def read_ontology(path: str | Path, rules: Sequence[str] = ()) -> Ontology:
    """Reads an ontology's file; its suffix says the notation (.ttl, .rdf, .owl, .nt, .jsonld, ...)."""
    notation = guess_format(str(path))
    if notation is None:
        raise OperatorError(f"{path} is no ontology; RDF is wanted: .ttl, .rdf, .owl, .nt or .jsonld")
    if isinstance(rules, str):
        raise OperatorError("rules are given as a list of SPARQL CONSTRUCT queries")
    try:
        ontology = Ontology(Path(path).read_text(encoding="utf-8"), notation, tuple(rules))
    except (OSError, UnicodeError) as error:
        raise OperatorError(f"the ontology {path} cannot be read: {error}") from error
    if notation == "xml" and _NESTED.search(ontology.text):
        raise OperatorError(f"the ontology {path} has an entity made of entities, which may unfold without end")
    if not len(vocabulary_of(ontology)):
        raise OperatorError(f"the ontology {path} states nothing")
    return ontology


@lru_cache(maxsize=4)
def graph_of(ontology: Ontology) -> Graph:
    """Graph of the text's statements. Not to be changed: the graph is shared."""
    graph = Graph()
    try:
        graph.parse(data=ontology.text, format=ontology.notation)
    except Exception as error:  # each of rdflib's parsers has errors of its own, with no common root
        raise OperatorError(f"the ontology cannot be read as {ontology.notation}: {error}") from error
    return graph


def rules_of(ontology: Ontology) -> list[Any]:
    """Rules ready to be run; they may use the prefixes of the ontology."""
    prefixes = dict(graph_of(ontology).namespaces())
    return [_rule(text, prefixes) for text in ontology.rules]


def vocabulary_of(ontology: Ontology) -> Graph:
    """Statements of the text and those that rules may add, with a nameless node for whatever a rule finds."""
    vocabulary = Graph()
    vocabulary += graph_of(ontology)
    for rule in rules_of(ontology):
        for triple in rule.algebra.template:
            subject, predicate, value = (BNode() if isinstance(node, Variable) else node for node in triple)
            if isinstance(predicate, URIRef):
                vocabulary.add((subject, predicate, value))
    return vocabulary


def _rule(text: str, prefixes: dict[str, Any]) -> Any:
    try:
        rule = prepareQuery(text, initNs=prefixes)
    except Exception as error:  # the grammar's errors have no common root
        raise OperatorError(f"a rule is no SPARQL: {error}\n  {text}") from error
    if rule.algebra.name != "ConstructQuery":
        raise OperatorError(f"a rule is a CONSTRUCT query, and this is none:\n  {text}")
    return rule


class Names:
    """Names of the nodes of a graph: the end of their address, their label, or the whole address.

    A short name that several nodes have is nobody's: they are called by their addresses.
    """

    def __init__(self, graph: Graph) -> None:
        shared: dict[str, set[URIRef]] = {}
        for node in {node for triple in graph for node in triple if isinstance(node, URIRef)}:
            if not str(node).startswith(_OF_THE_LANGUAGE):
                shared.setdefault(str(node), set()).add(node)
                shared.setdefault(_ending(node), set()).add(node)
        for labelled, label in graph.subject_objects(RDFS.label):
            if isinstance(labelled, URIRef):
                shared.setdefault(str(label), set()).add(labelled)
        self._nodes = {name: nodes.pop() for name, nodes in shared.items() if len(nodes) == 1}

    def node(self, name: str) -> URIRef | None:
        return self._nodes.get(name)

    def name(self, node: URIRef) -> str:
        """Name of a node: the end of its address where that is its own."""
        ending = _ending(node)
        return ending if self._nodes.get(ending) == node else str(node)

    def callable_as(self, nodes: Any) -> tuple[str, ...]:
        """Names of these nodes, sorted."""
        wanted = set(nodes)
        return tuple(sorted(name for name, node in self._nodes.items() if node in wanted))


def stated_classes(graph: Graph) -> set[URIRef]:
    """Classes of a graph, and nodes used as one."""
    declared = {node for kind in (OWL.Class, RDFS.Class) for node in graph.subjects(RDF.type, kind)}
    above = {node for use in (RDF.type, RDFS.domain, RDFS.range) for node in graph.objects(None, use)}
    return {node for node in declared | above | _ends(graph, _OF_CLASSES) if isinstance(node, URIRef)}


def stated_properties(graph: Graph) -> set[URIRef]:
    """Properties of a graph, and nodes used as one."""
    kinds = (OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property, OWL.TransitiveProperty, OWL.SymmetricProperty)
    declared = {node for kind in kinds for node in graph.subjects(RDF.type, kind)}
    used = set(graph.predicates()) | _ends(graph, _OF_PROPERTIES)
    return {node for node in declared | used if isinstance(node, URIRef)}


def value_of(node: Any, names: Names) -> Any:
    """Value of a node in filters: a name, or a literal's value; None for a blank node."""
    if isinstance(node, URIRef):
        return names.name(node)
    if isinstance(node, Literal):
        value = node.toPython()
        return value if isinstance(value, bool | int | float | str) else str(node)
    return None


def _ends(graph: Graph, relations: Iterable[URIRef]) -> set[Any]:
    return {end for relation in relations for pair in graph.subject_objects(relation) for end in pair}


def _ending(node: URIRef) -> str:
    return str(node).rstrip("/#").replace("#", "/").rsplit("/", 1)[-1]


# Materialisation: all that follows from an ontology, computed once.

with extra("reasoning"):
    import owlrl
    from rdflib import BNode, Graph, URIRef
    from rdflib.namespace import RDF, RDFS

_MOST_ROUNDS = 100
_WORKING = threading.Lock()


class KnowledgeBase:
    """Knowledge of each thing, stated or inferred, in tables by name. Frozen: any number of threads read.

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
        """Classes of the thing of this name, sorted; none if there is no such thing."""
        node = self._names.node(thing)
        return self._kinds.get(node, ()) if node is not None else ()

    def class_called(self, name: str) -> str:
        """Name under which `kinds` has this class."""
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


def knowledge_of(ontology: Ontology) -> KnowledgeBase:
    """Knowledge base of an ontology, computed at the first call in a process and cached."""
    with _WORKING:
        return _worked_out(ontology)


@lru_cache(maxsize=4)
def _worked_out(ontology: Ontology) -> KnowledgeBase:
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
            return KnowledgeBase(closure, Names(closure + vocabulary_of(ontology)))
    raise OperatorError(f"the rules find something new even after {_MOST_ROUNDS} rounds; one of them makes up values")


def _without_blanks(found: Graph | None) -> Graph:
    """Triples without blank nodes: a rule that makes up a new node at each run would never end."""
    kept = Graph()
    for triple in found or ():
        if not any(isinstance(node, BNode) for node in triple):
            kept.add(triple)
    return kept


def _order(value: Any) -> tuple[str, Any]:
    return (type(value).__name__, value)


# Operators on the things that an event names: their kinds and relations, stated or inferred.

_MILLISECONDS = 0.02


class Reasoning(NamedTuple):
    """Reasoning operators over one ontology; `operators=[*reasoning("city.ttl")]` hands over both."""

    is_a: Operator
    related: Operator


def reasoning(ontology: str | Path = SAMPLE, *, thing: str = "sighted", rules: Sequence[str] = ()) -> Reasoning:
    """Operators over an RDF file with OWL 2 RL semantics, and over rules: SPARQL CONSTRUCT queries run to the end.

    `thing` is the attribute that names things of the ontology, by the end of their address, their label or the whole
    address; of several, any may be meant. A thing that the ontology does not know has no kind and no relation.
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
    """Functions of the operators over one ontology."""

    ontology: Ontology

    def knowledge(self) -> KnowledgeBase:
        return knowledge_of(self.ontology)

    def is_a(self, thing: Any, kind: str = Var) -> bool | list[str]:
        """True if a thing is of a kind, or a kind of it; a variable binds every kind that it is of."""
        knowledge = self.knowledge()
        found = sorted({each for name in _things(thing) for each in knowledge.kinds(name)})
        return found if kind is Var else knowledge.class_called(kind) in found

    def related(self, thing: Any, relation: str, to: Any = Var) -> bool | list[Any]:
        """True if a thing is so related to another, or has that value; a variable binds all it is so related to."""
        knowledge = self.knowledge()
        found = dict.fromkeys(each for name in _things(thing) for each in knowledge.related(name, relation))
        return list(found) if to is Var else any(knowledge.same(each, to) for each in found)


def _things(thing: str | Iterable[str]) -> Iterable[str]:
    return (thing,) if isinstance(thing, str) else thing
