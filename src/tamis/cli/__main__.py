"""Entry point `python -m tamis.cli`, equal to `tamis`."""

from tamis.cli import main

main()
