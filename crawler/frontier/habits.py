"""How a process works at a crawl, from its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from crawler.frontier.exchange import Worker
from crawler.storage.ends import Manners
from crawler.storage.revisits import Reader

if TYPE_CHECKING:
    from crawler.config import Config
    from crawler.storage.crawls import Joined
    from crawler.storage.revisits import Origin


def manners(config: Config, *, is_recrawl: bool) -> Manners:
    """Return how requests end and what becomes of their pages."""
    return Manners(
        most_attempts=1 if config.replay else config.frontier_max_attempts,
        pause_seconds=config.host_pause_seconds,
        most_pause_seconds=config.host_pause_most_seconds,
        revisits=config.revisits,
        options_hash=config.options_hash,
        is_replay=bool(config.replay),
        is_recrawl=is_recrawl,
    )


def worker(config: Config, joined: Joined, origin: Origin | None, *, is_recrawl: bool) -> Worker:
    """Return this process as one at a crawl, under a name of its own."""
    reader = None
    if origin is not None and config.conditional:
        reader = Reader(origin, config.cleaning_method, config.options_hash, config.keep_html)
    return Worker(
        crawl_id=joined.crawl_id,
        lease_id=uuid4().hex,
        lease_seconds=config.frontier_lease_seconds,
        most_attempts=config.frontier_max_attempts,
        most_pause_seconds=config.host_pause_most_seconds,
        reader=reader,
        is_recrawl=is_recrawl,
    )
