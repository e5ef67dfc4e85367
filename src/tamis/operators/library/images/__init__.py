"""Operators on an event's picture: people, by OpenCV's detector, and vehicles and traffic, by colour, on drawn scenes.

With the extra `images`: OpenCV.
"""

from tamis.operators.library.images.detectors import Livery, PeopleDetector, VehicleDetector
from tamis.operators.library.images.operators import Images, images

__all__ = [
    "Images",
    "Livery",
    "PeopleDetector",
    "VehicleDetector",
    "chase_pattern",
    "coast_guard_boat_count",
    "images",
    "mob_pattern",
    "pedestrian_count",
    "police_car_count",
    "tour_boat_count",
    "traffic_pattern",
    "vehicle_count",
]

(
    mob_pattern,
    pedestrian_count,
    chase_pattern,
    traffic_pattern,
    vehicle_count,
    police_car_count,
    tour_boat_count,
    coast_guard_boat_count,
) = images()
