"""Distances on the earth's ellipsoid (WGS 84), many at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tamis.arrays import Floats
from tamis.operators.library.offering import extra

with extra("spatial"):
    from geographiclib.geodesic import Geodesic

Degrees = Floats | float

_EARTH = Geodesic.WGS84
_AXIS, _FLATTENING = float(_EARTH.a), float(_EARTH.f)
_POLAR_AXIS = _AXIS * (1 - _FLATTENING)
_MOST_STEPS = 12
# In radians: a tenth of a micrometre on the ground.
_CLOSE_ENOUGH = 1e-14


def distances(longitudes: Degrees, latitudes: Degrees, to_longitudes: Degrees, to_latitudes: Degrees) -> Floats:
    """Metres along the ground from each point to its other, all in degrees; right to a tenth of a millimetre.

    Vincenty's iteration (1975) on whole columns: a hundred times faster than GeographicLib's Python, which takes over
    for the pairs, almost at each other's antipodes, on which the iteration does not settle.
    """
    arguments = np.broadcast_arrays(longitudes, latitudes, to_longitudes, to_latitudes)
    metres, settled = _vincenty(*(np.asarray(each, np.float64) for each in arguments))
    for row in np.flatnonzero(~settled).tolist():
        longitude, latitude, to_longitude, to_latitude = (float(each[row]) for each in arguments)
        metres[row] = _EARTH.Inverse(latitude, longitude, to_latitude, to_longitude, Geodesic.DISTANCE)["s12"]
    return metres


def _vincenty(
    longitudes: Floats, latitudes: Floats, to_longitudes: Floats, to_latitudes: Floats
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Metres, and whether the iteration settled: names as in Vincenty's paper, of auxiliary sphere and all."""
    f = _FLATTENING
    u1, u2 = (np.arctan((1 - f) * np.tan(np.radians(each))) for each in (latitudes, to_latitudes))
    sin_u1, cos_u1, sin_u2, cos_u2 = np.sin(u1), np.cos(u1), np.sin(u2), np.cos(u2)
    # The short way round: differences beyond 180 degrees turn back.
    apart = np.radians((to_longitudes - longitudes + 180) % 360 - 180)
    lam = apart
    with np.errstate(invalid="ignore", divide="ignore"):
        for _ in range(_MOST_STEPS):
            sin_sigma = np.hypot(cos_u2 * np.sin(lam), cos_u1 * sin_u2 - sin_u1 * cos_u2 * np.cos(lam))
            cos_sigma = sin_u1 * sin_u2 + cos_u1 * cos_u2 * np.cos(lam)
            sigma = np.arctan2(sin_sigma, cos_sigma)
            sin_alpha = np.where(sin_sigma == 0, 0, cos_u1 * cos_u2 * np.sin(lam) / sin_sigma)
            cos_2alpha = 1 - sin_alpha**2
            # Along the equator there is no turning point, and its term falls away.
            cos_2sigma_m = np.where(cos_2alpha < 1e-15, 0, cos_sigma - 2 * sin_u1 * sin_u2 / cos_2alpha)
            c = f / 16 * cos_2alpha * (4 + f * (4 - 3 * cos_2alpha))
            inner = cos_2sigma_m + c * cos_sigma * (2 * cos_2sigma_m**2 - 1)
            before, lam = lam, apart + (1 - c) * f * sin_alpha * (sigma + c * sin_sigma * inner)
            settled = np.abs(lam - before) < _CLOSE_ENOUGH
            if settled.all():
                break
    u_squared = cos_2alpha * (_AXIS**2 / _POLAR_AXIS**2 - 1)
    a = 1 + u_squared / 16384 * (4096 + u_squared * (u_squared * (320 - 175 * u_squared) - 768))
    b = u_squared / 1024 * (256 + u_squared * (u_squared * (74 - 47 * u_squared) - 128))
    squared = cos_2sigma_m**2
    last = b / 6 * cos_2sigma_m * (4 * sin_sigma**2 - 3) * (4 * squared - 3)
    correction = b * sin_sigma * (cos_2sigma_m + b / 4 * (cos_sigma * (2 * squared - 1) - last))
    return np.asarray(_POLAR_AXIS * a * (sigma - correction)), settled & (np.abs(lam) <= np.pi)
