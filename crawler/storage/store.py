"""Store what crawls bring home: one transaction looks up the duplicates and writes what is new."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, false, insert, update

from cleaning.fingerprint import SCHEMES, distance
from crawler.mask import mask_arguments
from crawler.storage import pages, rows, schema, scheme
from crawler.storage.compare import Original, compare
from crawler.storage.engine import open_engine, writing
from crawler.storage.index import INDEXES, Entry
from crawler.storage.locks import block_keys, lock, mirror_keys, page_key
from crawler.storage.mirrors import Mirrors, Standing
from crawler.storage.models import CrawlState, crawl
from crawler.storage.originals import find_originals
from crawler.storage.patience import Patience
from crawler.storage.rows import Home, Sighted
from crawler.storage.rules import Rules
from crawler.storage.templates import Bounds, Change, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

    from cleaning.fingerprint import Weighting
    from crawler.config import Config
    from crawler.storage.compare import Comparison
    from crawler.storage.pages import Reading
    from crawler.visit import Candidate, Visit


class PageState(StrEnum):
    """What a visit meant for its page; a closed set, counted under these words."""

    NONE = "none"
    """The visit had no page."""
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a visit: its candidates are stored + refreshed + exact + near + template.

    `refreshed` counts blocks and sightings that the page held before, `revived` those of them that had been gone,
    `exact` and `near` new sightings, `template` new ones of texts that were template on the site before, `gone` rows
    that the page held at its last visit and does not any more; `mirrors` is 1 if the page became a mirror.
    """

    url: str
    state: PageState
    page_id: int | None = None
    stored: int = 0
    refreshed: int = 0
    revived: int = 0
    exact: int = 0
    near: int = 0
    template: int = 0
    gone: int = 0
    mirrors: int = 0


class Store:
    """A database of blocks, open for one writer."""

    def __init__(
        self,
        engine: Engine,
        *,
        rules: Rules = Rules(),  # noqa: B008 — frozen
        templates: Bounds = Bounds(),  # noqa: B008 — frozen
        keep_html: bool = True,
        weighting: Weighting = "modified",
        patience: Patience | None = None,
    ) -> None:
        self.engine = engine
        self._patience = patience or Patience()
        self._rules = rules
        self._bounds = templates
        self._keep_html = keep_html
        self._scheme = SCHEMES[weighting]
        self._index = INDEXES[engine.dialect.name](rules.most_bits)
        self._mirrors = Mirrors(engine.dialect.name, rules)

    @classmethod
    def open(cls, config: Config) -> Store:
        """Return the store at DATABASE_URL, its tables created if it is empty.

        Raises StoreError where it cannot be opened or written, is of another schema, or holds fingerprints of
        another scheme.
        """
        engine = open_engine(config.database_url)
        try:
            schema.prepare(engine)
            _check_writable(engine)
            scheme.check(engine, SCHEMES[config.fingerprint_weighting])
        except BaseException:
            engine.dispose()
            raise
        return cls(
            engine,
            rules=Rules(config.dedup_scope, config.dedup_distance),
            templates=Bounds(config.template_min_pages, config.template_min_share),
            keep_html=config.keep_html,
            weighting=config.fingerprint_weighting,
            patience=Patience(config.database_wait_seconds),
        )

    def close(self) -> None:
        """Close the connections; the store is not used after."""
        self.engine.dispose()

    def begin_crawl(self, spider: str, arguments: Mapping[str, Any]) -> int:
        """Note that a crawl starts and return its id; secrets among its arguments are masked."""
        values = {
            "spider": spider,
            "arguments": mask_arguments(arguments),
            "state": CrawlState.OPEN.value,
            "started": datetime.now(UTC),
            "totals": {},
        }
        key = self._patience.write(
            self.engine, lambda connection: connection.execute(insert(crawl), values).inserted_primary_key
        )
        assert key is not None  # one row, always
        return int(key[0])

    def end_crawl(self, crawl_id: int, reason: str, totals: Mapping[str, Any]) -> None:
        """Note that a crawl has ended, why, and what it counted."""
        values = {
            "state": CrawlState.FINISHED.value,
            "finished": datetime.now(UTC),
            "reason": reason,
            "totals": dict(totals),
        }
        statement = update(crawl).where(crawl.c.id == crawl_id).values(values)
        self._patience.write(self.engine, lambda connection: connection.execute(statement))

    def save(self, crawl_id: int, visits: Sequence[Visit]) -> list[Saved]:
        """Store the visits' pages, all of them or none, and return what became of each visit, in order.

        A server that went away is waited for. Raises StoreError where the database is full, read-only, damaged,
        locked or away for too long.
        """
        readings = [pages.read(visit, crawl_id, self._scheme) for visit in visits]

        def work(connection: Connection) -> list[Saved]:
            lock(connection, self._claims(visits, readings))
            tally = Tally(connection)
            saved = [self._save(tally, *one) for one in zip(visits, readings, strict=True)]
            tally.settle(self._bounds, datetime.now(UTC))
            return saved

        return self._patience.write(self.engine, work)

    def stop_waiting(self) -> None:
        """Wait for the database no longer: what it does not take now fails. Any thread may say so."""
        self._patience.end()

    def _claims(self, visits: Sequence[Visit], readings: Sequence[Reading | None]) -> Iterator[int]:
        """Give the keys of all that a batch looks up or inserts."""
        for visit, page_read in zip(visits, readings, strict=True):
            if page_read is not None:
                yield page_key(page_read.key)
                if self._rules.beyond_page:
                    yield from block_keys(visit.candidates, page_read.site)
                    yield from mirror_keys(visit.fingerprint)

    def _save(self, tally: Tally, visit: Visit, page_read: Reading | None) -> Saved:
        if page_read is None:
            return Saved(visit.url, PageState.NONE)
        connection = tally.connection
        known = pages.find(connection, page_read.key)
        earlier = rows.earlier(connection, known.page_id) if known else []
        before = self._mirrors.standing(connection, known.page_id, known.fingerprint) if known else Standing()
        comparison = compare(self._candidates(visit), earlier)
        if known is None:
            state, page_id = PageState.NEW, pages.add(connection, page_read, keep_html=self._keep_html)
        else:
            state, page_id = _state(comparison), known.page_id
            pages.refresh(connection, known, page_read, changed=comparison.changed, keep_html=self._keep_html)
        home = Home(page_id, page_read.site, visit.at)
        sighted = self._write_blocks(connection, home, comparison)
        mirrors = self._mirrors.place(connection, home, visit.fingerprint, before)
        template = tally.templates(home.site)
        tally.note(Change.of(home.site, earlier if known else None, visit.candidates))
        return _saved(Saved(visit.url, state, page_id, mirrors=int(mirrors)), comparison, sighted, template)

    def _candidates(self, visit: Visit) -> Sequence[Candidate]:
        if self._rules.scope != "off":
            return visit.candidates
        return [replace(one, repeats=None, distance=0) for one in visit.candidates]

    def _write_blocks(self, connection: Connection, home: Home, comparison: Comparison) -> list[Sighted]:
        """Store what is new as blocks or sightings, refresh what is kept; return the new sightings."""
        found = self._find(connection, home, [one for one in comparison.new if one.repeats is None])
        known = {one.candidate.decision.block.position for one in found}
        fresh = [one for one in comparison.new if one.repeats is None and one.decision.block.position not in known]
        blocks = rows.add_blocks(connection, home, fresh)
        self._index.add(
            connection,
            [Entry(one.fingerprint, one.block_id) for one in blocks.values() if one.fingerprint is not None],
        )
        kept = _kept_blocks(comparison)
        targets = blocks | _kept_targets(comparison, kept)
        targets |= {one.candidate.decision.block.position: one.original for one in found}
        sighted = found + _repeated(comparison.new, targets)
        rows.refresh(connection, home, comparison.kept, kept)
        rows.add_sightings(connection, home, sighted)
        rows.mark_gone(connection, comparison.missing, home.at)
        return sighted

    def _find(self, connection: Connection, home: Home, new: list[Candidate]) -> list[Sighted]:
        if not self._rules.beyond_page:
            return []
        return find_originals(connection, self._index, home, new, within_site=self._rules.scope == "site")


