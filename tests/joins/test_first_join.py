"""A first join compiles the kernels of its own scheme, and loads neither another scheme nor the oracle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_FIRST_JOIN = """
import json, sys
import numba
from numba.core import event

compiled = []

class Compiling(event.Listener):
    def on_start(self, told):
        function = told.data["dispatcher"].py_func
        compiled.append(f"{function.__module__}.{function.__name__}")

    def on_end(self, told):
        pass

event.register("numba:compile", Compiling())
from tamis.joins.server import JoinServer
from tamis.schema import Schema

schema = Schema.from_dict({
    "attributes": {"Symbol": "string", "PER": "float", "Analyst": "string", "Rating": "float"},
    "event_types": {
        "Stocks": {"Symbol": "mandatory", "PER": "mandatory"},
        "Reviews": {"Symbol": "mandatory", "Analyst": "mandatory", "Rating": "mandatory"},
    },
    "tables": {
        "Stocks": {"key": ["Symbol"], "join": ["Symbol"]},
        "Reviews": {"key": ["Symbol", "Analyst"], "join": ["Symbol"]},
    },
})
praised = "SELECT * FROM Stocks JOIN Reviews USING (Symbol) WHERE PER BETWEEN 45 AND 70 AND Rating BETWEEN 6 AND 10"
server = JoinServer(schema, {"praised": praised})
subscribing = len(compiled)
applied = server.apply([
    {"event_type": "Stocks", "Symbol": "GOOG", "PER": 51.5},
    {"event_type": "Reviews", "Symbol": "GOOG", "Analyst": "Ann", "Rating": 7.5},
])
added = server.notifications(applied)["praised"].added
applying = compiled[subscribing:]
print(json.dumps({"compiled": compiled, "applying": applying, "loaded": sorted(sys.modules), "added": added}))
"""


@pytest.fixture(scope="module")
def first_join(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A first join in a process of its own that finds no compiled kernel: what it compiled, loaded and answered."""
    cache = tmp_path_factory.mktemp("kernels")
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": source}
    ran = subprocess.run(
        [sys.executable, "-c", _FIRST_JOIN], env=environment, capture_output=True, text=True, check=True
    )
    said: dict[str, Any] = json.loads(ran.stdout)
    return said


OTHERS = ("semijoin", "skyline", "gap", "merging_edge", "envelope")
"""Files of what other schemes than Enum-J stand on begin so."""


def test_a_first_join_compiles_at_most_25_kernels_each_for_one_signature(first_join: dict[str, Any]) -> None:
    assert first_join["added"] == [{"Symbol": "GOOG", "PER": 51.5, "Analyst": "Ann", "Rating": 7.5}]
    own = [name for name in first_join["compiled"] if name.startswith("tamis.joins.")]
    assert "tamis.joins.schemes.by_results.run_enum_j" in own
    assert len(own) <= 25
    assert sorted(set(own)) == sorted(own)
    assert set(first_join["applying"]) <= set(own)


def test_a_first_join_compiles_no_kernel_of_semijoins_or_skylines(first_join: dict[str, Any]) -> None:
    others = tuple(f"tamis.joins.index.{name}" for name in OTHERS)
    assert [name for name in first_join["compiled"] if name.startswith(others)] == []
    schemes = {name for name in first_join["compiled"] if name.startswith("tamis.joins.schemes.")}
    assert {name.rpartition(".")[0] for name in schemes} <= {
        "tamis.joins.schemes.by_results", "tamis.joins.index.messages",
    }  # fmt: skip


def test_a_first_join_loads_no_other_scheme_and_no_oracle(first_join: dict[str, Any]) -> None:
    loaded = set(first_join["loaded"])
    assert "tamis.joins.schemes.by_results" in loaded
    for other in ("rel_sel", "ref_j", "enum_sj", "ref_sj", "ref_sj_clu_plus", "by_semijoins"):
        assert f"tamis.joins.schemes.{other}" not in loaded
    rooms = (*(f"tamis.joins.index.{name}" for name in OTHERS), "tamis.joins.multiway")
    assert not [name for name in loaded if name.startswith(rooms)]
    assert not {"tamis.joins.naive", "tamis.matching.naive"} & loaded
