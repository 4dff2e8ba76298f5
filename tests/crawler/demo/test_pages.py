"""The pages of the demo site, requested over HTTP."""

import json
import re

from lxml import html
from scrapy import Request

STATUSES = {"forbidden": {403}, "captcha": {200, 503}, "quota": {200}, "removed": {200}, "not_found": {404}}


def links(page):
    return [link.replace("&amp;", "&") for link in re.findall(r'class="article-title-link" href="([^"]+)"', page)]


def next_link(page):
    match = re.search(r'href="([^"]+)">Next »<', page)
    return match and match[1].replace("&amp;", "&")


def test_home_links_to_each_category_and_a_category_to_its_subcategories(get, facts):
    assert all(f'href="/?cat={name}"' in get("/").text for name in facts["sections"] if ":" not in name)
    category = get("/?cat=Health-and-Fitness").text
    assert all(f'href="/?cat={name}"' in category for name in facts["sections"] if name.startswith("Health"))


def test_following_next_lists_every_link_of_a_section_once(get, facts):
    for section, expected in facts["sections"].items():
        listed, path = [], f"/?cat={section}"
        while path:
            page = get(path).text
            assert len(links(page)) <= 20
            listed += links(page)
            path = next_link(page)

        assert listed == expected


def test_page_numbers_start_at_one_and_end(get, facts):
    section = "Food-and-Drink"
    pages = -(-len(facts["sections"][section]) // 20)

    assert get(f"/?cat={section}&page=1").content == get(f"/?cat={section}").content
    assert get(f"/?cat={section}&page={pages}").status == 200
    assert get(f"/?cat={section}&page={pages + 1}").status == 404


def test_every_article_shows_its_metadata_in_the_form_of_its_year(get, facts):
    old, new = '<h1 id="article-title">', '<script type="application/ld+json">'
    for article in facts["articles"]:
        response = get(article["path"])
        page = response.content.decode(article["encoding"])

        assert response.status == 200
        assert (new if article["published"] >= "2012" else old) in page
        assert article["author"] in page or json.dumps(article["author"]) in page
        assert re.search(r"Submitted On [A-Z][a-z]+ \d\d, \d{4}\.", page)
        assert f'<meta property="og:article:section" content="{article["section"]}">' in page


def test_articles_contain_exactly_their_blocks_and_one_advertisement(facts, get):
    advertisement = next(noise["text"] for noise in facts["noise"] if noise["kind"] == "ad_container")
    for article in facts["articles"]:
        page = html.fromstring(get(article["path"]).content.decode(article["encoding"]))
        content = page.get_element_by_id("article-content")
        for script in content.xpath(".//script"):
            script.drop_tree()
        texts = [block["text"] for block in article["blocks"]]

        assert "".join(content.text_content().split()) == "".join(
            "".join([texts[0], advertisement, *texts[1:]]).split()
        )


def test_refused_links_answer_with_their_outcome(get, facts):
    for path, outcome in facts["refusals"].items():
        response = get(path)
        if outcome in STATUSES:
            assert response.status in STATUSES[outcome]
            assert 'id="article-content"' not in response.text

    assert {*facts["refusals"].values()} == {*STATUSES, "not_html", "robots"}


def test_refused_links_contain_their_typical_words(get, facts):
    pages = {path: get(path).text for path in facts["refusals"]}
    words = {"captcha": "recaptcha", "quota": "excessive amount|maximum allowed daily", "removed": "Page not found"}

    for path, outcome in facts["refusals"].items():
        assert re.search(words.get(outcome, ""), pages[path])


def test_both_captcha_statuses_exist(get, facts):
    captchas = [path for path, outcome in facts["refusals"].items() if outcome == "captcha"]

    assert {get(path).status for path in captchas} == {200, 503}


def test_files_have_their_own_content_type(get, facts):
    files = [path for path, outcome in facts["refusals"].items() if outcome == "not_html"]

    assert {get(path).headers["Content-Type"] for path in files} == {"application/pdf", "image/gif"}


def test_robots_txt_forbids_the_listed_private_link(get, facts):
    private = [path for path, outcome in facts["refusals"].items() if outcome == "robots"]

    assert "Disallow: /private" in get("/robots.txt").text
    assert all(path.startswith("/private/") for path in private)
    assert set(private) <= {path for listed in facts["sections"].values() for path in listed}


def test_redirects_lead_to_articles(get, facts):
    articles = {article["path"] for article in facts["articles"]}

    for path, redirect in facts["redirects"].items():
        response = get(path)
        assert (response.status, response.headers["Location"]) == (redirect["status"], redirect["to"])
        assert redirect["to"] in articles
    assert {redirect["status"] for redirect in facts["redirects"].values()} == {301, 302}


def test_chinese_page_declares_its_encoding_in_the_meta_element_only(get, facts):
    article = next(a for a in facts["articles"] if a["encoding"] == "gb18030")
    response = get(article["path"])
    page = response.content.decode("gb18030")

    assert response.headers["Content-Type"] == "text/html"
    assert re.search(b'charset="?gb2312"', response.content)
    assert all(block["text"] in page for block in article["blocks"])
    assert sum(len(block["text"]) for block in article["blocks"]) > 200
    assert article["path"] in facts["sections"][article["section"]]


def test_the_meta_element_of_one_article_contradicts_its_header(get, facts):
    article = next(a for a in facts["articles"] if "Zoë" in a["title"])
    response = get(article["path"])

    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert re.search('charset="?iso-8859-1"', response.text)
    assert article["blocks"][0]["text"] in response.text


def test_scrapy_requests_the_paths_as_they_are_listed(url, facts):
    for path in [*facts["refusals"], *(article["path"] for article in facts["articles"])]:
        assert Request(f"{url}{path[1:]}").url == f"{url}{path[1:]}"
