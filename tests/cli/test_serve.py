"""`tamis serve`: what its options come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.cli import serve as command
from tamis.service import serve as service
from tamis.service.base.configuration import Settings
from tests.cli.house import Tamis


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of the servers that were to be started; none is."""
    settings: list[Settings] = []
    monkeypatch.setattr(service, "serve", lambda given, _: settings.append(given))
    monkeypatch.setattr(command, "_log_to_standard_error", lambda _: None)
    return settings


def test_matcher_options_and_schedule_become_settings(tamis: Tamis, started: list[Settings]) -> None:
    given = ("--matcher", "tree", "--option", "factor=period", "--option", "collapse=false", "--schedule", "sub-order")
    assert tamis("serve", *given).exit_code == 0
    (settings,) = started
    assert (settings.matcher, settings.schedule) == ("tree", "sub-order")
    assert settings.matcher_options == {"factor": "period", "collapse": False}


def test_options_win_over_the_file_and_what_is_not_given_stays(
    tamis: Tamis, started: list[Settings], house: Path
) -> None:
    (house / "settings.yaml").write_text("matcher: mbd\nmatcher_options: {order: [price]}\nschedule: naive\n")
    assert tamis("serve", "--settings", "settings.yaml", "--schedule", "sequential").exit_code == 0
    (settings,) = started
    assert (settings.matcher, settings.matcher_options, settings.schedule) == (
        "mbd",
        {"order": ["price"]},
        "sequential",
    )
