"""Store what crawls bring home: one transaction looks up the duplicates and writes what is new."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import delete, false

from cleaning.fingerprint import SCHEMES
from crawler.storage import crawls, ends, frontier, lineage, outcomes, pages, redoing, rows, schema, scheme, upkeep
from crawler.storage.compare import compare
from crawler.storage.ends import Manners
from crawler.storage.engine import backend, open_engine, reading, writing
from crawler.storage.index import INDEXES
from crawler.storage.locks import block_keys, lock, lock_all, mirror_keys, page_key
from crawler.storage.mirrors import Mirrors, Standing
from crawler.storage.models import crawl
from crawler.storage.patience import Patience
from crawler.storage.revisits import Origin
from crawler.storage.rows import Home
from crawler.storage.rules import Rules
from crawler.storage.saved import PageState, Saved, counted, with_spared
from crawler.storage.templates import Bounds, Change, Tally
from crawler.storage.upkeep import Upkeep
from crawler.storage.write import BlockWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection, Engine

    from cleaning.fingerprint import Weighting
    from crawler.config import Config
    from crawler.storage.claim import Claim
    from crawler.storage.compare import Comparison
    from crawler.storage.crawls import Joined
    from crawler.storage.outcomes import PageOutcome
    from crawler.storage.pages import Reading
    from crawler.storage.redoing import Job, PageToRedo, Redone
    from crawler.storage.upkeep import Absence
    from crawler.visit import Visit

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
        self._blocks = BlockWriter(INDEXES[engine.dialect.name](rules.most_bits), rules)
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

    def redo(self, redone: Sequence[Redone], note: Callable[[Connection], None] | None) -> list[Saved]:
        """Store what pages' last visits bring when they are cleaned again; return what became of each, in order.

        `note` is done in the same transaction; where it is None, nothing is stored, and that is what would become.
        """

        def work(connection: Connection) -> list[Saved]:
            lock(connection, chain.from_iterable(self._page_claims(one.page, one) for one in redone))
            before = connection.begin_nested()
            tally = Tally(connection, lineage.begin(connection))
            saved = [self._redo(tally, one) for one in redone]
            tally.settle(self._bounds, datetime.now(UTC))
            if note is None:
                before.rollback()
            else:
                note(connection)
            return saved

        return self.write(work)

    def end_redoing(self, job: Job) -> None:
        """Note that a job is done: the same asked for again begins anew."""

        def work(connection: Connection) -> None:
            lock_all(connection)
            if self._rules.beyond_page:
                redoing.settle_mirrors(connection, self._mirrors)
            redoing.end(connection, job)

        self.write(work)

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

    def outcomes(self, sites: Sequence[str]) -> list[PageOutcome]:
        """Return what the newest stored pages of these sites turned out to be."""
        with reading(self.engine) as connection:
            return outcomes.outcomes(connection, sites)

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
                yield from self._page_claims(page_read, visit)

    def _page_claims(self, page: Reading | PageToRedo, cleaned: Visit | Redone) -> Iterator[int]:
        yield page_key(page.key)
        if self._rules.beyond_page:
            yield from block_keys(cleaned.candidates, page.site)
            yield from mirror_keys(cleaned.fingerprint)

    def _redo(self, tally: Tally, redone: Redone) -> Saved:
        """Do a page's last visit again: what it shows is compared with what is stored, and no visit is counted."""
        connection = tally.connection
        known = pages.find(connection, redone.page.key)
        if known is None or known.retired or known.body_hash != redone.page.body_hash:
            return Saved(redone.page.url, PageState.PUT_OFF)  # a crawl was there meanwhile, and knows more
        earlier = rows.earlier(connection, known.page_id)
        before = self._mirrors.standing(connection, known.page_id, known.fingerprint)
        comparison = compare(self._blocks.candidates(redone.candidates), earlier)
        tally.journal.touch(known.page_id)
        redoing.write(connection, known, redone)
        home = Home(known.page_id, known.site, known.history.last_seen, tally.journal.mark)
        sighted = self._blocks.write(connection, home, comparison)
        mirrors = self._mirrors.place(connection, home, redone.fingerprint, before)
        template = tally.templates(home.site)
        tally.note(Change.of(home.site, earlier, redone.candidates))
        saved = Saved(known.url, _state(comparison), known.page_id, mirrors=int(mirrors))
        return counted(saved, comparison, sighted, template)

    def _save(self, keeper: Upkeep, visit: Visit, page_read: Reading | None) -> Saved:
        if page_read is None:
            return keeper.keep(visit)
        tally, connection = keeper.tally, keeper.tally.connection
        known = pages.find(connection, page_read.key)
        earlier = rows.earlier(connection, known.page_id) if known else []
        before = self._mirrors.standing(connection, known.page_id, known.fingerprint) if known else Standing()
        comparison = compare(self._blocks.candidates(visit.candidates), earlier)
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
        sighted = self._blocks.write(connection, home, comparison)
        mirrors = self._mirrors.place(connection, home, visit.fingerprint, before)
        template = tally.templates(home.site)
        was_there = known is not None and not known.retired
        tally.note(Change.of(home.site, earlier if was_there else None, visit.candidates))
        keeper.beside(visit, page_read)
        return counted(Saved(visit.url, state, page_id, mirrors=int(mirrors)), comparison, sighted, template)


def _check_writable(engine: Engine) -> None:
    """Delete nothing: who may not even do that is told so before the crawl."""
    with writing(engine) as connection:
        connection.execute(delete(crawl).where(false()))


def _state(comparison: Comparison) -> PageState:
    return PageState.CHANGED if comparison.changed else PageState.UNCHANGED
