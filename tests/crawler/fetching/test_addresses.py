"""Which addresses are public, in every form."""

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.fetching.addresses import Addresses

NOWHERE = Addresses()
REFUSED = {
    "0.0.0.0": "unspecified",
    "0.1.2.3": "unspecified",
    "10.0.0.1": "private",
    "100.64.0.1": "shared",
    "100.127.255.255": "shared",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "169.254.169.254": "link-local",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.0.0.8": "reserved",
    "192.0.2.1": "documentation",
    "192.168.1.1": "private",
    "198.19.255.255": "reserved",
    "203.0.113.9": "documentation",
    "224.0.0.1": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "::7f00:1": "reserved",
    "fc00::1": "private",
    "fdff::1": "private",
    "fe80::1": "link-local",
    "fe80::1%2": "link-local",
    "ff02::1": "multicast",
    "100::1": "reserved",
    "2001:db8::1": "documentation",
    "2001::1": "reserved",
    "3fff::1": "documentation",
    "4000::1": "reserved",
    "64:ff9b:1::1": "reserved",
    "::ffff:127.0.0.1": "loopback",
    "::ffff:10.1.1.1": "private",
    "2002:7f00:1::1": "loopback",
    "2002:a00:1::": "private",
    "64:ff9b::169.254.169.254": "link-local",
}
PUBLIC = (
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450::1",
    "::ffff:1.1.1.1",
    "2002:101:101::1",
    "64:ff9b::1.1.1.1",
)


@pytest.mark.parametrize(("address", "kind"), REFUSED.items())
def test_special_addresses_are_refused_with_their_kind(address, kind):
    assert NOWHERE.refusal(address).endswith(f" ({kind})")


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_allowed(address):
    assert NOWHERE.refusal(address) is None


@given(st.ip_addresses(v=4))
def test_an_embedded_ipv4_address_is_treated_as_such(address):
    forms = (f"::ffff:{address}", f"64:ff9b::{address}", str(IPv6Address((0x2002 << 112) | (int(address) << 80))))
    assert {NOWHERE.refusal(form) is None for form in forms} == {NOWHERE.refusal(address) is None}


@given(st.ip_addresses())
def test_every_address_can_be_allowed(address):
    assert Addresses.read("0.0.0.0/0 ::/0").refusal(address) is None


def test_an_allowed_address_is_allowed_in_every_form():
    addresses = Addresses.read("127.0.0.1, fd00::/8")
    assert {addresses.refusal(address) for address in ("127.0.0.1", "::ffff:127.0.0.1", "fd12::1")} == {None}
    assert addresses.refusal("127.0.0.2") == "127.0.0.2 (loopback)"
    assert addresses.refusal("fc00::1") == "fc00::1 (private)"


@pytest.mark.parametrize("text", ["10.0.0.1/8", "localhost", "127.0.0.1:80", "10.0.0.0/33"])
def test_an_invalid_network_raises(text):
    with pytest.raises(ValueError, match=text.partition("/")[0]):
        Addresses.read(text)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0X7F000001",
        "0177.0.0.1",
        "[::1]",
        "::ffff:7f00:1",
        "localhost",
        "LocalHost.",
        "a.localhost",
    ],
)
def test_a_host_that_is_an_address_is_recognised_in_every_form(host):
    assert "(loopback)" in NOWHERE.host_refusal(host)
    assert Addresses.read("127.0.0.0/8,::1").host_refusal(host) is None


@pytest.mark.parametrize("host", ["", "a.example", "1.1.1.1", "localhost.example", "127.0.0.1.example", "0x7f.example"])
def test_host_names_are_checked_when_connecting(host):
    assert NOWHERE.host_refusal(host) is None


def test_localhost_may_be_either_of_its_addresses():
    assert Addresses.read("::1").host_refusal("localhost") is None


@given(st.integers(0, 2**32 - 1))
def test_a_number_is_an_address(number):
    assert NOWHERE.host_refusal(str(number)) == NOWHERE.refusal(IPv4Address(number))
