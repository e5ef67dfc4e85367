"""`tamis serve`: runs the whole service."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer

from tamis.cli.base.options import (
    CommandError,
    MatcherOption,
    MatcherOptionsOption,
    OperatorsOption,
    ScheduleOption,
    matcher_options,
    separate,
)
from tamis.cli.base.terminal import remark, warn

_LOCAL_NAMES = ("localhost", "ip6-localhost")


class Who(StrEnum):
    """Callers allowed: anyone, or holders of keys."""

    anyone = "anyone"
    keys = "keys"


class Unknown(StrEnum):
    """Treatment of attributes that the schema does not have: refuse or ignore."""

    refuse = "refuse"
    ignore = "ignore"


def serve(
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="FOLDER", help="State folder.", show_default="tamis-state"),
    ] = None,
    schema: Annotated[
        Path | None,
        typer.Option(
            "--schema",
            "-s",
            metavar="FILE",
            help="The schema, in YAML, for the first start; later ones may extend it. Without it: events of any form, "
            "and filters over CloudEvents' attributes.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="Address to listen at.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", "-p", min=0, max=65_535, help="Port to listen at; 0: any free one.", show_default="8080"
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", metavar="URL", help="postgresql+psycopg://... instead of the SQLite file.", show_default=False
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option("--log", metavar="URL", help="kafka://host:port/topic instead of the spool.", show_default=False),
    ] = None,
    spark: Annotated[
        str | None,
        typer.Option("--spark", metavar="URL", help="spark://... or local\\[2] instead of all local cores."),
    ] = None,
    matcher: MatcherOption = None,
    option: MatcherOptionsOption = None,
    operators: OperatorsOption = None,
    schedule: ScheduleOption = None,
    unknown_attributes: Annotated[
        Unknown | None,
        typer.Option(
            "--unknown-attributes",
            help="Events with attributes that are not in the schema: refuse them, or ignore those "
            "attributes and name them in the answer.",
            show_default="refuse",
        ),
    ] = None,
    publish: Annotated[
        Who | None, typer.Option("--publish", help="Callers who may publish.", show_default="anyone")
    ] = None,
    subscribe: Annotated[
        Who | None, typer.Option("--subscribe", help="Callers who may subscribe.", show_default="anyone")
    ] = None,
    allow_private: Annotated[
        bool,
        typer.Option("--allow-private", help="Let webhooks go to private and local addresses.", show_default=False),
    ] = False,
    broker_listen: Annotated[
        str | None,
        typer.Option(
            "--broker-listen",
            metavar="HOST:PORT",
            help="Address for other services and brokers to connect to.",
            show_default=False,
        ),
    ] = None,
    links: Annotated[
        list[str] | None,
        typer.Option(
            "--link",
            metavar="HOST:PORT",
            help="A service's --broker-listen, or a broker, to link to. May be given several times.",
            show_default=False,
        ),
    ] = None,
    token: Annotated[
        Path | None,
        typer.Option(
            "--token-file", metavar="FILE", help="Shared token of linked services and brokers.", show_default=False
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option("--settings", metavar="FILE", help="More settings, in YAML.", show_default=False),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every request.", show_default=False)] = False,
) -> None:
    """Serve subscriptions over HTTP, with a console in the browser.

    All state is kept in one folder, and a server restarted over it continues where it was. Settings may also come from
    the environment: TAMIS_PORT, TAMIS_STORE_URL, TAMIS_LIMITS_BODY_BYTES and so on.

    \b
    [bold]Examples[/bold]
      tamis serve --schema auctions.yaml
      tamis serve --port 9000 --publish keys --subscribe keys
      tamis serve --schema city.yaml --operators loc_in,mob_pattern
      tamis serve --schema auctions.yaml --matcher tree --schedule sub-order
      tamis serve --schema auctions.yaml --broker-listen 127.0.0.1:7070
      tamis serve --schema auctions.yaml --port 8081 --state other --link 127.0.0.1:7070
      TAMIS_STORE_URL=postgresql+psycopg://tamis@db/tamis tamis serve --log kafka://broker:9092/events

    \b
    [bold]Exit codes[/bold]
      0  stopped by Ctrl-C or SIGTERM
      2  could not start
    """
    try:
        from tamis.service.base.configuration import read_settings
        from tamis.service.serve import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tamis":
            raise
        raise CommandError(f"the service needs {error.name}: pip install 'tamis[service]'") from error
    given = read_settings(
        {
            "state": state,
            "schema_path": schema,
            "host": host,
            "port": port,
            "store_url": store,
            "log_url": log,
            "spark_master": spark,
            "matcher": matcher,
            "matcher_options": matcher_options(option) or None,
            "operators": separate(operators) or None,
            "schedule": schedule,
            "unknown_attributes": None if unknown_attributes is None else unknown_attributes.value,
            "access.publish": None if publish is None else publish.value,
            "access.subscribe": None if subscribe is None else subscribe.value,
            "delivery.allow_private": True if allow_private else None,
            "broker.listen": broker_listen,
            "broker.links": tuple(links) if links else None,
            "broker.token_file": token,
        },
        settings,
    )
    _log_to_standard_error(verbose)
    if not _is_local(given.host) and "anyone" in (given.access.publish, given.access.subscribe):
        warn(f"anyone who reaches {given.host} may use this server; --publish keys and --subscribe keys ask for keys")
    run(given, remark)


def _log_to_standard_error(verbose: bool) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    if verbose:
        logging.getLogger("tamis").setLevel(logging.INFO)
    else:
        # Of brokers that are away it says so at every attempt, some thirty times a second; Tamis says it once.
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL_NAMES
