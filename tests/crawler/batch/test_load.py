"""The tables of a batch job in a database: as a crawl of the archive stores them, and each page once."""

import shutil

import pytest
from pyarrow import parquet
from scrapy.settings import Settings
from sqlalchemy import create_engine, text
from warcs import LAKE, article, captures, paragraph, record_id, write_warc

from crawler.batch.job import BatchOptions, batch_settings, run_batch
from crawler.batch.load import import_tables
from crawler.config import Config
from crawler.errors import BatchError

pytestmark = pytest.mark.slow
SHARED = paragraph("shared")


def config(url, **changes):
    return Config.read(Settings({"DATABASE_URL": url} | changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished job: four pages in two files, of which two have the same text."""
    place = tmp_path_factory.mktemp("job")
    for number in range(2):
        pages = [
            (f"https://{name}.example/{number}", article(f"{name} {number}", paragraph(f"{name}{number}"), *more))
            for name, more in (("a", [SHARED, SHARED]), ("b", []))
        ]
        write_warc(place / f"{number}.warc.gz", pages)
    settings = Settings()
    out = str(place / "out")
    run_batch(BatchOptions([str(place)], out, batch_settings(Config.read(settings), settings), workers=0))
    return out


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'blocks.db'}"
    return request.getfixturevalue("new_database")()


def query(url, statement):
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(statement))]
    finally:
        engine.dispose()


def test_pages_blocks_and_sightings_are_stored_once(folder, url):
    counts = import_tables(folder, config(url))
    assert (counts["pages"], counts["pages_new"], counts["exact"]) == (4, 4, 3)
    assert query(url, "SELECT url FROM page ORDER BY id") == [
        ("https://a.example/0",),
        ("https://b.example/0",),
        ("https://a.example/1",),
        ("https://b.example/1",),
    ]
    assert query(url, "SELECT count(*) FROM block WHERE digest IN (SELECT digest FROM sighting)") == [(1,)]
    assert query(url, "SELECT method, html IS NULL, body_hash <> 0 FROM page LIMIT 1") == [("default", True, True)]
    before = query(url, "SELECT id, text FROM block ORDER BY id")
    again = import_tables(folder, config(url))
    assert (again["pages"], again["known"]) == (0, 4)
    assert query(url, "SELECT id, text FROM block ORDER BY id") == before
    assert query(url, "SELECT count(*) FROM sighting") == [(3,)]


HEAD = """
<meta name="description" content="How the mill works."><meta name="keywords" content="mills, water">
<link rel="license" href="https://creativecommons.org/licenses/by/4.0/"></head>
"""
DESCRIBED = ("How the mill works.", "mills, water", "https://creativecommons.org/licenses/by/4.0/")


def test_description_keywords_and_licence_are_in_the_tables_and_are_imported(tmp_path):
    page = article("The mill", paragraph("mill")).replace("</head>", HEAD)
    write_warc(tmp_path / "a.warc.gz", [("https://a.example/1", page)])
    settings = Settings()
    out = tmp_path / "out"
    inputs = [str(tmp_path / "a.warc.gz")]
    run_batch(BatchOptions(inputs, str(out), batch_settings(Config.read(settings), settings), workers=0))
    names = ["description", "keywords", "license"]
    for table in ("pages", "blocks"):
        rows = parquet.read_table(out / table).select(names).to_pylist()
        assert {tuple(row.values()) for row in rows} == {DESCRIBED}
    url = f"sqlite:///{tmp_path / 'blocks.db'}"
    import_tables(str(out), config(url))
    assert query(url, f"SELECT {', '.join(names)} FROM page") == [DESCRIBED]


def test_tables_of_a_version_that_did_not_write_a_column_are_imported(folder, tmp_path):
    copied = tmp_path / "out"
    shutil.copytree(folder, copied)
    for part in (copied / "pages").iterdir():
        parquet.write_table(parquet.read_table(part).drop_columns(["description", "headline"]), part)
    url = f"sqlite:///{tmp_path / 'a.db'}"
    assert import_tables(str(copied), config(url))["pages"] == 4
    assert query(url, "SELECT DISTINCT description FROM page") == [(None,)]


@pytest.mark.parametrize("years", [("1998", "2001", "2004"), ("2004", "1998", "2001")])
def test_captures_of_an_address_are_visits_in_the_order_of_their_dates(url, tmp_path, years):
    lakes = [f"https://{name}.example/" for name in "ab"]
    for number, year in enumerate(years):
        answers = [answer for lake in lakes for answer in captures(lake, year)]
        write_warc(tmp_path / f"{number}.warc.gz", answers + captures(lakes[0], *years[:number]))
    settings = Settings()
    out = tmp_path / "out"
    run_batch(BatchOptions([str(tmp_path)], str(out), batch_settings(Config.read(settings), settings), workers=0))
    pages = [row for part in (out / "pages").iterdir() for row in parquet.read_table(part).to_pylist()]
    assert sorted((row["url"], row["first_seen"].year) for row in pages) == [(lake, 2004) for lake in lakes]
    for _ in range(2):
        import_tables(str(out), config(url))
        assert query(url, "SELECT url, visits, changes FROM page ORDER BY url") == [(lake, 3, 2) for lake in lakes]
        for number in (1, 2):
            events = query(url, f"SELECT visited, kind FROM page_event WHERE page_id = {number} ORDER BY visited")
            kinds = [(str(visited)[:4], kind) for visited, kind in events]
            assert kinds == [("1998", "new"), ("2001", "changed"), ("2004", "changed")]
        assert query(url, "SELECT record_id FROM page ORDER BY url") == [(record_id(lake),) for lake in lakes]
        shown = query(url, "SELECT text FROM page_text WHERE position = 1")
        assert shown == [(LAKE["2004"],)] * 2


def test_files_of_other_programs_are_left_alone_and_a_damaged_part_is_named(folder, tmp_path):
    copied = tmp_path / "out"
    shutil.copytree(folder, copied)
    (copied / "pages" / "_SUCCESS").touch()
    assert import_tables(str(copied), config(f"sqlite:///{tmp_path / 'a.db'}"))["pages"] == 4
    part = copied / "blocks" / "part-000001.parquet"
    part.write_bytes(part.read_bytes()[:-9])
    with pytest.raises(BatchError, match=r"blocks/part-000001\.parquet in .* is damaged"):
        import_tables(str(copied), config(f"sqlite:///{tmp_path / 'b.db'}"))


def test_fingerprints_of_another_scheme_are_refused(folder, tmp_path):
    with pytest.raises(BatchError, match="FINGERPRINT_WEIGHTING=modified, but FINGERPRINT_WEIGHTING is plain"):
        import_tables(folder, config(f"sqlite:///{tmp_path / 'a.db'}", FINGERPRINT_WEIGHTING="plain"))


def test_a_folder_without_a_finished_job_is_refused(tmp_path):
    with pytest.raises(BatchError, match="holds no finished batch job"):
        import_tables(str(tmp_path), config(f"sqlite:///{tmp_path / 'a.db'}"))
