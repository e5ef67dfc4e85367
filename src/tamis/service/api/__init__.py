"""The HTTP API: one file a group of paths, and beside them what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from tamis.service.api.service import Service

__all__ = ["create_app"]


def create_app(service: Service) -> FastAPI:
    """The web application that serves a service; it is started and stopped with the application."""
    # Routers of other rooms use this one's access rules: importing them here would close a circle.
    from tamis.service.api.application import build

    return build(service)
