"""What was read as a CloudEvent is written as the same CloudEvent again."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from tamis.service.intake.cloudevents import CloudEventError, read_structured, to_structured

REQUIRED = {"specversion": "1.0", "id": "7", "source": "/shop/3", "type": "sold"}

texts = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Cn"]), max_size=5)
names = st.sampled_from(["a", "b", "data", "data_base64", "event_type", "ce"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
events = st.builds(
    lambda attributes, data: {**REQUIRED, **attributes, **data},
    st.dictionaries(st.sampled_from(["subject", "ext", "n1"]), texts.filter(bool) | st.integers(0, 5), max_size=2),
    st.one_of(
        st.just({}),
        st.fixed_dictionaries({"data": values}),
        st.fixed_dictionaries({"data_base64": st.sampled_from(["", "AQID"])}),
    ),
)


@given(events, st.sampled_from([(), ("sold",), ("bought",)]))
def test_an_event_comes_out_as_it_went_in(event: dict[str, Any], event_types: tuple[str, ...]) -> None:
    data = event.get("data")
    # This says no more than `type` does, and cannot be told from what the service adds.
    assume(not isinstance(data, dict) or data.get("event_type") != ["sold"])
    try:
        [(_, body)] = read_structured(json.dumps(event).encode(), event_types)
    except CloudEventError:
        assume(False)
    before = deepcopy(body)
    assert to_structured(body) == event
    assert body == before


def test_an_event_type_that_the_service_added_is_taken_off() -> None:
    event = {**REQUIRED, "data": {"price": 5}}
    [(_, body)] = read_structured(json.dumps(event).encode(), ["sold"])
    assert body["event_type"] == ["sold"]
    assert to_structured(body) == event
