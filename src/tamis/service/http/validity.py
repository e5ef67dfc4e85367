"""How long something is asked to be valid: an ISO 8601 duration, seconds, a moment, or until it is cancelled."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal

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

from tamis.service.base.configuration import Settings
from tamis.service.intake.problems import Fault, Problem
from tamis.service.store import FOREVER

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


_LONGEST: Final = timedelta(days=36_500)  # of what ends


class ValidityForm(BaseModel):
    """`validity` (`P1D`, `PT90M`, seconds, or `forever`) or `expires`, not both; neither means the server's default.

    `forever` is until it is cancelled, and the default unless the server is set otherwise.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"validity": "P7D"}]})

    validity: Seconds | Literal["forever"] | IsoDuration | None = Field(
        None, description="How long from now; `forever`: until it is cancelled", examples=["P1D", 3600, "forever"]
    )
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


def expiry(form: ValidityForm | None, settings: Settings, default: timedelta | None = None) -> datetime:
    """The moment of expiry that is asked for, `FOREVER` if none; a `Problem` if it has passed or is too far away.

    `default`: how long where nothing is asked for; None for what the server is set to.
    """
    now = datetime.now(UTC)
    field = "validity"
    asked: timedelta | None
    if form is not None and form.expires is not None:
        asked, field = form.expires - now, "expires"
    elif form is not None and form.validity is not None:
        asked = None if form.validity == "forever" else _duration(form.validity)
    else:
        asked = settings.validity if default is None else default
    most = settings.max_validity if isinstance(settings.max_validity, timedelta) else None
    if asked is None:
        if most is not None:
            raise _refused(f"at most {_days(most)} from now can be asked for; renew it in time", field)
        return FOREVER
    if asked <= timedelta(0):
        raise _refused("that moment has passed; give one to come", field)
    if most is not None and asked > most:
        raise _refused(f"at most {_days(most)} from now can be asked for; renew it in time", field)
    if asked > _LONGEST:
        raise _refused(f"at most {_LONGEST.days:,} days from now can be asked for; or forever", field)
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


def _days(duration: timedelta) -> str:
    return str(duration).removesuffix(", 0:00:00")


def _refused(message: str, field: str) -> Problem:
    return Problem(422, "validity", message, [Fault(message=message, field=field)])
