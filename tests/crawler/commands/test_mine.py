"""`scrapy mine` on a database and on an export of it."""

import json

import pytest
from cleaned_pages import visit_at

from crawler.storage.database import opened_engine
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store

WORDS = {
    "harbour": "ferry quay captain storm pilot anchor deck crew lighthouse sailors",
    "garden": "roses compost spade pruning seedlings orchard greenhouse weeds soil hedge",
}


def page_html(topic, number):
    words = WORDS[topic].split()
    lines = (" ".join(words[(number + line + step) % 10] for step in range(8)) for line in range(6))
    body = "".join(f"<p>The {line} were seen by everybody in the town on that day.</p>" for line in lines)
    head = f'<meta property="article:section" content="{topic}"><title>{topic} {number}</title>'
    article = f"<article><h1>{topic} {number}</h1>{body}</article>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{article}</body></html>"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, fresh_url):
    url = fresh_url(request.param)
    with opened_engine(url) as engine:
        prepare_schema(engine)
        store = Store(engine)
        crawl = store.begin_crawl("test", {})
        for topic in WORDS:
            visits = [visit_at(f"https://a.example/{topic}/{number}", page_html(topic, number)) for number in range(12)]
            store.save(crawl, visits)
    return url


def test_a_database_and_its_export_are_mined_alike(scrapy, url, tmp_path):
    own = {"DATABASE_URL": url}
    classified = scrapy("mine", "classify", "--json", "--folds", "4", "--html", "r.html", "--out", "r.csv", **own)
    assert (classified.returncode, classified.stderr) == (0, "wrote 24 rows to r.csv\n")
    record = json.loads(classified.stdout)
    assert record["labels"] == ["garden", "harbour"]
    assert max(model["accuracy"] for model in record["models"]) == 1
    assert "<h1" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "r.csv").read_text().splitlines()[0] == "id,url,title,label,predicted,confidence"
    assert scrapy("export", "pages.parquet", "--pages", **own).returncode == 0
    exported = scrapy("mine", "classify", "--json", "--folds", "4", "--from", "pages.parquet")
    assert json.loads(exported.stdout) == record


def test_pages_are_labelled_and_found_by_their_labels(scrapy, url):
    own = {"DATABASE_URL": url}
    labelled = scrapy("mine", "classify", "--folds", "4", "--store", "topic", **own)
    assert labelled.stderr == "labelled 24 pages as topic; scrapy search --label finds them\n"
    answer = scrapy("search", "town", "--label", "topic=garden", "--limit", "50", "--format", "json", **own)
    assert {page["section"] for page in json.loads(answer.stdout)} == {"garden"}
    labelled = scrapy("mine", "cluster", "--clusters", "2", "--unit", "blocks", "--store", "topic", **own)
    assert " blocks as topic; scrapy search --label finds them" in labelled.stderr
    answer = scrapy("search", "town", "--label", "topic=garden", "--limit", "50", "--format", "json", **own)
    assert answer.stdout.strip() in {"", "[]"}
    assert "it takes NAME=VALUE" in scrapy("search", "town", "--label", "garden", **own).stderr


def test_every_task_prints_its_tables(scrapy, url):
    own = {"DATABASE_URL": url}
    assert "Numbers of clusters" in scrapy("mine", "cluster", **own).stdout
    patterns = scrapy("mine", "patterns", "--unit", "blocks", "--limit", "5", **own).stdout
    assert "Rules" in patterns
    trends = scrapy("mine", "trends", **own)
    assert (trends.returncode, trends.stdout) == (1, "")
    assert "0 documents are of the 11 weeks before" in trends.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "name one of classify, cluster, patterns, trends"),
        (["clasify"], 2, "did you mean 'classify'?"),
        (["cluster", "--by", "site"], 2, "--by is for scrapy mine classify, not cluster"),
        (["trends", "--until", "yesterday"], 2, "--until is 'yesterday'"),
        (["cluster", "--out", "rows.xml"], 2, "it must end in .csv, .jsonl, .parquet"),
        (["cluster", "--from", "a.csv", "--site", "x.example"], 2, "are for a database, not for --from"),
        (["trends", "--store", "x"], 2, "--store is for the classes or clusters of a database"),
        (["cluster", "--store", "x", "--from", "a.csv"], 2, "--store is for the classes or clusters"),
        (["cluster", "--from", "none.csv"], 1, "'none.csv' cannot be read to its end"),
        (["cluster"], 1, "there is no database at"),
    ],
)
def test_mistakes_are_named(scrapy, tmp_path, arguments, code, says):
    mined = scrapy("mine", *arguments, DATABASE_URL=f"sqlite:///{tmp_path}/none.db")
    assert mined.returncode == code
    assert says in mined.stderr
