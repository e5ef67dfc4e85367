"""An ontology as it is given: the text of a file, and rules beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tamis.errors import OperatorError
from tamis.operators.library.offering import extra

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
    """RDF in one of its notations, and rules as SPARQL CONSTRUCT queries. Travels to other processes as text."""

    text: str
    notation: str
    rules: tuple[str, ...] = ()

    def __hash__(self) -> int:
        # Asked at every call, and the text may be long: those that agree in this are told apart by comparing.
        return hash((len(self.text), self.text[:100], self.text[-100:]))


def read_ontology(path: str | Path, rules: Sequence[str] = ()) -> Ontology:
    """The file's text; its suffix says the notation (.ttl, .rdf, .owl, .nt, .jsonld, ...)."""
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
    """Statements of the text. Not to be changed: the graph is shared."""
    graph = Graph()
    try:
        graph.parse(data=ontology.text, format=ontology.notation)
    except Exception as error:  # each of rdflib's parsers has errors of its own, with no common root
        raise OperatorError(f"the ontology cannot be read as {ontology.notation}: {error}") from error
    return graph


def rules_of(ontology: Ontology) -> list[Any]:
    """Its rules, ready to be run; they may use the prefixes of the ontology."""
    prefixes = dict(graph_of(ontology).namespaces())
    return [_rule(text, prefixes) for text in ontology.rules]


def vocabulary_of(ontology: Ontology) -> Graph:
    """Statements of the text and what the rules may add, with a nameless node for whatever a rule finds."""
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
        """The end of its address where that is its own."""
        ending = _ending(node)
        return ending if self._nodes.get(ending) == node else str(node)

    def callable_as(self, nodes: Any) -> tuple[str, ...]:
        """Every name of these nodes, sorted."""
        wanted = set(nodes)
        return tuple(sorted(name for name, node in self._nodes.items() if node in wanted))


def stated_classes(graph: Graph) -> set[URIRef]:
    """Classes, and what is used as one."""
    declared = {node for kind in (OWL.Class, RDFS.Class) for node in graph.subjects(RDF.type, kind)}
    above = {node for use in (RDF.type, RDFS.domain, RDFS.range) for node in graph.objects(None, use)}
    return {node for node in declared | above | _ends(graph, _OF_CLASSES) if isinstance(node, URIRef)}


def stated_properties(graph: Graph) -> set[URIRef]:
    """Properties, and what is used as one."""
    kinds = (OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property, OWL.TransitiveProperty, OWL.SymmetricProperty)
    declared = {node for kind in kinds for node in graph.subjects(RDF.type, kind)}
    used = set(graph.predicates()) | _ends(graph, _OF_PROPERTIES)
    return {node for node in declared | used if isinstance(node, URIRef)}


def value_of(node: Any, names: Names) -> Any:
    """A node as a filter knows it: a name, or a literal's value; None for a blank node."""
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
