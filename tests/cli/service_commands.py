"""The commands that work on a service's store, as a small `tamis` of their own."""

from __future__ import annotations

import typer

from tamis.cli.base.options import Commands
from tamis.cli.keys import keys
from tamis.cli.subscriptions_import import subscriptions_import

app = typer.Typer(cls=Commands, rich_markup_mode="rich", pretty_exceptions_enable=False)
app.command("import")(subscriptions_import)
app.add_typer(keys)
