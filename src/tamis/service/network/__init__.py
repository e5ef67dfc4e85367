"""A service as part of a network of brokers: its events go out, what others publish and it subscribes to comes in."""

from tamis.service.network.bridge import Bridge, open_bridge

__all__ = ["Bridge", "open_bridge"]
