"""The size of a database of PAB's blocks, and of one of ENIW's (pab.txt, 4.2)."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from findings import Finding, Panel
from pab_blocks import PAPER as BLOCKS
from report import Figures
from stand_ins import ARTICLE_SETS, ARTICLES, articles
from stored import stored
from verdicts import judge_ahead, judge_near

PAGES = 500
# Figure 4.2.1, and the text above it: megabytes.
PAPER = {"pab": 19.4, "eniw": 22.6}
_TEXTS = """
SELECT count(block.id), coalesce(sum(length(block.text)), 0)
FROM page LEFT JOIN block ON block.page_id = page.id GROUP BY page.id ORDER BY page.id
"""
_NOTE = (
    "Each database is SQLite's file after VACUUM, with all that a crawl stores but the pages' HTML: indexes, "
    "fingerprints and the words of search are in it. The paper does not say what its database holds. Ours holds each"
    " text of a page once for PAB, which merges equal blocks."
)


@dataclass(frozen=True, slots=True)
class Size:
    """What a method's blocks take: the whole database with its indexes, and the characters of each page's blocks."""

    database: int
    blocks: int
    of_pages: list

    @property
    def text(self):
        return sum(self.of_pages)


def run(limit=None):
    samples = articles(PAGES, limit)
    sizes = {method: measure(method, samples) for method in PAPER}
    pab, eniw = sizes["pab"], sizes["eniw"]
    hosts = [sample.host for sample in samples]
    less = [theirs - ours for theirs, ours in zip(eniw.of_pages, pab.of_pages, strict=True)]
    ratio = PAPER["pab"] / PAPER["eniw"]
    return Finding(
        "Size of the database of informative blocks",
        "Kabir et al. 2015, section 4.2, figure 4.2.1",
        f"{len(samples)} {ARTICLES}, for 500 pages of ezinearticles",
        (_table(sizes),),
        _panels(sizes),
        (
            judge_ahead("PAB's blocks take less room than ENIW's", less, hosts, " characters a page"),
            judge_near("PAB's database is 86 % of ENIW's: ours on SQLite", pab.database / eniw.database, ratio),
            judge_near("PAB's database is 86 % of ENIW's: the text alone", pab.text / eniw.text, ratio),
        ),
        tuple(PAPER),
        ARTICLE_SETS,
        notes=(_NOTE,),
    )


def measure(method, samples):
    """Store what a method keeps of the pages, and return what that takes."""
    with tempfile.TemporaryDirectory(prefix="blocksieve-experiments-") as folder:
        path = Path(folder) / "blocks.db"
        with stored(path, method, samples):
            pass
        with closing(sqlite3.connect(path)) as database:
            rows = database.execute(_TEXTS).fetchall()
            database.execute("VACUUM")
        return Size(path.stat().st_size, sum(count for count, _ in rows), [length for _, length in rows])


def _table(sizes):
    largest = sizes["eniw"]
    rows = []
    for method, size in sizes.items():
        rows.append(
            [
                method,
                "paper",
                f"{BLOCKS[method].informative:,}",
                f"{PAPER[method]:.1f}",
                f"{PAPER[method] / PAPER['eniw']:.3f}",
            ]
        )
        database = f"{size.database / 1e6:.1f}"
        rows.append([method, "ours: database", f"{size.blocks:,}", database, f"{size.database / largest.database:.3f}"])
        rows.append(
            [method, "ours: text", f"{size.blocks:,}", f"{size.text / 1e6:.1f}", f"{size.text / largest.text:.3f}"]
        )
    return Figures("Figure 4.2.1", ("method", "whose", "blocks", "MB", "ENIW = 1"), rows)


def _panels(sizes):
    ticks = tuple(sizes)
    ours = {
        "database": [size.database / 1e6 for size in sizes.values()],
        "text": [size.text / 1e6 for size in sizes.values()],
    }
    return (
        Panel("paper", ticks, {"database": [PAPER[method] for method in ticks]}, "MB"),
        Panel("ours", ticks, ours, "MB"),
    )
