"""The examples of docs/schema.md."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schema.md"


def test_the_examples_of_the_page_run() -> None:
    form = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert form
    outcome = doctest.testfile(str(PAGE), module_relative=False, globs={"auctions": form[1]})
    assert outcome.attempted > 10
    assert outcome.failed == 0
