"""Event patterns of Amazon EventBridge and event-ruler (also SNS, Pipes and Lambda filters of that form)."""

from tamis.dialects.eventbridge.converting import convert
from tamis.dialects.eventbridge.needs import needed
from tamis.dialects.eventbridge.togetherness import loosened

__all__ = ["convert", "loosened", "needed"]
