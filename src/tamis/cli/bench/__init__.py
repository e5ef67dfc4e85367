"""`tamis bench`: benchmarks of matchers against each other."""

from tamis.cli.bench.command import bench

__all__ = ["bench"]
