"""Where kernels write what is to be sent."""

from tamis.joins.sending.outbox import Outbox

__all__ = ["Outbox"]
