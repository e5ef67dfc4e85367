"""How long something is asked to be valid: an ISO 8601 duration, seconds, or a moment."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from tamis.service.api.problems import Fault, Problem
from tamis.service.configuration import Settings

_PATTERN: Final = (
    r"^P(?=[0-9T])(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)S)?)?$"
)
# OpenAPI's patterns are JavaScript's and Rust's: without lookahead.
_SHOWN_PATTERN: Final = r"^P[0-9TWDHMS]{2,40}$"

IsoDuration = Annotated[str, StringConstraints(pattern=_SHOWN_PATTERN)]
_MOST_SECONDS: Final = 10_000_000_000
Seconds = Annotated[int, Field(ge=1, le=_MOST_SECONDS)]
_FORMS: Final = "a duration is written P7D, PT90M or P1DT12H, or as whole seconds, 1 or more"


class ValidityForm(BaseModel):
    """`validity` (`P1D`, `PT90M`, or seconds) or `expires`, not both; neither means the server's default."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"validity": "P7D"}]})

    validity: Seconds | IsoDuration | None = Field(None, description="How long from now", examples=["P1D", 3600])
    expires: AwareDatetime | None = Field(None, description="Until when", examples=["2030-01-01T00:00:00Z"])

    @field_validator("validity", mode="wrap")
    @classmethod
    def _said_once(cls, given: object, handler: ValidatorFunctionWrapHandler) -> Any:
        """One message about what is neither of two things, and not one for each."""
        try:
            if isinstance(given, bool):
                raise ValueError(_FORMS)
            return handler(given)
        except ValidationError:
            too_long = type(given) is int and given > _MOST_SECONDS
            raise ValueError(f"at most {_MOST_SECONDS:,} seconds can be asked for" if too_long else _FORMS) from None

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
        most = str(settings.max_validity).removesuffix(", 0:00:00")
        raise _refused(f"at most {most} from now can be asked for; renew it in time", field)
    return now + asked


def _duration(given: int | str) -> timedelta:
    if isinstance(given, int):
        return timedelta(seconds=given)
    parts = re.match(_PATTERN, given)
    if parts is None:
        raise _refused(_FORMS, "validity")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    seconds += 60 * (minutes + 60 * (hours + 24 * (days + 7 * weeks)))
    # Beyond what can be asked for anyway, and within what Python can count.
    return timedelta(seconds=min(seconds, _MOST_SECONDS))


def _refused(message: str, field: str) -> Problem:
    return Problem(422, "validity", message, [Fault(message=message, field=field)])
