"""What those who steer the cameras write down, and what they name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KINDS = {
    "EmergencyVehicle": frozenset(["Unit 42", "Engine 7", "Cutter 5"]),
    "PublicVehicle": frozenset(["Unit 42", "Engine 7"]),
    "Car": frozenset(["Unit 42", "Cab 19"]),
    "Boat": frozenset(["Lady Liberty", "Cutter 5"]),
}
"""Kinds, and who is one: by the kinds that the sample ontology states, and by its rules."""

OPERATORS = {
    "NYPD": frozenset(["Unit 42"]),
    "CityOfNewYork": frozenset(["Unit 42", "Engine 7"]),
    "CoastGuard": frozenset(["Cutter 5"]),
}
"""Who operates what, by the sample ontology and its rules."""

EMERGENCY = KINDS["EmergencyVehicle"]
_NAMES = ("Unit 42", "Engine 7", "Cab 19", "Lady Liberty", "Cutter 5", "Gull", "Nobody")

SETS = {
    "fire": ("Smoke over the roofs", "flames at the pier", "a car is burning"),
    "crowd": ("a crowd gathers", "Protest on the avenue", "they march north"),
    "weapons": ("shots fired near the bank", "man with a knife", "a gun was seen"),
}
"""Sets of keywords, and sentences with one of them."""

_OTHERS = ("All quiet", "Fog, turning back", "the gunnery museum opens", "two marchers rest", "firefly out of service")


@dataclass(frozen=True)
class Report:
    """A text, what it is about (names of sets), the number plate in it, and the things that were named beside it."""

    text: str
    subjects: frozenset[str]
    plate: str | None
    sighted: tuple[str, ...]


def write(rng: np.random.Generator) -> Report:
    subjects = {name for name in SETS if rng.random() < 0.25}
    sentences = [SETS[name][int(rng.integers(3))] for name in sorted(subjects)]
    sentences.append(_OTHERS[int(rng.integers(len(_OTHERS)))])
    plate = None
    if rng.random() < 0.3:
        plate = "".join(rng.choice(list("ABCDEFGHJK"), 3).tolist()) + f"-{int(rng.integers(10_000)):04d}"
        sentences.append(f"suspect in plate {plate}")
    order = rng.permutation(len(sentences)).tolist()
    names = rng.choice(_NAMES, int(rng.integers(0, 3)), replace=False).tolist()
    return Report(". ".join(sentences[number] for number in order), frozenset(subjects), plate, tuple(sorted(names)))
