"""A page to correct: with the model of its site, and the marks of its last correction."""

from datetime import UTC, datetime

import pytest
import taught_site

from cleaning import parse
from crawler.storage import schema
from crawler.storage.database import opened_engine, read_transaction, write_transaction
from crawler.teaching import records
from crawler.teaching.drafts import PageTeaching

NOW = datetime(2026, 5, 2, tzinfo=UTC)
URL = taught_site.address(1)


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request, fresh_url):
    with opened_engine(fresh_url(request.param)) as engine:
        schema.prepare_schema(engine)
        yield engine


def drafted(engine):
    with read_transaction(engine) as connection:
        teaching = PageTeaching.read(connection, URL)
    return teaching.draft(parse(taught_site.page_html(1), URL), "ben", NOW, {})


def test_a_page_that_nobody_has_corrected(engine):
    draft = drafted(engine)
    assert draft.decisions == taught_site.draft(1).decisions
    assert (draft.page.marks, draft.page.reader, draft.page.corrected_at) == (0, "ben", "2026-05-02T00:00:00+00:00")


def test_a_page_with_a_correction_and_a_model(engine):
    corrected = taught_site.corrected(1)
    with write_transaction(engine) as connection:
        records.save_correction(connection, corrected)
        records.accept_site_model(connection, "courier.example", taught_site.site_model(2, 3), "anna", NOW)
    draft = drafted(engine)
    (offer,) = taught_site.positions(draft, taught_site.offer(1))
    assert not draft.decisions[offer].kept
    assert draft.page.blocks[offer].mark is False
    assert draft.page.reader == "ben"
