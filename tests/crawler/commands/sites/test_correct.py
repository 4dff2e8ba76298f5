"""`scrapy correct`: a site is taught, and crawls, reclean, batch and explain clean by it."""

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace

import pytest
import taught_site

from cleaning.teaching.corrections import write_corrections
from cleaning.teaching.site_model import write_site_models

SITE = "courier.example"
PAGES = 12
MANY = 1_000
OFFER = "Win two nights"


@pytest.fixture
def saved(tmp_path):
    """A folder with the saved pages of the site."""
    folder = tmp_path / "pages"
    folder.mkdir()
    rows = ["file\turl"]
    for number in range(1, PAGES + 1):
        (folder / f"{number}.html").write_text(taught_site.page_html(number), "utf-8")
        rows.append(f"{number}.html\t{taught_site.address(number)}")
    (folder / "index.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


@pytest.fixture
def run(scrapy):
    """Run a command that must succeed; return its output."""

    def run(*arguments, **more):
        finished = scrapy(*arguments, **more)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    return run


@pytest.fixture
def crawl(run, saved):
    """Crawl the saved pages."""
    return lambda *settings: run(
        "crawl", "archive", "-s", f"REPLAY={saved}", *(part for setting in settings for part in ("-s", setting))
    )


@pytest.fixture
def offers(tmp_path):
    """Return how many pages show an offer in the database."""

    def count():
        with sqlite3.connect(tmp_path / "blocks.db") as connection:
            texts = [row[0] for row in connection.execute("SELECT text FROM page_text")]
        return sum(any(text == taught_site.offer(number) for text in texts) for number in range(1, PAGES + 1))

    return count


def test_a_site_is_taught_by_one_page(run, crawl, offers, tmp_path):
    crawl()
    assert offers() == PAGES
    told = run("correct", taught_site.address(1), "--drop", OFFER, "--reader", "anna")
    assert f"{taught_site.address(1)}: 1 block corrected by anna" in told
    assert "12 would change: 12 blocks dropped" in run("correct", "--preview", SITE)
    assert json.loads(run("correct", "--preview", SITE, "--json"))["blocks_dropped"] == PAGES
    assert f"scrapy reclean --site {SITE}" in run("correct", "--accept", f"https://www.{SITE}/")
    run("reclean", "--site", SITE, "--processes", "2")
    assert offers() == 0
    explained = json.loads(run("explain", taught_site.address(7), "--json"))
    (taught,) = [block for block in explained["blocks"] if block["taught"]]
    assert (taught["reason"], taught["text"], explained["fits_site"]) == ("taught", taught_site.offer(7), True)
    assert "dropped because of what readers corrected on the site" in run("explain", taught_site.address(7))
    (listed,) = json.loads(run("correct", "--list", "--json"))
    assert (listed["site"], listed["pages"], listed["marks"], listed["is_pending"]) == (SITE, 1, 1, False)
    run("correct", "--withdraw", SITE)
    run("reclean", "--site", SITE)
    assert offers() == PAGES


@pytest.mark.parametrize("processes", [0, 2])
def test_a_crawl_cleans_by_the_corrections(run, crawl, offers, tmp_path, processes):
    crawl()
    run("correct", taught_site.address(1), "--drop", OFFER)
    run("correct", "--accept", SITE)
    run("correct", "--export-models", "models.jsonl")
    run("correct", "--export", "corrections.jsonl")
    (tmp_path / "blocks.db").rename(tmp_path / "first.db")
    crawl(f"SITE_MODELS={tmp_path / 'models.jsonl'}", f"CLEANING_PROCESSES={processes}")
    assert offers() == 0
    (tmp_path / "blocks.db").unlink()
    run("initdb")
    run("correct", "--import", "corrections.jsonl")
    run("correct", "--accept", SITE)
    crawl(f"CLEANING_PROCESSES={processes}")
    assert offers() == 0
    with sqlite3.connect(tmp_path / "blocks.db") as connection:
        assert connection.execute("SELECT taught, unlike FROM site_crawl").fetchall() == [(PAGES, 0)]


def test_a_batch_job_cleans_by_the_corrections(run, crawl, saved, tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    crawl()
    run("correct", taught_site.address(1), "--drop", OFFER)
    run("correct", "--accept", SITE)
    run("correct", "--export-models", "models.jsonl")
    run("batch", str(saved), "--out", str(tmp_path / "out"), "--workers", "1", "--site-models", "models.jsonl")
    texts = pyarrow.read_table(tmp_path / "out" / "blocks").column("text").to_pylist()
    assert texts
    assert not any(text == taught_site.offer(number) for text in texts for number in range(1, PAGES + 1))


def test_a_method_without_site_models_is_refused_at_the_start(run, scrapy, saved, tmp_path):
    (tmp_path / "models.jsonl").write_text(write_site_models({SITE: taught_site.site_model()}), "utf-8")
    settings = ("-s", "CLEANING_METHOD=pab")
    batch = scrapy("batch", str(saved), "--out", str(tmp_path / "out"), "--site-models", "models.jsonl", *settings)
    crawl = scrapy("crawl", "archive", "-s", f"REPLAY={saved}", "-s", "SITE_MODELS=models.jsonl", *settings)
    for finished in (batch, crawl):
        assert finished.returncode != 0
        assert "the method 'pab' takes no model of a site; `default` takes them" in finished.stderr


def test_an_earlier_correction_is_shown_again_and_corrected_further(run, crawl, scrapy):
    crawl()
    run("correct", taught_site.address(1), "--drop", OFFER)
    told = run("correct", taught_site.address(1), "--keep", "All rights belong")
    assert "2 blocks corrected" in told
    sheet = run("correct", taught_site.address(1), "--sheet", "sheet.txt")
    assert "sheet.txt: 8 blocks" in sheet
    assert "2 blocks corrected" in run("correct", taught_site.address(1), "--in", "sheet.txt")
    run("correct", "--forget", taught_site.address(1))
    finished = scrapy("correct", "--preview", SITE)
    assert (finished.returncode, "no page of courier.example is corrected" in finished.stderr) == (1, True)


@pytest.fixture
def many_corrections(tmp_path):
    """A file with the corrections of many pages."""
    page = taught_site.corrected(1)
    pages = [replace(page, url=taught_site.address(number)) for number in range(MANY)]
    (tmp_path / "corrections.jsonl").write_text(write_corrections(pages), "utf-8")


def count_corrections(tmp_path):
    with closing(sqlite3.connect(tmp_path / "blocks.db")) as connection:
        return connection.execute("SELECT count(*) FROM correction").fetchone()[0]


@pytest.mark.usefixtures("many_corrections")
def test_an_import_that_is_killed_stores_all_or_nothing(run, environment, tmp_path):
    run("initdb")
    command = [sys.executable, "-m", "scrapy", "correct", "--import", "corrections.jsonl"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as process:
        journals = [tmp_path / "blocks.db-wal", tmp_path / "blocks.db-journal"]
        while process.poll() is None and not any(path.exists() and path.stat().st_size > 100_000 for path in journals):
            time.sleep(0.001)
        process.kill()
    assert count_corrections(tmp_path) in {0, MANY}
    assert f"{MANY:,} corrected pages of 1 site" in run("correct", "--import", "corrections.jsonl")
    assert count_corrections(tmp_path) == MANY


@pytest.mark.usefixtures("many_corrections")
def test_on_a_full_disk_nothing_is_stored_and_no_file_is_lost(run, environment, tmp_path):
    run("initdb")
    blocks = (tmp_path / "blocks.db").stat().st_size // 512 + 100
    limit = ["sh", "-c", f'ulimit -f {blocks} && exec "$@"', "sh", sys.executable, "-m", "scrapy", "correct"]

    def limited(*arguments):
        return subprocess.run(
            [*limit, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    finished = limited("--import", "corrections.jsonl")
    assert (finished.returncode, "Traceback" in finished.stderr) == (1, False), finished.stderr
    assert count_corrections(tmp_path) == 0
    run("correct", "--import", "corrections.jsonl")
    (tmp_path / "kept.jsonl").write_text("an earlier export\n")
    finished = limited("--export", "kept.jsonl")
    assert (finished.returncode, "Traceback" in finished.stderr) == (1, False), finished.stderr
    assert (tmp_path / "kept.jsonl").read_text() == "an earlier export\n"


def test_a_corrected_title_teaches_its_source(run, crawl, tmp_path):
    crawl()
    # Two titles stand on each page: that of the heading, which is taken, and "Harbour N".
    for number in (1, 2, 3):
        run("correct", taught_site.address(number), "--title", f"Harbour {number}")
    assert "would get another title, author or date" in run("correct", "--preview", SITE)
    run("correct", "--accept", SITE)
    explained = json.loads(run("explain", taught_site.address(7), "--json"))
    assert explained["metadata"]["title"] == "Harbour 7"


def test_what_cannot_be_done_is_told_in_a_sentence(crawl, scrapy, tmp_path):
    (tmp_path / "broken.jsonl").write_text("{}\n", "utf-8")
    crawl()
    cases = {
        ("correct", taught_site.address(1), "--drop", "99"): "'99' names no blocks; the page has 0 to 7",
        ("correct", taught_site.address(1), "--keep", "nowhere to be found"): "no block has the text",
        ("correct", taught_site.address(1), "--in", "nothing.txt"): "--in is 'nothing.txt', which cannot be read",
        ("correct", taught_site.address(1), "--in", "broken.jsonl"): "neither the line of a page nor one of its blocks",
        ("correct", taught_site.address(1), "--published", "2026-01-01"): "the page states no published '2026-01-01'",
        ("correct", "--import", "broken.jsonl"): "broken.jsonl, line 1: it is not the record of a corrected page",
        ("correct", "--import", "nothing.jsonl"): "--import is 'nothing.jsonl', which cannot be read",
        ("correct", "--accept", SITE): "no page of courier.example is corrected",
        ("correct", "--withdraw", SITE): "none were accepted",
        ("correct", "--forget", taught_site.address(1)): "is not corrected",
        ("correct", "pages/1.html", "--drop", "0"): "has no address",
    }
    for arguments, sentence in cases.items():
        finished = scrapy(*arguments)
        assert (finished.returncode, sentence in finished.stderr) == (1, True), (arguments, finished.stderr)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name one page to correct"),
        (["a", "b"], "name one page to correct"),
        (["https://a.example/", "--list"], "name one page to correct"),
        (["--list", "--drop", "3"], "--drop needs a page"),
        (["--list", "--in", "x"], "--in needs a page"),
        (["https://a.example/", "--drop", "3", "--sheet", "x"], "do not go together"),
        (["https://a.example/", "--json"], "--json goes with --preview and --list"),
    ],
)
def test_wrong_usage(scrapy, arguments, sentence):
    finished = scrapy("correct", *arguments)
    assert finished.returncode == 2
    assert sentence in finished.stdout + finished.stderr
