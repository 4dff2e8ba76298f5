"""Authors, titles, dates, languages and addresses of pages in many languages, as they stand in the wild."""

import logging

import pytest
from stated_pages import article, linked, metadata

from cleaning import Metadata, parse
from cleaning.metadata.page import read_metadata
from cleaning.metadata.statements import read_statements


@pytest.mark.parametrize(
    ("byline", "expected"),
    [
        ("<p>By <a href='/x'>Ann Lee</a> and others</p>", ("Ann Lee",)),
        ("<div>Written by Ann Lee and Bo Ek</div>", ("Ann Lee", "Bo Ek")),
        ("<p>Von Anna Müller und Jan Weiß</p>", ("Anna Müller", "Jan Weiß")),
        ("<p>作者：王小明</p>", ("王小明",)),
        ("<p>文／林美華、陳大文</p>".replace("／", "/"), ("林美華", "陳大文")),
        ("<p>著者：山田太郎</p>", ("山田太郎",)),
        ("<p>بقلم: أحمد علي</p>", ("أحمد علي",)),
        ("<p>लेखक: राम कुमार</p>", ("राम कुमार",)),
        ("<p>Автор: Иван Петров</p>", ("Иван Петров",)),
        ("<p>Par Marie Curie | 3 mai 2024</p>", ("Marie Curie",)),
        ("<p>By noon there were sledges on it.</p>", ()),
        ("<p>By the end of 2024 all was done</p>", ()),
        ('<span class="post-author">Ann Lee</span>', ("Ann Lee",)),
        ('<a href="/author/ann-lee/">Ann Lee</a>', ("Ann Lee",)),
        ('<div class="comment"><span class="comment-author">Bo Ek</span></div>', ()),
        ('<div class="comments"><a rel="author" href="/bo">Bo Ek</a></div>', ()),
    ],
)
def test_byline_below_the_heading_names_the_authors(byline, expected):
    assert metadata(body=f"<h1>A day out</h1>{byline}<p>Long text of the page.</p>").authors == expected


def test_author_by_reference_is_resolved():
    graph = [{"@type": "Article", "author": {"@id": "#p1"}}, {"@type": "Person", "@id": "#p1", "name": "Jo Doe"}]
    assert metadata(linked({"@graph": graph})).authors == ("Jo Doe",)


def test_site_as_author_gives_way_to_a_person():
    site = '<meta property="og:site_name" content="The Daily"><meta name="author" content="The Daily">'
    assert metadata(site, '<a rel="author" href="/jo">Jo Doe</a>').authors == ("Jo Doe",)
    assert metadata(site).authors == ("The Daily",)


@pytest.mark.parametrize("name", ["Lee, Ann", "Ann Lee, MD", "von Braun", "Johnson and Johnson", "O'Neill"])
def test_one_name_is_not_taken_apart(name):
    assert metadata(article(author={"name": name})).authors == (name,)


@pytest.mark.parametrize("name", ["https://example.org/jo", "admin", "{{ author }}", "12 May 2020", "", "x" * 100])
def test_what_is_no_name_is_no_author(name):
    assert metadata(article(author=name)).authors == ()


