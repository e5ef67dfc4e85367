"""The figures of P3 that need a network."""

from experiments.p3 import (
    figure_6,
    figure_7,
    figure_9,
    figure_11,
    figure_12,
    figure_17,
    figure_18,
    figure_19,
    figure_20,
    networks,
    table_3,
)

FIGURES = tuple(
    module.FIGURE
    for module in (
        figure_6, figure_7, figure_9, figure_11, figure_12, figure_17, figure_18, figure_19, figure_20, table_3, networks,
    )
)  # fmt: skip
