"""`tamis demo`, in the order of its story: auction house, stream, measurements, screen, plot, folder of results."""

from tamis.cli.demo.command import demo

__all__ = ["demo"]
