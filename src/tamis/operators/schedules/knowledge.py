"""Beliefs about predicates' costs and selectivities: as declared, corrected by observations of the stream."""

from __future__ import annotations

import numpy as np

from tamis.arrays import Floats
from tamis.operators.schedules.running import Evidence

HALF_LIFE = 200.0  # events
LEAST, MOST = 0.0005, 0.9995  # nothing is held for certain
TRUST_MOST = 200.0  # declared selectivities count as many evaluations at most
TIMED = 4.0  # a declared cost counts as so many timed evaluations
FIRST_LOOK = 100.0  # evaluations that must disagree before what was declared is doubted as a whole


class Knowledge:
    """Selectivities and costs of predicates, from counts that fade: after `half_life` events a count weighs half.

    A selectivity is what was observed, together with what was declared. How far the declared ones are to be trusted is
    learned as well, over all predicates: they are shifted and stretched to what was observed (a straight line), and
    weigh as many evaluations as their remaining error deserves (the precision of a beta-binomial, by its moments). So
    declarations that are right keep the noise of counting out, wrong ones are soon forgotten, and what is wrong with
    the predicates that were seen corrects those that were not.
    """

    def __init__(self, selectivity: Floats, cost: Floats, half_life: float) -> None:
        self.declared, self.declared_cost = selectivity, cost
        self._half_life = half_life
        self._evaluated, self._held, self._timed, self._spent = (np.zeros(len(selectivity)) for _ in range(4))

    def add_predicate(self, cost: float, selectivity: float) -> None:
        self.declared, self.declared_cost = np.append(self.declared, selectivity), np.append(self.declared_cost, cost)
        self._evaluated, self._held, self._timed, self._spent = (
            np.append(counts, 0.0) for counts in (self._evaluated, self._held, self._timed, self._spent)
        )

    def learn(self, evidence: Evidence) -> None:
        fading = 0.5 ** (evidence.events / self._half_life)
        for counts, more in (
            (self._evaluated, evidence.evaluated),
            (self._held, evidence.held),
            (self._timed, evidence.timed),
            (self._spent, evidence.spent),
        ):
            counts *= fading
            counts[evidence.predicates] += more

    @property
    def evaluated(self) -> Floats:
        """Recent count of evaluations of each predicate."""
        return self._evaluated

    def selectivity(self) -> Floats:
        expected = self._corrected()
        trust = self._trust(expected)
        return np.clip((self._held + trust * expected) / (self._evaluated + trust), LEAST, MOST)

    def cost(self) -> Floats:
        return (self._spent + TIMED * self.declared_cost) / (self._timed + TIMED)

    def _corrected(self) -> Floats:
        """Declared selectivities on the line that fits the observed ones best."""
        weight = self._evaluated
        total = weight.sum()
        if total == 0:
            return np.clip(self.declared, LEAST, MOST)
        declared = float(weight @ self.declared) / total
        observed = float(self._held.sum() + FIRST_LOOK * declared) / (total + FIRST_LOOK)
        off = self.declared - declared
        spread = float(weight @ off**2)
        # As if FIRST_LOOK evaluations had lain on the line of slope 1.
        usual = spread / total * FIRST_LOOK
        together = float(off @ (self._held - weight * observed)) + usual
        slope = max(0.0, together / (spread + usual)) if spread > 0 else 1.0
        return np.clip(observed + slope * off, LEAST, MOST)

    def _trust(self, expected: Floats) -> float:
        """Weight of an expectation, as a count of evaluations."""
        seen = np.flatnonzero(self._evaluated > 1)
        if not len(seen):
            return TRUST_MOST
        count, chance = self._evaluated[seen], expected[seen]
        noise = chance * (1 - chance)
        beyond = float(((self._held[seen] - count * chance) ** 2 - count * noise).sum())
        scope = float((count * (count - 1) * noise).sum())
        return float(np.clip(scope / max(beyond, scope / (TRUST_MOST + 1)) - 1, 1.0, TRUST_MOST))
