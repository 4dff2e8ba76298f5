"""A batch job: its tables, and a job that is continued; test_engine.py has what it survives."""

import gzip
import json
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import fsspec
import pandas as pd
import pytest
from archive_crawl import crawl
from batch_jobs import SHARED, options, pages, rows, settings
from pyarrow import parquet
from sqlalchemy import create_engine, text
from warcs import DATE, arc_records, article, paragraph, write_warc

from crawler.batch import engine as engines
from crawler.batch.job import _JOB_FILE, BatchOptions, run_batch
from crawler.batch.output import OutputFolder
from crawler.errors import BatchError, ConfigError, QueryError

pytestmark = pytest.mark.slow
HTML = (("Content-Type", "text/html"),)
EMPTY = ("https://a.example/empty", "<html><p></p></html>")
GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*/page.html"))


def test_all_records_are_counted(finished):
    summary, out = finished
    counts = summary.counts
    assert counts["records"] == 18
    assert counts["visit/page"] == counts["pages"] == 16
    assert counts["visit/not_html"] == 1
    assert counts["record/truncated"] == 1
    assert counts["record/repeated"] == 1
    assert counts["stored/pages"] == 15 == len(rows(out, "pages"))
    assert summary.lost == {"record/truncated": 1}
    assert {(row["reason"], row["url"]) for row in rows(out, "rejected")} == {
        ("truncated", None),
        ("not_html", "https://a.example/pdf"),
    }


def test_the_last_answer_of_a_url_counts(finished):
    _, out = finished
    (page,) = [row for row in rows(out, "pages") if row["url"] == "https://a.example/0"]
    assert page["source"].endswith("b.warc")


def test_inputs_and_output_behind_urls_give_the_same_tables(archives, finished, serve, answer):
    """Over HTTP, from a list that names a file which the server does not give, into a store of objects."""
    names = ["a.warc.gz", "b.warc", "c.warc.gz", "d.warc.gz"]
    files = {f"/archives/{name}": answer((archives / name).read_bytes(), headers={}) for name in names[:-1]}
    files["/archives/d.warc.gz"] = answer("broken", 500)
    files["/lists/warc.paths.gz"] = answer(gzip.compress("\n".join(names).encode()), headers={})
    address, requests = serve(files)
    out = f"memory://{address.rpartition(':')[2]}/out"
    inputs = [f"{address}/lists/warc.paths.gz"]
    summary = run_batch(
        BatchOptions(inputs, out, settings(), base=f"{address}/archives/", near_duplicates=True, workers=0)
    )
    expected, folder = finished
    assert summary.counts == {**expected.counts, "file/unreadable": 1}
    assert summary.lost == {**expected.lost, "file/unreadable": 1}
    assert {path for path, _ in requests} == set(files)
    stored = fsspec.filesystem("memory")
    for table in ("pages", "blocks", "sightings"):
        parts = [
            parquet.read_table(BytesIO(stored.cat(path))) for path in sorted(stored.ls(f"{out}/{table}", detail=False))
        ]
        columns = [name for name in parts[0].column_names if name != "source"]
        assert [row for part in parts for row in part.select(columns).to_pylist()] == [
            {name: row[name] for name in columns} for row in rows(folder, table)
        ]


def test_a_job_that_was_killed_is_continued(archives, finished, tmp_path, monkeypatch):
    class KilledError(Exception):
        pass

    done = []

    def stop(progress):
        done.append(progress)
        if progress.stage == "clean" and progress.done == 2:
            raise KilledError

    with pytest.raises(KilledError):
        run_batch(options(tmp_path, archives), stop)
    (tmp_path / "out/work/cleaned/.blocksieve-batch-1.part").touch()
    with pytest.raises(BatchError, match="holds a batch job; add --resume"):
        run_batch(options(tmp_path, archives))
    with pytest.raises(BatchError, match="which holds a job with near_duplicates True, not False"):
        run_batch(options(tmp_path, archives, near_duplicates=False, resume=True))
    cleaned = []
    monkeypatch.setattr(engines.TaskProcess, "run", _recorded(engines.TaskProcess.run, cleaned))
    summary = run_batch(options(tmp_path, archives, resume=True))
    assert [task.number for task in cleaned if task.stage == "clean"] == [2]
    assert summary.counts == finished[0].counts
    assert rows(tmp_path / "out", "blocks") == rows(finished[1], "blocks")
    assert not (tmp_path / "out/work").exists()


def _recorded(run, tasks):
    def recorded(self, output, task):
        tasks.append(task)
        return run(self, output, task)

    return recorded


