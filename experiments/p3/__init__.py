"""P3: Chandramouli, Yang: End-to-End Support for Joins in Large-Scale Publish/Subscribe Systems, VLDB 2008."""

from experiments.figure import Paper
from experiments.p3 import figure_5, figure_8, messages, over_networks, table_4

P3 = Paper(
    "p3",
    "select-joins over content-driven networks (Chandramouli & Yang, VLDB 2008)",
    (figure_5.FIGURE, figure_8.FIGURE, messages.FIGURE, table_4.FIGURE, *over_networks.FIGURES),
)
