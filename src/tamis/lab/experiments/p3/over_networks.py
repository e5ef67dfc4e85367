"""List of the figures of P3 that need a simulated network."""

from tamis.lab.experiments.p3.figure_6 import FIGURE as FIGURE_6
from tamis.lab.experiments.p3.figure_7 import FIGURE as FIGURE_7
from tamis.lab.experiments.p3.figure_9 import FIGURE as FIGURE_9
from tamis.lab.experiments.p3.figure_10_network import FIGURE as FIGURE_10
from tamis.lab.experiments.p3.figure_11 import FIGURE as FIGURE_11
from tamis.lab.experiments.p3.figure_12 import FIGURE as FIGURE_12
from tamis.lab.experiments.p3.figure_13 import FIGURE as FIGURE_13
from tamis.lab.experiments.p3.figure_14 import FIGURE as FIGURE_14
from tamis.lab.experiments.p3.figure_17 import FIGURE as FIGURE_17
from tamis.lab.experiments.p3.figure_18 import FIGURE as FIGURE_18
from tamis.lab.experiments.p3.figure_19 import FIGURE as FIGURE_19
from tamis.lab.experiments.p3.figure_20 import FIGURE as FIGURE_20
from tamis.lab.experiments.p3.networks import FIGURE as NETWORKS
from tamis.lab.experiments.p3.table_3 import FIGURE as TABLE_3

FIGURES = (
    FIGURE_6,
    FIGURE_7,
    FIGURE_9,
    FIGURE_10,
    FIGURE_11,
    FIGURE_12,
    FIGURE_13,
    FIGURE_14,
    FIGURE_17,
    FIGURE_18,
    FIGURE_19,
    FIGURE_20,
    TABLE_3,
    NETWORKS,
)
