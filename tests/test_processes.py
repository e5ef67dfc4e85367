"""How tests are spread over processes."""

from __future__ import annotations

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="needs several processes, as in `make test`")
def test_a_file_stays_in_one_process(request: pytest.FixtureRequest) -> None:
    """Else every process compiles every kernel and starts a Spark of its own."""
    assert request.node.nodeid.endswith("@tests/test_processes.py")
