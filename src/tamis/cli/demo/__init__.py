"""`tamis demo`: a generated auction stream matched on Spark, measured, shown live, and plotted."""

from tamis.cli.demo.command import demo

__all__ = ["demo"]
