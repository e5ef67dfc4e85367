"""Forms of CloudEvents' Subscriptions API, converted from and to subscriptions of the store."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from tamis.dialects.cloudevents_filters import CloudEventsFilters
from tamis.service.http.deliveries import is_credential
from tamis.service.http.filters import Label
from tamis.service.http.forms import ValidityForm
from tamis.service.store import State, Subscription

KEPT: Final = "cloudevents"
"""The member of a stored delivery that has what only this API knows of."""

_CREDENTIAL: Final = "Authorization"
# CloudEvents' strings have no control characters; the JSON parser refuses lone surrogates.
_Text = Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
_Secret = Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=r"^[ -~]+$")]

EXAMPLE: Final[dict[str, Any]] = {
    "source": "/shops/3",
    "types": ["com.example.sold"],
    "filters": [{"prefix": {"subject": "antiques/"}}, {"sql": "price > 100 OR EXISTS urgent"}],
    "sink": "https://example.org/hook",
    "protocol": "HTTP",
    "protocolsettings": {"headers": {"X-Team": "antiques"}},
    "config": {"validity": "P7D", "label": "for the antiques team"},
}
SHOWN: Final[dict[str, Any]] = {
    "id": "sub_3q2-8xYhT0m5nKc7vZJdQw",
    **EXAMPLE,
    "protocolsettings": {"method": "POST", "headers": {"X-Team": "antiques"}},
    "config": {"label": "for the antiques team", "expires": "2026-01-08T10:00:00Z", "state": "active"},
}


class ConfigForm(ValidityForm):
    """Settings of this server for a subscription: its validity, a label, and a pause."""

    model_config = ConfigDict(extra="forbid")

    label: Label | None = Field(default=None, description="Display name")
    state: State | None = Field(
        default=None, description="`paused` or `active`; other states are shown, but cannot be set"
    )


def _no_config() -> ConfigForm:
    return ConfigForm(validity=None, expires=None)


class HttpSettings(BaseModel):
    """Settings of the protocol HTTP."""

    model_config = ConfigDict(extra="forbid")

    method: Literal["POST"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict, max_length=20, description="Headers sent with every event")


class SinkCredential(BaseModel):
    """Credential that the sink requires: `PLAIN` (identifier and secret) or `ACCESSTOKEN`. Never shown again."""

    model_config = ConfigDict(extra="forbid")

    credentialtype: Literal["PLAIN", "ACCESSTOKEN"]
    identifier: _Secret | None = None
    secret: _Secret | None = None
    accesstoken: _Secret | None = None
    accesstokentype: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{1,20}$")] = "bearer"
    accesstokenexpiresutc: datetime | None = Field(None, description="Accepted and ignored")

    @model_validator(mode="after")
    def _complete(self) -> SinkCredential:
        if self.credentialtype == "PLAIN" and (self.identifier is None or self.secret is None):
            raise ValueError("a PLAIN credential has identifier and secret")
        if self.credentialtype == "ACCESSTOKEN" and self.accesstoken is None:
            raise ValueError("an ACCESSTOKEN credential has accesstoken")
        return self

    def header(self) -> str:
        """Value of the Authorization header."""
        if self.credentialtype == "PLAIN":
            return "Basic " + base64.b64encode(f"{self.identifier}:{self.secret}".encode()).decode()
        kind = "Bearer" if self.accesstokentype.lower() == "bearer" else self.accesstokentype
        return f"{kind} {self.accesstoken}"


class SubscriptionRequest(BaseModel):
    """Request for a CloudEvents subscription. An `id` is ignored on creation: the server gives one."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    id: Annotated[str, StringConstraints(max_length=200)] | None = None
    source: _Text | None = Field(None, description="Only events of this `source`")
    types: list[_Text] | None = Field(None, max_length=100, description="Only events of these types")
    filters: list[dict[str, JsonValue]] = Field(
        default_factory=list, max_length=500, description="All must hold: exact, prefix, suffix, all, any, not, sql"
    )
    sink: Annotated[str, StringConstraints(min_length=1, max_length=2_000)] = Field(
        description="URL that events are sent to, in structured mode and signed by Standard Webhooks"
    )
    sinkcredential: SinkCredential | None = None
    protocol: Literal["HTTP"] = Field(description="Protocol of the sink")
    protocolsettings: HttpSettings = Field(default_factory=HttpSettings)
    config: ConfigForm = Field(default_factory=_no_config)

    def headers(self, kept: Mapping[str, str] | None = None) -> dict[str, str]:
        """Headers of every call. A credential, which is never shown, is `kept` where none is given."""
        given = self.protocolsettings.headers
        if self.sinkcredential is not None:
            return {name: value for name, value in given.items() if name.lower() != _CREDENTIAL.lower()} | {
                _CREDENTIAL: self.sinkcredential.header()
            }
        names = {name.lower() for name in given}
        secret = {name: value for name, value in (kept or {}).items() if is_credential(name)}
        return given | {name: value for name, value in secret.items() if name.lower() not in names}

    def effective_filters(self) -> CloudEventsFilters:
        """Filters, preceded by the conditions of `source` and `types`."""
        CloudEventsFilters.parse(self.filters)
        return CloudEventsFilters.parse([*_implied(self.source, self.types), *self.filters])

    def kept(self) -> dict[str, Any]:
        """Settings that have no column of their own in the store."""
        return {"source": self.source, "types": self.types}


class SubscriptionShown(BaseModel):
    """Subscription as it is now, without its credential."""

    model_config = ConfigDict(json_schema_extra={"examples": [SHOWN]})

    id: str
    source: str | None = None
    types: list[str] | None = None
    filters: list[dict[str, JsonValue]]
    sink: str
    protocol: Literal["HTTP"]
    protocolsettings: HttpSettings
    config: ConfigForm


def shown(found: Subscription) -> SubscriptionShown:
    """Form of a subscription, for callers who may access it."""
    kept = found.delivery.get(KEPT) or {}
    source, types = kept.get("source"), kept.get("types")
    headers = {name: value for name, value in (found.delivery.get("headers") or {}).items() if not is_credential(name)}
    return SubscriptionShown(
        id=found.id,
        source=source,
        types=types,
        filters=orjson.loads(found.text)[len(_implied(source, types)) :],
        sink=found.delivery["url"],
        protocol="HTTP",
        protocolsettings=HttpSettings(headers=headers),
        config=ConfigForm(label=found.label, expires=found.ends, state=found.state, **_forever(found)),
    )


def _forever(found: Subscription) -> dict[str, Any]:
    return {"validity": "forever" if found.ends is None else None}


def _implied(source: str | None, types: list[str] | None) -> list[dict[str, Any]]:
    implied: list[dict[str, Any]] = [] if source is None else [{"exact": {"source": source}}]
    return [*implied, {"any": [{"exact": {"type": name}} for name in types]}] if types else implied
