"""Authors: names from every source, all of them, without the words around them, and nobody where nobody is named."""

import pytest
from stated_pages import article, linked, metadata

from cleaning.metadata.author_names import read_names

PROSE = "<p>The harbour of Lindholm was closed for three weeks, and nobody could say when the ice would break.</p>"
SITE = '<meta property="og:site_name" content="Lindholm Courier">'


def authors(head="", byline="", url="https://www.lindholmcourier.com/local/ice"):
    title = "<title>Ice closes the harbour - Lindholm Courier</title>"
    body = f"<article><h1>Ice closes the harbour</h1>{byline}{PROSE * 4}</article>"
    return metadata(title + head, body, url).authors


@pytest.mark.parametrize(
    "author",
    [
        {"@type": "Person", "name": {"@value": "Ann Lee"}},
        {"@type": "Person", "name": {"@type": "Text", "name": "Ann Lee"}},
        {"@type": "Person", "name": ["Ann Lee"]},
        {"@type": "Person", "givenName": "Ann", "familyName": "Lee"},
        [[{"@type": "Person", "name": "Ann Lee"}]],
        {"@value": "Ann Lee"},
    ],
)
def test_names_in_json_ld_may_be_objects_and_lists(author):
    assert authors(article(author=author)) == ("Ann Lee",)


@pytest.mark.parametrize(
    ("head", "byline", "names"),
    [
        ("", "<div><span id='author'>Tove Strand</span> | <span>May 3, 2024</span></div>", ("Tove Strand",)),
        ("", "<p id='article-author-name'>Zeynep Şahin</p>", ("Zeynep Şahin",)),
        ("", "<p class='author'>By <a rel='author'>Levi Holm For Daily Courier</a></p>", ("Levi Holm",)),
        ("", "<p class='byline'>By Ann Lee for the Evening Post</p>", ("Ann Lee",)),
        (
            "<meta name='citation_author' content='Holm, Karin'><meta name='citation_author' content='Strand, Olof'>",
            "",
            ("Karin Holm", "Olof Strand"),
        ),
        ("<meta name='citation_authors' content='Holm, Karin; Strand, Olof'>", "", ("Karin Holm", "Olof Strand")),
        ("<meta name='DC.creator' content='García, María José'>", "", ("María José García",)),
        ("<meta name='DC.creator' content='Bo Ek'>", "", ("Bo Ek",)),
    ],
)
def test_a_name_is_read_as_a_reader_says_it(head, byline, names):
    assert authors(head, byline) == names


def test_lists_in_lists_name_all_authors():
    people = [[{"@type": "Person", "name": "Ann Lee"}], [{"@type": "Person", "name": "Bo Ek"}]]
    assert authors(article(author=people)) == ("Ann Lee", "Bo Ek")


def test_references_in_a_graph_name_all_authors():
    graph = [
        {"@type": "Article", "author": [{"@id": "#a"}, {"@id": "#b"}]},
        {"@type": "Person", "@id": "#a", "name": "Ann Lee"},
        {"@type": "Person", "@id": "#b", "name": "Bo Ek"},
    ]
    assert authors(linked({"@graph": graph})) == ("Ann Lee", "Bo Ek")


@pytest.mark.parametrize(
    "byline",
    [
        "<p class='byline'>By <a href='/x'>Ann Lee</a> and <a href='/y'>Bo Ek</a></p>",
        "<p>By <a rel='author' href='/x'>Ann Lee</a>, <a rel='author' href='/y'>Bo Ek</a></p>",
        "<ul><li><a rel='author' href='/x'>Ann Lee</a></li><li><a rel='author' href='/y'>Bo Ek</a></ul>",
        "<div><b itemprop='author'>Ann Lee</b> <b itemprop='author'>Bo Ek</b></div>",
        "<p>Eingestellt von Ann Lee und Bo Ek</p>",
        "<p>Autores: Ann Lee y Bo Ek</p>",
    ],
)
def test_all_authors_of_a_byline_are_named(byline):
    assert authors("", byline) == ("Ann Lee", "Bo Ek")


def test_a_byline_wins_over_the_site_as_author():
    assert authors(f'{SITE}<meta name="author" content="Lindholm Courier">', "<p class='byline'>By Ann Lee</p>") == (
        "Ann Lee",
    )


