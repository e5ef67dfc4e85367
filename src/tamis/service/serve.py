"""Server process: assembles the service's parts, runs and stops them in order; checks at the start, private files, and
the administrator's key.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import resource
import signal
import socket
import stat
from collections import Counter
from collections.abc import Callable, Coroutine
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn
from fastapi import FastAPI

from tamis.compiled import kernels_are_kept
from tamis.eventlog import EventLog, open_log
from tamis.eventlog.kafka.kafka_address import KafkaAddress
from tamis.pipeline.session import require_spark
from tamis.service.app import create_app
from tamis.service.base.configuration import ConfigurationError, Settings
from tamis.service.base.offering import Algorithms, Offering
from tamis.service.delivery import Delivery
from tamis.service.http.live_streams import SocketProtocol
from tamis.service.http.request_guards import HeadLimit, KnownHost
from tamis.service.http.schemas import settle_schema
from tamis.service.http.service import Service
from tamis.service.store import Store
from tamis.service.store.store import FollowedSchema
from tamis.service.worker import Supervisor

if TYPE_CHECKING:
    from tamis.service.network import Bridge

_LOG: Final = logging.getLogger("tamis.serve")

Announce = Callable[[str], None]

_GRACE: Final = 20  # seconds that requests under way have when the server ends
_POLL: Final = 0.2
_BACKLOG: Final = 2048
_LONGEST_MESSAGE: Final = 4 << 10  # bytes that a WebSocket's client may say at once
_FILES: Final = 65_536
_FEWEST_FILES: Final = 512  # Java has more than three hundred open before Spark does anything
LOCAL_NAMES: Final = ("localhost", "ip6-localhost")


def serve(settings: Settings, announce: Announce) -> None:
    """Serves until SIGINT or SIGTERM. `announce` is given the lines for the user."""
    require_spark()
    _allow_many_files()
    if not kernels_are_kept():
        _LOG.warning(
            "compiled code cannot be kept, neither beside the installed files nor in the cache folder of this user: "
            "every start compiles for minutes; name a folder that the user may write to in XDG_CACHE_HOME"
        )
    listening = _listen(settings.host, settings.port)
    try:
        keep_private(settings.state)
        service = assemble(settings)
        key = administrator_key(service.store, settings.state)
        host, port = listening.getsockname()[:2]
        announce(f"console  http://{_in_url(host)}:{port}/console/#key={key}")
        announce(f"API      http://{_in_url(host)}:{port}/v1   (described at /openapi.json)")
        announce(f"state    {settings.state.absolute()}")
        app = create_app(service)
        config = server_config(app, settings)
        server = _Server(config, app.state.running.finish)
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(_run(server, service, listening, announce))
    finally:
        listening.close()


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """Configuration of the HTTP server: protocols with their limits, trusted proxies, shutdown."""
    if is_for_this_machine(settings):
        app.add_middleware(KnownHost)
    return uvicorn.Config(
        app,
        http=HeadLimit,
        ws=SocketProtocol,
        # Sockets are for reading: all that may be said to one is a first message. Nothing is unpacked before it is
        # measured, so what is sent deflated is refused as it was not agreed on.
        ws_max_size=_LONGEST_MESSAGE,
        ws_per_message_deflate=False,
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=_GRACE,
        backlog=_BACKLOG,
    )


def is_for_this_machine(settings: Settings) -> bool:
    """True if only programs of this machine are meant to reach the server, and may do so without a key."""
    try:
        local = ip_address(settings.host).is_loopback
    except ValueError:
        local = settings.host in LOCAL_NAMES
    return local and not settings.trusted_proxies and "anyone" in (settings.access.publish, settings.access.subscribe)


def _allow_many_files() -> None:
    """Raises the limit of open files: each reader is one, and the default is often a thousand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < _FEWEST_FILES:
        raise ConfigurationError(
            f"a process may have only {hard} files open here, and Spark needs {_FEWEST_FILES}, with one more for every "
            f"reader: raise the limit (ulimit -n {_FILES}; under systemd LimitNOFILE={_FILES})"
        )
    if soft != resource.RLIM_INFINITY and soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY else _FILES, hard))


def keep_private(state: Path) -> None:
    """Sets the umask and modes so that other users cannot read files of this process and its children, which hold
    events.

    An existing state folder keeps its mode, which its owner chose; the server warns about it.
    """
    os.umask(0o077)
    mode = stat.S_IMODE(state.stat().st_mode) if state.exists() else 0
    if mode & 0o077:
        _LOG.warning(
            "other users may look into the state folder %s (mode %o): what is made in it from now on is closed to "
            "them, what is in it already may not be; close it: chmod -R go= %s",
            state,
            mode,
            state,
        )


