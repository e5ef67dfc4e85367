"""Generates the client that blocks, `client/blocking.py`, from the one for asyncio, `client/asynchronous.py`.

python scripts/generate_client.py            writes it (`make client`)
python scripts/generate_client.py --check    exits with 1 if it is not current (`make check`)
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parents[1] / "src/tamis/client"
SOURCE, GENERATED = CLIENT / "asynchronous.py", CLIENT / "blocking.py"
HEADER = f"# Generated from {SOURCE.name} by scripts/generate_client.py: change that file, then run `make client`.\n"

SUBSTITUTIONS = (
    (r"for asyncio: each method is awaited", "that blocks: each method waits for its answer"),
    (r"methods are awaited", "methods wait"),
    (r"\b(async|await) ", ""),
    (r"\basyncio\b", "time"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\ba(?=(close|read|iter_lines)\()", ""),
    (r"\b__a(?=(enter|exit)__)", "__"),
    (r"for (\w+) in (.+):\n\s+yield \1\n", r"yield from \2\n"),  # which no asynchronous generator may say
)


def generated(source: str) -> str:
    """Returns the text of the blocking client, given that of the asynchronous one."""
    for pattern, replacement in SUBSTITUTIONS:
        source = re.sub(pattern, replacement, source)
    return _ruff("format", text=_ruff("check", "--fix-only", "--select", "I", text=HEADER + source))


def _ruff(*arguments: str, text: str) -> str:
    """Returns the text as Ruff makes it, by the project's settings."""
    command = [sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename", str(GENERATED), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=CLIENT).stdout


def main(arguments: list[str]) -> str | None:
    """Writes the generated client, or only compares; returns the complaint, if there is one."""
    text = generated(SOURCE.read_text(encoding="utf-8"))
    if "--check" not in arguments:
        GENERATED.write_text(text, encoding="utf-8")
    elif text != GENERATED.read_text(encoding="utf-8"):
        return f"{GENERATED.name} is not what {SOURCE.name} makes: run `make client`"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
