"""Filters as brokers know them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.errors import FilterError
from tamis.routing.tables import RoutedFilter, read_canonical, read_filter
from tamis.testing import conjunctions, filters, schemas
from tests.generated import cases


@settings(max_examples=cases(80), deadline=None)
@given(st.data())
def test_what_was_written_is_read_again_the_same_by_itself_and_among_many(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    written: list[RoutedFilter] = []
    for _ in range(12):
        try:
            written.append(read_filter(data.draw(st.one_of(filters(schema), conjunctions(schema))), schema))
        except FilterError:
            continue
    texts = [filter.text for filter in written]
    assert [read_filter(text, schema).form for text in texts] == [filter.form for filter in written]
    again = read_canonical([*texts, *texts], schema)
    assert [filter.text for filter in again] == [*texts, *texts]
    assert [filter.form for filter in again] == [filter.form for filter in (*written, *written)]
