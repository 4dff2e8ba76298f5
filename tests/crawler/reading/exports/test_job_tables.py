"""Exports of a finished batch job."""

import json

import pytest
from batch_jobs import options, pages, rows
from warcs import write_warc

from crawler.batch.job import run_batch
from crawler.errors import ExportError, QueryError
from crawler.reading.exports.export import ExportRequest, write_job_export
from crawler.reading.exports.job_tables import JobTable
from crawler.reading.exports.rows import ExportContent, RowFilter


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The output of a job that has read two archives."""
    folder = tmp_path_factory.mktemp("job")
    write_warc(folder / "a.warc.gz", pages(0, 6))
    write_warc(folder / "b.warc.gz", pages(6, 4, "b.example"))
    run_batch(options(folder, folder / "a.warc.gz", folder / "b.warc.gz"))
    return folder / "out"


def export(job, path, content=ExportContent.PAGES, **more):
    request = ExportRequest(path, path.suffix, content, folder=str(job), **more)
    result = write_job_export(request, lambda _count: None)
    return result, [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("content", [ExportContent.PAGES, ExportContent.BLOCKS])
def test_the_rows_are_those_of_the_job(job, tmp_path, content):
    result, exported = export(job, tmp_path / "out.jsonl", content)
    stored = rows(job, content.value)
    assert [row["id"] for row in exported] == [row["id"] for row in stored]
    assert exported[0].keys() == stored[0].keys()
    assert (result.rows, result.new, result.cursor, result.left_out) == (len(stored), len(stored), None, 0)


def test_site_language_and_conditions_choose_rows(job, tmp_path):
    result, exported = export(
        job, tmp_path / "out.jsonl", rows=RowFilter("b.example", "en"), where=("!duplicate_of", "url!~/7$")
    )
    expected = [
        page["url"]
        for page in rows(job, "pages")
        if page["site"] == "b.example" and page["duplicate_of"] is None and not page["url"].endswith("/7")
    ]
    assert [row["url"] for row in exported] == expected
    assert result.left_out == 10 - len(expected)


def test_an_unknown_column_is_named(job, tmp_path):
    with pytest.raises(QueryError, match="there is no column kind"):
        export(job, tmp_path / "out.jsonl", where=("kind=heading",))
    assert list(tmp_path.iterdir()) == []


def test_another_folder_is_refused(job, tmp_path):
    with pytest.raises(ExportError, match="holds no finished batch job"):
        JobTable(str(tmp_path), ExportContent.PAGES)
    with pytest.raises(ExportError, match="a batch job has no chunks"):
        JobTable(str(job), ExportContent.CHUNKS)
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(ExportError, match="has no table pages"):
        JobTable(str(tmp_path), ExportContent.PAGES)
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "part-000000.parquet").write_bytes((job / "pages" / "part-000000.parquet").read_bytes()[:-9])
    with pytest.raises(ExportError, match=r"part-000000\.parquet in .* cannot be read"):
        JobTable(str(tmp_path), ExportContent.PAGES)
