"""Titles of pages whose headings are slogans, labels, controls or the names of menus."""

import pytest
from stated_pages import metadata


def title(head, body, url="https://www.example.org/town/1.html"):
    return metadata(head, body, url).title


TITLE = "<title>Town library opens again after repairs | Example</title>"


@pytest.mark.parametrize(
    "heading",
    [
        "We respect the privacy of every library guest",
        "Call 555 0199",
        "555 0199",
        "Springfield",
        "Home",
        "Search",
    ],
)
def test_heading_that_does_not_say_what_the_page_is_loses_to_the_stated_title(heading):
    assert title(TITLE, f"<h1>{heading}</h1>") == "Town library opens again after repairs"


def test_heading_with_other_words_for_the_same_thing_wins():
    assert title(TITLE, "<h1>Our town library has opened again</h1>") == "Our town library has opened again"


def test_buttons_in_a_heading_are_no_part_of_the_title():
    row = "<button>Copy as Markdown</button> <button>Open in editor</button>"
    assert (
        title("<title>Install - Example Docs</title>", f"<h1>Install the library {row}</h1>") == "Install the library"
    )


@pytest.mark.parametrize("label", ["Dec 18 2025 ", "Blog: ", "Trouble in town - "])
def test_label_before_the_stated_title_is_removed_from_the_heading(label):
    heading = f"<h1>{label}Town library opens again after repairs</h1>"
    assert title(TITLE, heading) == "Town library opens again after repairs"


def test_short_stated_title_is_no_end_of_a_long_heading():
    stated = "<title>Library opens again | Example</title>"
    heading = "What the town of Springfield learned when its Library opens again"
    assert title(stated, f"<h1>{heading}</h1>") == heading


def test_heading_of_a_front_page_is_a_slogan_or_news():
    front = "<title>Online calendar for libraries - Example</title>"
    heading = "<h1>The calendar that libraries love most</h1>"
    assert title(front, heading, "https://www.example.org/") == "Online calendar for libraries"
    assert title(front, heading, "https://www.example.org/why") == "The calendar that libraries love most"


def test_word_for_a_front_page_is_no_title_beside_the_site():
    assert title("<title>Home | Springfield Plumbing</title>", "", "https://www.example.org/") == "Springfield Plumbing"
    assert title("<title>Home</title>", "<h1>Springfield Plumbing</h1>") == "Springfield Plumbing"


def test_page_that_says_only_home_is_called_home():
    assert title("<title>Home</title>", "") == "Home"
    assert title("", "<h1>Home</h1>") == "Home"


def test_name_of_the_site_is_known_by_its_initials():
    stated = "<title>Electrical overview | Town Library and Health Administration</title>"
    assert title(stated, "", "https://www.tlha.gov/electrical") == "Electrical overview"


def test_title_has_no_invisible_characters():
    stated = "<title>Town lib\u00adrary \ufeffopens\u200b again | Example</title>"
    assert (
        title(stated, "<h1>Town lib&shy;rary opens again <i class=icon>\uf0c1</i></h1>") == "Town library opens again"
    )


def test_title_has_no_anchor_icon_or_reading():
    heading = '<h1>Town <ruby>library<rt>reading</rt></ruby> <i class=material-icons>link</i><a href="#top">#</a></h1>'
    assert title("<title>Town library | Example</title>", heading) == "Town library"


def test_a_heading_of_the_second_level_is_the_title_if_the_first_is_the_site():
    head = "<title>Springfield Notes » Blog » The library opens again</title>"
    body = "<h1>Springfield Notes</h1><h2>The library opens again</h2><p>text</p>"
    assert title(head, body, "https://www.springfieldnotes.org/?p=12") == "The library opens again"


def test_a_message_without_a_word_of_the_title_is_no_title():
    assert (
        title("<title>Tallyboard</title>", "<h2>Something went wrong</h2>", "https://tallyboard.org/x") == "Tallyboard"
    )


@pytest.mark.parametrize(
    ("head", "body", "source"),
    [
        ("<title>A day out in town</title>", "<p>text</p>", "title element"),
        ("<title>A day out in town</title>", "<h1>A day out in town</h1>", "h1"),
        ('<meta property="og:title" content="A day out in town">', "<p>text</p>", "meta og:title"),
    ],
)
def test_the_source_of_the_title_is_said(head, body, source):
    assert metadata(head, body).sources["title"] == source
