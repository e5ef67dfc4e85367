"""The part of an index that calls operators: its matcher, and how it is saved and opened."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import pyarrow as pa

from tamis.errors import IndexFileError, OperatorError
from tamis.language import Limits, Signatures, bind
from tamis.lazy_registry import loaded
from tamis.matching.explanation import Explanation
from tamis.matching.matcher import Subscriptions
from tamis.matching.matches import Answer, Binding
from tamis.matching.statistics import Statistics
from tamis.operators.definition import Operator
from tamis.operators.health import Health
from tamis.operators.lessons import Lessons, Seen
from tamis.operators.matcher import OperatorMatcher
from tamis.operators.registry import Registry, installed
from tamis.operators.resolution import Resolved, resolve
from tamis.operators.schedules import require_schedule
from tamis.operators.statistics import OperatorTable
from tamis.schema import Schema

_FILE = "operators.json"
_ORACLE: Final = "tamis.operators.naive:NaiveOperators"


class CallingMatcher(Protocol):
    """Matches subscriptions that call operators: with a schedule and what it learns, or, the oracle, one by one."""

    is_oracle: ClassVar[bool]
    schedule: str
    operators: Mapping[str, Resolved]

    @property
    def signatures(self) -> Signatures: ...

    def __len__(self) -> int: ...

    def __contains__(self, id: object) -> bool: ...

    def ids(self) -> list[str]: ...

    def text(self, id: str) -> str: ...

    def match(self, batch: pa.RecordBatch) -> tuple[Answer, Callable[[], list[Binding]]]: ...

    def add(self, subscriptions: Subscriptions) -> None: ...

    def remove(self, ids: Iterable[str]) -> None: ...

    def explain(self, batch: pa.RecordBatch, id: str) -> Explanation: ...

    def statistics(self) -> OperatorTable: ...

    def lessons(self) -> Lessons: ...

    def known(self) -> Mapping[str, Seen]: ...

    def take(self, lessons: Lessons) -> None: ...

    def start_from(self, seen: Mapping[str, Seen]) -> None: ...

    def adopt(self, health: Health) -> None: ...

    def saved(self) -> dict[str, Any]: ...

    def learn_again(self, learned: Mapping[str, Any]) -> None: ...


class CallingPart:
    """Those subscriptions of an index that call operators; false as long as there are none."""

    def __init__(self, matcher: CallingMatcher) -> None:
        self._matcher = matcher
        self.signatures: Signatures = matcher.signatures

    @classmethod
    def of(
        cls,
        operators: Iterable[Operator | str],
        schema: Schema,
        limits: Limits,
        schedule: str,
        matcher: str,
        statistics: Statistics | None,
    ) -> CallingPart:
        """Without subscriptions yet. The oracle calls operators in its own way, whatever the schedule."""
        require_schedule(schedule)
        resolved = resolved_all(operators, schema)
        if matcher == "naive":
            return cls(loaded(_ORACLE)(schema, resolved, limits))
        return cls(OperatorMatcher(schema, resolved, schedule, limits, statistics))

    def __len__(self) -> int:
        return len(self._matcher)

    def __contains__(self, id: object) -> bool:
        return id in self._matcher

    def ids(self) -> list[str]:
        return self._matcher.ids()

    def text(self, id: str) -> str:
        return self._matcher.text(id)

    def match(self, batch: pa.RecordBatch) -> tuple[Answer, Callable[[], list[Binding]]]:
        return self._matcher.match(batch)

    def add(self, subscriptions: Subscriptions) -> None:
        """Takes in those that call operators."""
        self._matcher.add(subscriptions)

    def remove(self, ids: Iterable[str]) -> None:
        self._matcher.remove(ids)

    def explain(self, batch: pa.RecordBatch, id: str) -> Explanation:
        """What the one event of a batch comes to under one subscription."""
        return self._matcher.explain(batch, id)

    def statistics(self) -> OperatorTable:
        return self._matcher.statistics()

    @property
    def operators(self) -> list[Operator]:
        """Those that filters may call."""
        return [resolved.operator for resolved in self._matcher.operators.values()]

    @property
    def schedule(self) -> str:
        """In which order they are called."""
        return self._matcher.schedule

    def lessons(self) -> Lessons:
        """What was learned in this process since this was last asked; the oracle learns nothing."""
        return self._matcher.lessons()

    def known(self) -> Mapping[str, Seen]:
        """All that was learned."""
        return self._matcher.known()

    def take(self, lessons: Lessons) -> None:
        """Adds what was learned in another process."""
        self._matcher.take(lessons)

    def start_from(self, seen: Mapping[str, Seen]) -> None:
        """Believes what was learned in all processes, in place of what it has learned so far."""
        self._matcher.start_from(seen)

    def adopt(self, health: Health) -> None:
        """Counts together with other indexes of this process that call the same operators."""
        self._matcher.adopt(health)

    def save(self, folder: Path) -> dict[str, Any]:
        """Writes what there is into the folder of an index; gives what the index says of it."""
        content = json.dumps(self._matcher.saved()).encode()
        (folder / _FILE).write_bytes(content)
        versions = {name: resolved.operator.version for name, resolved in self._matcher.operators.items()}
        about = {"versions": versions, "schedule": self._matcher.schedule, "checksum": zlib.crc32(content)}
        return about | {"oracle": self._matcher.is_oracle}

    @classmethod
    def open(
        cls,
        folder: Path,
        about: Mapping[str, Any] | None,
        operators: Iterable[Operator | str] | None,
        schema: Schema,
        limits: Limits,
    ) -> CallingPart | None:
        """What `save` wrote, given what it said of it; None where there is nothing, and no operator either."""
        if about is None:
            return None if operators is None else cls.of(operators, schema, limits, "adaptive", "", None)
        try:
            content = (folder / _FILE).read_bytes()
            if zlib.crc32(content) != about["checksum"]:
                raise ValueError("it does not agree with its checksum")
            saved, schedule, matcher = json.loads(content), about["schedule"], "naive" if about["oracle"] else ""
        except (OSError, ValueError, KeyError) as error:
            raise IndexFileError(
                f"{folder / _FILE} cannot be read: {error}; compile and save the index anew"
            ) from error
        given = Registry([] if operators is None else operators)
        missing = [name for name in about["versions"] if name not in given]
        offered = _offered(missing)
        part = cls.of([*given.values(), *offered], schema, limits, schedule, matcher, None)
        part._restore(saved["texts"], schema, limits, set(missing) - {operator.name for operator in offered})
        part._matcher.learn_again(saved["learned"])
        return part

    def _restore(self, texts: Mapping[str, str], schema: Schema, limits: Limits, missing: Collection[str]) -> None:
        ids, listed = pa.array(list(texts), pa.large_string()), pa.array(list(texts.values()), pa.large_string())
        bound = bind(listed, schema, limits, self.signatures)
        if bound.errors:
            row, error = bound.errors[0]
            lacking = f"there is no operator {', '.join(sorted(missing))} here"
            reason = f"{lacking}; hand it over: Index.open(path, operators=[...])" if missing else error.message
            raise OperatorError(f"subscription {ids[row]} cannot be restored: {reason}")
        self._matcher.add(Subscriptions(ids, listed, bound))


def resolved_all(operators: Iterable[Operator | str], schema: Schema) -> dict[str, Resolved]:
    """Operators under a schema, by name."""
    return {name: resolve(operator, schema) for name, operator in Registry(operators).items()}


def _offered(names: Iterable[str]) -> list[Operator]:
    """Those of these operators that installed packages offer; filters that call another will say so."""
    found = []
    for name in names:
        try:
            found.append(installed(name))
        except OperatorError:
            continue
    return found
