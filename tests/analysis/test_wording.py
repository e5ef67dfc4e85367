"""Facts are put back into words that mean the same."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import tamis
from tamis.analysis.subscription_set import Wording, one_level
from tamis.language import normalise, parse
from tamis.routing.covering import Relation, relate
from tamis.routing.covering.facts.facts import facts_of
from tests.generated import cases
from tests.routing.covering.small_worlds import SCHEMA, comparisons_of_two, conditions


@given(st.one_of(conditions(patterns=True), comparisons_of_two()))
@settings(max_examples=cases(100))
def test_the_facts_of_a_condition_together_say_what_it_says(text: str) -> None:
    level = one_level([tamis.compile({"it": text}, SCHEMA)])
    facts, distinct = facts_of(level.conjuncts, level.encoder, SCHEMA)
    wording = Wording(facts, level.encoder, SCHEMA)
    alternatives = []
    for d in sorted(set(distinct[distinct >= 0].tolist())):
        span = range(facts.offsets[d], facts.offsets[d + 1])
        said = [wording.of(int(facts.attributes[f]), int(facts.kinds[f]), int(facts.numbers[f])) for f in span]
        alternatives.append(" AND ".join(f"({each})" for each in said) or "TRUE")
    again = " OR ".join(f"({each})" for each in alternatives) or "FALSE"
    one, other = (normalise(parse(each, SCHEMA), SCHEMA) for each in (text, again))
    assert relate(one, other, SCHEMA) == Relation.EQUAL, again
