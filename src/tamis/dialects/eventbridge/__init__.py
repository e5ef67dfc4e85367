"""Event patterns of Amazon EventBridge and event-ruler (also SNS, Pipes and Lambda filters of that form)."""

from tamis.dialects.eventbridge.converting import convert, loosened, needed

__all__ = ["convert", "loosened", "needed"]
