"""Delivery: from what matched to whoever subscribed, by stream, socket, poll, webhook or topic."""

from tamis.service.delivery.delivery import Delivery

__all__ = ["Delivery"]
