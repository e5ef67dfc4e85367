"""The client, where what it needs is not installed."""

from __future__ import annotations

import importlib
import importlib.util

import pytest

import tamis.client


def test_without_httpx_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tamis\[client\]'"):
        importlib.reload(tamis.client)
