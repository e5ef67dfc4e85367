"""Operators on places: `loc_in`, `loc_within`, `distance_from`, over a sample of New York or places of your own.

With the extra `spatial`: shapely for regions, GeographicLib and Vincenty's formula for distances along the ground.
"""

from tamis.operators.library.spatial.gazetteer import SAMPLE, Spatial, spatial

__all__ = ["SAMPLE", "Spatial", "distance_from", "loc_in", "loc_within", "spatial"]

loc_in, loc_within, distance_from = spatial()
