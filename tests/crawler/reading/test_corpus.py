"""A database read from Python: typed rows, and the same as tables of Arrow, pandas and Polars."""

from datetime import UTC, date, datetime

import pytest
from cleaned_pages import STRUCTURED, address, fill, html, visit
from copied_pages import COPYING, ORIGINAL
from copied_pages import fill as fill_with_copies

from crawler.errors import ExportError, QueryError, StoreError
from crawler.reading import CorpusBlock, CorpusChunk, CorpusPage, open_database
from crawler.reading.exports.rows import EXPORT_COLUMNS, ExportContent
from crawler.storage.database import opened_engine
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store

PAGES = 23


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, fresh_url):
    """Some pages, of which the first one changes on the second day and has a structure."""
    url = fresh_url(request.param)
    with opened_engine(url) as engine:
        prepare_schema(engine)
        store = Store(engine)
        crawl = fill(store, PAGES)
        store.save(crawl, [visit(1, STRUCTURED, day=1, structure=True)])
    return url


@pytest.fixture
def corpus(url):
    with open_database(url) as corpus:
        yield corpus


@pytest.mark.parametrize(
    ("row", "content"), list(zip((CorpusBlock, CorpusPage, CorpusChunk), ExportContent, strict=True))
)
def test_the_fields_of_rows_are_the_columns_of_exports(row, content):
    assert row._fields == tuple(column.name for column in EXPORT_COLUMNS[content][2:])


def test_pages_are_typed_rows_in_order(corpus):
    pages = list(corpus.pages())
    assert [page.url for page in pages] == [address(number) for number in range(PAGES)]
    assert pages[1].title == "The ferries of the lake"
    assert pages[1].markdown.startswith("# The ferries of the lake")
    assert pages[2].markdown is None
    assert pages[2].first_seen == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert "Ferry 2 is late" in pages[2].text.splitlines()


def test_rows_are_read_anew_each_time(corpus):
    rows = corpus.blocks()
    assert list(rows) == list(rows) != []


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"site": "example.org"}, PAGES),
        ({"site": "https://lake.example.org/7"}, PAGES),
        ({"site": "example.net"}, 0),
        ({"language": " EN "}, PAGES),
        ({"language": "de"}, 0),
    ],
)
def test_filters(corpus, filters, count):
    assert len(list(corpus.pages(**filters))) == count
    assert corpus.pages(**filters).to_arrow().read_all().num_rows == count


def test_a_table_has_the_rows_and_types(corpus):
    frame = corpus.blocks().to_pandas()
    rows = list(corpus.blocks())
    assert list(frame.columns) == list(CorpusBlock._fields)
    assert frame["text"].tolist() == [row.text for row in rows]
    assert str(frame["first_seen"].dtype) == "datetime64[us, UTC]"
    assert corpus.blocks().to_polars()["words"].to_list() == [row.words for row in rows]


def test_arrow_comes_in_batches(corpus):
    batches = list(corpus.pages().to_arrow(rows_per_batch=10))
    assert [batch.num_rows for batch in batches] == [10, 10, 3]
    with pytest.raises(ExportError, match="rows_per_batch is 0; it must be 1 or more"):
        corpus.pages().to_arrow(0)


def test_no_rows_have_all_columns(corpus):
    assert list(corpus.search("nowhere").to_pandas().columns)[:3] == ["page_id", "url", "title"]
    assert corpus.copies().to_polars().shape == (0, 8)


def test_chunks_name_their_headings(corpus):
    chunks = list(corpus.chunks(40))
    assert {chunk.url for chunk in chunks} == {address(1)}
    assert chunks[-1].headings == ["The ferries of the lake", "Timetable"]
    assert all(chunk.size <= 40 for chunk in chunks)
    assert corpus.chunks(40).to_pandas()["headings"].iloc[-1].tolist() == chunks[-1].headings
    with pytest.raises(ExportError, match="size is 10 and overlap 10"):
        corpus.chunks(10, overlap=10)


def test_a_search_gives_pages_and_a_row_for_each_hit(corpus):
    rows = corpus.search('"ferry 7"', rank="bm25")
    assert [page.url for page in rows] == [address(7)]
    frame = rows.to_pandas()
    assert set(frame["url"]) == {address(7)}
    assert len(frame) == sum(len(page.hits) for page in rows)
    with pytest.raises(ValueError, match="bm26"):
        corpus.search("ferry", rank="bm26")
    with pytest.raises(QueryError):
        list(corpus.search('"ferry'))


def test_changes_have_their_texts(corpus):
    changes = corpus.changes(since=date(2024, 5, 2))
    (change,) = changes
    assert (change.kind, change.url) == ("changed", address(1))
    record = changes.to_polars().row(0, named=True)
    assert "Fares" in record["added"]
    assert "Ferry 1 is late" in record["gone"]
    assert len(list(corpus.changes())) == PAGES + 1
    assert [change.kind for change in corpus.changes(until=datetime(2024, 5, 1, 23, tzinfo=UTC))] == ["new"] * PAGES


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_copies_of_two_sites(kind, fresh_url):
    url = fresh_url(kind)
    with opened_engine(url) as engine:
        fill_with_copies(engine)
    with open_database(url) as corpus:
        copies = list(corpus.copies())
        assert [copy.is_article for copy in copies] == [True, True, False, True]
        assert list(corpus.copies(original=ORIGINAL, site=COPYING)) == copies
        assert list(corpus.copies(original=COPYING)) == []
        assert corpus.copies().to_pandas()["is_article"].tolist() == [True, True, False, True]


def test_an_iteration_sees_one_state_and_ends_its_transaction(tmp_path):
    url = f"sqlite:///{tmp_path}/blocks.db"
    with opened_engine(url) as engine:
        prepare_schema(engine)
        store = Store(engine)
        crawl = fill(store, 3)
        with open_database(url) as corpus:
            rows = iter(corpus.pages())
            next(rows)
            store.save(crawl, [visit(3), visit(2, html(2).replace("late", "early"), day=1)])
            assert "late" in list(rows)[-1].text
            unread = iter(corpus.pages())
            next(unread)
            unread.close()
            assert len(list(corpus.pages())) == 4


def test_a_database_that_does_not_exist(tmp_path):
    with pytest.raises(StoreError, match="there is no database at"):
        open_database(f"sqlite:///{tmp_path}/none.db")


def test_an_unknown_site(corpus):
    with pytest.raises(QueryError, match="the site 'https://' is unknown"):
        corpus.pages(site="https://")
