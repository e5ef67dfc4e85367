"""Settings of a server: one frozen tree, merged from a file, the environment and options.

Later ones win: defaults, then the YAML file, then `TAMIS_…` variables, then the command line. A nested setting such as
`limits.body_bytes` is the variable `TAMIS_LIMITS_BODY_BYTES`; mappings and lists are YAML there too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from tamis.errors import SchemaError, TamisError, shown
from tamis.language import Limits
from tamis.schema.form import read_yaml
from tamis.yaml_loading import load

Who = Literal["anyone", "keys"]
Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
Duration = Annotated[timedelta, Field(gt=timedelta(0))]


def _separated(given: object) -> object:
    """Splits comma-separated names."""
    return [name for part in given.split(",") if (name := part.strip())] if isinstance(given, str) else given


Names = Annotated[tuple[str, ...], BeforeValidator(_separated)]

_STRICT: Final = ConfigDict(extra="forbid")
_PREFIX: Final = "TAMIS"
# Settings with several values. A variable gives them in the file's form.
_LISTS: Final = frozenset([("spark_config",), ("trusted_proxies",), ("matcher_options",)])


class ConfigurationError(TamisError):
    """Unknown setting, or a setting with an invalid value."""


@dataclass(frozen=True, slots=True, config=_STRICT)
class AccessSettings:
    """Access to publishing and subscribing; administration always needs a key."""

    publish: Who = "anyone"
    subscribe: Who = "anyone"


@dataclass(frozen=True, slots=True, config=_STRICT)
class LimitSettings:
    """Limits for callers. A request over a limit gets a 4xx response that names the limit."""

    body_bytes: Positive = 16 << 20
    """Bytes in the body of a request."""
    body_seconds: Seconds = 30.0
    """Seconds that a body may stand still, and take on the whole unless it comes at `body_rate`."""
    body_rate: Positive = 500
    """Bytes a second that make a body worth waiting for longer."""
    body_longest: Seconds = 600.0
    """Seconds after which no body is waited for any more, however it comes."""
    events: Positive = 20_000
    """Events in one publish."""
    event_bytes: Positive = 1 << 20
    """Bytes in one event, as JSON text."""
    requests_per_second: Seconds = 2_000.0
    """Requests a second, per key, or per address for those without a key."""
    request_burst: Positive = 4_000
    """Requests that may come at once before the rate counts."""
    concurrent_bytes: Positive = 256 << 20
    """Bytes of bodies in memory at once, over all requests."""
    caller_bytes: Positive = 64 << 20
    """Of these, per key, or per address for those without a key; at least one body."""
    subscriptions_per_key: Positive = 2_000_000
    """Subscriptions that one key may have at a time; those without a key share one such allowance."""
    listeners: Positive = 10_000
    """Readers by server-sent events or WebSocket at a time."""
    listeners_per_second: Seconds = 25.0
    """Streams and sockets that may be opened a second, per key, or per address for those without a key."""
    listener_burst: Positive = 100
    """Streams and sockets that may be opened at once before their rate counts."""
    examiners: Positive = 3
    """Processes at a time that explain filters, test subscriptions and try filters on recent events."""
    examine_seconds: Seconds = 5.0
    """Seconds that one of those may take, without what it has to load first; with operators a minute."""
    examined_bytes: Positive = 256 << 10
    """Bytes of an event that a filter is explained or tested on, as JSON text."""
    filter_text: Positive = 20_000
    """Characters in a filter."""
    filter_depth: Positive = 40
    filter_terms: Positive = 2_000
    filter_conjuncts: Positive = 500
    filter_literals: Positive = 5_000
    owner_seconds: Seconds = 5.0
    """Seconds of matching that slow conditions of one owner's subscriptions may take within a minute while others wait;
    past that the most expensive ones are suspended."""
    content_rows: Positive = 10_000
    """Rows in the content of a join; one that has more is paused."""
    content_bytes: Positive = 16 << 20
    """Bytes in the content of a join, as JSON text."""
    pattern: Positive = 1_000
    """Characters in a LIKE or RLIKE pattern."""
    pattern_wildcards: Positive = 500
    """`_` and `%` inside a LIKE pattern; at either end they are free."""
    pattern_memory: Positive = 64 << 10
    """Bytes that one RLIKE pattern may take compiled: what counts is how much it repeats."""
    filter_wildcards: Positive = 2_000
    """`_` and `%` inside the LIKE patterns of a filter."""

    @property
    def filter(self) -> Limits:
        """Limits of a filter, as the language takes them."""
        return Limits(
            text=self.filter_text,
            depth=self.filter_depth,
            terms=self.filter_terms,
            conjuncts=self.filter_conjuncts,
            literals=self.filter_literals,
            pattern=self.pattern,
            pattern_memory=self.pattern_memory,
            wildcards=self.pattern_wildcards,
            wildcards_in_all=self.filter_wildcards,
        )


@dataclass(frozen=True, slots=True, config=_STRICT)
class DeliverySettings:
    """Settings of delivery: retries, circuit breakers, and when a notification is given up."""

    attempts: Positive = 12
    """Attempts at one notification before it becomes a dead letter."""
    first_delay: Seconds = 1.0
    """Seconds before the second attempt; it doubles from then on."""
    longest_delay: Seconds = 3_600.0
    connect_timeout: Seconds = 5.0
    timeout: Seconds = 15.0
    """Seconds an endpoint has to answer."""
    breaker_failures: Positive = 5
    """Failures in a row that open an endpoint's breaker."""
    breaker_seconds: Seconds = 30.0
    """Seconds before an open breaker lets one attempt through."""
    concurrency: Positive = 256
    """Webhook calls under way at a time."""
    parallel: Positive = 64
    """Calls under way at a time that one webhook subscription may ask for."""
    batch: Positive = 100
    """Notifications in one call that a webhook subscription may ask for."""
    call_bytes: Positive = 1 << 20
    """Bytes of notifications that go together in one call, if there are more than one."""
    queue: Positive = 1_000
    """Notifications waiting for one live reader; one that falls behind reads from the store instead."""
    heartbeat: Seconds = 15.0
    """Seconds of silence after which a live reader is sent a sign of life."""
    allow_private: bool = False
    """Whether webhooks may go to private, loopback and link-local addresses."""
    kafka: str | None = None
    """The Kafka that subscriptions with delivery to a topic are served by, as `host:port` or in the form of `log_url`;
    None: there is none."""


