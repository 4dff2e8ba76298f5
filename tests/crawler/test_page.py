"""`page()`: what a callback yields for a content page."""

import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from scrapy.http import HtmlResponse, Response, TextResponse

from cleaning import clean
from cleaning.errors import PageError
from cleaning.page_fingerprint import FingerprintedBlock
from crawler.fetching.response_filter import PageResponse
from crawler.page import page
from crawler.visit import CleanedPage, Outcome, PageStructure, ProcessedPage, Visit

ROOT = Path(__file__).parents[2]
HTML = {"Content-Type": "text/html"}


def test_metadata_stated_by_the_spider_is_kept_apart_from_the_page():
    response = HtmlResponse("https://x.example/", body=b"<p>text", headers=HTML | {"ETag": '"1"'})
    fetched = page(response, title="A title", author="Jo", published=date(2024, 5, 3), section="News")
    stated = fetched.stated
    assert (stated.title, stated.author, stated.published, stated.section) == ("A title", "Jo", "2024-05-03", "News")
    assert (fetched.url, fetched.body, fetched.etag, fetched.last_modified) == (response.url, b"<p>text", '"1"', None)


def test_the_values_of_a_visit_have_a_short_repr_at_each_step():
    story = "<title>A bridge</title>" + "<p>The river rose in the night, and the old bridge was closed." * 1_000
    fetched = page(HtmlResponse("https://x.example/", body=story.encode(), headers=HTML))
    cleaned = clean(fetched.tree)
    structure = PageStructure.of(cleaned)
    blocks = tuple(FingerprintedBlock(decision, 1, 2, 3) for decision in cleaned.decisions)
    cleaned_step = CleanedPage(fetched, cleaned, structure=structure)
    steps = (fetched, cleaned_step, ProcessedPage(fetched, cleaned, blocks, 1, structure))
    visits = [Visit(fetched.url, datetime.now(UTC), Outcome.PAGE, 200, page=step) for step in steps]
    assert repr(visits[-1]) == "<Visit with ProcessedPage https://x.example/: page, status 200>"
    assert max(len(repr(value)) for value in (*steps, *visits, cleaned, structure)) < 500


def test_any_text_response_is_accepted():
    for response in (
        HtmlResponse("https://x.example/", body="<p>Grüße", encoding="utf-8"),
        HtmlResponse(
            "https://x.example/",
            body="<p>Grüße".encode("cp1252"),
            headers={"Content-Type": "text/html; charset=latin1"},
        ),
        TextResponse("https://x.example/", body="<p>Grüße", encoding="utf-16"),
    ):
        assert "Grüße" in page(response).tree.root.text_content()


def test_the_encoding_of_a_response_that_declares_none_is_detected():
    body = ("<p>Съешь же ещё этих мягких французских булок да выпей чаю. " * 3).encode("cp1251")
    tree = page(HtmlResponse("https://x.example/", body=body, headers=HTML)).tree
    assert "французских булок" in tree.root.text_content()


def test_a_page_response_is_not_parsed_again():
    plain = HtmlResponse("https://x.example/", body=b"<p>text", headers=HTML)
    parsed = PageResponse.of(plain, page(plain).tree)
    assert page(parsed).tree.root is parsed.selector.root is parsed.copy().tree.root


def test_a_base_that_is_not_a_url_is_ignored():
    plain = HtmlResponse("https://x.example/a/", body=b'<base href="http://[broken"><a href="b">b</a>', headers=HTML)
    assert PageResponse.of(plain, page(plain).tree).urljoin("b") == "https://x.example/a/b"


def test_links_follow_the_pages_base():
    plain = HtmlResponse("https://x.example/a/", body=b'<base href="/c/"><a href="b">b</a>', headers=HTML)
    response = PageResponse.of(plain, page(plain).tree)
    assert response.follow(response.css("a")[0]).url == "https://x.example/c/b"


def test_a_response_of_any_type_is_taken_and_one_without_text_is_refused():
    body = "<title>Plain</title><p>The river rose in the night.".encode("utf-16")
    assert page(Response("https://x.example/", body=body)).tree.root.findtext(".//title") == "Plain"
    with pytest.raises(PageError):
        page(Response("https://x.example/", body=b"\x89PNG\r\n\x1a\n" + bytes(2_000)))


def test_callbacks_with_a_plain_response_are_well_typed(tmp_path):
    program = tmp_path / "typed_spider.py"
    program.write_text(
        "from collections.abc import Iterator\n"
        "from scrapy import Spider\n"
        "from scrapy.http import Response\n"
        "from crawler.page import cleaned_page, page\n"
        "from crawler.visit import FetchedPage\n"
        "class Stories(Spider):\n"
        "    def parse(self, response: Response) -> Iterator[FetchedPage | dict[str, str | None]]:\n"
        "        yield page(response, title='A story')\n"
        "        story = cleaned_page(response, self.crawler)\n"
        "        if story is not None:\n"
        "            yield {'title': story.title, 'text': story.text}\n"
        "        yield {'text': cleaned_page(response, self.crawler).text}\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert [line.split(":")[1] for line in output.splitlines() if ": error: " in line] == ["12"], output
