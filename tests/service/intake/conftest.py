"""The same servers as the API's own tests have."""

from tests.service.http.conftest import server, start

__all__ = ["server", "start"]