def _check_writable(engine: Engine) -> None:
    """Delete nothing: who may not even do that is told so before the crawl."""
    with writing(engine) as connection:
        connection.execute(delete(crawl).where(false()))


def _kept_blocks(comparison: Comparison) -> dict[int, Original]:
    """Return the page's own kept blocks, as they read now, by id."""
    return {
        each.earlier.row_id: replace(each.earlier.original, text=each.text)
        for each in comparison.kept
        if not each.earlier.is_sighting
    }


def _kept_targets(comparison: Comparison, kept: Mapping[int, Original]) -> dict[int, Original]:
    """Return, by position, the block that each kept row is or is a sighting of."""
    return {
        each.candidate.decision.block.position: kept.get(each.earlier.original.block_id, each.earlier.original)
        for each in comparison.kept
    }


def _repeated(new: Iterable[Candidate], targets: dict[int, Original]) -> list[Sighted]:
    """Return the blocks that repeat one of their own page as sightings of that, or of what that is a sighting of."""
    sighted = []
    for one in new:
        if one.repeats is not None:
            original = targets[one.repeats]
            targets[one.decision.block.position] = original
            sighted.append(_repeat(one, original))
    return sighted


def _repeat(one: Candidate, original: Original) -> Sighted:
    bits = one.distance
    if one.fingerprint is not None and original.fingerprint is not None:
        bits = distance(one.fingerprint, original.fingerprint)
    return Sighted(one, original, bits, exact=one.digest == original.digest)


def _state(comparison: Comparison) -> PageState:
    return PageState.CHANGED if comparison.changed else PageState.UNCHANGED


def _saved(base: Saved, comparison: Comparison, sighted: Sequence[Sighted], template: frozenset[int]) -> Saved:
    dropped = sum(one.digest in template for one in comparison.new)
    counted = [one for one in sighted if one.candidate.digest not in template]
    exact = sum(one.exact for one in counted)
    return replace(
        base,
        stored=len(comparison.new) - dropped - len(counted),
        refreshed=len(comparison.kept),
        revived=sum(each.earlier.gone for each in comparison.kept),
        exact=exact,
        near=len(counted) - exact,
        template=dropped,
        gone=len(comparison.missing),
    )
