"""The service's store, for commands that work on it directly, whether a server runs over it or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.cli.base.failures import CommandError
from tamis.cli.base.terminal import remark

if TYPE_CHECKING:
    from tamis.service.store import Store

StateOption = Annotated[
    Path | None,
    typer.Option("--state", metavar="FOLDER", help="The server's folder.", show_default="tamis-state"),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="The server's store, if it is not in its folder: postgresql+psycopg://user@host/database.",
        show_default=False,
    ),
]


@contextmanager
def opened_store(state: Path | None, url: str | None) -> Iterator[Store]:
    """The store that a server with these options and this environment would use."""
    try:
        from tamis.service.configuration import read_settings
        from tamis.service.store import Store
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "tamis":
            raise
        raise CommandError(f"the store needs {error.name}: pip install 'tamis[service]'") from error
    settings = read_settings({"state": state, "store_url": url})
    if not settings.store_url and not settings.state.exists():
        remark(f"{settings.state} is new: no server has kept its state there so far (--state names another folder)")
    store = Store.open(settings.store)
    try:
        yield store
    finally:
        store.close()
