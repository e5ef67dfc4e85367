"""Tamis sieves a stream of events through millions of standing subscriptions."""

from importlib.metadata import PackageNotFoundError, version

from tamis.analysis import Analysis, analyze
from tamis.engine import Index, compile
from tamis.errors import (
    EventError,
    FilterError,
    FilterSyntaxError,
    FilterTooComplex,
    FilterTypeError,
    IndexFileError,
    OperatorError,
    PatternError,
    SchemaError,
    StatisticsError,
    SubscriptionError,
    TamisError,
    Violation,
)
from tamis.matching.explanation import Explanation, Verdict
from tamis.matching.matchers import MATCHERS
from tamis.matching.matches import Matches
from tamis.matching.statistics import Statistics
from tamis.operators import Operator, Var, operator
from tamis.schema import Schema

try:
    __version__ = version("tamis")
except PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+source"

__all__ = [
    "MATCHERS",
    "Analysis",
    "EventError",
    "Explanation",
    "FilterError",
    "FilterSyntaxError",
    "FilterTooComplex",
    "FilterTypeError",
    "Index",
    "IndexFileError",
    "Matches",
    "Operator",
    "OperatorError",
    "PatternError",
    "Schema",
    "SchemaError",
    "Statistics",
    "StatisticsError",
    "SubscriptionError",
    "TamisError",
    "Var",
    "Verdict",
    "Violation",
    "__version__",
    "analyze",
    "compile",
    "operator",
]
