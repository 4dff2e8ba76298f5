"""Metadata of pages: the order of sources, each field in many languages, broken and hostile statements."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stated_pages import article, linked, metadata

from cleaning import Metadata, parse
from cleaning.metadata.page import read_metadata
from cleaning.metadata.statements import read_statements

PROSE = "The town library opens again on Monday after two years of repairs, and its reading room has kept its tables."


OPEN_GRAPH = (
    '<meta property="og:title" content="OpenGraph title"><meta name="author" content="Meta Author">'
    '<meta property="article:published_time" content="2022-02-02T10:00:00Z">'
)
MICRODATA = '<b itemprop="author">Micro Author</b><time itemprop="datePublished" datetime="2023-03-03">March</time>'
HEADING = "<h1>Heading on the page</h1>"


def test_json_ld_comes_first():
    stated = article(headline="Linked title", author={"name": "Linked Author"}, datePublished="2021-01-01T08:00+01:00")
    page = metadata(OPEN_GRAPH + stated, MICRODATA + HEADING)
    assert (page.title, page.author) == ("Linked title", "Linked Author")


def test_open_graph_and_meta_come_before_microdata():
    page = metadata(OPEN_GRAPH, MICRODATA + HEADING)
    assert (page.title, page.author, page.published) == ("OpenGraph title", "Meta Author", "2022-02-02")


def test_microdata_comes_before_the_visible_page():
    page = metadata("<title>Title</title>", MICRODATA + '<p class="meta">Page Author</p>')
    assert (page.author, page.published) == ("Micro Author", "2023-03-03")


def test_visible_page_comes_last():
    page = metadata("<title>Title of the page</title>", '<a rel="author nofollow">By Page Author</a>')
    assert (page.title, page.author) == ("Title of the page", "Page Author")


def test_heading_replaces_a_missing_title():
    assert metadata("", HEADING).title == "Heading on the page"


def test_silent_page_has_no_metadata():
    assert metadata() == Metadata()


@pytest.mark.parametrize(
    "source",
    [
        [{"@type": "WebSite", "name": "no"}, {"@type": ["Thing", "BlogPosting"], "headline": "Found"}],
        {"@graph": [{"@type": "Organization"}, {"@type": "Article", "headline": "Found"}]},
        {"@type": "WebPage", "mainEntity": {"@type": "Recipe", "headline": "Found"}},
    ],
)
def test_json_ld_article_is_found_in_lists_and_graphs(source):
    assert metadata(linked(source)).title == "Found"


@pytest.mark.parametrize(
    "author",
    ["Ann Lee, Bo Ek", ["Ann Lee", "Bo Ek"], [{"name": "Ann Lee"}, {"name": "Bo Ek"}, {"name": "Ann Lee"}]],
)
def test_authors_are_joined_and_named_once(author):
    assert metadata(article(author=author)).author == "Ann Lee, Bo Ek"


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "",
        "null",
        "[" * 100_000,
        '{"@type": "Article", "headline": "x"',
        '{"@type": {"a": 1}, "headline": [[1]]}',
        '{"@type": "Article", "headline": 7, "author": {"name": {"name": 1}}, "datePublished": [null, 5]}',
        '{"@type": "Article", "headline": ' + "1" * 10_000 + "}",
        '{"@type": "Article", "headline": "\\ud800"}',
    ],
)
def test_broken_json_ld_is_passed_over(broken):
    page = metadata(f'<script type="application/ld+json">{broken}</script>{OPEN_GRAPH}')
    assert (page.title, page.author) == ("OpenGraph title", "Meta Author")


def test_json_ld_with_raw_line_breaks_is_read():
    broken = '<script type="application/ld+json">{"@type": "Article", "headline": "two\nlines"}</script>'
    assert metadata(broken).title == "two lines"


@pytest.mark.parametrize(
    "title", ["A day out | The Daily", "A day out - The Daily", "The Daily — A day out", "A day out_The Daily"]
)
def test_name_of_the_site_is_taken_off_the_title(title):
    site = '<meta property="og:site_name" content="The Daily">'
    assert metadata(f"{site}<title>{title}</title>").title == "A day out"


def test_heading_separates_the_title_from_the_rest():
    assert metadata("<title>A day out in town - Travel - Daily</title>", "<h1>A day out in town</h1>").title == (
        "A day out in town"
    )


def test_title_keeps_its_dash_if_the_site_is_unknown():
    assert metadata("<title>Berlin - Paris</title>").title == "Berlin - Paris"


def test_title_has_a_bound_and_no_control_characters():
    title = metadata("<title>a\x1b\x00b " + "t" * 300_000 + "</title>").title
    assert title.startswith("ab t")
    assert len(title) == 1_000


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/news/1", "https://example.org/news/1"),
        ("https://example.org/a?b=1", "https://example.org/a?b=1"),
        (" //example.org/x ", "https://example.org/x"),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("file:///etc/passwd", None),
        ("mailto:a@b.org", None),
        ("http://[broken", None),
        ("", None),
    ],
)
def test_canonical_is_an_absolute_web_address_or_nothing(href, expected):
    assert (
        metadata(f'<link rel="canonical" href="{href}">', url="https://example.org/news/1.html").canonical == expected
    )


def test_relative_canonical_of_a_page_without_address_is_nothing():
    assert metadata('<link rel="canonical" href="/x">', url=None).canonical is None


def test_canonical_falls_back_to_open_graph():
    assert metadata('<meta property="og:url" content="https://example.org/og">').canonical == "https://example.org/og"


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("2024-05-03", "2024-05-03"),
        ("2024-05-03T23:59:59-11:00", "2024-05-03"),
        (" 2024-05-03 10:00", "2024-05-03"),
        ("2024-13-03", None),
        ("2024-02-30", None),
        ("yesterday", None),
    ],
)
def test_date_is_the_day_that_was_stated(date, expected):
    assert metadata(article(datePublished=date)).published == expected


def test_impossible_date_gives_way_to_the_next_source():
    assert metadata(article(datePublished="0000-00-00") + OPEN_GRAPH).published == "2022-02-02"


def test_visible_date_is_found():
    body = f'<h1>Title</h1><time datetime="2020-04-05">5 April 2020</time><p>{PROSE}</p>'
    assert metadata(body=body).published == "2020-04-05"


@pytest.mark.parametrize("control", ["\x1f", "&#31;"])
def test_control_characters_beside_a_script_do_not_stop_the_search_for_a_date(control):
    assert metadata(body=f"<p>one{control}<script>x</script>two</p><p>three</p>").published is None


@pytest.mark.parametrize(
    ("language", "expected"), [("en-GB", "en"), ("DE", "de"), ("zh_CN", "zh"), ("*", None), ("", None)]
)
def test_declared_language_is_its_code(language, expected):
    page = parse(f'<html lang="{language}"><body><p>text</p>')
    assert read_metadata(page).language == expected


def test_language_of_the_text_replaces_a_missing_declaration():
    assert read_metadata(parse("<p>x</p>"), text=PROSE).language == "en"


def test_section_is_read():
    assert metadata(article(articleSection=["Travel", "Town"])).section == "Travel"
    assert metadata('<meta property="article:section" content="Town">').section == "Town"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["@type", "@graph", "mainEntity", "headline", "author", "name", "datePublished"]), inner
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_ld_gives_texts_or_nothing(value):
    page = metadata(linked({"@type": "Article", "headline": value, "author": value, "datePublished": value}))
    for text in (page.title, page.author, page.published, page.section):
        assert text is None or (isinstance(text, str) and text)


def test_a_title_cut_at_its_own_quotation_mark_is_read_from_the_title_element():
    head = '<title>He said "never" again</title><meta property="og:title" content="He said "never" again">'
    page = parse(f"<html><head>{head}</head><body><p>text</p></body></html>")
    assert read_metadata(page).title == 'He said "never" again'


@pytest.mark.parametrize(
    ("byline", "expected"),
    [
        ("<p>By <a href='/x'>Ann Lee</a> and others</p>", ("Ann Lee",)),
        ("<div>Written by Ann Lee and Bo Ek</div>", ("Ann Lee", "Bo Ek")),
        ("<div>By <a>Ann Lee</a> | Submitted On June 12, 2008</div>", ("Ann Lee",)),
        ("<div>Von <a>Ann Lee</a> | Zuletzt aktualisiert am 12. Juni 2008</div>", ("Ann Lee",)),
        ("<div>Por <a>Ann Lee</a>, Publicado el 12 de junio de 2008</div>", ("Ann Lee",)),
        ("<div>By <a>Ann Lee</a> | Last Updated 12 June 2008</div>", ("Ann Lee",)),
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
def test_text_that_is_not_a_name_is_not_an_author(name):
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
def test_name_of_the_site_is_removed_from_the_title(title, heading, expected):
    body = f"<h1>{heading}</h1>" if heading else "<p>text</p>"
    assert metadata(f"<title>{title}</title>", body, "https://www.example.org/1").title == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<p class='date'>2024年5月3日 09:12</p>", "2024-05-03"),
        ("<p>发布时间：2024 年 5 月 3 日 09:12</p>", "2024-05-03"),
        ("<p>입력 2024. 5. 3. 오전 9:12</p>", "2024-05-03"),
        ("<p>学报 2024年第5期</p>", None),
        ("<p>3. Mai 2024</p>", "2024-05-03"),
        ("<p>May 3, 2024</p>", "2024-05-03"),
        ("<p>3 mai 2024</p>", "2024-05-03"),
        ("<p>3 мая 2024</p>", "2024-05-03"),
        ("<p>1 января 2024</p>", "2024-01-01"),
        ("<p>الجمعة 8 فيفري 2019</p>", "2019-02-08"),
        ("<p>٣/٥/٢٠٢٤</p>", "2024-05-03"),
        ("<p>5/23/2024</p>", "2024-05-23"),
        ("<p>Last update: May 3, 2024</p>", "2024-05-03"),
        ("<p>Last update: May 9, 2024</p><p>May 3, 2024</p>", "2024-05-03"),
        ("<p>MAY 3, 2024</p>", "2024-05-03"),
        ("<p>© 2019-2024 The Daily</p>", None),
        ("<div class='comment'><p>May 3, 2024</p></div>", None),
        ("<p>9999-99-99 99999999999</p>", None),
        ("<time datetime='9999-99-99'>soon</time>", None),
    ],
)
def test_date_below_the_heading_is_found(markup, expected):
    head = "<title>一天 يوم</title>"
    assert metadata(head, f"<h1>A day out</h1>{markup}<p>Long text of the page.</p>").published == expected


def test_date_above_the_heading_wins_over_the_dates_of_teasers_far_below():
    teasers = "<p>Long text of the page.</p>" * 80 + "<div class='teaser-date'>March 9, 2025</div>"
    page = metadata("", f"<div class='post-date'>May 3, 2024</div><h1>A day out</h1>{teasers}")
    assert page.published == "2024-05-03"


def test_meta_date_in_words_wins_over_the_microdata_of_teasers():
    teasers = '<a itemscope><time itemprop="datePublished" datetime="2025-03-09">9 March</time></a>'
    assert metadata('<meta name="date" content="May 3, 2024">', teasers).published == "2024-05-03"


def test_first_post_wins_over_a_video_on_the_page():
    stated = linked({"@type": "VideoObject", "uploadDate": "2025-03-09"})
    assert metadata(stated + '<meta property="article:published_time" content="2024-05-03">').published == "2024-05-03"


@pytest.mark.parametrize("url", ["https://news.example.org", "https://news.example.org/"])
def test_teasers_do_not_date_a_front_page(url):
    assert (
        metadata("", "<h1>News</h1><time datetime='2024-05-03'>May 3</time><p>May 3, 2024</p>", url).published is None
    )


def test_reviews_do_not_date_a_product():
    product = linked({"@type": "Product", "name": "Lamp"})
    assert metadata(product, "<h1>Lamp</h1><time datetime='2024-05-03'>May 3</time>").published is None


def test_heading_of_a_menu_is_not_the_one_that_dates_are_near_to():
    menu = "<h1>Search</h1>" + "<p>menu</p>" * 400
    body = f"{menu}<h1>A day out in town</h1><p class='date'>May 3, 2024</p>"
    assert metadata("<title>A day out in town</title>", body).published == "2024-05-03"


@pytest.mark.parametrize("author", ['"Ann Lee"', "\u201cAnn Lee\u201d", "Authored by Ann Lee", "Authors: Ann Lee"])
def test_author_is_the_bare_name(author):
    assert metadata(article(author=author)).authors == ("Ann Lee",)


@pytest.mark.parametrize("author", ["page.head.extra.author", "Written by", "Authors:"])
def test_label_or_unfilled_template_is_no_author(author):
    assert metadata(article(author=author)).authors == ()


def crumbs(*items):
    entries = [{"@type": "ListItem", "name": name, "item": address} for name, address in items]
    return linked({"@type": "BreadcrumbList", "itemListElement": entries})


TOWN = (("Home", "https://news.example.org/"), ("Town", "https://news.example.org/town/"))


@pytest.mark.parametrize(
    "last", [(), (("A day out", "https://news.example.org/x"),), (("Out", None),), (("1", "/town/1.html"),)]
)
def test_last_crumb_before_the_page_is_its_section(last):
    assert metadata(crumbs(*TOWN, *last), "<h1>A day out</h1>").section == "Town"


@pytest.mark.parametrize(
    "value", [None, 3, [3], [{"item": 7}], [{"name": {"a": 1}}, {"name": [[]], "item": "http://["}]]
)
def test_broken_crumbs_are_passed_over(value):
    assert metadata(linked({"@type": "BreadcrumbList", "itemListElement": value})).section is None


def test_stated_section_wins_over_crumbs():
    assert metadata(crumbs(*TOWN) + article(articleSection="Travel")).section == "Travel"


def test_modified_and_published_are_separate():
    page = metadata(article(dateModified="2024-06-01T10:00:00Z", datePublished="2024-05-03"))
    assert (page.published, page.modified) == ("2024-05-03", "2024-06-01")
    assert metadata(article(dateModified="2024-06-01")).published is None


def test_day_in_the_url_is_the_sites_local_day():
    stated = article(datePublished="2024-05-04T01:00:00+00:00")
    assert metadata(stated, url="https://example.org/2024/05/03/day-out").published == "2024-05-03"


def test_an_earlier_day_in_the_url_outlives_the_date_of_a_move():
    stated = article(datePublished="2024-05-04T01:00:00+00:00")
    assert metadata(stated, url="https://example.org/2019/05/03/day-out").published == "2019-05-03"


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


def test_recognised_language_replaces_an_invalid_declaration():
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
