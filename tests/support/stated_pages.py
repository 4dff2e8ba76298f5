"""Pages that state something of themselves, and their metadata."""

import json

from cleaning import parse
from cleaning.metadata.page import read_metadata

URL = "https://news.example.org/town/1.html"


def metadata(head="", body="<p>text</p>", url=URL):
    return read_metadata(parse(f"<html><head>{head}</head><body>{body}</body></html>", url))


def linked(value):
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


def article(**fields):
    return linked({"@context": "https://schema.org", "@type": "NewsArticle", **fields})