@dataclass(frozen=True, slots=True, config=_STRICT)
class RetentionSettings:
    """Retention periods of notifications, events and dead letters."""

    notifications: Duration = timedelta(days=7)
    spool: Duration = timedelta(days=7)


@dataclass(frozen=True, slots=True, config=_STRICT)
class BrokerSettings:
    """Network of brokers that the server is part of: none, unless it listens for neighbours or calls some."""

    listen: str = ""
    """Where neighbours call, as `host:port`; empty: nobody calls."""
    links: Names = ()
    """Neighbours to call, as `host:port`."""
    name: str | None = None
    """The server's own in the network; None: drawn at the first start."""
    policy: Literal["simple", "covering", "merging"] = "covering"
    """How much of what is subscribed to here neighbours are told."""
    imt: Annotated[float, Field(ge=0, le=1)] = 0.0
    """With merging: the share of events that a merger may carry in vain."""
    forget: Names = ()
    """Neighbours that will not come back."""
    token_file: Path | None = None
    """What neighbours show each other. Needed where others than programs of this machine reach `listen`."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_ca: Path | None = None
    """Who must have signed neighbours' certificates."""
    queue_events: Positive = 1_000_000
    """Events that may wait for one neighbour."""
    queue_bytes: Positive = 256 << 20
    overflow: Literal["block", "drop"] = "block"
    """Past that: nothing more goes out to the network until there is room, or the oldest become dead letters."""

    @property
    def wanted(self) -> bool:
        return bool(self.listen or self.links)


