"""P2: Fabret, Llirbat, Pereira, Shasha: Efficient Matching for Content-based Publish/Subscribe Systems."""

from tamis.lab.experiments.p2 import adding, figure_9, figure_10, figure_11
from tamis.lab.measuring import Paper

P2 = Paper(
    "p2",
    "the algorithms of Le Subscribe (Fabret et al.)",
    (figure_9.FIGURE, figure_10.FIGURE, figure_11.FIGURE, adding.FIGURE),
)