def test_the_site_is_left_out_beside_its_people():
    assert authors(f'{SITE}<meta name="author" content="Ann Lee, Lindholm Courier">') == ("Ann Lee",)


@pytest.mark.parametrize(
    "byline",
    [
        "<div class='comment'><span class='comment-author'>Bo Ek</span></div>",
        "<p>By noon there were sledges on it.</p>",
        "<p class='author'>@lindholmcourier</p>",
        "<p><a href='mailto:desk@lindholmcourier.com'>Email the author</a></p>",
    ],
)
def test_nobody_is_named_where_no_author_is(byline):
    assert authors("", byline) == ()


def test_the_source_of_the_authors_is_said():
    named = article(author={"@type": "Person", "name": "Ann Lee"})
    assert metadata(named).sources["authors"] == "json-ld author"
    assert metadata(body=f"<h1>Ice closes the harbour</h1><p>By Ann Lee</p>{PROSE}").sources["authors"] == "byline"
    assert "authors" not in metadata().sources


THREAD = "https://www.lindholmcourier.com/threads/ice-in-the-harbour.12/"


@pytest.mark.parametrize("account", ["user3080392", "Ejp55230", "ann_lee", "Annie"])
@pytest.mark.parametrize("names", ["username", "bigusername", "author-name"])
def test_the_author_of_a_thread_is_an_account(account, names):
    byline = f"<div class='post'><a class='{names}' href='/members/12'>{account}</a> <time>May 1</time></div>"
    assert authors(byline=byline, url=THREAD) == (account,)


@pytest.mark.parametrize("text", ["2024", "1 May 2024", "2024-05-01", "12345678"])
def test_a_date_or_number_is_no_account(text):
    assert authors(byline=f"<div class='post'><a class='username'>{text}</a></div>", url=THREAD) == ()


@pytest.mark.parametrize("place", ["featured-review", "review-list", "customer-reviews", "testimonials"])
def test_who_reviews_a_product_is_no_author(place):
    review = f"<div class='{place}'><p>They are warm.</p><cite class='author-name'>Ann Lee</cite></div>"
    assert authors(byline=review) == ()


def test_the_author_of_a_review_is_its_author():
    assert authors(byline="<div class='review'><p class='byline'>By Ann Lee</p></div>") == ("Ann Lee",)


@pytest.mark.parametrize("desk", ["Online-Redaktion", "Editor", "Reuters"])
def test_where_an_author_works_is_left_out(desk):
    assert authors(f'<meta name="author" content="Ann Lee, {desk}">') == ("Ann Lee",)


@pytest.mark.parametrize("name", ["Ann Lee, MD", "Lee Pumps, Inc.", "Lee Pumps, GmbH"])
def test_a_degree_or_a_form_of_companies_stays_with_its_name(name):
    assert read_names(name) == [name]


def metas(*names):
    return "".join(f'<meta name="author" content="{name}">' for name in names)


@pytest.mark.parametrize(
    "byline",
    [
        "Words by Jane Roe / photos by Sam Poe",
        "Words by Jane Roe, pictures by Sam Poe",
        "Text: Jane Roe, Fotos: Sam Poe",
        "By Jane Roe and Sam Poe",
    ],
)
def test_all_stated_authors_that_are_shown_are_the_answer(byline):
    assert authors(metas("Jane Roe", "Sam Poe"), f"<p class='byline'>{byline}</p>") == (
        "Jane Roe",
        "Sam Poe",
    )


def test_json_ld_names_all_whom_the_byline_shows():
    stated = article(author=[{"@type": "Person", "name": name} for name in ("Jane Roe", "Sam Poe")])
    assert authors(stated, "<p class='byline'>Words by Jane Roe / photos by Sam Poe</p>") == ("Jane Roe", "Sam Poe")


def test_capitals_give_way_to_another_spelling_on_the_page():
    assert authors(metas("JANE ROE"), "<p class='byline'>By Jane Roe</p>") == ("Jane Roe",)
    assert authors(metas("JANE ROE"), "<p class='byline'>By JANE ROE</p>") == ("JANE ROE",)
