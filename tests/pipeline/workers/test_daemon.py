"""The worker daemon loads what workers need, in a state that can be forked."""

from __future__ import annotations

import subprocess
import sys

REHEARSED = """
import os, sys
from tamis.pipeline.workers.daemon import load
load()
assert "tamis.pipeline.workers.charging" in sys.modules and "pyspark.worker" in sys.modules
import tamis
schema = tamis.Schema.from_dict({"attributes": {"price": "float"}, "event_types": {"lot": {"price": "optional"}}})
child = os.fork()
if child == 0:
    index = tamis.compile({"a": "price < 10"}, schema)
    matches = index.match([{"price": 5.0}, {"price": 15.0}]).to_arrow()
    os._exit(matches.num_rows)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_of_a_rehearsed_process_matches() -> None:
    told = subprocess.run([sys.executable, "-c", REHEARSED], capture_output=True, text=True, timeout=120, check=False)
    assert told.stdout == "1\n", told.stderr
