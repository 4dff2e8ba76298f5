"""What the demo's crawl brought home: pages, blocks by reason, duplicates, size, the best blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text
from sqlalchemy import text

from crawler.storage import report
from crawler.storage.engine import open_engine, reading, size_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console
    from sqlalchemy.engine import Connection

_BEST_BLOCKS = 3
_SHOWN_CHARS = 300


def summarise(database: Path, console: Console) -> None:
    """Print the totals of the database, the counts of its last crawl and its three best blocks."""
    url = f"sqlite:///{database}"
    engine = open_engine(url, must_exist=True)
    with reading(engine) as connection:
        totals, (crawl,) = report.totals(connection), report.last_crawls(connection, limit=1)
        best = _best_blocks(connection)
    engine.dispose()
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_row("pages stored", f"{totals.pages} in the database, {crawl.pages} fetched by this crawl")
    table.add_row("blocks kept", f"{totals.blocks} in the database, {crawl.kept} on this crawl's pages")
    table.add_row("blocks dropped", _listed(crawl.dropped))
    table.add_row(
        "duplicates", f"{totals.sightings} sightings in the database; new in this crawl: {_listed(crawl.duplicates)}"
    )
    table.add_row("visits refused", _listed(crawl.refused))
    table.add_row("visits without a page", _listed(crawl.failed))
    table.add_row("database", f"{database} ({size_bytes(url) / 1e6:.1f} MB)")
    console.print(table)
    console.print("\nThe three best blocks:")
    for score, page_title, block_text in best:
        console.print(Text.assemble((f"\n{score:.2f}  {page_title}\n", "bold"), block_text[:_SHOWN_CHARS]))
    console.print("\nLook around: scrapy status, or sqlite3 blocks.db 'select * from informative_block limit 5'")


def _best_blocks(connection: Connection) -> list[tuple[float, str, str]]:
    """Return the longest of the blocks with the highest score, one a page."""
    rows = connection.execute(text("select score, title, text from informative_block order by score desc, words desc"))
    best: dict[str, tuple[float, str, str]] = {}
    for score, title, found in rows:
        best.setdefault(title or "", (score, title or "", found))
        if len(best) == _BEST_BLOCKS:
            break
    return list(best.values())


def _listed(counts: Mapping[str, int]) -> str:
    named = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{sum(counts.values())} ({named})" if counts else "0"
