"""The form of a page: what it shows, and what comes back."""

from datetime import UTC, datetime

import pytest
import taught_site
from cleaned_pages import visit_at
from scrapy.settings import Settings
from sqlalchemy import select, update

from cleaning.errors import AnnotationError
from crawler.config import Config
from crawler.editing import form as forms
from crawler.editing.form import corrected_by, read_fields, read_form
from crawler.errors import CompareError, NotStoredError, QueryError
from crawler.storage.database import opened_engine, read_transaction, write_transaction
from crawler.storage.store import Store
from crawler.storage.tables import page
from crawler.teaching import records
from crawler.web.snapshot import DatabaseSnapshot

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def engine(taught_url):
    with opened_engine(taught_url()) as engine:
        yield engine


def read(engine, page_id=2):
    settings = Settings()
    with read_transaction(engine) as connection:
        return read_form(DatabaseSnapshot(connection, NOW, Config.read(settings), settings), page_id)


def test_a_form_has_the_blocks_and_the_marks_of_the_last_correction(engine):
    form = read(engine)
    assert [block.keep for block in form.blocks] == [block.decision.kept for block in form.blocks]
    assert read(engine).version == form.version
    with write_transaction(engine) as connection:
        records.save_correction(connection, taught_site.corrected(1))
    again = read(engine)
    assert again.version != form.version
    assert [block.decision.block.text for block in again.blocks if block.marked] == [taught_site.offer(1)]


def test_a_form_that_is_sent_back_as_it_is_keeps_the_marks(engine):
    with write_transaction(engine) as connection:
        records.save_correction(connection, taught_site.corrected(1))
        records.accept_site_model(connection, "courier.example", taught_site.site_model(1), "anna", NOW)
    form = read(engine)
    keep = [str(position) for position, block in enumerate(form.blocks) if block.keep]
    assert corrected_by(form, {"keep": keep}).marks == 1


def test_answers_that_are_changed_are_corrected(engine):
    form = read(engine)
    assert form.draft.answers == {"title": "Harbour wall of Ostrand-1", "authors": "", "published": ""}
    keep = [str(position) for position, block in enumerate(form.blocks) if block.keep]
    same = {name: [answer] for name, answer in form.draft.answers.items()}
    assert corrected_by(form, {"keep": keep, **same}).fields == {}
    page = corrected_by(form, {"keep": keep, **same, "title": [" Harbour  1 "]})
    assert {name: corrected.answer for name, corrected in page.fields.items()} == {"title": "Harbour 1"}
    with write_transaction(engine) as connection:
        records.save_correction(connection, page)
    again = read(engine)
    assert again.draft.answers["title"] == "Harbour 1"
    assert again.version != form.version
    assert corrected_by(again, {"keep": keep, "title": ["Harbour 1"]}).fields.keys() == {"title"}


def test_an_answer_that_the_page_does_not_have(engine):
    with pytest.raises(AnnotationError, match="the page states no title 'Another'"):
        corrected_by(read(engine), {"title": ["Another"]})


def test_pages_that_no_form_can_show(engine, monkeypatch):
    with pytest.raises(NotStoredError, match="page 99 is not in the database"):
        read(engine, 99)
    monkeypatch.setattr(forms, "MAX_BLOCKS", 3)
    with pytest.raises(CompareError, match="has 8 blocks; a form shows 1 to 3: use scrapy correct"):
        read(engine)
    with write_transaction(engine) as connection:
        connection.execute(update(page).values(html=None))
    with pytest.raises(NotStoredError, match="page 2 has no stored HTML"):
        read(engine)


@pytest.mark.parametrize("body", [b"\xff", b"&".join(b"a=1" for _ in range(7000))])
def test_a_body_that_is_no_form(body):
    with pytest.raises(QueryError, match="this is no form"):
        read_fields(body)


def test_a_menu_is_folded_and_a_mark_in_it_is_not(engine):
    menu = "".join(f"<li><a href=/{number}>Section {number}</a></li>" for number in range(100))
    url = taught_site.address(90)
    html = taught_site.page_html(90).replace("<body>", f"<body><nav><ul>{menu}</ul></nav>")
    assert menu in html
    store = Store(engine)
    store.save(store.begin_crawl("menu", {}), [visit_at(url, html)])
    with read_transaction(engine) as connection:
        page_id = connection.scalar(select(page.c.id).where(page.c.url == url))
    form = read(engine, page_id)
    (is_folded, first), *others = form.runs()
    assert (is_folded, len(first) >= 100) == (True, True)
    assert [block for _, run in form.runs() for block in run] == form.blocks
    assert any(not folded and run[0].keep for folded, run in others)
