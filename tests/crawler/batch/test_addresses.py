"""Lying canonical addresses in a WARC file: the same pages by a crawl, a batch job, and a job that is imported."""

from itertools import permutations

import pytest
from archive_crawl import crawl
from pyarrow import parquet
from scrapy.settings import Settings
from sqlalchemy import create_engine, text
from warcs import DATE, article, write_warc

from crawler.batch.job import BatchOptions, batch_settings, run_batch
from crawler.batch.load import import_tables
from crawler.config import Config

pytestmark = pytest.mark.slow

SITES = [f"https://{name}.example" for name in "abcdefghi"]
TOPICS = ("harbour", "glacier", "violin", "orchard")


def page(url, topic, canonical=None, extra="", title=None, date=DATE):
    """An answer with two paragraphs that have nothing in common with those of another topic."""
    texts = [" ".join(f"{topic}{part}{number}" for number in range(25)) + "." for part in ("first", "second")]
    body = article(title or topic, *texts, *([extra] if extra else []))
    if canonical is not None:
        body = body.replace("<head>", f'<head><link rel="canonical" href="{canonical}">')
    return {"url": url, "body": body, "date": date}


def liars(site, canonical, more=()):
    """Four articles that state one address, and the pages as (URL, key, doubted address) that they are."""
    urls = [f"{site}/news/{topic}" for topic in TOPICS]
    answers = [page(url, topic, canonical) for url, topic in zip(urls, TOPICS, strict=True)]
    return [*answers, *more], [(url, url, canonical) for url in urls]


def listing(site):
    """Four articles that state the listing, which is in the file too."""
    url = f"{site}/news/"
    answers, pages = liars(site, url, [page(url, f"listing of {site}", url)])
    return answers, [*pages, (url, url, None)]


def another_article(site):
    """Three articles that state the fourth, which states itself."""
    answers, pages = liars(site, f"{site}/news/orchard")
    return answers, [*pages[:3], (f"{site}/news/orchard", f"{site}/news/orchard", None)]


def root(site):
    """Four articles that state the home page, which no page elsewhere is believed to be."""
    answers, pages = liars(site, f"{site}/")
    return answers, [(url, url, None) for url, _, _ in pages]


def pair(site):
    """An article with a print version that says a little more."""
    url = f"{site}/news/harbour"
    print_version = page(f"{url}?print=1", "harbour", url, "Printed for you", "harbour - print")
    return [page(url, "harbour", url), print_version], [(url, url, None)]


def versions(site):
    """A page in three versions of a manual that differ in one sentence, and state the latest."""
    urls = [f"{site}/{version}/install" for version in ("v1", "v2", "latest")]
    answers = [page(url, "harbour", urls[2], f"Release {number} needs a compiler.") for number, url in enumerate(urls)]
    return answers, [(url, url, None if url == urls[2] else urls[2]) for url in urls]


def lone_variant(site):
    """An AMP version whose article is not in the file."""
    return [page(f"{site}/amp/harbour", "harbour", f"{site}/harbour")], [
        (f"{site}/amp/harbour", f"{site}/harbour", None)
    ]


def pages_of_one_article(site):
    """The second page of an article states the first, and has another text."""
    url = f"{site}/news/harbour"
    answers = [page(url, "harbour", url), page(f"{url}?page=2", "violin", url, title="harbour")]
    return answers, [(url, url, None), (f"{url}?page=2", f"{url}?page=2", url)]


def respelled(site):
    """A page at an http address that states the https one, and is there too."""
    plain = site.replace("https:", "http:")
    url = f"{site}/news/harbour"
    return [page(f"{plain}/news/harbour", "harbour", url), page(url, "harbour", url)], [(url, url, None)]


CASES = [
    lambda site: liars(site, f"{site}/news/"),
    listing,
    another_article,
    root,
    pair,
    versions,
    lone_variant,
    pages_of_one_article,
    respelled,
]


def described(rows):
    return sorted((row["url"], row["url_key"], row["doubted_canonical"]) for row in rows)


def addresses(pages):
    """Return the pages without their URLs: which URL of a page is the last depends on a crawl's order."""
    return sorted((key, doubted or "") for _, key, doubted in pages)


def stored(folder, name="blocks.db"):
    engine = create_engine(f"sqlite:///{folder / name}")
    try:
        with engine.connect() as connection:
            return described(connection.execute(text("SELECT * FROM page")).mappings())
    finally:
        engine.dispose()


