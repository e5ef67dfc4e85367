"""`tamis bench`: matchers beside each other."""

from tamis.cli.bench.command import bench

__all__ = ["bench"]
