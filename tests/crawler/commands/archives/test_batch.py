"""`scrapy batch` and `scrapy import` on the command line."""

import json
import re

import pytest
from pyarrow import parquet
from warcs import article, paragraph, write_warc

from cleaning import clean

PAGES = [(f"https://{name}.example/1", article(name, paragraph(name))) for name in ("a", "b", "c")]


@pytest.mark.slow
def test_an_archive_becomes_tables_and_then_rows(scrapy, tmp_path):
    write_warc(tmp_path / "a.warc.gz", PAGES)
    done = scrapy("batch", "a.warc.gz", "--out", "out", "--workers", "1", "--host", "a.example", "--host", "b.example")
    assert done.returncode == 0, done.stderr
    assert "3 records of 1 file in" in done.stdout
    assert re.search(r": 2 pages, [0-9] blocks, 0 exact and 0 near duplicates in out", done.stdout)
    assert re.search(r"left out +│ host +│ +1 │", done.stdout)
    stored = scrapy("import", "out", "--json")
    assert stored.returncode == 0, stored.stderr
    assert json.loads(stored.stdout)["pages"] == 2
    word = paragraph("b").split()[1]
    assert "b.example" in scrapy("search", word).stdout


@pytest.mark.slow
def test_texts_are_written_as_the_options_say(scrapy, tmp_path):
    page = article("Mills", f'{paragraph("mill")} See <a href="/wind">the windmills</a>.', paragraph("water"))
    write_warc(tmp_path / "a.warc.gz", [("https://a.example/1", page)])
    arguments = ["batch", "a.warc.gz", "--out", "out", "--workers", "1", "-s", "STRUCTURE=True"]
    done = scrapy(*arguments, "--links", "none", "--no-html", "--text-style", "layout")
    assert done.returncode == 0, done.stderr
    (row,) = parquet.read_table(tmp_path / "out" / "pages").to_pylist()
    cleaned = clean(page, "https://a.example/1")
    assert row["markdown"] == cleaned.to_markdown(links=False, html=False) != cleaned.markdown
    assert row["text"] == cleaned.to_text(style="layout") == f"Mills\n{cleaned.text}"
    resumed = scrapy(*arguments, "--resume")
    assert "holds a job with text_form {'html': False, 'links': False, 'style': 'layout'}" in resumed.stderr


def test_a_layout_needs_the_structure(scrapy, tmp_path):
    (tmp_path / "a.warc").write_bytes(b"")
    refused = scrapy("batch", "a.warc", "--out", "out", "--text-style", "layout")
    assert "--text-style layout need -s STRUCTURE=True" in refused.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_inputs_that_cannot_be_read_are_counted_and_none_at_all_is_a_failure(scrapy, tmp_path):
    (tmp_path / "junk.parquet").write_bytes(b"no table")
    failed = scrapy("batch", "junk.parquet", "--out", "none", "--workers", "1")
    assert failed.returncode == 1
    assert "1 input file of 1 could not be read to the end" in failed.stderr
    assert "no input file could be read" in failed.stderr
    write_warc(tmp_path / "a.warc.gz", PAGES)
    done = scrapy("batch", "junk.parquet", "a.warc.gz", "--out", "some", "--workers", "1")
    assert (done.returncode, "3 pages" in done.stdout) == (0, True), done.stderr
    assert "1 input file of 2 could not be read to the end" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "out"], "INPUT is missing"),
        (["a.warc"], "--out is missing"),
        (["a.warc", "--out", "out", "--workers", "0"], "--workers is 0; it takes a number from 1 on"),
        (["a.warc", "--out", "out", "--blocks-per-task", "0"], "--blocks-per-task is 0; it takes a number from 1 on"),
        (
            ["a.warc", "--out", "out", "--links", "none"],
            "--links, --no-html and --text-style layout need -s STRUCTURE",
        ),
        (["a.warc", "--out", "out", "--ray-address", "auto"], "--ray-address needs --engine ray"),
        (["a.warc", "--out", "out"], "the input 'a.warc' does not exist"),
        (["a.warc", "--out", "out", "--method", "vce"], "CLEANING_METHOD is vce, which needs a layout"),
    ],
)
def test_a_mistake_is_one_sentence(scrapy, arguments, message):
    failed = scrapy("batch", *arguments)
    assert failed.returncode in {1, 2}
    assert message in failed.stderr + failed.stdout
    assert "Traceback" not in failed.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--mask", "email,phone"],
            "--mask is no longer a part of this command: the formatter PIIFormatter",
        ),
        (["--quality"], "--quality is no longer a part of this command: the filters GopherQualityFilter"),
        (["--page-duplicates", "minhash"], "minhash is no longer a part of this command: the steps MinhashDedupSig"),
        (["--where", "word>1"], "--where is 'word>1', but there is no column word"),
    ],
)
def test_options_of_texts_and_duplicates_are_checked_first(scrapy, tmp_path, arguments, says):
    write_warc(tmp_path / "a.warc.gz", PAGES)
    done = scrapy("batch", "a.warc.gz", "--out", "out", *arguments)
    assert done.returncode in {1, 2}
    assert says in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_folder_with_a_page_without_text_is_summed_up(scrapy, tmp_path):
    (tmp_path / "pages").mkdir()
    for name, page in (("full", article("Mills", paragraph("mill"))), ("empty", "<html><body></body></html>")):
        (tmp_path / "pages" / f"{name}.html").write_text(page, "utf-8")
    done = scrapy("batch", "pages", "--out", "out", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert re.search(r"none +│ +1 │ +0 │", done.stdout)
