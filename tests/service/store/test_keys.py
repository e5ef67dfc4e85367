"""API keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from tamis.service.store import Store, StoreError, TextError


def test_a_secret_finds_its_key(any_store: Store) -> None:
    key, secret = any_store.keys.create("Gallery", ["publish", "subscribe"])
    assert any_store.keys.find(secret) == key
    assert key.roles == {"publish", "subscribe"}
    assert secret.startswith(f"tk_{key.id}_")


def test_a_secret_is_nowhere_in_the_file(store: Store, store_url: str) -> None:
    _, secret = store.keys.create("Gallery", ["publish"])
    store.close()
    assert secret.split("_", 2)[2].encode() not in Path(store_url.removeprefix("sqlite:///")).read_bytes()


def test_secrets_differ_in_all_that_counts(any_store: Store) -> None:
    secrets = {any_store.keys.create("same", ["publish"])[1] for _ in range(20)}
    assert len({secret.split("_", 2)[2] for secret in secrets}) == 20


@pytest.mark.parametrize("wrong", ["", "tk_", "tk_1_2", "tk_\0_x", "tk_" + "\ud800" * 60, "Bearer x", "é" * 80])
def test_what_is_no_secret_finds_nothing(any_store: Store, wrong: str) -> None:
    any_store.keys.create("Gallery", ["publish"])
    assert any_store.keys.find(wrong) is None


def test_another_keys_random_part_does_not_fit(any_store: Store) -> None:
    first, one = any_store.keys.create("one", ["publish"])
    _, other = any_store.keys.create("other", ["administer"])
    mixed = f"tk_{first.id}_{other.split('_', 2)[2]}"
    assert any_store.keys.find(mixed) is None
    assert any_store.keys.find(one[:-1] + ("A" if one[-1] != "A" else "B")) is None


def test_a_revoked_key_opens_nothing_and_stays_listed(any_store: Store) -> None:
    key, secret = any_store.keys.create("Gallery", ["publish"])
    assert any_store.keys.revoke(key.id) == 0
    assert any_store.keys.find(secret) is None
    assert any_store.keys.revoke(key.id) is None
    assert any_store.keys.revoke("no\0such") is None
    assert [(k.id, k.revoked is not None) for k in any_store.keys.list()] == [(key.id, True)]


@pytest.mark.parametrize("roles", [[], ["publish", "rule"]])
def test_a_key_has_roles_that_exist(any_store: Store, roles: list[str]) -> None:
    with pytest.raises(StoreError, match="administer, publish, subscribe"):
        any_store.keys.create("Gallery", roles)  # type: ignore[arg-type]


def test_a_name_that_cannot_be_kept_is_refused(any_store: Store) -> None:
    with pytest.raises(TextError, match="name: a text with a NUL"):
        any_store.keys.create("a\0b", ["publish"])
