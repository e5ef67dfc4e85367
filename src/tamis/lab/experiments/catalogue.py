"""Which papers and figures there are, by name."""

from __future__ import annotations

from collections.abc import Sequence

from tamis.errors import TamisError
from tamis.lab.experiments.p0 import P0
from tamis.lab.experiments.p1 import P1
from tamis.lab.experiments.p2 import P2
from tamis.lab.experiments.p3 import P3
from tamis.lab.experiments.p4 import P4
from tamis.lab.measuring.figure import Figure, Paper

PAPERS: Sequence[Paper] = (P0, P1, P2, P3, P4)
FIGURES: dict[str, Figure] = {figure.name: figure for paper in PAPERS for figure in paper.figures}


def chosen(names: Sequence[str]) -> list[Figure]:
    """The figures of these names, `p2/figure-9`, or of these papers, `p2`; all of them if none is named."""
    found: dict[str, Figure] = {}
    for name in names or [paper.name for paper in PAPERS]:
        some = {key: figure for key, figure in FIGURES.items() if name in (key, key.partition("/")[0])}
        if not some:
            papers = ", ".join(paper.name for paper in PAPERS)
            raise TamisError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}, and the papers {papers}")
        found |= some
    return list(found.values())
