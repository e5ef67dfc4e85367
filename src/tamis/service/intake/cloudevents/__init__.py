"""CloudEvents 1.0 over HTTP: read in structured, batched and binary mode, and written in structured mode again.

Within the service an event is one JSON object, its *body*: the context attributes are in `ce`, and the data's members
stand beside them, so that filters reach both.
"""

from tamis.service.intake.cloudevents.binary import (
    CloudEventError,
    read_batch,
    read_binary,
    read_structured,
    to_structured,
)

__all__ = ["CloudEventError", "read_batch", "read_binary", "read_structured", "to_structured"]
