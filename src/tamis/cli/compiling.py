"""A word when kernels are compiled, on the first use of an installation: a minute of silence looks like a fault."""

from __future__ import annotations

from typing import Any

from numba.core import event

from tamis.cli.terminal import err, remark


class _Word(event.Listener):
    """Says it once a process. Numba tells of a kernel only where it did not find it in its cache."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, _: Any) -> None:
        if not self._said:
            self._said = True
            remark("compiling for this machine, which is done once and takes up to a minute ...")

    def on_end(self, _: Any) -> None:
        """Nothing to say: results follow."""


def tell_of_compiling() -> None:
    """From here on, where somebody watches."""
    if err.is_terminal:
        event.register("numba:compile", _Word())
