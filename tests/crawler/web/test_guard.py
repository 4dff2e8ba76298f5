"""Who may reach the server, from where, and by which name."""

import pytest
from starlette.datastructures import Headers

from crawler.errors import ConfigError
from crawler.web.guard import Access, is_loopback

TOKEN = "a token of many letters"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_the_loopback_address_needs_no_token(host):
    access = Access.of(host, None)
    assert is_loopback(host)
    assert access.admits(Headers({}))
    assert all(access.knows(name) for name in ("localhost:8700", "127.0.0.1", "[::1]:8700", "LOCALHOST."))
    assert not any(access.knows(name) for name in ("", "evil.example", "localhost.evil.example", "10.0.0.1", "[x]"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "crawler.example"])
def test_another_address_needs_a_token_of_some_length(host):
    with pytest.raises(ConfigError, match="can be reached from other machines: add --token"):
        Access.of(host, None)
    with pytest.raises(ConfigError, match="--token has 5 characters; it must have 16 or more"):
        Access.of(host, "short")
    access = Access.of(host, TOKEN)
    assert access.knows(f"{host if ':' not in host else f'[{host}]'}:8700")
    assert access.knows("192.168.1.9:8700")
    assert not access.knows("evil.example")
    assert not access.admits(Headers({}))


def test_a_pass_is_of_one_server_only():
    access = Access.of("localhost", TOKEN)
    other_access = Access.of("localhost", TOKEN)
    passed = Headers({"cookie": f"other=1; blocksieve={access.pass_of(TOKEN)}"})
    assert access.admits(passed)
    assert not other_access.admits(passed)
    assert TOKEN not in access.pass_of(TOKEN)
    assert access.admits(Headers({"authorization": f"Bearer {TOKEN}"}))
    assert not access.admits(Headers({"authorization": f"Basic {TOKEN}"}))
    assert not access.admits(Headers({"authorization": "Bearer \u00e9"}))
