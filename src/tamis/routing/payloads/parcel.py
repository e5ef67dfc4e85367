"""What travels between CN* nodes: a body, and payloads by content or by name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace


def payload_id(content: bytes) -> bytes:
    """The name of a payload: a hash of its content, so that equal contents have one name wherever they come from."""
    return hashlib.blake2b(content, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Carried:
    """One payload of a message (Chandramouli & Yang 2008, §5: ID, PayloadAttrs, Source).

    `content` is None where it goes by name only. `source` is the address of the last CN* node on the way that has a
    copy, or of whoever published it, who is bound to have one as long as the message is under way.
    """

    id: bytes
    content: bytes | None
    source: str

    @classmethod
    def of(cls, content: bytes, publisher: str) -> Carried:
        """A payload as its publisher sends it."""
        return cls(payload_id(content), content, publisher)


@dataclass(frozen=True, slots=True)
class Parcel:
    """A message: what networks read and forward by, and any number of payloads. Plain CN nodes pass it on as it is."""

    body: bytes
    payloads: tuple[Carried, ...] = ()
    publisher: str = ""

    @property
    def whole(self) -> bool:
        """Whether all payloads are there."""
        return all(carried.content is not None for carried in self.payloads)

    def with_payloads(self, payloads: tuple[Carried, ...]) -> Parcel:
        return replace(self, payloads=payloads)
