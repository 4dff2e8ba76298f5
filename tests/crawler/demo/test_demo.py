"""The demo site as a program of its own, requested over HTTP."""

import json
import re
import signal
import subprocess

import processes
import pytest
from lxml import html
from scrapy import Request

from crawler.demo.pages import site_replies

STATUSES = {"forbidden": {403}, "captcha": {200, 503}, "quota": {200}, "removed": {200}, "not_found": {404}}


def links(page):
    return [link.replace("&amp;", "&") for link in re.findall(r'class="article-title-link" href="([^"]+)"', page)]


def next_link(page):
    match = re.search(r'href="([^"]+)">Next »<', page)
    return match and match[1].replace("&amp;", "&")


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_program_prints_one_line_and_exits_quietly_on_a_signal(program, stop):
    with processes.start(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.send_signal(stop)
        rest, errors = process.communicate(timeout=30)

    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\n", line)
    assert (rest, errors, process.returncode) == ("", "", 0)


def test_program_writes_the_ground_truth_and_serves_nothing(program, tmp_path, facts):
    path = tmp_path / "truth.json"

    done = processes.run([*program, "--truth", path], capture_output=True, text=True, check=True)

    assert done.stdout == ""
    assert json.loads(path.read_text("utf-8")) == json.loads(json.dumps(facts))


def test_served_bytes_are_those_of_the_seed(site, get):
    path, reply = next((path, reply) for path, reply in site_replies(site).items() if reply.etag)

    assert get(path).content == reply.body


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


def test_a_current_copy_is_answered_by_304(get, facts):
    path = facts["articles"][0]["path"]
    first = get(path)
    etag = first.headers["ETag"]
    modified = first.headers["Last-Modified"]

    by_tag = get(path, If_None_Match=etag)
    by_date = get(path, If_Modified_Since=modified)

    assert (by_tag.status, by_tag.content, by_tag.headers["ETag"]) == (304, b"", etag)
    assert by_date.status == 304


def test_an_outdated_or_unreadable_copy_is_sent_again(get, facts):
    path = facts["articles"][0]["path"]
    modified = get(path).headers["Last-Modified"]

    assert get(path, If_None_Match='"other"', If_Modified_Since=modified).status == 200
    assert get(path, If_Modified_Since="Mon, 01 Jan 2001 00:00:00 GMT").status == 200
    assert get(path, If_Modified_Since="yesterday").status == 200


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


def test_unknown_paths_are_404(get):
    assert get("/?No-Such-Article&id=1").status == 404


def test_head_sends_no_body_and_keeps_the_connection_usable(get, facts):
    path = facts["articles"][0]["path"]
    head = get(path, method="HEAD")

    assert head.content == b""
    assert int(head.headers["Content-Length"]) == len(get(path).content)


def test_site_counts_its_requests(get):
    get("/?asked-for-once&id=2")

    assert json.loads(get("/demo/requests").text)["404 /?asked-for-once&id=2"] == 1


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


def test_the_site_serves_the_same_page_as_a_proxy(get, facts):
    path = facts["articles"][0]["path"]

    assert get(f"http://any.host.invalid{path}").content == get(path).content
