"""Testing support for Tamis and what is built on it: generated workloads, reference matches, faulty sources and sinks.

The strategies need hypothesis.

    @given(workloads())
    def test_mine(workload):
        assert mine(workload) == reference_matches(workload.subscriptions, workload.schema, workload.events)
"""

from tamis.testing.faults import FailingSink, Fault, FaultySource, Pause, SinkFailedError, SourceAbortedError
from tamis.testing.generated import (
    Generated,
    conjunctions,
    crowds,
    events,
    filters,
    redundant_crowds,
    schemas,
    workloads,
    written_filters,
)
from tamis.testing.join_workloads import GeneratedJoins, WrittenJoin, join_schemas, join_workloads, joins
from tamis.testing.written import reference_matches

__all__ = [
    "FailingSink",
    "Fault",
    "FaultySource",
    "Generated",
    "GeneratedJoins",
    "Pause",
    "SinkFailedError",
    "SourceAbortedError",
    "WrittenJoin",
    "conjunctions",
    "crowds",
    "events",
    "filters",
    "join_schemas",
    "join_workloads",
    "joins",
    "redundant_crowds",
    "reference_matches",
    "schemas",
    "workloads",
    "written_filters",
]
