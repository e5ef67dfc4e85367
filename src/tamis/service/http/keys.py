"""Routes for API keys: create, list and revoke, for administrators."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.concurrency import run_in_threadpool

from tamis.service.http.access import Administrator
from tamis.service.http.filters import Id
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import Serving
from tamis.service.intake.problems import not_found, responses
from tamis.service.store import Key, Role

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=StrictRoute)

_EXAMPLE: Final[dict[str, Any]] = {
    "id": "9f86d081884c7d65",
    "name": "auction house",
    "roles": ["publish"],
    "created": "2026-01-01T10:00:00Z",
    "revoked": None,
}


class NewKeyForm(BaseModel):
    """Request for a key."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "auction house", "roles": ["publish"]}]}
    )

    name: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
    roles: Annotated[list[Role], Field(min_length=1, max_length=3)]


class KeyForm(BaseModel):
    """Key without its secret."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    id: str
    name: str
    roles: list[Role]
    created: datetime
    revoked: datetime | None


class CreatedKey(KeyForm):
    """Created key with its secret, which is shown this once."""

    model_config = ConfigDict(json_schema_extra={"examples": [{**_EXAMPLE, "secret": "tk_9f86d081884c7d65_..."}]})

    secret: str


class RevokedKey(BaseModel):
    """Key that was just revoked."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "9f86d081884c7d65", "paused": 3}]})

    id: str
    paused: int = Field(description="Number of its subscriptions that were active and are paused now")


class KeyList(BaseModel):
    """All keys, revoked ones included."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [_EXAMPLE]}]})

    items: list[KeyForm]


@router.post(
    "",
    status_code=201,
    operation_id="create_key",
    summary="Create a key",
    responses=responses(400, 401, 403, 413, 422, 503),
)
def create_key(form: NewKeyForm, caller: Administrator, service: Serving) -> CreatedKey:
    """Creates a key. The answer has its secret, which is not shown again."""
    key, secret = service.store.keys.create(form.name, form.roles)
    return CreatedKey(**_shown(key).model_dump(), secret=secret)


@router.get("", operation_id="list_keys", summary="List keys", responses=responses(401, 403, 422, 503))
def list_keys(caller: Administrator, service: Serving) -> KeyList:
    """Lists all keys, without their secrets."""
    return KeyList(items=[_shown(key) for key in service.store.keys.list()])


@router.delete(
    "/{id}",
    operation_id="revoke_key",
    summary="Revoke a key",
    responses=responses(401, 403, 404, 422, 503),
)
async def revoke_key(id: Id, caller: Administrator, service: Serving) -> RevokedKey:
    """Revokes a key. The key grants nothing from now on; its subscriptions are paused, and their notifications held
    back.

    An administrator finds them by `owner`, and can resume or cancel each, or give it to another key.
    """
    paused = await run_in_threadpool(service.store.keys.revoke, id)
    service.key_ring.forget()
    if paused is None:
        raise not_found("key")
    await service.delivery.notice_revocations()
    return RevokedKey(id=id, paused=paused)


def _shown(key: Key) -> KeyForm:
    return KeyForm(id=key.id, name=key.name, roles=sorted(key.roles), created=key.created, revoked=key.revoked)
