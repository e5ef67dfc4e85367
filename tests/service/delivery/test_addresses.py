"""Webhooks go to public addresses only, however an address is written."""

from __future__ import annotations

import pytest

from tamis.service.delivery.addresses import AddressRefused, Endpoint, check_address, check_url, endpoint_of
from tests.service.delivery.made import run

PRIVATE = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
    "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1",
    "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1",
    "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "fc00::1", "fd00:ec2::254", "fe80::1",
    "fec0::1", "ff02::1", "ff0e::1", "2001:2::1", "2001:10::1", "2001:1ff::1", "2002:101:101::1", "3ffe::1", "3fff::1",
    "3fff:fff::1", "5f00::1",
]  # fmt: skip
PUBLIC = [
    "1.1.1.1",
    "93.184.215.14",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700:4700::1111",
    "2001:200::1",
    "3fff:1000::1",
    "::ffff:1.1.1.1",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_and_reserved_addresses_are_refused(address: str) -> None:
    with pytest.raises(AddressRefused):
        check_address(address)
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(AddressRefused):
        endpoint_of(f"https://{host}/hook")


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_not(address: str) -> None:
    assert check_address(address)
    host = f"[{address}]" if ":" in address else address
    assert endpoint_of(f"https://{host}:8443/hook").port == 8443


@pytest.mark.parametrize(
    "host",
    [
        "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001", "127.1", "127.0.1", "1.1.1.1.",
        "0", "0x", "1.1.1.256", "1.1.1.01", "a.0x7f", "a.1", "①②⑦.0.0.1", "localhost", "LOCALHOST.", "a.localhost",
        "printer.local", "vault.internal", "nas.home.arpa",
    ],
)  # fmt: skip
def test_other_ways_to_say_here_are_refused(host: str) -> None:
    with pytest.raises(AddressRefused):
        endpoint_of(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks.example.org", "//hooks.example.org/", "ftp://hooks.example.org/", "file:///etc/passwd", "gopher://a/",
        "https://", "https:///a", "https://user:secret@hooks.example.org/", "https://hooks.example.org@127.0.0.1/",
        "https://hooks.example.org/#there", "https://hooks.example.org\\@127.0.0.1/", "https://hooks.example.org/a b",
        "https://hooks.example.org/\r\nHost:here", "https://[fe80::1%25eth0]/", "https://hooks.example.org:0/",
        "https://hooks.example.org:99999/", "https://hooks.example.org/" + "a" * 2000, "https://bücher.example/",
    ],
)  # fmt: skip
def test_what_is_no_plain_url_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        run(check_url(url))


def test_an_endpoint_is_scheme_host_and_port() -> None:
    assert run(check_url("HTTPS://Hooks.Example.org/a?b=c")) == Endpoint("https", "hooks.example.org", 443)
    assert str(endpoint_of("http://[2606:4700:4700::1111]/a")) == "http://[2606:4700:4700::1111]:80"


def test_private_addresses_can_be_allowed_but_never_those_of_nobody() -> None:
    for address in ("127.0.0.1", "10.0.0.1", "::1", "fe80::1"):
        assert check_address(address, allow_private=True)
    assert endpoint_of("http://localhost:8080/", allow_private=True).port == 8080
    for address in ("0.0.0.0", "::", "224.0.0.1", "ff02::1", "::ffff:224.0.0.1"):
        with pytest.raises(AddressRefused):
            check_address(address, allow_private=True)
