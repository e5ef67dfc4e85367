"""`tamis version`: what is installed, in the form a bug report needs."""

from __future__ import annotations

import platform
import shutil
from importlib import metadata

import typer

from tamis.cli.base.terminal import out

_PARTS = ("pyarrow", "numba", "sqlglot", "pyspark")


def said(wanted: bool) -> None:
    """`tamis --version`: one line, and the end."""
    if wanted:
        out.print(f"tamis {metadata.version('tamis')}")
        raise typer.Exit


def version() -> None:
    """Say which versions of Tamis and its main parts are installed.

    [bold]Examples[/bold]

      tamis version
    """
    out.print(f"tamis {metadata.version('tamis')}")
    out.print(f"python {platform.python_version()}")
    for part in _PARTS:
        try:
            out.print(f"{part} {metadata.version(part)}")
        except metadata.PackageNotFoundError:
            out.print(f"{part} not installed")
    out.print(f"java {shutil.which('java') or 'not found'}")
