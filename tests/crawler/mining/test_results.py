"""Reports are inert pages, rows are tables, and both say what the result says."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from mined_documents import documents

from crawler.errors import CompareError, MiningError
from crawler.mining import classify, cluster, count_terms, find_patterns, find_trends
from crawler.mining.results import result_record, result_rows, result_tables, write_report, write_rows
from crawler.terminal import print_json

SCRIPT = "<script>document.title = 'hacked'</script>"
TASKS = {
    "classify": lambda counts: classify(counts, folds=5),
    "cluster": cluster,
    "patterns": find_patterns,
    "trends": find_trends,
}


@pytest.fixture(scope="module")
def counts():
    counts = count_terms(documents())
    return replace(counts, documents=[replace(row, title=f"{SCRIPT} {row.id}") for row in counts.documents])


@pytest.fixture(scope="module", params=TASKS)
def result(request, counts):
    return TASKS[request.param](counts)


def test_a_report_is_a_page_that_runs_nothing(result, counts, tmp_path):
    write_report(result, counts, tmp_path / "report.html", f"the database {SCRIPT}")
    text = (tmp_path / "report.html").read_text()
    assert "120 documents" in text
    assert "<script" not in text
    assert "default-src &#39;none&#39;" in text
    write_report(result, counts, tmp_path / "report.html", "again")
    (tmp_path / "mine.html").write_text("a page of mine")
    with pytest.raises(CompareError, match="was not written by this program"):
        write_report(result, counts, tmp_path / "mine.html", "")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_rows_are_tables(result, tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    count = write_rows(result, path)
    read = {".csv": pd.read_csv, ".jsonl": lambda file: pd.read_json(file, lines=True), ".parquet": pd.read_parquet}
    if count:
        assert len(read[suffix](path)) == count == len(result_rows(result))


def test_results_are_printed_as_json(result, counts, capsys):
    print_json(result_record(result, counts))
    record = json.loads(capsys.readouterr().out)
    assert record["counts"] == {"documents": 120, "terms": record["counts"]["terms"], "without_terms": 0}
    assert not {"predictions", "members"}.intersection(record)


def test_tables_have_a_cell_for_each_column(result):
    assert all(len(row) == len(table.columns) for table in result_tables(result) for row in table.rows)


def test_a_file_that_cannot_be_written_is_named(counts, tmp_path):
    with pytest.raises(MiningError, match="cannot be written"):
        write_rows(cluster(counts, 4), tmp_path / "none" / "rows.csv")
