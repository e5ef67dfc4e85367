"""Counts how much of Tamis lies on a journey: distinct functions and files, calls, and changes from file to file.

    python -m scripts.journeys                 # all journeys, a line each
    python -m scripts.journeys subscribe -v    # one of them, and its functions in the order of their first call

Every thread is recorded, and only what is in src/tamis; each journey is made once before, so that neither imports nor
caches that fill on first use are in it. docs/architecture.md says which journeys there are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, TypeAlias

import tamis

_ROOT: Final = str(Path(tamis.__file__).parent) + "/"
_PARTS: Final = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_PRICED: Final = "price < {} AND quantity > {}"
_DESKS: Final = "NOT (price >= {} OR title ILIKE '%desk{}%')"
_TURNED: Final = "NOT (title ILIKE '%desk{}%' OR price >= {})"

Function: TypeAlias = tuple[str, str]
"""A file, below src/tamis, and a function's qualified name in it."""
Journey: TypeAlias = Callable[["Recorder", Path], None]


class Recorder:
    """Calls of Tamis' functions in all threads, while `recording`.

    A coroutine counts each time it goes on; a comprehension is part of its function, as Python has it from 3.12 on.
    """

    def __init__(self) -> None:
        self.calls: Counter[Function] = Counter()
        self.changes = 0
        self._at: dict[int, str] = {}
        self._open = False
        self._lock = threading.Lock()

    @contextmanager
    def recording(self) -> Iterator[None]:
        self._open = True
        try:
            yield
        finally:
            self._open = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watches this thread and those that begin meanwhile; nothing is counted yet."""
        threading.setprofile(self._noted)
        sys.setprofile(self._noted)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _noted(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not self._open or event != "call" or not code.co_filename.startswith(_ROOT) or code.co_name in _PARTS:
            return
        file, thread = code.co_filename.removeprefix(_ROOT), threading.get_ident()
        with self._lock:
            self.calls[file, code.co_qualname] += 1
            if (before := self._at.get(thread)) != file:
                self.changes += before is not None
                self._at[thread] = file

    def line(self) -> str:
        files = len({file for file, _ in self.calls})
        return f"{len(self.calls):>9} {files:>5} {self.calls.total():>5} {self.changes:>12}"


def subscribe(recorder: Recorder, folder: Path) -> None:
    """POST /v1/subscriptions with a webhook, to the row in the store: the service without what runs beside requests."""
    from fastapi.testclient import TestClient

    from tamis.service.app import create_app
    from tamis.service.base.configuration import DeliverySettings, Settings
    from tests.service.http.server import PlayedPipeline, make_service

    settings = Settings(delivery=DeliverySettings(allow_private=True))
    client = TestClient(create_app(make_service(folder / "state", PlayedPipeline(), settings)))

    def ask(number: int) -> None:
        hook = {"mode": "webhook", "url": "http://127.0.0.1:9/hook"}
        answer = client.post(
            "/v1/subscriptions", json={"filter": _PRICED.format(10 + number, number), "delivery": hook}
        )
        assert answer.status_code == 201, answer.text

    ask(1)
    with recorder.recording():
        ask(2)


def compile_known(recorder: Recorder, _: Path) -> None:
    """`tamis.compile` of one filter, of a shape that was parsed before."""
    _compile(recorder, _PRICED.format(10, 1), _PRICED.format(11, 2))


def compile_new(recorder: Recorder, _: Path) -> None:
    """`tamis.compile` of one filter of a shape of its own: NOT (a >= … OR b ILIKE …)."""
    _compile(recorder, _TURNED.format(1, 500), _DESKS.format(500, 2))


def follow(recorder: Recorder, folder: Path) -> None:
    """One changed subscription in the store, up to the table that the next micro-batch uses."""
    from datetime import UTC, datetime, timedelta

    from tamis.service.store import NewSubscription, Store
    from tamis.service.worker.following import FollowingTable

    store = Store.open(f"sqlite:///{folder}/store.db")
    store.schemas.add(_schema().to_dict())
    table = FollowingTable(folder / "table", store, lambda _: None)
    expires = datetime.now(UTC) + timedelta(days=1)

    def change(number: int) -> None:
        text = _PRICED.format(number, number)
        store.subscriptions.create(
            NewSubscription(owner="", text=text, filter=text, kind="filter", expires=expires, delivery={"mode": "pull"})
        )

    change(1)
    table.for_batch("stream", 1)
    change(2)
    with recorder.recording():
        table.for_batch("stream", 2)


def _compile(recorder: Recorder, before: str, text: str) -> None:
    schema = _schema()
    assert not tamis.compile({"s": before}, schema).errors
    with recorder.recording():
        index = tamis.compile({"s": text}, schema)
    assert not index.errors


def _schema() -> tamis.Schema:
    from tests.service.http.server import AUCTIONS

    return tamis.Schema.from_dict(AUCTIONS)


JOURNEYS: dict[str, Journey] = {
    "subscribe": subscribe,
    "compile-known": compile_known,
    "compile-new": compile_new,
    "follow": follow,
}


def main() -> None:
    """Makes the journeys asked for and prints what they took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("journeys", nargs="*", choices=[*JOURNEYS, []], metavar="journey", help=", ".join(JOURNEYS))
    parser.add_argument("-v", "--verbose", action="store_true", help="list the functions, too")
    options = parser.parse_args()
    print(f"{'journey':<16} functions files calls file changes")
    for name in options.journeys or JOURNEYS:
        recorder = Recorder()
        with tempfile.TemporaryDirectory() as folder, recorder.watching():
            JOURNEYS[name](recorder, Path(folder))
        print(f"{name:<16} {recorder.line()}")
        if options.verbose:
            for (file, function), calls in recorder.calls.items():
                print(f"    {calls:>4}  {file:<50} {function}")


if __name__ == "__main__":
    main()
