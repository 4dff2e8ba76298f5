"""Live blogs: whether their coverage goes on, as they state it."""

import json
from datetime import UTC, datetime

import pytest

from cleaning.blocks import Metadata
from crawler.discovery.live_coverage import is_live
from crawler.visit import FetchedPage, UnparsedPage

MICRODATA = '<div itemscope itemtype="https://schema.org/LiveBlogPosting">'
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def page(html):
    body = html.encode()
    return FetchedPage("https://a.example/live", body, UnparsedPage(body, None, "utf-8", "utf-8"), Metadata())


def json_ld(**values):
    return page(f'<script type="application/ld+json">{json.dumps(values)}</script><p>text')


def live(**values):
    return json_ld(**{"@type": "LiveBlogPosting"}, **values)


@pytest.mark.parametrize(
    ("stated", "goes_on"),
    [
        (live(coverageEndTime="2026-03-02T13:30:00+01:00"), True),
        (live(coverageEndTime="2026-03-02T12:30:00+01:00"), False),
        (live(coverageEndTime="2026-03-02"), True),
        (live(coverageEndTime="2026-03-01T10:00:00Z", dateModified="2026-03-02T11:00:00Z"), False),
        (live(dateModified="2026-03-02T11:00:00Z", datePublished="2026-02-01"), True),
        (live(datePublished="2026-02-28T11:00:00Z"), False),
        (live(), False),
        (live(coverageEndTime=["soon"], dateModified=7), False),
        (json_ld(**{"@graph": [{"@type": ["Article", "LiveBlogPosting"], "coverageEndTime": "2026-03-03"}]}), True),
        (json_ld(**{"@type": "NewsArticle", "about": "LiveBlogPosting", "dateModified": "2026-03-02"}), False),
        (page(f'{MICRODATA}<meta itemprop="coverageEndTime" content="2026-03-02T14:00:00Z"><p>text</div>'), True),
        (page(f'{MICRODATA}<time itemprop="dateModified" datetime="2026-03-02T11:00Z">11:00</time></div>'), True),
        (page(f"{MICRODATA}<p>text</div>"), False),
    ],
)
def test_coverage_goes_on_until_its_end(stated, goes_on):
    assert is_live(stated, NOW) is goes_on
