"""The addresses of links are those that browsers and urljoin find."""

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structures import markdown

from cleaning.structure.elements import PageUrls

SIGNS = [*"/.?#;:=ab", "//", "//x.example/", "..", "./", "a.html", "%20", "é"]
PARTS = st.lists(st.sampled_from(SIGNS), max_size=7).map("".join)
BASES = ["https://a.example", "https://a.example/", "https://a.example/b/c.html?d#e", "http://A.example:80/b/../c//d"]


@given(st.sampled_from(BASES), PARTS)
def test_an_address_is_joined_as_the_standard_library_does(base, address):
    joined = urljoin(base, address.strip())
    expected = joined if joined.startswith("http") and address and address[0] != "#" else ""
    if expected.partition("#")[0] == base.partition("#")[0]:
        expected = ""
    assert PageUrls(base, None).absolute(address) == expected


@pytest.mark.parametrize(
    ("url", "base", "address", "absolute"),
    [
        ("https://a.example/b/c", "/d/", "e", "https://a.example/d/e"),
        ("https://a.example/b/c", "https://x.example", "/e", "https://x.example/e"),
        ("https://a.example/b/c", None, "a b\t|", "https://a.example/b/a%20b%7C"),
        ("https://a.example/b c/", None, "d", "https://a.example/b%20c/d"),
        (None, "/d/", "/e", ""),
        ("https://[", None, "/e", ""),
        ("https://a.example/b/c", "http://[domain]/", "e", "https://a.example/b/e"),
        ("https://a.example/b/c", "//x.example:99999/", "/e", "https://a.example/e"),
    ],
)
def test_an_address_is_absolute_or_left_out(url, base, address, absolute):
    assert PageUrls(url, base).absolute(address) == absolute


def test_a_listing_in_a_cell_of_data_is_code_in_the_cell(read):
    document = read(
        "<table><tr><th>Command<th>Example</tr><tr><td>Read<td><pre>tide read\ntide stop | head</pre></tr>"
        "<tr><td>Stop<td><code>tide stop</code></tr></table>"
    )
    assert markdown(document).splitlines()[2:] == [
        "| Read | `tide read`<br>`tide stop \\| head` |",
        "| Stop | `tide stop` |",
    ]
