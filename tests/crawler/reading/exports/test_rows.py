"""Cursors: which changes they return, and when they are an error."""

import json

import pytest
from cleaned_pages import STRUCTURED, visit
from exported import OTHER, URL, make
from sqlalchemy import text

from cleaning.blocks import Metadata
from crawler.errors import ExportError, StoreError
from crawler.reading.exports.rows import EXPORT_COLUMNS, ChunkLimits, ExportContent, RowFilter
from crawler.storage import schema
from crawler.storage.database import opened_engine, read_position, read_transaction
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.store import Store
from crawler.visit import TextForm


def save(engine, *visits):
    store = Store(engine)
    store.save(store.begin_crawl("test", {}), visits)


def test_a_cursor_returns_the_changes_since_then(write, engine):
    first, _ = write()
    save(engine, make(OTHER, ("ganz neu",), Metadata(language="de")))
    later, _ = write("later.jsonl", since=first.cursor)
    assert (later.new, later.changed, later.gone) == (1, 0, 2)
    assert write("none.jsonl", since=later.cursor)[0].rows == 0


def test_a_pruned_block_is_gone_and_only_its_id_is_exported(write, engine):
    exports = [write("first.jsonl", content=content)[0] for content in (ExportContent.BLOCKS, ExportContent.PAGES)]
    prune_pages(engine, PruneSelection.of(url=URL))
    blocks, pages = (
        write(f"{export.content}.jsonl", content=ExportContent(export.content), since=export.cursor)
        for export in exports
    )
    (line,) = lines(pages[1])
    columns = [column.name for column in EXPORT_COLUMNS[ExportContent.PAGES]]
    assert list(line.items()) == list((dict.fromkeys(columns) | {"schema": 1, "change": "gone", "id": 1}).items())
    assert blocks[0].gone == 11


def test_an_increment_of_chunks_has_all_chunks_of_the_pages_that_differ(write, engine, structured):
    options = {"content": ExportContent.CHUNKS, "limits": ChunkLimits(50)}
    first, path = write(**options)
    assert structured.markdown
    known = chunks(path)
    assert write("none.jsonl", since=first.cursor, **options)[0].rows == 0
    other = STRUCTURED.replace("nothing at all", "a quarter")
    save(engine, visit(1, other, day=1, structure=True), visit(3, structure=True))
    later, path = write("later.jsonl", since=first.cursor, **options)
    assert {line["id"]: line["change"] for line in lines(path)} == {3: "changed", 5: "new"}
    known |= chunks(path)
    save(engine, visit(3, day=1))
    last, path = write("last.jsonl", since=later.cursor, **options)
    assert [(line["id"], line["change"]) for line in lines(path)] == [(5, "gone")]
    del known[5]
    assert known == chunks(write("whole.jsonl", **options)[1])
    with pytest.raises(ExportError, match="other options"):
        write("other.jsonl", since=last.cursor, content=ExportContent.CHUNKS, limits=ChunkLimits(60))


def test_chunks_need_a_structure(write):
    with pytest.raises(ExportError, match="STRUCTURE=True"):
        write(content=ExportContent.CHUNKS, limits=ChunkLimits(50))


FORM = TextForm(links=False, html=False)
BROKEN_CELL = STRUCTURED.replace("<td>9.00", "<td>9.00<br>in cash")


def test_markdown_is_written_as_the_options_say(write, engine):
    page = visit(1, BROKEN_CELL, structure=True)
    save(engine, page, visit(2))
    first, path = write(content=ExportContent.PAGES)
    by_url = {line["url"]: line["markdown"] for line in lines(path)}
    cleaned = page.page.cleaned
    assert by_url[page.url] == cleaned.markdown
    assert "](" in cleaned.markdown
    assert "<br>" in cleaned.markdown
    later, path = write("plain.jsonl", content=ExportContent.PAGES, text_form=FORM)
    plain = {line["url"]: line["markdown"] for line in lines(path)}
    assert plain == by_url | {page.url: cleaned.to_markdown(links=False, html=False)}
    assert "](" not in plain[page.url]
    assert "<br>" not in plain[page.url]
    assert write("none.jsonl", content=ExportContent.PAGES, text_form=FORM, since=later.cursor)[0].rows == 0
    with pytest.raises(ExportError, match="other options"):
        write("other.jsonl", content=ExportContent.PAGES, text_form=FORM, since=first.cursor)


def test_texts_of_pages_keep_their_layout_if_the_form_says_so(write, engine):
    page = visit(1, BROKEN_CELL, structure=True)
    save(engine, page, visit(2))
    texts = {}
    for style in ("blocks", "layout"):
        _, path = write(f"{style}.jsonl", content=ExportContent.PAGES, text_form=TextForm(style=style))
        texts[style] = {line["url"]: line["text"] for line in lines(path)}
    cleaned = page.page.cleaned
    assert texts["blocks"][page.url] == cleaned.text
    assert texts["layout"] == texts["blocks"] | {page.url: cleaned.to_text(style="layout")}
    assert " | " in texts["layout"][page.url]


