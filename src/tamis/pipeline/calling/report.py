"""The way from the workers to the ledgers: an accumulator of Spark's, one a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tamis.operators.learning import Lessons, united
from tamis.pipeline.calling.ledger import take_reports

if TYPE_CHECKING:
    from pyspark import Accumulator, SparkContext

_REPORTS: WeakKeyDictionary[SparkContext, Report] = WeakKeyDictionary()


class Report:
    """What tasks tell at their end; Spark brings it to the driver before the job is over.

    A task that Spark runs twice tells twice: its operators were called twice.
    """

    def __init__(self, context: SparkContext) -> None:
        from pyspark.accumulators import AccumulatorParam

        class ByLedger(AccumulatorParam[dict[str, Any]]):
            """Adds up in a worker; on the driver everything is passed on, and nothing stays."""

            def __init__(self, on_driver: bool) -> None:
                self._on_driver = on_driver

            def __reduce__(self) -> tuple[Any, ...]:
                return type(self), (False,)

            def zero(self, value: dict[str, Any]) -> dict[str, Any]:
                return {}

            def addInPlace(self, value1: dict[str, Any], value2: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
                if self._on_driver:
                    take_reports(value2)
                    return {}
                return united(value1, value2)

        self._told: Accumulator[Any] = context.accumulator({}, ByLedger(True))

    @classmethod
    def of(cls, context: SparkContext) -> Report:
        if context not in _REPORTS:
            _REPORTS[context] = cls(context)
        return _REPORTS[context]

    def tell(self, ledger: str, lessons: Lessons) -> None:
        """In a worker."""
        if lessons:
            self._told.add({ledger: lessons})
