"""How long something is asked to be valid: an ISO 8601 duration, seconds, or a moment."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from tamis.service.api.problems import Fault, Problem
from tamis.service.configuration import Settings

_PATTERN: Final = (
    r"^P(?=[0-9T])(?:([0-9]{1,4})W)?(?:([0-9]{1,5})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,6})H)?(?:([0-9]{1,8})M)?(?:([0-9]{1,10})S)?)?$"
)
# OpenAPI's patterns are JavaScript's and Rust's: without lookahead.
_SHOWN_PATTERN: Final = r"^P[0-9TWDHMS]{2,40}$"

IsoDuration = Annotated[str, StringConstraints(pattern=_SHOWN_PATTERN)]
Seconds = Annotated[int, Field(ge=1, le=10_000_000_000)]


class ValidityForm(BaseModel):
    """`validity` (`P1D`, `PT90M`, or seconds) or `expires`, not both; neither means the server's default."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"validity": "P7D"}]})

    validity: Seconds | IsoDuration | None = Field(None, description="How long from now", examples=["P1D", 3600])
    expires: AwareDatetime | None = Field(None, description="Until when", examples=["2030-01-01T00:00:00Z"])

    @model_validator(mode="after")
    def _one_of_them(self) -> ValidityForm:
        if self.validity is not None and self.expires is not None:
            raise ValueError("give validity or expires, not both")
        return self


def expiry(form: ValidityForm | None, settings: Settings) -> datetime:
    """The moment of expiry that is asked for; a `Problem` if it has passed or is too far away."""
    now = datetime.now(UTC)
    field = "validity"
    if form is not None and form.expires is not None:
        asked, field = form.expires - now, "expires"
    elif form is not None and form.validity is not None:
        asked = _duration(form.validity)
    else:
        asked = settings.default_validity
    if asked <= timedelta(0):
        raise _refused("that moment has passed; give one to come", field)
    if asked > settings.max_validity:
        raise _refused(f"at most {settings.max_validity} from now can be asked for; renew it in time", field)
    return now + asked


def _duration(given: int | str) -> timedelta:
    if isinstance(given, int):
        return timedelta(seconds=given)
    parts = re.match(_PATTERN, given)
    if parts is None:
        raise _refused("a duration is written P7D, PT90M or P1DT12H, or as seconds", "validity")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    return timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)


def _refused(message: str, field: str) -> Problem:
    return Problem(422, "validity", message, [Fault(message=message, field=field)])
