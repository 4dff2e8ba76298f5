"""Store what crawls bring home: one transaction looks up the duplicates and writes what is new."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import delete, false

from cleaning.fingerprint import SCHEMES, distance
from crawler.storage import crawls, ends, frontier, lineage, pages, rows, schema, scheme, upkeep
from crawler.storage.compare import Original, compare
from crawler.storage.ends import Manners
from crawler.storage.engine import backend, open_engine, writing
from crawler.storage.index import INDEXES, Entry
from crawler.storage.locks import block_keys, lock, lock_all, mirror_keys, page_key
from crawler.storage.mirrors import Mirrors, Standing
from crawler.storage.models import crawl
from crawler.storage.originals import find_originals
from crawler.storage.patience import Patience
from crawler.storage.revisits import Origin
from crawler.storage.rows import Home, Sighted
from crawler.storage.rules import Rules
from crawler.storage.saved import PageState, Saved, counted, with_spared
from crawler.storage.templates import Bounds, Change, Tally
from crawler.storage.upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

    from cleaning.fingerprint import Weighting
    from crawler.config import Config
    from crawler.storage.claim import Claim
    from crawler.storage.compare import Comparison
    from crawler.storage.crawls import Joined
    from crawler.storage.pages import Reading
    from crawler.storage.upkeep import Absence
    from crawler.visit import Candidate, Visit

Result = TypeVar("Result")


class Store:
    """A database of blocks, open for one writer; `origin` is that of the crawl it has joined."""

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
        self.origin: Origin | None = None
        self._manners = Manners()
        self._claim: Claim | None = None
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
        if self._claim is not None:
            self._claim.close()
        self.engine.dispose()

    def join_crawl(self, spider: str, arguments: Mapping[str, Any], manners: Manners, *, fresh: bool = False) -> Joined:
        """Return the open crawl of this spider and these arguments, begun now where there is none, or if `fresh`.

        Requests that a process had taken which is no more are free again, on SQLite at once.
        """
        self._manners = manners
        self.origin = None if manners.is_replay else Origin.of(spider, arguments)
        joined = self.write(lambda connection: crawls.join(connection, spider, arguments, fresh=fresh))
        self._claim = backend(self.engine).claim(self.engine, joined.crawl_id)
        if self._claim is not None and self._claim.alone:
            self.write(lambda connection: frontier.reset(connection, joined.crawl_id))
        return joined

    def begin_crawl(self, spider: str, arguments: Mapping[str, Any]) -> int:
        """Note that a crawl starts and return its id; secrets among its arguments are masked."""
        return self.write(lambda connection: crawls.begin(connection, spider, arguments))

    def end_crawl(self, crawl_id: int, reason: str, totals: Mapping[str, Any], *, finished: bool = True) -> bool:
        """Note that a process ends its part in a crawl, why, what it counted, and whether nothing is left to do.

        Tell whether any process of the crawl has found a page.
        """
        return self.write(lambda connection: crawls.end(connection, crawl_id, reason, totals, finished=finished))

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Do the work in a transaction of its own and return its result; a server that went away is waited for."""
        if self._claim is not None:
            self._claim.check()
        return self._patience.write(self.engine, work)

    def save(self, crawl_id: int, visits: Sequence[Visit]) -> list[Saved]:
        """Store the visits' pages, all of them or none, and return what became of each visit, in order.

        The requests that the visits end are acknowledged with it, and their children stored; a visit whose request is
        another process's by now is not stored. A server that went away is waited for. Raises StoreError where the
        database is full, read-only, damaged, locked or away for too long.
        """
        source = pages.Source(crawl_id, self._scheme, self._manners.revisits, self.origin, self._manners.options_hash)
        readings = [pages.read(visit, source) for visit in visits]
        absences = [found for pair in zip(visits, readings, strict=True) if (found := upkeep.absence(*pair))]

        def work(connection: Connection) -> list[Saved]:
            alone = self._lock(connection, absences, self._claims(visits, readings))
            lost = ends.acknowledge(connection, visits, self._manners.most_attempts)
            tally = Tally(connection, lineage.begin(connection))
            keeper = Upkeep(tally, self._mirrors, self._manners, self.origin, alone=alone)
            keeper.foresee(visits, readings)
            saved = [
                Saved(visit.url, PageState.LOST) if visit.ticket in lost else self._save(keeper, visit, reading)
                for visit, reading in zip(visits, readings, strict=True)
            ]
            tally.settle(self._bounds, datetime.now(UTC))
            keeper.settle()
            kept = [visit for visit in visits if visit.ticket not in lost]
            spared = ends.follow(connection, crawl_id, kept, self._manners)
            return list(with_spared(saved, visits, spared))

        return self.write(work)

    def miss(self, absences: Sequence[Absence]) -> list[Saved]:
        """Note pages that were not where they had been, as their requests led elsewhere; return what became of each."""

        def work(connection: Connection) -> list[Saved]:
            alone = self._lock(connection, absences, [page_key(one.key) for one in absences])
            tally = Tally(connection, lineage.begin(connection))
            keeper = Upkeep(tally, self._mirrors, self._manners, self.origin, alone=alone)
            saved = [keeper.miss(one) for one in absences]
            tally.settle(self._bounds, datetime.now(UTC))
            return saved

        return self.write(work)

    def stop_waiting(self) -> None:
        """Wait for the database no longer: what it does not take now fails. Any thread may say so."""
        self._patience.end()

    def _lock(self, connection: Connection, absences: Sequence[Absence], keys: Iterable[int]) -> bool:
        """Wait for the keys, or for all where a page may be retired; tell whether those are had."""
        if not upkeep.may_retire(connection, absences):
            lock(connection, keys)
            return False
        lock_all(connection)
        return True

    def _claims(self, visits: Sequence[Visit], readings: Sequence[Reading | None]) -> Iterator[int]:
        """Give the keys of all that a batch looks up or inserts."""
        for visit, page_read in zip(visits, readings, strict=True):
            yield page_key(upkeep.key(visit, page_read))
            if page_read is not None:
                yield page_key(page_read.key)
                if self._rules.beyond_page:
                    yield from block_keys(visit.candidates, page_read.site)
                    yield from mirror_keys(visit.fingerprint)

    def _save(self, keeper: Upkeep, visit: Visit, page_read: Reading | None) -> Saved:
        if page_read is None:
            return keeper.keep(visit)
        tally, connection = keeper.tally, keeper.tally.connection
        known = pages.find(connection, page_read.key)
        earlier = rows.earlier(connection, known.page_id) if known else []
        before = self._mirrors.standing(connection, known.page_id, known.fingerprint) if known else Standing()
        comparison = compare(self._candidates(visit), earlier)
        if known is None:
            state, page_id = PageState.NEW, pages.add(connection, page_read, keep_html=self._keep_html)
            tally.journal.add(page_id)
        else:
            state, page_id = _state(comparison), known.page_id
            keeper.prove(known, changed=comparison.changed)
            tally.journal.touch(page_id)
            if known.description != page_read.description:
                tally.journal.describe(page_id)
            pages.refresh(connection, known, page_read, changed=comparison.changed, keep_html=self._keep_html)
        home = Home(page_id, page_read.site, visit.at, tally.journal.mark)
        sighted = self._write_blocks(connection, home, comparison)
        mirrors = self._mirrors.place(connection, home, visit.fingerprint, before)
        template = tally.templates(home.site)
        was_there = known is not None and not known.retired
        tally.note(Change.of(home.site, earlier if was_there else None, visit.candidates))
        keeper.beside(visit, page_read)
        return counted(Saved(visit.url, state, page_id, mirrors=int(mirrors)), comparison, sighted, template)

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
        rows.mark_gone(connection, home, comparison.missing)
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