def test_a_method_that_needs_a_browser_is_refused():
    with pytest.raises(ConfigError, match="CLEANING_METHOD is vce, which needs a layout"):
        settings(CLEANING_METHOD="vce")


def test_an_output_with_something_else_is_left_alone(tmp_path, archives):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").touch()
    with pytest.raises(BatchError, match="is not empty and holds no batch job"):
        run_batch(options(tmp_path, archives))


def test_two_jobs_never_write_to_one_folder(tmp_path, archives):
    run_batch(options(tmp_path, archives))
    with (
        OutputFolder(str(tmp_path / "out")).locked(_JOB_FILE),
        pytest.raises(BatchError, match="another job is writing"),
    ):
        run_batch(options(tmp_path, archives, resume=True))


def test_a_damaged_description_is_named(tmp_path, archives):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / _JOB_FILE).write_text("{}")
    with pytest.raises(BatchError, match=f"{_JOB_FILE} in .* is damaged"):
        run_batch(options(tmp_path, archives, resume=True))


OWN = {"source", "place", "first_seen", "record_id"}  # saved pages have no date and no record


def test_every_format_of_the_same_pages_gives_the_same_tables(tmp_path):
    answers = [(url, body.replace("<title>", '<meta charset="utf-8"><title>')) for url, body in pages(0, 30)]
    inputs = {name: tmp_path / name for name in ("warc.warc.gz", "arc.arc.gz", "wacz.wacz", "lines.jsonl.gz", "html")}
    write_warc(inputs["warc.warc.gz"], answers)
    inputs["arc.arc.gz"].write_bytes(b"".join(map(gzip.compress, arc_records(answers))))
    with ZipFile(inputs["wacz.wacz"], "w") as archive:
        archive.write(inputs["warc.warc.gz"], "archive/data.warc.gz")
    objects = ({"url": url, "html": body, "date": DATE} for url, body in answers)
    inputs["lines.jsonl.gz"].write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in objects).encode()))
    inputs["html"].mkdir()
    index = ["url\tfile"]
    for number, (url, body) in enumerate(answers):
        (inputs["html"] / f"{number}.html").write_text(body)
        index.append(f"{url}\t{number}.html")
    (inputs["html"] / "index.tsv").write_text("\n".join(index))
    tables = {}
    for name, path in inputs.items():
        folder = tmp_path / f"job-{name}"
        folder.mkdir()
        run_batch(options(folder, path))
        tables[name] = [
            [{key: row[key] for key in row if key not in OWN} for row in rows(folder / "out", table)]
            for table in ("pages", "blocks", "sightings")
        ]
    first = tables.pop("warc.warc.gz")
    assert len(first[0]) == 30
    for name, values in tables.items():
        assert values == first, name


def test_the_result_is_that_of_a_crawl_of_the_archive(tmp_path):
    """Pages, decisions, digests, fingerprints, sightings and Markdown, with the records in the order of the crawl."""
    answers = [
        *pages(0, 8),
        {"url": "https://a.example/missing", "body": article("Gone", paragraph("gone")), "status": 404},
        (
            "https://a.example/secret",
            article("Secret", paragraph("secret")).replace("<title>", "<meta name=robots content=noindex><title>"),
        ),
        ("https://a.example/8", article(SHARED[0], SHARED[1], SHARED[1], "Short text.")),
        ("https://a.example/9", article("Short text.", "Short text.", SHARED[0])),
        *(
            {"url": f"https://c.example/{path.parent.name}", "body": path.read_bytes(), "headers": HTML}
            for path in GOLDEN
        ),
    ]
    path = write_warc(tmp_path / "a.warc.gz", answers)
    process = crawl(
        tmp_path,
        path,
        "CONCURRENT_REQUESTS=1",
        "CONCURRENT_REQUESTS_PER_DOMAIN=1",
        "BOILERPLATE_MIN_PAGES=0",
        "STRUCTURE=True",
    )
    assert process.returncode == 0, process.stderr
    out = tmp_path / "out"
    database = create_engine(f"sqlite:///{tmp_path / 'blocks.db'}")
    with database.connect() as connection:
        order = connection.execute(text("SELECT url FROM page ORDER BY id")).scalars().all()
        assert len(order) > len(GOLDEN) > 15
        records = [row if isinstance(row, dict) else {"url": row[0], "body": row[1]} for row in answers]
        records.sort(key=lambda row: order.index(row["url"]) if row["url"] in order else len(order))
        ordered = write_warc(tmp_path / "ordered.warc.gz", records)
        summary = run_batch(options(tmp_path, ordered, settings=settings(STRUCTURE=True)))
        assert order == [page["url"] for page in rows(out, "pages")]
        stored = connection.execute(text(_PAGES)).mappings().all()
        assert [dict(row) for row in stored] == _only(rows(out, "pages"), stored)
        stored = connection.execute(text(_BLOCKS)).mappings().all()
        assert [dict(row) for row in stored] == _only(rows(out, "blocks"), stored)
        stored = connection.execute(text(_SIGHTINGS)).mappings().all()
        urls = {block["id"]: (block["url"], block["position"]) for block in rows(out, "blocks")}
        for row in (repeats := rows(out, "sightings")):
            row["original_url"], row["original_position"] = urls[row["block_id"]]
        assert len(repeats) > 10
        assert [dict(row) for row in stored] == _only(repeats, stored)
        totals = connection.execute(text("SELECT totals FROM crawl")).scalar_one()
    database.dispose()
    reasons = {name: count for name, count in summary.counts.items() if name.startswith(("visit/", "blocks/"))}
    assert {name: count for name, count in reasons.items() if f'"{name}": {count}' not in totals} == {}


