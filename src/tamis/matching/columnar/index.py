"""The engine that production uses."""

from __future__ import annotations

from typing import ClassVar

from tamis.matching.codes.levelled_matcher import LevelledMatcher
from tamis.matching.columnar.level import Level


class ColumnarMatcher(LevelledMatcher[Level]):
    """Levels whose conjunctions lie in buckets, found by keys of up to three columns and compared sixteen at a time."""

    name: ClassVar[str] = "columnar"
    level = Level
