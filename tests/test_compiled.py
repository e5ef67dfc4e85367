"""Kernels and the cache that they are kept in."""

from __future__ import annotations

import errno
import os

import numba as nb
import pytest

from tamis import compiled
from tamis.compiled import kernel


@pytest.mark.skipif(bool(nb.config.DISABLE_JIT), reason="nothing is compiled")
@pytest.mark.parametrize(("step", "reason"), [("save", errno.ENOSPC), ("load", errno.EACCES)])
def test_a_cache_that_cannot_be_used_costs_time_only(monkeypatch: pytest.MonkeyPatch, step: str, reason: int) -> None:
    def fail(*_: object) -> None:
        raise OSError(reason, os.strerror(reason))

    def next_after(number: int) -> int:
        return number + 1

    dispatcher = kernel(next_after)
    monkeypatch.setattr(dispatcher._cache._cache_file, "load", lambda _: None)
    monkeypatch.setattr(dispatcher._cache._cache_file, "save", lambda *_: None)
    monkeypatch.setattr(dispatcher._cache._cache_file, step, fail)
    assert dispatcher(1) == 2


@pytest.mark.skipif(bool(nb.config.DISABLE_JIT), reason="nothing is compiled")
def test_whether_compiled_code_is_kept_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_unkept", [])

    def nowhere(*_: object, **options: object) -> object:
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    assert compiled.kernels_are_kept()
    monkeypatch.setattr(nb, "njit", nowhere)
    kernel(abs)
    assert not compiled.kernels_are_kept()
