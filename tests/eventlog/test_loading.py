"""What the event log loads: neither Spark nor a web framework, and aiokafka only for a topic."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("aiokafka", "fastapi", "pyspark", "sqlalchemy", "starlette", "uvicorn")

LOADED = f"""
import sys
import tamis.eventlog
from tamis.eventlog.spool.spool_log import SpoolLog
assert not set(sys.modules) & set({HEAVY}), set(sys.modules) & set({HEAVY})
assert not [name for name in sys.modules if name.startswith(("tamis.pipeline", "tamis.service", "tamis.broker"))]
"""


def test_the_event_log_loads_neither_spark_nor_a_web_framework() -> None:
    subprocess.run([sys.executable, "-c", LOADED], check=True, timeout=120)
