"""The stabbing-set index: intervals in clusters, each of which has a point that all of its intervals hold."""

from tamis.joins.stabbing.index import StabbingIndex
from tamis.joins.stabbing.kernels import Stabbing

__all__ = ["Stabbing", "StabbingIndex"]
