"""The names of a site, and the parts of titles that are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stated_pages import article, linked

from cleaning import parse
from cleaning.metadata.site_names import letters_of, read_site, read_site_name
from cleaning.metadata.statements import read_statements

NAMED = '<meta property="og:site_name" content="Lindholm Courier">'


def statements(head=""):
    return read_statements(parse(f"<html><head>{head}</head><body><p>text</p></body></html>").root)


@pytest.mark.parametrize(
    "part",
    [
        "Lindholm Courier",
        "lindholm-courier",
        "Lindholm Courier Online",
        "Model Rail Club Reading",
        "The mrc at reading",
    ],
)
def test_a_part_of_a_title_that_names_the_site_is_recognised(part):
    site = read_site(statements(NAMED), "https://www.mrc-reading.example/1")
    assert site.is_part(part, letters_of(part))


def test_another_part_of_a_title_is_not():
    site = read_site(statements(NAMED), "https://www.mrc-reading.example/1")
    assert not site.is_part("Ice closes the harbour", "iceclosestheharbour")


def test_a_logo_shows_a_name_or_the_domain():
    site = read_site(statements(NAMED), "https://news.courier.example/1")
    assert site.is_name("lindholmcourier")
    assert site.is_name("courier")
    assert site.is_name("courierexample")
    assert not site.is_name("lindholm")


def test_initials_of_a_name_are_its_label():
    site = read_site(statements(), "https://osha.example/1")
    assert site.is_part("Occupational Safety and Health Administration", "occupationalsafetyandhealthadministration")


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (linked({"@type": "WebSite", "name": "Courier"}) + NAMED, "Courier"),
        (NAMED, "Lindholm Courier"),
        (article(publisher={"@type": "Organization", "name": "Courier Press"}), "Courier Press"),
    ],
)
def test_the_name_of_the_site_comes_from_the_first_that_states_it(head, name):
    assert read_site_name(statements(head)).text == name


def test_a_page_that_states_no_site_has_no_name():
    assert read_site_name(statements()) is None


@pytest.mark.parametrize("url", [None, "", "http://[broken", "https://" + "a." * 10_000])
def test_any_address_gives_a_site(url):
    assert not read_site(statements(), url).is_name("courier")


@given(st.text(st.characters(max_codepoint=127)))
def test_letters_of_an_ascii_text_are_those_beside_another_letter(text):
    assert letters_of(f"{text}\u00e9") == f"{letters_of(text)}\u00e9"
