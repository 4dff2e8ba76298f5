"""A crawl over pages that are broken in every way: each is stored or refused with a counted reason."""

import gzip
import json
import os
import sqlite3
import sys

import processes
import pytest

PROSE = (
    "The town library opens again on Monday after two years of repairs, and the reading room under the roof has kept "
    "its oak tables, its green lamps and the tall windows that look over the river towards the old mill. "
)
ARTICLE = (
    "<html><head><title>Library</title></head>"
    f"<body><article><h1>Library</h1><p>{PROSE * 2}</p></article></body></html>"
)
DEPTH = 100_000

PAGES = {
    "empty": b"",
    "blank": b"  \n\t ",
    "binary": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20,
    "truncated": ARTICLE.encode()[:-40],
    "large": b"<p>" + PROSE.encode() * 60_000,
    "deep": (f"<p>{PROSE}</p>" + "<div>" * DEPTH + "bottom" + "</div>" * DEPTH).encode(),
    "nul": ARTICLE.replace("library", "lib\x00rary").encode(),
    "surrogates": ARTICLE.replace("library", "library \ud800").encode("utf-8", "surrogatepass"),
    "wrong-charset": ARTICLE.replace("river", "rivière").replace("<head>", "<head><meta charset=gb2312>").encode(),
    "missing-charset": ARTICLE.replace("river", "rivière").encode("cp1252"),
    "unknown-charset": ARTICLE.replace("<head>", "<head><meta charset=klingon>").encode(),
    "hostile-canonical": ARTICLE.replace(
        "<head>", "<head><link rel=canonical href='https://victim.example.com/'>"
    ).encode(),
    "script-canonical": ARTICLE.replace("<head>", "<head><link rel=canonical href='javascript:alert(1)'>").encode(),
    "long-canonical": ARTICLE.replace("<head>", f"<head><link rel=canonical href='/{'a' * 200_000}'>").encode(),
    "entities": b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]>" + ARTICLE.encode() + b"&b;" * 50,
    "many-blocks": b"<body>" + b"<p>x</p>" * 30_000,
    "many-elements": b"<p>x" * 600_000,
    "many-attributes": b"<div " + b" ".join(b"a%d=1" % place for place in range(30_000)) + b">" + ARTICLE.encode(),
    "endless-title": b"<title>" + b"t" * 300_000 + b"</title>" + ARTICLE.encode(),
}
REFUSED = {
    "empty": "empty",
    "blank": "empty",
    "binary": "binary",
    "large": "too_large",
    "many-elements": "too_large",
    "many-attributes": "too_large",
}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    pages = folder / "pages"
    pages.mkdir()
    rows = ["file\turl"]
    for name, body in PAGES.items():
        (pages / f"{name}.html.gz").write_bytes(gzip.compress(body))
        rows.append(f"{name}.html.gz\thttps://broken.example.org/{name}")
    (pages / "index.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    command = [sys.executable, "-m", "scrapy", "crawl", "archive", "-s", f"REPLAY={pages}", "-s", "LOG_LEVEL=INFO"]
    command += ["-s", "BOILERPLATE_MIN_PAGES=0"]  # many of the pages have the same prose
    environment = os.environ | {"SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    finished = processes.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    database = sqlite3.connect(folder / "blocks.db")
    database.row_factory = sqlite3.Row
    yield finished, database
    database.close()


def totals(database):
    return json.loads(database.execute("select totals from crawl").fetchone()[0])


def test_the_crawl_ends_well_and_without_an_exception(crawled):
    finished, _ = crawled
    assert finished.returncode == 0, finished.stderr
    assert "Traceback" not in finished.stderr


def test_every_page_is_stored_or_refused_with_a_counted_reason(crawled):
    _, database = crawled
    counts = totals(database)
    stored = {row["url"].rsplit("/", 1)[1] for row in database.execute("select url from page")}
    assert stored == set(PAGES) - set(REFUSED)
    assert (counts["visit/empty"], counts["visit/binary"], counts["visit/too_large"]) == (2, 1, 3)
    assert counts["visit/page"] == len(stored)


def test_oddities_are_counted(crawled):
    counts = totals(crawled[1])
    assert counts["page/deep_nesting"] == 1
    assert counts["page/charset_contradicted"] >= 1
    assert counts["blocks/truncated"] == 10_000


@pytest.mark.parametrize("name", ["truncated", "nul", "surrogates", "unknown-charset", "endless-title", "entities"])
def test_the_prose_of_a_damaged_page_is_kept(crawled, name):
    _, database = crawled
    texts = database.execute(
        "select t.text from page_text t join page p on p.id = t.page_id where p.url like ?", [f"%/{name}"]
    )
    assert "oak tables" in " ".join(row["text"] for row in texts)


@pytest.mark.parametrize("name", ["wrong-charset", "missing-charset"])
def test_a_wrong_or_missing_charset_does_not_garble(crawled, name):
    _, database = crawled
    texts = database.execute(
        "select t.text from page_text t join page p on p.id = t.page_id where p.url like ?", [f"%/{name}"]
    )
    assert "rivière" in " ".join(row["text"] for row in texts)


def test_a_hostile_canonical_takes_no_other_sites_place(crawled):
    _, database = crawled
    keys = [row["url_key"] for row in database.execute("select url_key from page where url like '%canonical'")]
    assert len(keys) == 3
    assert all("broken.example.org" in key and len(key) < 1_000 for key in keys)


def test_no_text_in_the_database_holds_control_characters(crawled):
    _, database = crawled
    texts = [row[0] for row in database.execute("select text from block")]
    assert texts
    assert all(character.isprintable() or character == "\n" for text in texts for character in text)
