"""Operators that a snapshot's filters may call: sent with it to the workers; small, nothing of the subscriptions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pickle import PicklingError, loads
from weakref import WeakKeyDictionary

from tamis.errors import PipelineError
from tamis.operators import Operator
from tamis.operators.registry import installed, is_offered

# Each is packed once, so that workers know it again: what is pickled twice need not be the same twice.
_PACKED: WeakKeyDictionary[Operator, Packed] = WeakKeyDictionary()
_UNPACKED: OrderedDict[str, Operator] = OrderedDict()
_KEPT = 256


@dataclass(frozen=True, slots=True)
class Packed:
    """An operator by the name under which an installed package offers it, or as it was pickled.

    `digest` tells operators apart: with the same one, a process has one object, so what it loads is loaded once.
    """

    name: str
    digest: str
    content: bytes = b""

    @classmethod
    def of(cls, operator: Operator) -> Packed:
        packed = _PACKED.get(operator)
        if packed is None:
            packed = _PACKED[operator] = _packed(operator)
        return packed

    def operator(self) -> Operator:
        """In any process: the same object whenever this is asked."""
        known = _UNPACKED.pop(self.digest, None)
        _UNPACKED[self.digest] = operator = self._unpacked() if known is None else known
        while len(_UNPACKED) > _KEPT:
            _UNPACKED.popitem(last=False)
        return operator

    def _unpacked(self) -> Operator:
        if not self.content:
            return installed(self.name)
        try:
            operator = loads(self.content)
        except (ImportError, AttributeError) as error:
            raise PipelineError(
                f"the operator {self.name} cannot be loaded in a worker: {error}; what it needs must be installed there"
            ) from error
        assert isinstance(operator, Operator)
        return operator


def _packed(operator: Operator) -> Packed:
    from pyspark.cloudpickle import dumps

    if is_offered(operator):
        return Packed(operator.name, f"{operator.name} {operator.version}")
    try:
        content: bytes = dumps(operator)  # type: ignore[no-untyped-call]
    except (PicklingError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise PipelineError(
            f"the operator {operator.name} cannot be sent to workers: {error}; load what cannot be sent in prepare="
        ) from error
    return Packed(operator.name, blake2b(content, digest_size=16).hexdigest(), content)


@dataclass(frozen=True, slots=True)
class Crew:
    """The operators, the file that has what was learned of them in all processes (there may be none yet), and the
    ledger that is to be told what more is learned."""

    operators: tuple[Packed, ...]
    learned: str
    ledger: str

    @classmethod
    def of(cls, operators: Iterable[Operator], learned: str, ledger: str) -> Crew:
        return cls(tuple(map(Packed.of, operators)), learned, ledger)

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal iff the operators are."""
        return tuple(packed.digest for packed in self.operators)

    def unpacked(self) -> list[Operator]:
        """In a worker: the operators themselves."""
        return [packed.operator() for packed in self.operators]
