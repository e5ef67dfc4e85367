"""`tamis broker`: runs a broker, and the clients of one: subscribe, publish, status."""

from __future__ import annotations

import typer

from tamis.cli.broker.clients import publish, status, subscribe
from tamis.cli.broker.run import run

__all__ = ["broker"]

broker = typer.Typer(name="broker", rich_markup_mode="rich", invoke_without_command=True)
broker.callback()(run)
for command in (subscribe, publish, status):
    broker.command()(command)
