"""Pages whose links are labelled: by hand, and by the gold texts of wcxb-dev (silver).

By hand (research/article_links.jsonl): 44 section and home pages of 35 sites. Each line of the file names a
saved page by its SHA-256, the address that it is read as (some were saved without theirs), and the xxh64 of the URLs
of its articles; no text of the page. An article is a page that has one story, report, post or recipe of its own.
Videos, galleries, live pages, podcasts, transcripts, topic pages and newsletters are `unclear`, and count neither
way; all other links within the site are not articles. Labels were decided site by site on the URLs' shapes, after
looking at the links of each shape with their texts, and at those exceptions that have a long text without being an
article, or a short one with being one.

Silver: on listings and collections of wcxb-dev, whose gold text holds the items of the list. A link is an article, or
product, if its text is of two words or more and stands word for word in the gold text. That is wrong for authors and
categories named beside each item, for items that pictures or the word "more" lead to, and for lists that the gold text
leaves out; so it compares rules with each other, and does not say how good they are.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import corpus
import xxhash

from cleaning import parse
from crawler.fetching.response_filter import PageResponse
from crawler.urls import site_of
from spiders.links import link_text, links_within

PATH = Path(__file__).parent / "article_links.jsonl"
LARGEST_PAGE = 100_000_000
SILVER_TYPES = ("listing", "collection")
_LEAST_WORDS = 2


@dataclass(frozen=True)
class Listing:
    """A page with its links: those that are articles, and those that are not; what is unclear is in neither."""

    name: str
    group: str
    response: PageResponse
    articles: frozenset[str]
    others: frozenset[str]

    @property
    def site(self):
        return site_of(self.response.url)


def by_hand(only=None):
    """Return the pages labelled by hand, or only those with these names."""
    lines = [json.loads(line) for line in PATH.read_text("utf-8").splitlines()]
    return [_labelled(line) for line in lines if only is None or _name(line["file"]) in only]


def silver():
    """Return the listings and collections of wcxb-dev that were not labelled by hand."""
    listings = [_silver(sample) for sample in _not_by_hand()]
    return [listing for listing in listings if listing.articles and listing.others]


def unlabelled():
    """Return the responses of the same pages, also of those of which no link, or all, stand in the gold text."""
    return [_response(sample.body, sample.url) for sample in _not_by_hand()]


def texts(response):
    """Return the longest text of the links to each URL within the site."""
    longest = {}
    for element, url in links_within(response, "a"):
        text = link_text(element)
        if len(text) >= len(longest.get(url, "")):
            longest[url] = text
    return longest


def words(text):
    """Return the words of a text in lower case; two characters of a script without spaces count as one."""
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,2}|\w+", text.lower())


def _not_by_hand():
    labelled = {_name(json.loads(line)["file"]) for line in PATH.read_text("utf-8").splitlines()}
    return [
        sample
        for sample in corpus.read_samples("wcxb-dev")
        if sample.type in SILVER_TYPES and sample.id not in labelled
    ]


def _labelled(line):
    packed = (corpus.DATA / line["file"]).read_bytes()
    assert hashlib.sha256(packed).hexdigest() == line["sha256"], f"{line['file']} is another file than was labelled"
    response = _response(gzip.decompress(packed), line["url"])
    hashes = {xxhash.xxh64_hexdigest(url.encode()): url for url in texts(response)}
    articles = set(line["articles"].split())
    unclear = set(line["unclear"].split())
    others = frozenset(url for mark, url in hashes.items() if mark not in articles | unclear)
    article_urls = frozenset(url for mark, url in hashes.items() if mark in articles)
    return Listing(_name(line["file"]), line["group"], response, article_urls, others)


def _silver(sample):
    response = _response(sample.body, sample.url)
    gold = f" {' '.join(words(sample.text))} "
    link_texts = texts(response)
    said = {url: words(text) for url, text in link_texts.items()}
    items = frozenset(url for url, own in said.items() if len(own) >= _LEAST_WORDS and f" {' '.join(own)} " in gold)
    return Listing(sample.id, f"wcxb-dev, {sample.type}", response, items, frozenset(link_texts) - items)


def _response(body, url):
    return PageResponse(url, body=body, source=parse(body, url, max_bytes=LARGEST_PAGE))


def _name(file):
    return "/".join(Path(file).parts[-2:]).removesuffix(".html.gz").removeprefix("html/")
