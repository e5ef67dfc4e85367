"""A word when kernels are compiled, on the first use of an installation: a minute of silence looks like a fault."""

from __future__ import annotations

from functools import cache

from tamis.cli.base.terminal import err, remark
from tamis.compiled import when_compiling


def tell_of_compiling() -> None:
    """From here on, where somebody watches."""
    if err.is_terminal:
        when_compiling(_tell)


@cache  # once a process
def _tell() -> None:
    remark("compiling for this machine, which is done once and takes up to a minute ...")
