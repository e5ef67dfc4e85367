"""Command-line interface `tamis`: one file per subcommand, and below them the code that they share.

A command's file declares its options and its help, and is light: what the command works with is imported where it
begins to work. So help, versions and mistyped options are answered at once, and no command waits for what only another
one needs. tests/cli/test_loading.py holds it. `base/` is what help needs, `work/` what is loaded when work begins.
"""

from __future__ import annotations

import sys

_INTERRUPTED = 130  # as shells have it: 128, and the number of SIGINT


def main() -> None:
    # Imports stand inside: there is no moment at which Ctrl-C shows where in them it came.
    try:
        from tamis.cli.base.terminal import tell_of_compiling
        from tamis.cli.commands import app

        tell_of_compiling()
        app()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
