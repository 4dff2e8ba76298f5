"""Crawl all saved pages of each portal through the spider `news`, by replay: articles, listings, refusals, blocks.

    python tests/research/portals.py [--site bbc,cnn] [--json | --write docs/portals.md]

The saved pages are found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout). Each site is a crawl of
its own, `scrapy crawl news -a site=NAME -a sources=saved -s REPLAY=DATA/sites`, into a database that is thrown away.
Boilerplate is counted at the end of a crawl: the kept texts that its database takes for the site's boilerplate.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from provenance import Stamp

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("BLOCKSIEVE_DATA", ROOT.parent / "shared" / "data"))
STATS = "Dumping Scrapy stats:"
MARKS = "<!-- made by tests/research/portals.py -->", "<!-- end of what is made -->"
HEAD = (
    "| site | saved pages | articles stored | listings | article links on them | refused | blocks kept "
    "| boilerplate |\n"
    "| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |\n"
)
# What the pages show and the view page_text leaves out.
BOILERPLATE = (
    "SELECT (SELECT count(*) FROM block WHERE gone_at IS NULL) + (SELECT count(*) FROM sighting WHERE gone_at IS NULL) "
    "- (SELECT count(*) FROM page_text)"
)
REFUSED = (
    "SELECT outcome, count(*) FROM request WHERE callback = 'parse_saved' AND outcome NOT IN ('page', 'section') "
    "GROUP BY outcome"
)


@dataclass(frozen=True)
class Replayed:
    """What came of a site's saved pages; `absent` are links to what was not saved."""

    site: str
    saved: int
    articles: int
    listings: int
    links: int
    absent: int
    refused: dict[str, int]
    blocks: int
    boilerplate: int = 0

    def row(self):
        refused = ", ".join(f"{count} {reason}" for reason, count in sorted(self.refused.items())) or "-"
        counts = f"{self.saved} | {self.articles} | {self.listings} | {self.links:,} | {refused} | {self.blocks:,}"
        return f"| {self.site} | {counts} | {self.boilerplate:,} |\n"


def main():
    options = read_arguments()
    saved = saved_pages()
    names = options.site.split(",") if options.site else sorted(saved)
    results = []
    for name in names:
        results.append(replay(name, saved[name]))
        print(results[-1].row(), end="", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    table = HEAD + "".join(result.row() for result in [*results, total(results)])
    if options.write:
        write(options.write, table)
    elif not options.json:
        print(table, end="")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", help="portals with commas between (default: all of which pages were saved)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON")
    how.add_argument("--write", type=Path, metavar="PAGE", help="replace the table in this page")
    return parser.parse_args()


def saved_pages():
    """Return how many pages of each site were saved, an address that was saved twice as one."""
    with (DATA / "sites" / "index.tsv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    known = {(row["site"], row["url"] or row["file"]) for row in rows}
    return Counter(site for site, _ in known)


def replay(name, saved):
    """Crawl a site's saved pages and return what the crawl counted."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "blocks.db"
        settings = {"REPLAY": DATA / "sites", "DATABASE_URL": f"sqlite:///{database}", "PROGRESS": "off"}
        command = [sys.executable, "-m", "scrapy", "crawl", "news", "-a", f"site={name}", "-a", "sources=saved"]
        command += ["-L", "DEBUG"]  # which logs the stats
        command += [part for key, value in settings.items() for part in ("-s", f"{key}={value}")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if not database.exists():
            raise SystemExit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        with closing(sqlite3.connect(database)) as opened:
            refused, ((boilerplate,),) = (opened.execute(query).fetchall() for query in (REFUSED, BOILERPLATE))
    return replace(counted(name, saved, stats_of(done.stderr), dict(refused)), boilerplate=boilerplate)


def stats_of(log):
    """Return the counts that Scrapy writes into the log at the end of a crawl; IndexError for a log without them."""
    return {name: int(count) for name, count in re.findall(r"'([\w/.-]+)': (\d+)[,}]", log.split(STATS)[1])}


def counted(name, saved, stats, refused):
    reasons = {reason: stats.get(f"news/{reason}", 0) for reason in ("elsewhere", "no_article", "older")}
    return Replayed(
        site=name,
        saved=saved,
        articles=stats.get("visit/page", 0),
        listings=stats.get("visit/section", 0) - sum(reasons.values()),
        links=stats.get("news/links", 0),
        absent=stats.get("replay/absent", 0),
        refused=refused | {reason: count for reason, count in reasons.items() if count},
        blocks=stats.get("blocks/kept", 0),
    )


def total(results):
    refused = sum((Counter(result.refused) for result in results), Counter())
    sums = {
        name: sum(getattr(result, name) for result in results) for name in ("saved", "articles", "listings", "links")
    }
    more = {name: sum(getattr(result, name) for result in results) for name in ("absent", "blocks", "boilerplate")}
    return Replayed(site="**all**", refused=dict(refused), **sums, **more)


def write(page, table):
    """Put the table and what it was measured with between the marks of a page."""
    before, rest = page.read_text("utf-8").split(MARKS[0])
    measured = f"{table}\n{Stamp.of(('default',), ('sites',))}"
    page.write_text(f"{before}{MARKS[0]}\n\n{measured}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}", "utf-8")


if __name__ == "__main__":
    main()
