"""What follows from an ontology."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.errors import OperatorError
from tests.generated import cases

pytest.importorskip("owlrl", reason="the extra `reasoning` is not installed")

from tamis.operators.library.reasoning import is_a, reasoning, related
from tamis.operators.library.reasoning import ontology as inference
from tamis.operators.library.reasoning.ontology import Ontology, knowledge_of, read_ontology

PREFIXES = """
@prefix : <https://example.org/#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
UNFOLDING = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="urn:x#">
<rdf:Description rdf:about="urn:x#a"><ex:p>&c;</ex:p></rdf:Description></rdf:RDF>"""
edges = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=9)


def test_a_thing_is_of_its_kind_and_of_all_above() -> None:
    assert is_a("Unit 42", "PoliceCar") is True
    assert is_a("Unit 42", "EmergencyVehicle") is True
    assert is_a("Unit 42", "Boat") is False
    assert is_a("Lady Liberty", tamis.Var) == ["Boat", "TourBoat", "Vehicle"]


def test_a_kind_is_a_kind_of_itself_and_of_all_above() -> None:
    assert is_a("PoliceCar", tamis.Var) == ["Car", "EmergencyVehicle", "PoliceCar", "Vehicle"]


def test_kinds_follow_from_rules() -> None:
    # Run by the precinct, hence by the police, hence by the city, hence public.
    assert is_a("Unit 42", "PublicVehicle") is True
    assert is_a("Cutter 5", "PublicVehicle") is False
    assert related("Unit 42", "operatedBy", tamis.Var) == ["CityOfNewYork", "NYPD", "Precinct41"]
    assert related("FDNY", "operates", tamis.Var) == ["Engine7"]


def test_of_several_things_any_may_be_meant() -> None:
    assert is_a(["Cab 19", "Unit 42"], "EmergencyVehicle") is True
    assert is_a(["Cab 19", "Lady Liberty"], "EmergencyVehicle") is False
    assert related(["Unit 42", "Engine 7"], "operatedBy", tamis.Var) == ["CityOfNewYork", "NYPD", "Precinct41", "FDNY"]


def test_things_and_values_go_by_any_of_their_names() -> None:
    address = "https://tamis.example/city#"
    for thing in ("Unit42", "Unit 42", f"{address}Unit42"):
        assert is_a(thing, f"{address}PoliceCar") is True
        for organisation in ("Precinct41", "41st Precinct", f"{address}Precinct41"):
            assert related(thing, "operatedBy", organisation) is True


def test_a_literal_is_a_value() -> None:
    assert related("Lady Liberty", "length", tamis.Var) == [62]
    assert related("Lady Liberty", "length", 62) is True
    assert related("Lady Liberty", "length", "62") is False


def test_what_the_ontology_does_not_know_is_nothing() -> None:
    assert is_a("a whale", tamis.Var) == []
    assert is_a([], "Vehicle") is False
    assert related("a whale", "operatedBy", tamis.Var) == []


def test_filters_may_name_the_kinds_and_relations_there_are() -> None:
    kinds, relations = is_a.formals[1].parameter.choices, related.formals[1].parameter.choices
    assert {"PoliceCar", "PublicVehicle", "Organisation", "https://tamis.example/city#Boat"} < set(kinds)
    assert {"operatedBy", "operates", "partOf", "length"} < set(relations)
    assert "Unit42" not in kinds
    assert "Class" not in kinds


def test_a_rule_may_say_what_owl_cannot(tmp_path: Path) -> None:
    large = reasoning(rules=["CONSTRUCT { ?boat a :LargeVessel } WHERE { ?boat :length ?m FILTER(?m > 50) }"])
    assert large.is_a("Lady Liberty", "LargeVessel") is True
    assert large.is_a("Cutter 5", "LargeVessel") is False
    assert "LargeVessel" in large.is_a.formals[1].parameter.choices
    assert large.is_a.version != is_a.version


def test_rules_and_owl_feed_each_other_to_the_end() -> None:
    rules = [
        "CONSTRUCT { ?one :watches ?other } WHERE { ?one a :EmergencyVehicle . ?other a :TourBoat }",
        "CONSTRUCT { ?one a :Busy } WHERE { ?one :watches ?other . ?one a :PublicVehicle }",
    ]
    for order in (rules, rules[::-1]):
        operators = reasoning(rules=order)
        assert operators.related("Unit 42", "watches", tamis.Var) == ["LadyLiberty"]
        assert operators.is_a("Unit 42", "Busy") is True
        assert operators.is_a("Cutter 5", "Busy") is False


def test_a_rule_that_makes_up_nodes_ends_too() -> None:
    made = reasoning(rules=["CONSTRUCT { ?one :has [ a :Part ] } WHERE { ?one a :Vehicle }"])
    assert made.related("Unit 42", "has", tamis.Var) == []


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (["CONSTRUCT {"], "no SPARQL"),
        (["SELECT ?x WHERE { ?x a :Boat }"], "CONSTRUCT query"),
        (["CONSTRUCT { ?x a nowhere:Boat } WHERE { ?x a :Boat }"], "no SPARQL"),
        ("CONSTRUCT { ?x a :Boat } WHERE { ?x a :Car }", "list"),
    ],
)
def test_what_is_no_rule_is_refused(rules: list[str], said: str) -> None:
    with pytest.raises(OperatorError, match=said):
        reasoning(rules=rules)


def test_rules_that_find_ever_more_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "_MOST_ROUNDS", 3)
    longer = "CONSTRUCT { ?boat :length ?n } WHERE { ?boat :length ?m BIND(?m + 1 AS ?n) }"
    with pytest.raises(OperatorError, match="3 rounds"):
        reasoning(rules=[longer]).is_a("Cutter 5", "Boat")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.ttl", ":no :prefix :here ."),
        ("a.xyz", ""),
        ("a.rdf", "<a"),
        ("b.ttl", None),
        ("c.ttl", ""),
        ("d.rdf", UNFOLDING),
    ],
)
def test_what_is_no_ontology_is_refused(tmp_path: Path, name: str, content: str | None) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(OperatorError, match="ontology"):
        reasoning(tmp_path / name)


def test_a_short_name_that_two_things_share_is_neither(tmp_path: Path) -> None:
    (tmp_path / "two.nt").write_text(
        "<urn:a#Cat> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:a#Pet> .\n"
        "<urn:b#Cat> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:b#Machine> .\n"
    )
    operators = reasoning(tmp_path / "two.nt")
    assert operators.is_a("Cat", tamis.Var) == []
    assert operators.is_a("urn:a#Cat", "Pet") is True
    assert operators.is_a("urn:a#Cat", tamis.Var) == ["Pet", "urn:a#Cat"]
    with pytest.raises(OperatorError, match="whole address"):
        operators.is_a("urn:a#Cat", "Cat")


@settings(max_examples=cases(15))
@given(edges)
def test_kinds_are_what_can_be_reached(above: set[tuple[int, int]]) -> None:
    stated = "".join(f":C{one} rdfs:subClassOf :C{other} .\n:i{one} a :C{one} .\n" for one, other in above)
    knowledge = knowledge_of(Ontology(PREFIXES + stated, "turtle"))
    for one in {one for one, _ in above}:
        reached = {f"C{each}" for each in _reached(one, above)}
        assert set(knowledge.kinds(f"i{one}")) == reached
        assert set(knowledge.kinds(f"C{one}")) == reached


@settings(max_examples=cases(15))
@given(edges)
def test_a_transitive_relation_leads_where_steps_lead(steps: set[tuple[int, int]]) -> None:
    stated = ":in a owl:TransitiveProperty .\n" + "".join(f":p{one} :in :p{other} .\n" for one, other in steps)
    knowledge = knowledge_of(Ontology(PREFIXES + stated, "turtle"))
    for one in {one for one, _ in steps}:
        onward = {each for step, each in steps if step == one}
        reached = {f"p{each}" for first in onward for each in _reached(first, steps)}
        assert set(knowledge.related(f"p{one}", "in")) == reached


def _reached(start: int, edges: Iterable[tuple[int, int]]) -> set[int]:
    reached = {start}
    while more := {other for one, other in edges if one in reached} - reached:
        reached |= more
    return reached


def test_operators_travel_and_all_is_worked_out_once_a_process() -> None:
    operators = reasoning(rules=["CONSTRUCT { ?x a :OnceOnly } WHERE { ?x a :Taxi }"], thing="seen.names")
    before = inference._worked_out.cache_info().misses
    travelled = pickle.loads(pickle.dumps(operators.is_a))
    assert travelled.reads == {"thing": "seen.names"}
    for _ in range(3):
        assert travelled("Cab 19", "OnceOnly") is True
        assert operators.related("Cab 19", "operatedBy", tamis.Var) == []
    assert inference._worked_out.cache_info().misses == before + 1


def test_an_ontology_is_read_in_other_notations_too(tmp_path: Path) -> None:
    from rdflib import Graph

    for suffix, notation in (("rdf", "xml"), ("nt", "nt"), ("jsonld", "json-ld")):
        path = tmp_path / f"city.{suffix}"
        Graph().parse(Path(inference.__file__).with_name("city.ttl")).serialize(path, format=notation, encoding="utf-8")
        assert knowledge_of(read_ontology(path)).kinds("Engine 7") == tuple(is_a("Engine 7", tamis.Var))
