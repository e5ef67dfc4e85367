"""The blocking client, which is generated from the asynchronous one."""

from __future__ import annotations

from scripts.generate_client import GENERATED, HEADER, SOURCE, generated


def test_the_blocking_client_is_what_the_asynchronous_one_makes() -> None:
    assert GENERATED.read_text(encoding="utf-8") == generated(SOURCE.read_text(encoding="utf-8"))


def test_the_generated_client_says_what_it_is_made_from() -> None:
    assert GENERATED.read_text(encoding="utf-8").startswith(HEADER)


def test_a_change_to_the_asynchronous_client_changes_the_blocking_one() -> None:
    source = SOURCE.read_text(encoding="utf-8").replace("async def cancel(", "async def end(")
    assert "    def end(self) -> None:" in generated(source)


def test_nothing_asynchronous_is_left_in_the_blocking_client() -> None:
    told = GENERATED.read_text(encoding="utf-8").removeprefix(HEADER)
    assert [word for word in ("async", "await", "Async", "aclose", "aread", "aiter", "__a") if word in told] == []