def batch(folder, path, name, **more):
    """Run a job; return its pages as (URL, key, doubted address), and its counts."""
    own = Settings()
    arguments = {"settings": batch_settings(Config.read(own), own), "workers": 0} | more
    counts = run_batch(BatchOptions(inputs=[str(path)], out=str(folder / name), **arguments)).counts
    rows = [row for part in sorted((folder / name / "pages").iterdir()) for row in parquet.read_table(part).to_pylist()]
    return described(rows), counts


def imported(folder, out, database, **more):
    config = Config.read(Settings({"DATABASE_URL": f"sqlite:///{folder / database}"} | more))
    return import_tables(str(folder / out), config)


@pytest.fixture(scope="module")
def cases():
    sites = [case(site) for case, site in zip(CASES, SITES, strict=False)]
    return [answer for answers, _ in sites for answer in answers], sorted(row for _, rows in sites for row in rows)


def test_a_crawl_a_batch_and_an_import_have_the_same_pages(cases, tmp_path):
    answers, pages = cases
    path = write_warc(tmp_path / "a.warc.gz", answers)
    process = crawl(tmp_path, path, "CONCURRENT_REQUESTS=1", "CONCURRENT_REQUESTS_PER_DOMAIN=1")
    assert process.returncode == 0, process.stderr
    assert addresses(stored(tmp_path)) == addresses(pages)
    rows, counts = batch(tmp_path, path, "out")
    assert rows == pages
    assert counts["page/canonical_doubted"] == sum(doubted is not None for _, _, doubted in pages)
    assert imported(tmp_path, "out", "imported.db")["pages"] == len(pages)
    assert stored(tmp_path, "imported.db") == pages
    # A second import, also into the database of the crawl, finds all of them.
    for database in ("imported.db", "blocks.db"):
        again = imported(tmp_path, "out", database)
        assert (again["known"], again.get("pages", 0)) == (len(pages), 0)


def test_the_tables_do_not_depend_on_processes_partitions_and_files(cases, tmp_path):
    answers, pages = cases
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(0, len(answers), 3):
        write_warc(folder / f"{number:03}.warc.gz", answers[number : number + 3])
    parts = {}
    for name, more in (("serial", {}), ("local", {"workers": 2}), ("many", {"blocks_per_task": 5})):
        rows, _ = batch(tmp_path, folder, name, **more)
        assert rows == pages
        tables = [path for table in ("pages", "blocks", "sightings") for path in (tmp_path / name / table).iterdir()]
        parts[name] = {path.relative_to(tmp_path / name): path.read_bytes() for path in tables}
    assert parts["serial"] == parts["local"] == parts["many"]


def test_revisits_of_one_address_are_one_page_in_any_order(tmp_path):
    """An article before and after it was rewritten, and its print version after that."""
    answers = []
    pages = []
    for site, order in zip(SITES, permutations(range(3)), strict=False):
        url = f"{site}/news/harbour"
        print_url = f"{url}?print=1"
        visits = [page(url, "glacier", url), page(url, "harbour", url), page(print_url, "harbour", url)]
        answers += [visits[number] for number in order]
        if order.index(0) > order.index(1):
            pages += [(url, url, None), (print_url, print_url, url)]
        else:
            pages.append((url, url, None))
    rows, _ = batch(tmp_path, write_warc(tmp_path / "a.warc.gz", answers), "out")
    assert rows == sorted(pages)


def test_an_import_does_not_take_another_page_at_a_stated_address_for_known(tmp_path):
    """The database has the listing since a later day; the tables have one article that states its address."""
    url = f"{SITES[0]}/news/"
    later = DATE.replace("2026", "2027")
    batch(tmp_path, write_warc(tmp_path / "a.warc.gz", [page(url, "listing", url, date=later)]), "listing")
    batch(tmp_path, write_warc(tmp_path / "b.warc.gz", [page(f"{url}harbour", "harbour", url)]), "article")
    imported(tmp_path, "listing", "blocks.db")
    for count in (1, 0):
        assert imported(tmp_path, "article", "blocks.db").get("pages", 0) == count
    assert stored(tmp_path) == [(url, url, None), (f"{url}harbour", f"{url}harbour", url)]
