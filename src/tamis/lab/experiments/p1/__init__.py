"""P1: Aguilera, Strom, Sturman, Astley, Chandra: Matching Events in a Content-based Subscription System, PODC 1999."""

from tamis.lab.experiments.p1 import cost, optimisations, space, time
from tamis.lab.measuring import Paper

P1 = Paper(
    "p1",
    "the matching tree of Gryphon (Aguilera et al., PODC 1999)",
    (cost.FIGURE, space.FIGURE, optimisations.FIGURE, time.FIGURE),
)
