"""Methods × (crawl, recrawl, reclean, batch): each way to clean a page by a method gives the same texts and counts."""

import json

import pytest
from changing_site import prose
from pyarrow import parquet
from scrapy.settings import Settings
from warcs import write_warc

from cleaning import METHODS, clean
from crawler.batch.job import BatchOptions, batch_settings, run_batch
from crawler.config import Config

pytestmark = pytest.mark.slow

# `vce` needs a browser, and `ce` several pages of a site: test_templates.py has its ways.
NAMES = [name for name, method in METHODS.items() if method.needs is None]
STORED = {"DEDUP_SCOPE": "off", "BOILERPLATE_MIN_PAGES": "0"}
SPIDER = """
from scrapy import Request, Spider
from crawler.page import page


class Methods(Spider):
    name = "methods"

    async def start(self):
        for method in self.methods.split(","):
            yield Request(f"{self.url}/news/{method}", meta={"cleaning_method": method})

    def parse(self, response):
        yield page(response)
"""
TEXTS = """
SELECT page.url, page.method, own.text FROM page LEFT JOIN (
    SELECT page_id, position, text FROM block WHERE gone_at IS NULL
    UNION ALL SELECT page_id, position, text FROM sighting WHERE gone_at IS NULL
) AS own ON own.page_id = page.id ORDER BY page.url, own.position
"""


def body(number, visit=1):
    """A page of which the methods keep different parts; each visit finds other bytes with the same text."""
    paragraphs = "".join(f"<p>{prose(10 * number + part)}</p>" for part in range(4))
    menu = "".join(f'<li><a href="/{word}">The {word} of the town</a></li>' for word in ("news", "maps", "shops"))
    return (
        f"<!DOCTYPE html><html lang=en><head><title>Title {number}</title></head><body><!-- {visit} -->"
        f"<ul>{menu}</ul><div><h1>Title {number}</h1>{paragraphs}<p><b>Note</b> {prose(500 + number, 1)}</p></div>"
        '<div class="advertisement"><p>Buy lamps <a href="https://other.example/">there</a></p></div>'
        "<form><p>Search the archive of the town</p></form></body></html>"
    )


def stored_texts(world):
    """The texts of each page in order, by the method that cleaned it; the page's address names the right one."""
    texts = {}
    for row in world.rows(TEXTS):
        assert row["url"].endswith(f"/{row['method']}")
        texts.setdefault(row["method"], []).append(row["text"])
    return {method: [text for text in own if text is not None] for method, own in texts.items()}


def kept_texts(world, method):
    """The texts that the method keeps of its page."""
    cleaned = clean(body(NAMES.index(method)), f"{world.site.url}/news/{method}", method=method)
    return [decision.block.text for decision in cleaned.decisions if decision.kept]


def batch_texts(world, folder, method):
    """The texts that a batch job keeps of the method's page."""
    url = f"{world.site.url}/news/{method}"
    archive = write_warc(folder / f"{method}.warc", [(url, body(NAMES.index(method)))], packed=False)
    own = Settings(STORED | {"CLEANING_METHOD": method})
    settings = batch_settings(Config.read(own), own)
    out = folder / method
    run_batch(BatchOptions([str(archive)], str(out), settings=settings, near_duplicates=True, workers=0))
    rows = [row for table in ("blocks", "sightings") for path in sorted((out / table).iterdir()) for row in read(path)]
    return [row["text"] for row in sorted(rows, key=lambda row: row["position"])]


def read(path):
    return parquet.read_table(path).to_pylist()


def test_each_method_gives_the_same_in_a_crawl_a_recrawl_a_reclean_and_a_batch(world, tmp_path):
    (world.folder / "own.py").write_text(SPIDER)
    for number, method in enumerate(NAMES):
        world.site.put(f"/news/{method}", body(number), validators="none")
    own = STORED | {"SPIDER_MODULES": "own"}
    arguments = ("-a", f"url={world.site.url}", "-a", f"methods={','.join(NAMES)}")
    first = world.scrapy("crawl", "methods", *arguments, **own)
    assert first.returncode == 0, first.stderr
    expected = {method: kept_texts(world, method) for method in NAMES}
    ways = {"crawl": stored_texts(world)}
    for number, method in enumerate(NAMES):
        world.site.put(f"/news/{method}", body(number, visit=2), validators="none")
    world.make_due()
    again = world.scrapy("recrawl", "--due", SPIDER_MODULES="own")
    assert again.returncode == 0, again.stderr
    ways["recrawl"] = stored_texts(world)
    assert world.rows("SELECT min(visits) AS least, max(visits) AS most FROM page") == [{"least": 2, "most": 2}]
    recleaned = json.loads(world.scrapy("reclean", "--processes", "1", "--format", "json").stdout)
    assert (recleaned["unchanged"], recleaned["cleaned_by"]) == (len(NAMES), dict.fromkeys(NAMES, 1))
    ways["reclean"] = stored_texts(world)
    ways["batch"] = {method: batch_texts(world, tmp_path, method) for method in NAMES}
    table = [(way, method, len(texts[method])) for way, texts in ways.items() for method in NAMES]
    assert table == [(way, method, len(expected[method])) for way in ways for method in NAMES]
    assert all(texts == expected for texts in ways.values())
