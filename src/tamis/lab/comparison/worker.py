"""Worker of a comparison: the measuring process, so that a matcher that takes all memory, or never ends, stops nothing
else.

Orders come as the first line of standard input, as JSON; what is found goes to standard output, one line a matcher.
When standard input ends, so does the process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from tamis.errors import TamisError
from tamis.lab.comparison.apart import limit_memory, tells_of_memory
from tamis.lab.comparison.grid import open_workload
from tamis.lab.comparison.measuring import measure
from tamis.workloads import Workload


def main() -> None:
    # Libraries may write to standard output: it is ours from now on, and theirs goes where errors go.
    mouth = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    orders = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if orders["memory_bytes"] is not None:
        limit_memory(orders["memory_bytes"])
    workload = open_workload(Path(orders["folder"]))
    for matcher in orders["matchers"]:
        found = _measured(matcher, workload, orders["budget_seconds"], orders["batch_rows"])
        print(json.dumps(found), file=mouth, flush=True)  # a line of the protocol


def _measured(matcher: str, workload: Workload, budget_seconds: float, batch_rows: int) -> dict[str, Any]:
    """Finding of one matcher: `measurement`, or the `reason` why there is none."""
    try:
        found = measure(matcher, workload, budget_seconds=budget_seconds, batch_rows=batch_rows)
    except TamisError as error:
        return {"reason": str(error)}
    except Exception as error:  # noqa: BLE001  # whatever it is, it is this matcher's, and told with its name
        told = f"{type(error).__name__}: {error}"
        return {"reason": "out of memory" if tells_of_memory(told) else told}
    return {"measurement": found.to_row()}


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
