"""Description, keywords and licence."""

import pytest
from stated_pages import article, metadata

LICENCE = "https://creativecommons.org/licenses/by/4.0/"


def test_a_description_is_read_with_its_source():
    page = metadata('<meta name="description" content="Ice in the harbour.">')
    assert (page.description, page.sources["description"]) == ("Ice in the harbour.", "meta description")


def test_the_description_of_json_ld_comes_first():
    page = metadata(article(description="By the editors") + '<meta name="description" content="Ice">')
    assert (page.description, page.sources["description"]) == ("By the editors", "json-ld description")


@pytest.mark.parametrize(
    "head",
    [
        '<meta name="keywords" content="ice, harbour , Ice,,">',
        article(keywords="ice, harbour"),
        article(keywords=["ice", "harbour"]),
        '<meta property="article:tag" content="ice"><meta property="article:tag" content="harbour">',
        '<meta name="keywords" content="ice\uff0charbour">',
    ],
)
def test_keywords_are_read_once_each(head):
    assert metadata(head).keywords == ("ice", "harbour")


@pytest.mark.parametrize(
    ("head", "body", "source"),
    [
        (article(license=LICENCE), "", "json-ld license"),
        (article(license={"@type": "CreativeWork", "url": LICENCE}), "", "json-ld license"),
        (f'<link rel="license" href="{LICENCE}">', "", "link rel=license"),
        ("", f'<a rel="license noopener" href="{LICENCE}">CC BY</a>', "link rel=license"),
        ("", f'<footer><a href="{LICENCE}">CC BY</a></footer>', "link to Creative Commons"),
        (f'<meta name="dcterms.license" content="{LICENCE}">', "", "meta dcterms.license"),
    ],
)
def test_a_licence_is_read_with_its_source(head, body, source):
    page = metadata(head, f"<p>text</p>{body}")
    assert (page.license, page.sources["license"]) == (LICENCE, source)


@pytest.mark.parametrize(
    "body",
    [
        f'<figure><img src="/a.jpg"><figcaption><a href="{LICENCE}">CC BY</a></figcaption></figure>',
        f'<a href="{LICENCE}">one</a> <a href="https://creativecommons.org/licenses/by-sa/3.0/">two</a>',
        '<a href="https://creativecommons.org/about/">about</a>',
    ],
)
def test_the_licence_of_a_part_is_not_that_of_the_page(body):
    assert metadata(body=body).license is None


def test_a_relative_licence_becomes_absolute():
    page = metadata('<link rel="license" href="/terms">', url="https://example.org/a/b")
    assert page.license == "https://example.org/terms"


@pytest.mark.parametrize(
    ("head", "body", "access", "source"),
    [
        (article(isAccessibleForFree=False), "", "paid", "json-ld isAccessibleForFree"),
        (article(isAccessibleForFree="False"), "", "paid", "json-ld isAccessibleForFree"),
        (article(isAccessibleForFree="http://schema.org/True"), "", "free", "json-ld isAccessibleForFree"),
        ('<meta property="article:content_tier" content="Metered">', "", "metered", "meta article:content_tier"),
        ('<meta property="article:content_tier" content="locked">', "", "paid", "meta article:content_tier"),
        ("", '<meta itemprop="isAccessibleForFree" content="false">', "paid", "microdata isAccessibleForFree"),
    ],
)
def test_a_page_states_whether_a_reader_must_pay(head, body, access, source):
    page = metadata(head, f'<div itemscope itemtype="https://schema.org/NewsArticle"><p>text</p>{body}</div>')
    assert (page.access, page.sources["access"]) == (access, source)


@pytest.mark.parametrize(
    "head",
    [
        "",
        article(isAccessibleForFree="perhaps"),
        article(isAccessibleForFree=None),
        article(isAccessibleForFree=["False"]),
        article(isAccessibleForFree={"@id": "https://schema.org/False"}),
        '<meta property="article:content_tier" content="">',
    ],
)
def test_another_statement_of_access_says_nothing(head):
    assert metadata(head).access is None
