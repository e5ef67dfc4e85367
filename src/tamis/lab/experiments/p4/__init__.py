"""P4: Li, Hou, Jacobsen: A Unified Approach to Routing, Covering and Merging in Publish/Subscribe Systems Based on
Modified Binary Decision Diagrams, ICDCS 2005."""

from tamis.lab.experiments.p4 import figure_12, figure_13, figure_14, figure_15, longer, table_2
from tamis.lab.measuring import Paper

P4 = Paper(
    "p4",
    "PADRES: routing, covering and merging by modified decision diagrams (Li, Hou and Jacobsen, ICDCS 2005)",
    (figure_12.FIGURE, table_2.FIGURE, longer.FIGURE, figure_13.FIGURE, figure_14.FIGURE, figure_15.FIGURE),
)