@dataclass(frozen=True, slots=True, config=_STRICT)
class Settings:
    """All settings of a server. Frozen; sent to the pipeline process as JSON (`to_json`, `from_json`)."""

    state: Path = Path("tamis-state")
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    store_url: str = ""
    """Where subscriptions and notifications are kept; empty: `store.sqlite` in the state folder."""
    matches_folder: str = ""
    """Where matches are kept: a folder that all services of the store see; empty: `matches/` in the state folder, and
    with PostgreSQL in its rows."""
    log_url: str = ""
    """Where published events go; empty: `spool/` in the state folder."""
    spark_master: str | None = None
    """None: all local cores."""
    spark_config: Mapping[str, str] = field(default_factory=dict)
    """More for Spark: `spark.jars.packages` with another connector for Kafka, `spark.driver.memory`, ..."""
    standby: Literal["warm", "cold"] = "warm"
    """While another service matches: have Spark started and idle, to take over at once, or start it only then."""
    schema_path: Path | None = None
    """The schema in YAML, for the first start; from then on the store has it."""
    matcher: str = "columnar"
    """The algorithm that finds the subscriptions of an event: one of `tamis.MATCHERS`, or `auto`, the fastest."""
    matcher_options: Mapping[str, Any] = field(default_factory=dict)
    """The matcher's own options, if it has any, by name."""
    schedule: str = "adaptive"
    """The order in which operators are called: one of `tamis.operators.schedules.SCHEDULES`."""
    operators: Names = ()
    """The operators that filters may call: names of those that installed packages offer, or `module:name`."""
    missing_operators: Literal["refuse", "ignore"] = "refuse"
    """What to do at the start if subscriptions call an operator that is not offered: not start, or let them wait."""
    unknown_attributes: Literal["refuse", "ignore"] = "refuse"
    """What becomes of an event with attributes that the schema does not have: it is refused, or they are ignored. What
    CloudEvents have besides their data is no such attribute, and where there is no schema, nothing is."""
    default_validity: Duration | Literal["forever"] = "forever"
    """How long a subscription is valid that does not say; `forever`: until it is cancelled, or `max_validity`."""
    max_validity: Duration | Literal["forever"] = "forever"
    trusted_proxies: tuple[str, ...] = ()
    """Addresses whose X-Forwarded-For is believed."""
    access: AccessSettings = AccessSettings()
    limits: LimitSettings = LimitSettings()
    delivery: DeliverySettings = DeliverySettings()
    retention: RetentionSettings = RetentionSettings()
    broker: BrokerSettings = BrokerSettings()

    def __post_init__(self) -> None:
        default, most = self.default_validity, self.max_validity
        if isinstance(default, timedelta) and isinstance(most, timedelta) and default > most:
            raise ValueError("default_validity is longer than max_validity")

    @property
    def validity(self) -> timedelta | None:
        """Default validity of a subscription; None: until it is cancelled."""
        asked = self.max_validity if self.default_validity == "forever" else self.default_validity
        return asked if isinstance(asked, timedelta) else None

    @property
    def store(self) -> str:
        """URL of the store, the embedded one included."""
        return self.store_url or f"sqlite:///{self.state.absolute() / 'store.sqlite'}"

    @property
    def matches(self) -> Path | None:
        """The folder of the match log; None: where the store has it by itself."""
        return Path(self.matches_folder).absolute() if self.matches_folder else None

    @property
    def log(self) -> str:
        """URL of the event log, the embedded one included."""
        return self.log_url or f"spool://{self.state.absolute() / 'spool'}"

    def to_json(self) -> str:
        """Settings as one line of JSON, secrets in URLs included: for the pipeline process only."""
        return _SETTINGS.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Settings that `to_json` wrote."""
        return _SETTINGS.validate_json(text)


_SETTINGS: Final = TypeAdapter(Settings)


def read_settings(
    options: Mapping[str, object], file: Path | None = None, environment: Mapping[str, str] = os.environ
) -> Settings:
    """Settings from a file, the environment and options (by field name; None: not given)."""
    given = _from_file(file) if file is not None else {}
    _require_known(environment)
    for path in _setting_paths(Settings):
        text = environment.get("_".join((_PREFIX, *path)).upper())
        if text is not None:
            _put(given, path, _listed(path, text) if path in _LISTS else text)
    for name, value in options.items():
        if value is not None:
            _put(given, tuple(name.split(".")), value)
    try:
        return _SETTINGS.validate_python(given)
    except ValidationError as error:
        raise ConfigurationError("; ".join(_shown(dict(one)) for one in error.errors()[:5])) from None


def _from_file(file: Path) -> dict[str, Any]:
    try:
        read = read_yaml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"cannot read the settings in {file}: {error.strerror}") from error
    except (UnicodeDecodeError, SchemaError) as error:
        raise ConfigurationError(f"cannot read the settings in {file}: {error}") from error
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise ConfigurationError(f"{file}: settings are a mapping from names to values")
    return read


def _require_known(environment: Mapping[str, str]) -> None:
    """Refuses a misspelt environment variable, which would otherwise be ignored silently."""
    known = {"_".join((_PREFIX, *path)).upper() for path in _setting_paths(Settings)}
    for name in environment:
        if name.startswith(f"{_PREFIX}_") and name not in known and (close := get_close_matches(name, known, 1, 0.9)):
            raise ConfigurationError(f"there is no setting {name}; did you mean {close[0]}?")


def _setting_paths(cls: type[Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Path of every setting."""
    for one in fields(cls):
        nested = type(one.default)
        if is_dataclass(nested):
            yield from _setting_paths(nested, (*above, one.name))
        else:
            yield (*above, one.name)


def _listed(path: tuple[str, ...], text: str) -> object:
    try:
        return load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{'.'.join(path)}: {shown(text)} is no YAML: {error}") from error


def _put(given: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for name in path[:-1]:
        inner = given.setdefault(name, {})
        if not isinstance(inner, dict):
            raise ConfigurationError(f"the setting {name} is a mapping, not {shown(inner)}")
        given = inner
    given[path[-1]] = value


def _shown(error: Mapping[str, Any]) -> str:
    place = ".".join(map(str, error["loc"])) or "settings"
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        known = {".".join(path[:depth]) for path in _setting_paths(Settings) for depth in range(1, len(path) + 1)}
        close = get_close_matches(place, known, 1)
        return f"there is no setting {place}" + (f"; did you mean {close[0]}?" if close else "")
    return f"{place}: {error['msg']}, not {shown(error['input'])}" if error["loc"] else str(error["msg"])
