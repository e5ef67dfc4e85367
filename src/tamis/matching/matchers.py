"""All matchers, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tamis.matching.columnar.index import ColumnarMatcher
from tamis.matching.le_subscribe.equality_preferred import EqualityPreferredMatcher
from tamis.matching.le_subscribe.fair_predicate import FairPredicateMatcher
from tamis.matching.le_subscribe.gough.matcher import GoughMatcher
from tamis.matching.le_subscribe.hanson.matcher import HansonMatcher
from tamis.matching.le_subscribe.neon.matcher import NeonMatcher
from tamis.matching.le_subscribe.quarantine import QuarantineMatcher
from tamis.matching.le_subscribe.scan import ScanMatcher
from tamis.matching.mbd.matcher import MbdMatcher
from tamis.matching.naive import NaiveMatcher
from tamis.matching.tree.matcher import TreeMatcher

MATCHERS: Final[Mapping[str, type[Any]]] = {
    matcher.name: matcher
    for matcher in (
        ColumnarMatcher,
        NaiveMatcher,
        FairPredicateMatcher,
        EqualityPreferredMatcher,
        QuarantineMatcher,
        HansonMatcher,
        NeonMatcher,
        GoughMatcher,
        ScanMatcher,
        TreeMatcher,
        MbdMatcher,
    )
}
AUTO: Final = "auto"
CHOSEN: Final = "columnar"
"""What `auto` comes to, whatever the subscriptions are: docs/bench.md has the measurements that say so."""
