"""P3: Chandramouli, Yang: End-to-End Support for Joins in Large-Scale Publish/Subscribe Systems, VLDB 2008."""

from tamis.lab.experiments.p3 import (
    attributes,
    figure_5,
    figure_8,
    figure_10,
    messages,
    over_networks,
    payload_joins,
    table_4,
)
from tamis.lab.measuring import Paper

P3 = Paper(
    "p3",
    "select-joins over content-driven networks (Chandramouli & Yang, VLDB 2008)",
    (
        figure_5.FIGURE,
        figure_8.FIGURE,
        figure_10.FIGURE,
        messages.FIGURE,
        table_4.FIGURE,
        *over_networks.FIGURES,
        attributes.FIGURE,
        payload_joins.FIGURE,
    ),
)