def test_chunks_are_written_as_the_options_say(write, engine):
    page = visit(1, BROKEN_CELL, structure=True)
    save(engine, page)
    options = {"content": ExportContent.CHUNKS, "limits": ChunkLimits(50)}
    cleaned = page.page.cleaned
    for form, links in ((None, False), (TextForm(), True)):
        _, path = write("chunks.jsonl", text_form=form, **options)
        assert [line["text"] for line in lines(path)] == [chunk.text for chunk in cleaned.chunks(50, links=links)]
    _, path = write("plain.jsonl", text_form=FORM, **options)
    texts = "".join(line["text"] for line in lines(path))
    assert "in cash" in texts
    assert "<br>" not in texts


def test_a_form_of_markdown_needs_a_structure(write):
    with pytest.raises(ExportError, match="--no-html and --text-style need; crawl with -s STRUCTURE=True"):
        write(content=ExportContent.PAGES, text_form=FORM)


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def chunks(path):
    """The chunks of each page by its id, in order, without what says how they have changed."""
    rows_by_page = {}
    for line in lines(path):
        del line["change"]
        rows_by_page.setdefault(line["id"], []).append(line)
    return rows_by_page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: "yesterday", "'yesterday', which is not a cursor"),
        (lambda _: "", "'', which is not a cursor"),
        (lambda cursor: f"{cursor}x", "which is not a cursor"),
        (lambda cursor: cursor + "\n", "which is not a cursor"),
        (
            lambda cursor: cursor.replace("1.", "2.", 1),
            "cursor of version 2, but this version of Blocksieve writes version 1",
        ),
        (lambda cursor: cursor.replace("blocks", "pages"), "an export of pages, made with other options"),
        (lambda cursor: f"{cursor}0", "a later state than the database"),
        (lambda cursor: ".".join([*cursor.split(".")[:2], "0" * 32, *cursor.split(".")[3:]]), "of another database"),
    ],
)
def test_an_invalid_cursor_is_an_error_and_nothing_is_written(write, folder, change, message):
    exported, path = write()
    path.unlink()
    with pytest.raises(ExportError, match=message):
        write(since=change(exported.cursor))
    assert list(folder.iterdir()) == []


def test_a_cursor_is_valid_for_its_selection_only(write):
    exported, _ = write(rows=RowFilter(site="a.example"))
    assert write("same.jsonl", rows=RowFilter(site="a.example"), since=exported.cursor)[0].rows == 0
    for other in (RowFilter(), RowFilter(site="b.example"), RowFilter("a.example", "en")):
        with pytest.raises(ExportError, match="made with other options"):
            write("other.jsonl", rows=other, since=exported.cursor)


def test_a_cursor_of_a_database_that_lost_its_id_is_of_another_database(write, engine):
    exported, _ = write()
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM database_id"))
    schema.upgrade_schema(engine)
    with pytest.raises(ExportError, match="of another database"):
        write(since=exported.cursor)


def test_a_restored_database_is_exported_after_an_upgrade_and_its_sequence_continues(new_database):
    """As after restoring a dump there, where transactions have lower numbers; one of another database runs."""
    with opened_engine(new_database()) as other, other.begin() as running, opened_engine(new_database()) as engine:
        running.execute(text("SELECT pg_current_xact_id()"))
        schema.prepare_schema(engine)
        save(engine, make(URL, ("one",), Metadata()))
        with engine.begin() as connection:
            connection.execute(text("UPDATE database_id SET server = 'elsewhere'"))
            connection.execute(text("UPDATE change_log SET changed = 9000000000"))
        with (
            read_transaction(engine) as connection,
            pytest.raises(StoreError, match=r"restored from a dump of another database or server.*`scrapy upgrade`"),
        ):
            read_position(connection)
        assert schema.upgrade_schema(engine)
        assert not schema.upgrade_schema(engine)
        with read_transaction(engine) as connection:
            horizon = read_position(connection).horizon
        assert horizon.running
        assert not any(horizon.hides(sequence) for sequence in (1, 8_999_999_999, 9_000_000_000))
        assert min(horizon.running) > 9_000_000_000
        save(engine, make(URL, ("two",), Metadata()))
        with engine.connect() as connection:
            assert connection.scalar(text("SELECT changed FROM change_log")) > 9_000_000_000


@pytest.mark.parametrize("name", ["headline", "stated_title"])
def test_another_headline_is_a_change_of_the_page_and_of_no_block(write, engine, name):
    url = "https://a.example/bridge"
    save(engine, make(url, ("one bridge",), Metadata(**{name: "Bridge closed"})))
    contents = (ExportContent.BLOCKS, ExportContent.PAGES)
    cursors = {content: write("first.jsonl", content=content)[0].cursor for content in contents}
    save(engine, make(url, ("one bridge",), Metadata(**{name: "Bridge open"})))
    later = {content: write(f"{content}.jsonl", content=content, since=cursors[content]) for content in contents}
    assert later[ExportContent.BLOCKS][0].rows == 0
    (row,) = lines(later[ExportContent.PAGES][1])
    assert (row["url"], row["change"], row[name]) == (url, "changed", "Bridge open")
