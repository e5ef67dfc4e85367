"""P0: Liu, Parthasarathy, Ranganathan, Yang: Scalable Event Matching for Overlapping Subscriptions (DEBS 2007)."""

from tamis.lab.experiments.p0 import (
    costs,
    drift,
    figure_4,
    figure_5,
    figure_6,
    figure_7,
    figure_8,
    quoted,
    selectivities,
)
from tamis.lab.measuring import Paper

P0 = Paper(
    "p0",
    "schedules of expensive predicates (Liu et al., DEBS 2007)",
    (
        figure_4.FIGURE,
        figure_5.FIGURE,
        figure_6.FIGURE,
        figure_7.FIGURE,
        figure_8.FIGURE,
        quoted.FIGURE,
        selectivities.FIGURE,
        costs.FIGURE,
        drift.FIGURE,
    ),
)
