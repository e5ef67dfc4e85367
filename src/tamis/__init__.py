"""Tamis, content-based publish/subscribe: matches a stream of events with millions of standing subscriptions.

A public name is loaded from its home when it is first asked for. Most of them need Numba, Arrow and SQLGlot, which take
a second to load: `tamis --help`, Ctrl-C, and whoever only catches `tamis.TamisError` should not wait for that.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for true by its name; `typing` would be the longest to load of all here

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

# Twice: as imports for type checkers and editors, as words for Python. tests/test_public_names.py holds them together.
if TYPE_CHECKING:
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
    from tamis.matching.base.matcher import Matches
    from tamis.matching.base.statistics import Statistics
    from tamis.matching.explanation import Explanation, Verdict
    from tamis.matching.matchers import MATCHERS
    from tamis.operators import Operator, Var, operator
    from tamis.schema import Schema

    __version__: str

_HOMES = {
    "analysis": ("Analysis", "analyze"),
    "engine": ("Index", "compile"),
    "errors": (
        "EventError",
        "FilterError",
        "FilterSyntaxError",
        "FilterTooComplex",
        "FilterTypeError",
        "IndexFileError",
        "OperatorError",
        "PatternError",
        "SchemaError",
        "StatisticsError",
        "SubscriptionError",
        "TamisError",
        "Violation",
    ),
    "matching.explanation": ("Explanation", "Verdict"),
    "matching.matchers": ("MATCHERS",),
    "matching.base.matcher": ("Matches",),
    "matching.base.statistics": ("Statistics",),
    "operators": ("Operator", "Var", "operator"),
    "schema": ("Schema",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def _loaded(name: str) -> object:
    """A public name, the version, or a room: `tamis.schema` may be said without an import of it."""
    from importlib.util import find_spec

    if name in _HOME_OF:
        value = getattr(import_module(f"tamis.{_HOME_OF[name]}"), name)
    elif name == "__version__":
        value = _version()
    elif not name.startswith("_") and find_spec(f"tamis.{name}") is not None:
        value = import_module(f"tamis.{name}")
    else:
        raise AttributeError(f"module 'tamis' has no attribute {name!r}")
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tamis")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return "0+source"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # which would take any name for one that is there
    __getattr__ = _loaded
