"""Delivery of notifications to subscribers: by poll, stream (SSE, WebSocket), webhook or Kafka topic."""

from tamis.service.delivery.delivery import Delivery

__all__ = ["Delivery"]
