"""People in a picture, by the detector that OpenCV ships."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tamis.arrays import Int64s, UInt8s
from tamis.operators.library.offering import extra

with extra("images"):
    import cv2


_WINDOW = (64, 128)
_PADDING = (16, 16)
# Windows that share more of their area than this show the same person.
_MOST_OVERLAP = 0.35


@dataclass(frozen=True)
class PeopleDetector:
    """Histograms of oriented gradients and a linear classifier (Dalal and Triggs 2005), with OpenCV's weights.

    It knows upright people, seen whole and from about their own height, at least 100 pixels tall. `threshold`: how sure
    it must be (lower finds more, and more that are none); `growth`: the step from one size of people to the next;
    `stride`: the step in pixels from one place to the next.
    """

    threshold: float = 0.8
    growth: float = 1.05
    stride: int = 8

    def find(self, pixels: UInt8s) -> Int64s:
        """Everybody, the surest first. In a picture smaller than a window there is nobody."""
        height, width = pixels.shape[:2]
        if width < _WINDOW[0] or height < _WINDOW[1]:
            # OpenCV does not look whether the window fits, and crashes the process.
            return np.zeros((0, 4), np.int64)
        boxes, sureness = classifier().detectMultiScale(
            pixels,
            hitThreshold=self.threshold,
            winStride=(self.stride, self.stride),
            padding=_PADDING,
            scale=self.growth,
            groupThreshold=0,
        )
        if len(boxes) == 0:
            return np.zeros((0, 4), np.int64)
        # A window that is surer than those it overlaps stands for them; OpenCV's own grouping loses people in a crowd.
        kept = cv2.dnn.NMSBoxes(boxes.tolist(), np.ravel(sureness).tolist(), 0.0, _MOST_OVERLAP)
        return np.asarray(boxes, np.int64)[np.ravel(kept)]


def groups(boxes: Int64s) -> list[int]:
    """Sizes of groups, the largest first: each person is near another, by a window's height or so."""
    if len(boxes) == 0:
        return []
    middles = boxes[:, :2] + boxes[:, 2:] / 2
    apart = np.hypot(*(middles[:, None] - middles[None]).transpose(2, 0, 1))
    near = apart <= 1.1 * np.minimum(boxes[:, None, 3], boxes[None, :, 3])
    group = np.arange(len(boxes))
    while True:
        # The lowest number among those nearby spreads through a group.
        spread = np.where(near, group[None], len(boxes)).min(axis=1)
        if np.array_equal(spread, group):
            break
        group = spread
    return sorted(np.unique(group, return_counts=True)[1].tolist(), reverse=True)


@lru_cache(maxsize=1)
def classifier() -> Any:
    """OpenCV's, with the weights that it ships; one a process, which any number of threads may use."""
    descriptor = cv2.HOGDescriptor()
    descriptor.setSVMDetector(cv2.HOGDescriptor.getDefaultPeopleDetector())
    return descriptor
