"""Routes for the schema (read, extend), and the schema file that a server starts with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from tamis.errors import OperatorError, SchemaError
from tamis.schema import Schema
from tamis.service.base.offering import serving_schema
from tamis.service.http.access import Administrator, Reader
from tamis.service.http.requests import StrictRoute
from tamis.service.http.service import Service, Serving
from tamis.service.intake.problems import Problem, of_schema, responses
from tamis.service.store import Store, StoreError
from tamis.service.store.store import FollowedSchema

router = APIRouter(prefix="/v1/schema", tags=["schema"], route_class=StrictRoute)

_FORM: Final[dict[str, Any]] = {
    "attributes": {"price": "float", "title": "string"},
    "event_types": {"antiques": {"price": "mandatory", "title": "optional"}},
}


class AttributeForm(BaseModel):
    """Attribute that filters may name."""

    name: str
    domain: str = Field(description="Name of its domain")
    kind: str = Field(description="Kind of the domain")
    multiple: bool = Field(description="True if an event may have several values")


class SchemaForm(BaseModel):
    """Schema in force. `attributes` are all that filters may name, including those of CloudEvents (`ce.*`)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "version": 1,
                    "fingerprint": "9f86d081",
                    "schema": _FORM,
                    "attributes": [{"name": "price", "domain": "float", "kind": "float", "multiple": False}],
                    "event_types": ["antiques"],
                }
            ]
        }
    )

    version: int
    fingerprint: str
    form: dict[str, Any] = Field(serialization_alias="schema", description="The schema in its dict form")
    attributes: list[AttributeForm]
    event_types: list[str]
    tables: list[str] = Field(default_factory=list, description="Event types that are tables, for joins")


class ExtensionForm(BaseModel):
    """Additions to the schema, as in a schema file; `optional` adds attributes to event types that exist."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"attributes": {"colour": "string"}, "optional": {"antiques": {"colour": "optional"}}}]
        },
    )

    domains: dict[str, Any] = Field(default_factory=dict, max_length=1_000)
    attributes: dict[str, Any] = Field(default_factory=dict, max_length=5_000)
    event_types: dict[str, Any] = Field(default_factory=dict, max_length=1_000)
    optional: dict[str, dict[str, Any]] = Field(default_factory=dict, max_length=1_000)
    tables: dict[str, Any] = Field(default_factory=dict, max_length=1_000)


@router.get("", operation_id="get_schema", summary="Get the schema", responses=responses(401, 403, 422, 503))
def get_schema(caller: Reader, service: Serving) -> SchemaForm:
    """Schema that events and filters are checked against."""
    return _shown(service)


@router.post(
    "/extensions",
    status_code=201,
    operation_id="extend_schema",
    summary="Extend the schema",
    responses={
        200: {"model": SchemaForm, "description": "There is nothing in it that the schema does not have"},
        **responses(400, 401, 403, 409, 413, 422, 503),
    },
)
def extend_schema(form: ExtensionForm, caller: Administrator, service: Serving, response: Response) -> SchemaForm:
    """Extends the schema by domains, attributes, event types, or optional attributes: every valid event stays valid.

    `tables` makes tables of event types; earlier events are no rows of them. An extension that adds nothing is answered
    with 200, and the version stays.
    """

    def larger(version: int, known: Schema) -> Schema:
        extended = known.extend(**form.model_dump())
        service.offering.check_extension(serving_schema(known), serving_schema(extended))
        return extended

    try:
        if not service.followed.grow(larger):
            response.status_code = 200
    except SchemaError as error:
        raise of_schema(error) from None
    except OperatorError as error:
        raise Problem(422, "schema", str(error)) from None
    except StoreError as error:
        raise Problem(409, "conflict", str(error)) from None
    return _shown(service)


def _shown(service: Service) -> SchemaForm:
    version, serving = service.followed.serving
    form = service.store.schemas.get(version) if version else None
    return SchemaForm(
        version=version,
        fingerprint=serving.fingerprint,
        form=serving.to_dict() if form is None else form,
        attributes=[
            AttributeForm(name=one.name, domain=one.domain.name, kind=one.domain.kind, multiple=one.multiple)
            for one in serving.attributes.values()
        ],
        event_types=list(serving.event_types),
        tables=list(serving.tables),
    )


# Schema file at a server's start, merged with the schema of its store.

_SHOWN: Final = 20


def settle_schema(store: Store, path: Path | None) -> FollowedSchema:
    """Schema of the store, extended by what the file adds.

    The first start takes the file as it is; later starts add what is new in it. What the file lacks stays: it was added
    by other means, or the file is an older one. Where the two contradict each other, `SchemaError` lists the places.
    """
    followed = FollowedSchema(store)
    if path is not None:
        given = Schema.load(path)
        serving_schema(given)  # complains where it is at odds with what CloudEvents carry

        def larger(version: int, known: Schema) -> Schema:
            return _with_file(version, known, given, path) if version else given

        try:
            followed.grow(larger)
        except StoreError:
            # Another service of this store started at the same moment, and its file came first.
            followed.grow(larger)
    return followed


def _with_file(version: int, known: Schema, given: Schema, path: Path) -> Schema:
    """Known schema, stored under this version, extended by what the file adds."""
    found = known.difference(given)
    remedy = f"write them as version {version} has them (GET /v1/schema shows it), or use another --state or --store"
    if found.contradictions:
        told = "; ".join(map(str, found.contradictions[:_SHOWN]))
        more = f"; and {len(found.contradictions) - _SHOWN} more" if len(found.contradictions) > _SHOWN else ""
        message = f"this schema does not extend version {version}, which this server has subscriptions under: it says "
        raise SchemaError(f"{message}(here) otherwise than that version (there): {told}{more}", str(path), remedy)
    try:
        return known.extend(**found.additions)
    except SchemaError as error:
        message = f"this schema does not extend version {version}, which this server has subscriptions under: {error}"
        raise SchemaError(message, str(path), "take back what was changed, or use another --state or --store") from None
