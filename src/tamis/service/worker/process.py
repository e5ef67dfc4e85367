"""The pipeline process: what it does from its first line of input to its end."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from typing import Final

from tamis.errors import TamisError
from tamis.service.base.configuration import Settings
from tamis.service.worker.lifeline import Lock, end_group, watch
from tamis.service.worker.messages import Message, Turn, written
from tamis.spark_cause import in_one_line, is_spark_error

_GRACE: Final = 8.0
_SHOWN: Final = 2_000


class Mouth:
    """Where messages to the service go: what was standard output when the process began. Any thread may speak.

    Standard output itself goes to standard error from then on, for Java and libraries write to it.
    """

    def __init__(self) -> None:
        self._file = os.dup(1)
        self._lock = threading.Lock()
        os.dup2(2, 1)

    def say(self, message: Message) -> None:
        line = written(message)
        with self._lock:
            while line:
                line = line[os.write(self._file, line) :]


def main() -> int:
    """Runs until standard input ends. If something fails before, the whole process group goes at once."""
    mouth, stopped = Mouth(), threading.Event()
    settings = Settings.from_json(_first_line(0))
    watch(0, stopped.set, _GRACE)
    mouth.say(Turn("starting"))
    try:
        _run(settings, mouth, stopped)
    except Exception as error:  # noqa: BLE001 - whatever it is, the supervisor is told, and starts anew
        if not stopped.is_set():
            traceback.print_exc()
            sys.stderr.flush()
            mouth.say(Turn("failed", error=_shown(error)))
        # Nothing is put in order here: a kill may come at any moment, so every state on disk is one to start from.
        end_group()
    mouth.say(Turn("stopped"))
    return 0


def _run(settings: Settings, mouth: Mouth, stopped: threading.Event) -> None:
    lock = Lock(settings.state.absolute())
    if not lock.try_to_take():
        mouth.say(Turn("waiting"))
    if not lock.take(stopped):
        return
    # What is imported here takes seconds, and is of no use to a process that waits for its folder.
    from tamis.service.worker.turns import take_turns

    take_turns(settings, lock, mouth.say, stopped)


def _first_line(file: int) -> str:
    """Byte by byte: what comes after it is not ours to take."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(file, 1)
        if not byte:
            raise TamisError("the pipeline process is started by the service, which tells it its settings")
        line += byte
    return line.decode()


def _shown(error: Exception) -> str:
    told = in_one_line(error)
    own = isinstance(error, TamisError) or is_spark_error(error)
    return (told if own else f"{type(error).__name__}: {told}")[:_SHOWN]
