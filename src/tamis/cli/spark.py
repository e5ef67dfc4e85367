"""Spark for a command: said to be missing in one line, started without chatter."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from tamis.cli.failures import CommandError

_JAVA = 17


def require_spark() -> None:
    """Complains before anything is started: Spark's own complaint about Java is a page long."""
    if importlib.util.find_spec("pyspark") is None:
        raise CommandError("this needs Spark: pip install 'tamis[spark]'")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    found = _java_version(java) if java is not None else None
    if found is None or found < _JAVA:
        has = f"Java {found} was found" if found is not None else "none was found"
        where = f" in JAVA_HOME ({home})" if home else ""
        raise CommandError(
            f"Spark needs Java {_JAVA} or newer, and {has}{where}: install it "
            "(Debian/Ubuntu: apt-get install default-jre-headless) or set JAVA_HOME"
        )


def _java_version(java: str) -> int | None:
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r'version "(\d+)', told.stderr)
    return int(version.group(1)) if version else None
