"""Databases with the pages of a made-up site that has a mistake on each page."""

import pytest
import taught_site
from cleaned_pages import visit_at

from crawler.storage import schema
from crawler.storage.database import opened_engine
from crawler.storage.store import Store

PAGES = 8


@pytest.fixture(params=["sqlite", "postgresql"])
def taught_engine(request, fresh_url):
    """A database with eight pages of the site, and one of another site, with their HTML."""
    with opened_engine(fresh_url(request.param)) as engine:
        schema.prepare_schema(engine)
        store = Store(engine, keep_html=True)
        visits = [visit_at(taught_site.address(number), taught_site.page_html(number)) for number in range(PAGES)]
        visits += [visit_at("https://other.example/1", taught_site.page_html(1))]
        visits += [visit_at(taught_site.address(50), taught_site.page_html(50), method="pab")]
        store.save(store.begin_crawl("test", {}), visits)
        yield engine
