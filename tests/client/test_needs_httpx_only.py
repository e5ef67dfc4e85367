"""The client in a process where nothing but httpx of the service's packages can be imported."""

from __future__ import annotations

import subprocess
import sys

_ALONE = """
import sys

BLOCKED = {"aiokafka", "alembic", "fastapi", "grpc", "lark", "matplotlib", "orjson", "pandas", "prometheus_client",
           "psycopg", "pydantic", "pyspark", "sqlalchemy", "starlette", "uvicorn", "websockets"}

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is not part of the extra", name=name)

sys.meta_path.insert(0, Finder())
from tamis.client import Client, ServiceUnreachable
with Client("http://127.0.0.1:9") as client:
    try:
        client.schema()
    except ServiceUnreachable:
        print("asked")
"""


def test_the_client_asks_a_service_with_nothing_but_httpx() -> None:
    done = subprocess.run([sys.executable, "-c", _ALONE], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "asked\n", done.stderr
