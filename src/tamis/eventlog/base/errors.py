"""What can go wrong with a spool, told apart by what its user can do about it."""

from __future__ import annotations

from tamis.errors import PipelineError


class SpoolError(PipelineError):
    """A spool that cannot be used as asked: written by another process, or not the one that a checkpoint knows."""


class SpoolDamaged(SpoolError):  # noqa: N818 - reads as what happened
    """A file of the spool does not hold what was once made durable in it. `position` is the place in bytes."""

    def __init__(self, file: str, position: int, reason: str) -> None:
        super().__init__(file, position, reason)
        self.file = file
        self.position = position
        self.reason = reason

    def __str__(self) -> str:
        return f"the spool is damaged: {self.file}, byte {self.position}: {self.reason}; restore the file from a copy"


class NotAppended(PipelineError):  # noqa: N818 - reads as what happened
    """The log could not make these events durable, and kept none of them: they may be sent again later."""


class EventTooLarge(PipelineError):  # noqa: N818 - reads as what happened
    """An event that this log can never take. Nothing of its append was kept."""


class IdempotencyConflict(PipelineError):  # noqa: N818 - reads as what happened
    """The idempotency key was used for other events before."""
