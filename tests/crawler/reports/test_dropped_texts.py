"""Texts that cleaning drops are found in stored pages."""

import pytest
from cleaned_pages import html, visit
from scrapy.settings import Settings
from sqlalchemy import update

from cleaning.blocks import Reason
from crawler.config import Config
from crawler.reading.query_language import parse_query
from crawler.reading.search_filters import SearchFilters
from crawler.reports.dropped_texts import find_dropped
from crawler.storage import schema
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.store import Store
from crawler.storage.tables import page

PAGES = 25


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def engine(request, fresh_url):
    """Pages of which each drops its menu and its footer; the HTML of one was not kept, and another is damaged."""
    with opened_engine(fresh_url(request.param)) as engine:
        schema.prepare_schema(engine)
        store = Store(engine)
        store.save(store.begin_crawl("test", {}), [visit(number, html(number)) for number in range(PAGES)])
        with engine.begin() as connection:
            connection.execute(update(page).where(page.c.id == 2).values(html=None))
            connection.execute(update(page).where(page.c.id == 3).values(section="Rivers", title="The mill"))
            connection.execute(update(page).where(page.c.id == 4).values(method="vce"))
        yield engine


@pytest.fixture
def find(engine):
    def run(query, *, seconds=600, before=None, **criteria):
        config = Config.read(Settings({"CLEANING_SECONDS": 600}))
        with read_transaction(engine) as connection:
            filters = SearchFilters.of(**criteria)
            return find_dropped(connection, parse_query(query), filters, config, seconds=seconds, before=before)

    return run


def test_a_dropped_text_has_its_reason_and_its_pages(find):
    dropped = find("copyright town")
    (text,) = dropped.texts
    assert (text.reason, text.count) == (Reason.FOOTER, PAGES - 2)
    assert [place.page_id for place in text.pages] == [PAGES, PAGES - 1, PAGES - 2]
    assert (dropped.read, dropped.unread, dropped.before) == (PAGES - 2, 1, None)
    assert [text.excerpt.text[start:end].lower() for start, end in text.excerpt.hits] == ["copyright", "town"]


def test_kept_texts_and_other_words_are_not_found(find):
    assert find("harbour office asks").texts == []
    assert find("copyright -town").texts == []
    assert find("nowhere").texts == []


def test_filters_hold(find):
    dropped = find("copyright", section="Rivers")
    assert [place.page_id for text in dropped.texts for place in text.pages] == [3]
    assert (dropped.read, find("copyright", kind="code").texts) == (1, [])
    assert find("copyright title:mill").read == 1
    assert find("title:mill").read == 0


def test_a_search_that_runs_out_of_time_goes_on(find):
    ids = []
    before = None
    while True:
        part = find("copyright", seconds=0, before=before)
        ids += [place.page_id for text in part.texts for place in text.pages]
        before = part.before
        if before is None:
            break
    assert sorted(ids) == [number for number in range(1, PAGES + 1) if number not in {2, 4}]
