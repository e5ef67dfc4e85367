"""Addresses that are one caller's, and those that are not."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv6Address

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from tamis.service.base.configuration import LimitSettings, Settings
from tamis.service.http.request_guards import origin
from tests.service.http.server import Server

HALF = st.integers(0, 2**64 - 1)


@given(HALF, HALF, HALF)
def test_all_addresses_of_a_subscribers_network_are_one_origin(network: int, host: int, other: int) -> None:
    # Where IPv4 addresses stand in the lower half, what they stand for counts.
    if network in (0, 0x0064FF9B_00000000) or network >> 32 == 0x20010000:
        return
    assert origin(str(IPv6Address(network << 64 | host))) == origin(str(IPv6Address(network << 64 | other)))


@given(HALF, HALF, HALF)
def test_two_networks_are_two_origins(network: int, other: int, host: int) -> None:
    if network != other and not {network >> 48, other >> 48} & {0, 0x64, 0x2001, 0x2002}:
        assert origin(str(IPv6Address(network << 64 | host))) != origin(str(IPv6Address(other << 64 | host)))


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("203.0.113.7:51234", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::1]:443", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::1]", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("2002:cb00:7107:1::1", "203.0.113.7"),
        ("2002:cb00:7107:ffff::1", "203.0.113.7"),
        ("2001:0:4136:e378:8000:63bf:34ff:8ef8", "203.0.113.7"),
        ("64:ff9b::203.0.113.7", "203.0.113.7"),
        ("", ""),
        ("testclient", "testclient"),
        ("unix:", "unix:"),
    ],
)
def test_an_address_is_counted_under_its_origin(address: str, counted: str) -> None:
    assert origin(address) == counted


def test_one_host_does_not_get_a_rate_for_each_of_its_addresses(start: Callable[..., Server]) -> None:
    server = start(Settings(limits=LimitSettings(requests_per_second=0.01, request_burst=3)))

    def asked(address: str) -> int:
        return TestClient(server.client.app, client=(address, 1)).get("/v1/schema").status_code

    assert [asked(f"2001:db8::{n:x}") for n in range(5)] == [200, 200, 200, 429, 429]
    assert asked("2001:db8:0:1::1") == 200, "another network"
    assert asked("203.0.113.7") == 200
