"""When and where something was measured, as results say it of themselves."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import Any


def occasion() -> dict[str, Any]:
    """Now, to the second, and this machine."""
    machine = {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    return {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine}
