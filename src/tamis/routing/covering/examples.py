"""Events that show a difference between two filters, in the form in which events are published."""

from __future__ import annotations

from tamis.language.forms import Filter
from tamis.language.numbers import EARLIEST, LATEST, write_timestamp
from tamis.language.predicates import Literal, Not, OneOf, Present, Value, equals
from tamis.routing.covering.refutation import counter_example
from tamis.routing.covering.unknowns import UndecidedError
from tamis.routing.covering.witness import Event
from tamis.schema import EVENT_TYPE, Schema

_MOST_TYPES = 50


def difference(matching: Filter, other: Filter, schema: Schema) -> dict[str, object] | None:
    """An event that matches the one filter and not the other; None if there is none, or none was found.

    One that is valid under the schema is looked for first: of one event type, with what that type wants.
    """
    found: Event | None = None
    for name in list(schema.event_types)[:_MOST_TYPES]:
        asked = _of_type(name, schema)
        within = Filter(tuple((*conjunct, *asked) for conjunct in matching.conjuncts))
        found = _counter_example(other, within, schema)
        if found is not None:
            break
    else:
        found = _counter_example(other, matching, schema)
    return None if found is None else as_published(found, schema)


def as_published(event: Event, schema: Schema) -> dict[str, object]:
    """An event as a dict: one value or a list, timestamps as texts; the default event type goes without saying."""
    form: dict[str, object] = {}
    for name in schema.attributes:
        values = [_written(value, name, schema) for value in event.get(name, ())]
        if not values or (name == EVENT_TYPE and values == [schema.default_event_type]):
            continue
        form[name] = values if schema.attributes[name].multiple else values[0]
    return form


def _counter_example(weaker: Filter, stronger: Filter, schema: Schema) -> Event | None:
    try:
        return counter_example(weaker, stronger, schema)
    except UndecidedError:
        return None


def _of_type(name: str, schema: Schema) -> list[Literal]:
    """That an event is of this type and no other: it has what the type wants, and nothing that it does not know."""
    view = schema.view([name])
    others = tuple(sorted(other for other in schema.event_types if other != name))
    asked: list[Literal] = [equals(EVENT_TYPE, name)]
    if others:
        asked.append(Not(equals(EVENT_TYPE, others[0]) if len(others) == 1 else OneOf(EVENT_TYPE, others)))
    asked += [Present(attribute) for attribute, annotation in view.items() if annotation.mandatory]
    asked += [Not(Present(attribute)) for attribute in schema.attributes if attribute not in (EVENT_TYPE, *view)]
    return asked


def _written(value: Value, name: str, schema: Schema) -> object:
    if schema.attributes[name].domain.kind == "timestamp":
        text = write_timestamp(int(min(max(value, EARLIEST), LATEST)))
        return (text if " " in text else f"{text} 00:00:00").replace(" ", "T") + "Z"
    return value
