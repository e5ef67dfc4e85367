"""Loop of an examiner process: reads questions about filters from standard input and answers each, until input ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO, Final

import orjson
import pyarrow as pa

from tamis.errors import TamisError
from tamis.schema import Schema
from tamis.service.base.configuration import Settings
from tamis.service.base.offering import NOTHING, Offering, serving_schema
from tamis.service.examining.explanations import explained
from tamis.service.examining.language import Bench, ReadFilter, read_filter
from tamis.service.examining.pool import ANSWER, BEGUN, FAULT, HEAD, LOADING, REFUSAL, framed
from tamis.service.examining.trials import tried
from tamis.service.intake.problems import Problem, of_error

_PR_SET_PDEATHSIG: Final = 1
_NICE: Final = 10  # whoever publishes and reads comes first


def main() -> None:
    """Answers one question after another until standard input ends. Exits at once when the service does."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # Ctrl-C is for the service, which ends its examiners.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        return
    os.nice(_NICE)
    # Operators and libraries may write to standard output, where the answers go.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    asked = sys.stdin.buffer
    settings = Settings.from_json(asked.readline().decode())
    bench = Bench(settings, Offering.named(settings.operators), serving_schema(None))
    said = _Voice(out)
    bench.loading, bench.begun = said.loading, said.begun
    # What is imported for the first answer takes longer than the answer.
    plain = Bench(settings, NOTHING, serving_schema(None))
    explained(plain, read_filter(plain, "TRUE"), {})
    said.say(BEGUN)
    while head := asked.read(HEAD.size):
        _, length = HEAD.unpack(head)
        said.say(*_outcome(bench, asked.read(length)))


class _Voice:
    """Output of frames to the service."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def say(self, kind: bytes, *parts: bytes) -> None:
        self._out.write(framed(kind, *parts))
        self._out.flush()

    def loading(self) -> None:
        self.say(LOADING)

    def begun(self, seconds: float | None) -> None:
        self.say(BEGUN, b"" if seconds is None else str(seconds).encode())


def _outcome(bench: Bench, question: bytes) -> tuple[bytes, bytes]:
    header, _, tail = question.partition(b"\n")
    asked = orjson.loads(header)
    if asked["schema"] is not None:
        bench.schema = Schema.from_dict(asked["schema"])
    bench.ignores_unknown, bench.learned = asked["ignores_unknown"], asked["learned"]
    try:
        return ANSWER, _ANSWERS[asked["about"]](bench, asked, tail)
    except Problem as problem:
        return REFUSAL, _refusal(problem)
    except TamisError as error:
        return REFUSAL, _refusal(of_error(error))
    except Exception:  # noqa: BLE001 - the next question is another one
        traceback.print_exc()
        return FAULT, b""


def _refusal(problem: Problem) -> bytes:
    return orjson.dumps(
        {
            "status": problem.status,
            "kind": problem.kind,
            "detail": problem.detail,
            "errors": [one.model_dump() for one in problem.errors],
            "headers": problem.headers,
        }
    )


def _explain(bench: Bench, asked: dict[str, Any], _: bytes) -> bytes:
    """Explains a filter, as its author wrote it, on an event."""
    filter = read_filter(bench, asked["filter"])
    return explained(bench, filter, asked["event"], inside=asked["inside"]).model_dump_json().encode()


def _test(bench: Bench, asked: dict[str, Any], _: bytes) -> bytes:
    """Explains a subscription's filter, already parsed, on an event."""
    filter, residual = ReadFilter(*asked["filter"]), asked["residual"]
    return explained(bench, filter, asked["event"], residual, inside=asked["inside"]).model_dump_json().encode()


def _try(bench: Bench, asked: dict[str, Any], tail: bytes) -> bytes:
    """Tries a filter on the newest events."""
    recent = pa.ipc.open_stream(tail).read_all()
    return tried(bench, read_filter(bench, asked["filter"]), recent).model_dump_json(exclude_none=True).encode()


_ANSWERS: Final[dict[str, Callable[[Bench, dict[str, Any], bytes], bytes]]] = {
    "explain": _explain,
    "test": _test,
    "try": _try,
}