def _only(table_rows, columns_of):
    return [{name: row[name] for name in columns_of[0]} for row in table_rows]


_PAGES = """
SELECT url, url_key, site, section, title, author, published, language, method, encoding, body_hash, page_fingerprint,
       page_structure.markdown
FROM page JOIN page_structure ON page_structure.page_id = page.id ORDER BY id"""
_BLOCKS = """
SELECT page.url, position, kind, path, text, words, score, priority, digest, fingerprint
FROM block JOIN page ON page.id = block.page_id ORDER BY block.page_id, position"""
_SIGHTINGS = """
SELECT page.url, sighting.position, sighting.kind, sighting.path, coalesce(sighting.text, block.text) AS text,
       sighting.words, sighting.score, sighting.digest, sighting.fingerprint, sighting.distance,
       there.url AS original_url, block.position AS original_position
FROM sighting JOIN page ON page.id = sighting.page_id JOIN block ON block.id = sighting.block_id
JOIN page AS there ON there.id = block.page_id ORDER BY sighting.page_id, sighting.position"""


def test_a_page_has_its_signals_and_the_conditions_leave_pages_out(tmp_path):
    """The id of the WARC record, and what a page states about its use."""
    stating = """<html lang="en"><head><title>Stated</title><meta name="robots" content="noai, noarchive">
    <script type="application/ld+json">{"@type": "NewsArticle", "isAccessibleForFree": false}</script></head>"""
    mail = f"<article><p>{paragraph('mail')}</p></article>"
    write_warc(tmp_path / "a.warc.gz", [*pages(0, 2), ("https://a.example/mail", stating + mail), EMPTY])
    chosen = settings(OBEY_NOAI=False)
    job = options(tmp_path, tmp_path / "a.warc.gz", settings=chosen, where=["words>=5", "url!~/1$"])
    counts = run_batch(job).counts
    stored = {page["url"]: page for page in rows(tmp_path / "out", "pages")}
    assert stored.keys() == {"https://a.example/0", "https://a.example/mail"}
    page = stored["https://a.example/mail"]
    assert (page["access"], page["opt_outs"]) == ("paid", "noarchive,noai")
    assert page["record_id"].startswith("<urn:uuid:")
    assert 0 < page["kept_share"] <= 1
    rejected = {row["url"]: row for row in rows(tmp_path / "out", "rejected")}
    assert rejected["https://a.example/1"]["detail"] == "url!~/1$"
    assert rejected[EMPTY[0]]["detail"] == "words>=5"
    assert all(row["record_id"].startswith("<urn:uuid:") for row in rejected.values())
    assert counts["filtered/where"] == 2
    assert counts["language/en/pages"] == 2
    assert counts["language/en/words"] == sum(page["words"] for page in stored.values())


def test_a_condition_on_what_is_decided_at_the_end_is_refused(tmp_path, archives):
    with pytest.raises(QueryError, match="there is no column duplicate_of"):
        run_batch(options(tmp_path, archives, where=["!duplicate_of"]))
    assert not (tmp_path / "out").exists()


def test_pandas_reads_fingerprints_whole(finished):
    for table, name in (("blocks", "fingerprint"), ("pages", "page_fingerprint"), ("pages", "duplicate_of")):
        column = pd.read_parquet(finished[1] / table)[name]
        values = [row[name] for row in rows(finished[1], table)]
        assert column.dtype == "Int64"
        assert [None if value is pd.NA else int(value) for value in column] == values
    assert None in values
