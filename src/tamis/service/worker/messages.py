"""Messages from the pipeline process to the service, as one JSON object a line, and operator health among them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, Literal, TypeAlias

from tamis.operators.health import OperatorStatistics, Tally

State = Literal["starting", "waiting", "building", "running", "stopped", "failed", "restarting"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Message: a micro-batch is recorded in the store.

    Every position up to `head` is final. `revision` is the store's that the subscriptions were matched at. The log's
    events before `processed` are done with, whatever fails now; `lag_events` were waiting when the batch was done.
    -1: it cannot be told. `ends` has the number after the batch's last event, by partition.
    """

    batch: int
    head: int
    events: int = 0
    matches: int = 0
    dead: int = 0
    ms: float = 0.0
    revision: int = -1
    processed: int = -1
    lag_events: int = -1
    ends: dict[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """Message: the process is in another state; with `head`, positions up to there are final. `error` says why it
    failed.
    """

    state: State
    head: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RefusedSubscription:
    """Message: the table refused a subscription that the store has, so it matches nothing."""

    subscription: int
    reason: str


@dataclass(frozen=True, slots=True)
class Followed:
    """Message: the table has all changes of the store up to a revision."""

    followed: int


@dataclass(frozen=True, slots=True)
class Operators:
    """Message: health of the operators, by name (`Fared` as a dict), counted since the process began."""

    operators: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Heartbeat: the process runs, and Spark's driver answered it a moment ago, for the `alive`th time.

    `busy`: for how many seconds the micro-batch under way has been running; 0 between batches.
    """

    alive: int
    busy: float = 0.0


@dataclass(frozen=True, slots=True)
class Noticed:
    """Message: a problem that was handled, and that the operator of the service should know of."""

    noticed: str


@dataclass(frozen=True, slots=True)
class Suspended:
    """Message: a subscription is not matched any more, since it took too much of the matching time."""

    suspended: int
    id: str
    reason: str


Message: TypeAlias = Batch | Turn | RefusedSubscription | Followed | Operators | Heartbeat | Noticed | Suspended

_KINDS: Final[tuple[type[Message], ...]] = (
    Batch,
    Turn,
    RefusedSubscription,
    Followed,
    Operators,
    Heartbeat,
    Noticed,
    Suspended,
)


def written(message: Message) -> bytes:
    """Message as a line."""
    told = {name: value for name, value in asdict(message).items() if value is not None}
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def read(line: bytes) -> Message | None:
    """Message in a line; None if the line is none, for libraries write to the pipe too."""
    try:
        told = json.loads(line)
    except ValueError:
        return None
    if not isinstance(told, dict):
        return None
    for kind in _KINDS:
        if fields(kind)[0].name in told:
            try:
                return kind(**told)
            except TypeError:
                return None
    return None


# Health of an operator in matching, as the pipeline process reports it.


@dataclass(frozen=True, slots=True)
class Fared:
    """Health of one operator: its counts, learned cost and selectivity.

    `cost` is what an evaluation costs, declared or learned, `selectivity` the share that held lately; None as long as
    nothing is known. `predicates`: how many different ones the subscriptions have. `suspended`: it is left alone.
    """

    tally: Tally
    cost: float | None = None
    selectivity: float | None = None
    predicates: int = 0
    suspended: bool = False

    @classmethod
    def of(cls, statistics: OperatorStatistics) -> Fared:
        """Health as reported by an index or a table."""
        held = statistics.selectivity if statistics.observed else None
        return cls(statistics.tally, statistics.cost, held, statistics.predicates, statistics.suspended)

    def after(self, earlier: Tally) -> Fared:
        """Health with earlier counts added."""
        return replace(self, tally=earlier + self.tally)

    def to_dict(self) -> dict[str, Any]:
        about = {name: getattr(self, name) for name in ("cost", "selectivity", "predicates", "suspended")}
        return about | {"tally": self.tally.to_dict()}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Fared:
        """Health from a `to_dict`; TypeError if it is something else."""
        return cls(**{**form, "tally": Tally(**form["tally"])}) if "tally" in form else cls(**form)


def noticed(now: Mapping[str, Fared], before: Mapping[str, Fared]) -> dict[str, Fared]:
    """Operators suspended since an earlier report, by their health then and now.

    Each worker suspends an operator by itself; the reports only count its skipped calls.
    """
    return {
        name: replace(fared, suspended=fared.suspended or fared.tally.suspended > _left_alone(before.get(name)))
        for name, fared in now.items()
    }


def _left_alone(fared: Fared | None) -> int:
    return 0 if fared is None else fared.tally.suspended