def assemble(settings: Settings) -> Service:
    """Opens the parts of a server over its state folder; errors say what cannot be opened."""
    if settings.delivery.kafka is not None:
        KafkaAddress.parse(settings.delivery.kafka)  # complains now, not when the first notification is to go there
    algorithms = Algorithms.of(settings)
    # The events in it are as much its owner's business as the store, which is made so by itself.
    settings.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    _require_whole(settings)
    store = Store.open(settings.store, settings.matches)
    try:
        followed = settle_schema(store, settings.schema_path)
        # These complain now, not when the first table is built, or the first filter calls an operator.
        algorithms.check(followed.schema)
        offering = Offering.named(settings.operators)
        offering.resolved(followed.schema)
        if settings.missing_operators == "refuse":
            require_operators(store, offering)
        log = open_log(settings.log, write=True)
    except BaseException:
        store.close()
        raise
    delivery = Delivery(store, settings, followed, offering=offering)
    bridge = _bridge(settings, followed, store, log, offering)
    return Service(settings, store, log, delivery, Supervisor(settings), followed, offering, algorithms, bridge)


def _require_whole(settings: Settings) -> None:
    """Refuses a used state folder without its store: all subscriptions would be gone without a word."""
    if settings.store_url:
        return
    file = settings.state / "store.sqlite"
    used = [name for name in ("spool", "checkpoint") if (settings.state / name).exists()]
    if used and (not file.exists() or not file.stat().st_size):
        raise ConfigurationError(
            f"{file} is {'empty' if file.exists() else 'missing'}, but there is {' and '.join(used)} of a service that "
            "had one: restore the whole folder from a backup; to begin anew, without its subscriptions and events, "
            "name an empty folder with --state"
        )


def _bridge(
    settings: Settings, followed: FollowedSchema, store: Store, log: EventLog, offering: Offering
) -> Bridge | None:
    """Bridge to a network of brokers, if the settings ask for one: only then gRPC is needed."""
    if not settings.broker.wanted:
        return None
    try:
        from tamis.service.network import open_bridge

        return open_bridge(settings, followed, store, log, offering)
    except ModuleNotFoundError as error:
        store.close()
        raise ConfigurationError(f"a network of brokers needs {error.name}: pip install 'tamis[broker]'") from error
    except BaseException:
        store.close()
        raise


def require_operators(store: Store, offering: Offering) -> None:
    """Refuses to start where subscriptions call operators that are not offered: they would match nothing."""
    lacking = Counter(name for text in store.subscriptions.calling() for name in offering.missing(text))
    if lacking:
        called = ", ".join(f"{name} ({count:,})" for name, count in sorted(lacking.items()))
        raise ConfigurationError(
            f"subscriptions of this store call operators that are not offered: {called}; name them in --operators, or "
            "start with missing_operators: ignore, and they match nothing until then"
        )


def administrator_key(store: Store, state: Path) -> str:
    """Secret of this server's own key, made at the first start and kept where only its user can read it."""
    file = state / "admin.key"
    try:
        # What is no text is no key, and is replaced by one.
        secret = file.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        secret = ""
    if store.keys.find(secret) is not None:
        return secret
    _, secret = store.keys.create("administrator", ["administer"])
    made = file.with_name("admin.key.new")
    made.unlink(missing_ok=True)
    with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as writing:
        writing.write(secret + "\n")
        writing.flush()
        os.fsync(writing.fileno())
    made.replace(file)
    return secret


def _listen(host: str, port: int) -> socket.socket:
    """Listening socket, opened first, so that a port in use is noticed before anything is started."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError) as error:
        raise ConfigurationError(f"{host} is no address of this machine: {error}") from error
    listening = socket.socket(family, kind, protocol)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(f"port {port} of {host} is taken; choose another with --port") from error
        raise ConfigurationError(f"cannot listen at {host}, port {port}: {error.strerror}") from error
    return listening


class _Server(uvicorn.Server):
    """Uvicorn server that waits for its connections to close; those of readers close when `finish` has stopped
    delivery.
    """

    def __init__(self, config: uvicorn.Config, finish: Callable[[], Coroutine[None, None, None]]) -> None:
        super().__init__(config)
        self._finish = finish

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # It begins when the sockets are closed: uvicorn does that before it first waits.
        finishing = asyncio.create_task(self._finish())
        await super().shutdown(sockets)
        await finishing


async def _run(server: _Server, service: Service, listening: socket.socket, announce: Announce) -> None:
    # Uvicorn takes the signals while it serves, and sends them again when it is done: that is the time to return.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    telling = asyncio.create_task(_tell(service, announce))
    _set_apart()
    try:
        await server.serve(sockets=[listening])
    finally:
        telling.cancel()
    announce("stopped")


async def _tell(service: Service, announce: Announce) -> None:
    """Announces each time that the pipeline starts, is ready or waits; a failure is in the log, with the reason."""
    told = ""
    elsewhere = "another service of this store matches events"
    words = {
        "starting": "Spark is starting",
        "running": "Spark is running: events are matched from now on",
        "waiting": f"{elsewhere}; this one takes its place when it ends"
        if service.log.shared is not None
        else f"{elsewhere}, and does not see this one's: several services need one log (--log kafka://host:port/topic)",
    }
    while True:
        status = service.supervisor.status()
        if status.state == "running" != told:
            # Not before: while Spark starts it needs every core.
            await service.examiners.warm()
            _set_apart()
        if status.state != told and status.state in words:
            announce(words[status.state])
            told = status.state
        await asyncio.sleep(_POLL)


def _set_apart() -> None:
    """Freezes loaded objects out of the garbage collector: going over all of them would delay every request by .3 s."""
    gc.collect()
    gc.freeze()


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
