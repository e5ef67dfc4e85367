"""Kernels and the cache that they are kept in."""

from __future__ import annotations

import errno
import os

import numba as nb
import pytest

from tamis.compiled import kernel


@pytest.mark.skipif(bool(nb.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize(("step", "reason"), [("save", errno.ENOSPC), ("load", errno.EACCES)])
def test_a_cache_that_cannot_be_used_costs_time_only(monkeypatch: pytest.MonkeyPatch, step: str, reason: int) -> None:
    def fail(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    def next_after(number: int) -> int:
        return number + 1

    compiled = kernel(next_after)
    monkeypatch.setattr(compiled._cache._cache_file, "load", lambda _: None)
    monkeypatch.setattr(compiled._cache._cache_file, "save", lambda *_: None)
    monkeypatch.setattr(compiled._cache._cache_file, step, fail)
    assert compiled(1) == 2