def test_author_joins_the_names():
    assert (Metadata(authors=("Ann Lee", "Bo Ek")).author, Metadata().author) == ("Ann Lee, Bo Ek", None)


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [
        ("老茶馆重新开张_新闻中心_河城网", "老茶馆重新开张", "老茶馆重新开张"),
        ("図書館が再開 | 町の新聞", "図書館が再開", "図書館が再開"),
        ("إعادة فتح المكتبة - صحيفة المدينة", "إعادة فتح المكتبة", "إعادة فتح المكتبة"),
        ("पुस्तकालय फिर खुला | नगर समाचार", "पुस्तकालय फिर खुला", "पुस्तकालय फिर खुला"),
        ("Библиотека открыта — Городская газета", "Библиотека открыта", "Библиотека открыта"),
        ("Bücherei wieder offen – Example News", None, "Bücherei wieder offen"),
        ("A day out - Example", None, "A day out"),
        ("Example: A day out", "Example", "Example: A day out"),
    ],
)
def test_title_is_told_from_the_name_of_its_site(title, heading, expected):
    body = f"<h1>{heading}</h1>" if heading else "<p>text</p>"
    assert metadata(f"<title>{title}</title>", body, "https://www.example.org/1").title == expected


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("<p class='date'>2024年5月3日 09:12</p>", "2024-05-03"),
        ("<p>3. Mai 2024</p>", "2024-05-03"),
        ("<p>May 3, 2024</p>", "2024-05-03"),
        ("<p>3 mai 2024</p>", "2024-05-03"),
        ("<p>3 мая 2024</p>", "2024-05-03"),
        ("<p>٣/٥/٢٠٢٤</p>", "2024-05-03"),
        ("<p>5/23/2024</p>", "2024-05-23"),
        ("<p>Last update: May 3, 2024</p>", None),
        ("<p>© 2019-2024 The Daily</p>", None),
        ("<div class='comment'><p>May 3, 2024</p></div>", None),
        ("<p>9999-99-99 99999999999</p>", None),
        ("<time datetime='9999-99-99'>soon</time>", None),
    ],
)
def test_date_below_the_heading_is_found(shown, expected):
    head = "<title>一天 يوم</title>"
    assert metadata(head, f"<h1>A day out</h1>{shown}<p>Long text of the page.</p>").published == expected


def test_modified_and_published_are_told_apart():
    found = metadata(article(dateModified="2024-06-01T10:00:00Z", datePublished="2024-05-03"))
    assert (found.published, found.modified) == ("2024-05-03", "2024-06-01")
    assert metadata(article(dateModified="2024-06-01")).published is None


def test_address_tells_the_sites_own_day_from_greenwichs():
    stated = article(datePublished="2024-05-04T01:00:00+00:00")
    assert metadata(stated, url="https://example.org/2024/05/03/day-out").published == "2024-05-03"
    assert metadata(stated, url="https://example.org/2019/05/03/day-out").published == "2024-05-04"


def test_search_for_a_date_logs_nothing(caplog):
    with caplog.at_level(logging.DEBUG):
        metadata(body="<h1>x</h1><p>May 32, 2024 +99:99</p><p>3 Foo 2024</p><p>00.00.2000</p>")
    assert not caplog.records


@pytest.mark.parametrize(
    ("declared", "expected"),
    [("und", None), ("xx", None), ("jp", None), ("deu", "de"), ("fil-PH", "fil"), ("pt_BR", "pt"), ("english", None)],
)
def test_declared_language_is_believed_where_it_is_one(declared, expected):
    page = parse(f'<html lang="{declared}"><body><p>text</p>')
    assert read_metadata(page).language == expected


def test_recognised_language_stands_in_for_one_that_is_none():
    text = "Die Bücherei der Stadt öffnet nach zwei Jahren wieder, und ihr Lesesaal hat die alten Tische behalten."
    assert read_metadata(parse('<html lang="und"><body>x'), text=text).language == "de"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("/a.jpg", "https://news.example.org/a.jpg"),
        ("javascript:alert(1)", None),
        ("data:image/png;base64,AAAA", None),
        ("https://example.org/\u202egpj.exe", None),
        ("https://example.org/" + "a" * 3_000, None),
    ],
)
def test_image_is_an_absolute_web_address_or_nothing(image, expected):
    assert metadata(f'<meta property="og:image" content="{image}">').image == expected


def test_image_of_json_ld_comes_first():
    stated = article(
        image=[{"@type": "ImageObject", "url": "https://example.org/lead.jpg"}, "https://example.org/b.jpg"]
    )
    assert metadata('<meta property="og:image" content="/og.jpg">' + stated).image == "https://example.org/lead.jpg"


def test_site_name_is_read():
    assert metadata('<meta property="og:site_name" content="The Daily">').site_name == "The Daily"
    assert metadata(article(publisher={"name": "The Daily"})).site_name == "The Daily"


def test_metadata_is_filled_where_it_is_silent():
    stated = Metadata(authors=("Jo Doe",)).filled_from(Metadata(title="A day out", authors=("Bo Ek",), image="i"))
    assert stated == Metadata(title="A day out", authors=("Jo Doe",), image="i")


def test_statements_that_were_read_before_are_used():
    page = parse("<title>One</title>")
    other = read_statements(parse("<title>Two</title>").root)
    assert read_metadata(page, other).title == "Two"
