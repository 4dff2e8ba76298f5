"""What a batch of visits knows of the database: read at once, changed in memory by decisions, and written at once.

`read_state` reads it, one statement a table. A decision looks up here what it needs, and changes it here; so a later
visit of the batch sees what an earlier one did. `State.write` writes what has changed, one statement a table. A
decision that needs a row which was not read raises NotReadError: then the batch is read again with that row.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sqlalchemy import String, bindparam, cast, delete, insert, literal, select, update

from crawler.storage import pages
from crawler.storage.blocks import BlockState, Candidate, VisitedPage, read_duplicates, read_earlier
from crawler.storage.boilerplate import BoilerplateChange, read_boilerplate, write_boilerplate
from crawler.storage.change_log import ChangeLog, PageEvents, PageLog, move_events
from crawler.storage.headlines import MetadataChanges, move_former, read_former
from crawler.storage.locks import NotReadError
from crawler.storage.near_duplicates import FingerprintedPage, NearPages, block_index
from crawler.storage.search_index import TokenChanges
from crawler.storage.sections import SectionRows, read_sections
from crawler.storage.structure import StructureChanges, delete_structures
from crawler.storage.tables import address, batched, block, insert_on_conflict, page, reserve_ids, sighting, update_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy.engine import Connection

    from cleaning.page_fingerprint import FingerprintedBlock
    from crawler.page_comparison import EarlierRow
    from crawler.storage.boilerplate import BoilerplateBounds
    from crawler.storage.headlines import PageNames
    from crawler.storage.near_duplicates import DuplicateRules
    from crawler.storage.pages import PageRecord, SitemapEvidence, StoredPage


@dataclass(frozen=True, slots=True)
class ShownPage:
    """The texts that a visit found, and the key under which its page is probably stored."""

    key: str
    site: str
    blocks: Sequence[FingerprintedBlock]
    fingerprint: int | None


@dataclass(slots=True)
class Wants:
    """What a batch may need of the database.

    `keys` are those of pages, sections and addresses, `contents` those of pages whose texts are compared. `own_keys`
    are the pages' own addresses, `stated` those that they state instead.
    """

    keys: set[str] = field(default_factory=set)
    contents: set[str] = field(default_factory=set)
    own_keys: set[str] = field(default_factory=set)
    stated: set[str] = field(default_factory=set)
    shown: list[ShownPage] = field(default_factory=list)
    blocks: set[int] = field(default_factory=set)
    all_candidates: bool = False
    """Whether texts are looked up that the page has shown before."""
    all_contents: bool = False
    """Whether the texts of all these pages are read, and what has them as an original: any may be deleted."""

    def add(self, missing: NotReadError) -> None:
        """Ask for what was missing; the next attempts ask for more than that, so that few are needed."""
        before = (len(self.keys), len(self.blocks), self.all_candidates, self.all_contents)
        if missing.kind == "keys":
            self.keys.add(missing.value)
        elif missing.kind == "blocks":
            self.blocks.add(missing.value)
        elif missing.kind in {"candidates", "fingerprints"}:
            self.all_candidates = True
        else:
            self.all_contents = True
        if before == (len(self.keys), len(self.blocks), self.all_candidates, self.all_contents):
            raise missing  # it was read, and not found: a defect here, which must not become an endless loop


_FIND_ADDRESSES = select(address.c.url_key, address.c.leads_to).where(
    address.c.url_key.in_(bindparam("keys", expanding=True))
)
_WAITING_KEYS = (
    select(address.c.leads_to, address.c.url_key)
    .join(page, page.c.url_key == address.c.url_key)
    .where(address.c.leads_to.in_(bindparam("keys", expanding=True)))
)
_DOUBTED_BEFORE = select(page.c.doubted_canonical).where(
    page.c.doubted_canonical.in_(bindparam("keys", expanding=True))
)


class PageRows:
    """The pages that a batch has read or added. `keys` are those that were looked up, `ids` gives ids of new pages."""

    def __init__(self, rows: Iterable[SimpleNamespace], keys: Collection[str], ids: Iterator[int]) -> None:
        self._rows = {row.id: row for row in rows}
        self._ids = {row.url_key: row.id for row in self._rows.values()}
        self._keys = keys
        self._new_ids = ids
        self._added: dict[int, dict[str, Any]] = {}
        self._updated: dict[int, dict[str, Any]] = {}
        self._moved: set[int] = set()

    def find(self, key: str) -> StoredPage | None:
        """Return the page stored under a key, None if there is none."""
        page_id = self._ids.get(key)
        if page_id is not None:
            return pages.stored_page(self._rows[page_id])
        if key not in self._keys:
            raise NotReadError("keys", key)
        return None

    def settings(self, page_id: int) -> Mapping[str, Any]:
        """Return the settings by which a page was read; {} if they are not known."""
        return self._rows[page_id].settings or {}

    def count(self, site: str, keys: Iterable[str]) -> int:
        """Return how many of these keys are those of pages of a site."""
        stored = (self._rows[self._ids[key]] for key in keys if key in self._ids)
        return sum(row.site == site for row in stored)

    def add(self, record: PageRecord, *, keep_html: bool) -> int:
        """Add a page at its first visit; return its id."""
        page_id = next(self._new_ids)
        values = pages.new_page(record, keep_html=keep_html)
        self._added[page_id] = {"id": page_id, **values}
        names = dict.fromkeys(("names_of", "headline", "stated_title", "version"))
        self._rows[page_id] = SimpleNamespace(id=page_id, has_structure=False, **names)
        self._show(page_id, values)
        return page_id

    def update(self, page_id: int, values: Mapping[str, Any]) -> None:
        """Change columns of a page."""
        changes = self._added[page_id] if page_id in self._added else self._updated.setdefault(page_id, {})
        changes.update(values)
        if "url_key" in values and values["url_key"] != self._rows[page_id].url_key:
            self._moved.add(page_id)
        self._show(page_id, values)

    def name(self, page_id: int, names: PageNames) -> None:
        """Change the names of a page, which are stored apart from it."""
        shown = {"headline": names.headline, "stated_title": names.stated_title, "version": names.version}
        vars(self._rows[page_id]).update(names_of=page_id, **shown)

    def structure(self, page_id: int, *, has_structure: bool) -> None:
        """Record whether a page has a stored structure now."""
        self._rows[page_id].has_structure = has_structure

    def remove(self, page_id: int) -> None:
        """Take a page that is about to be deleted out of the way of others."""
        del self._ids[self._rows.pop(page_id).url_key]
        self._updated.pop(page_id, None)
        if page_id in self._added:
            self._added[page_id]["url_key"] = f"#{page_id}"
        else:
            self._moved.add(page_id)

    def _show(self, page_id: int, values: Mapping[str, Any]) -> None:
        row = self._rows[page_id]
        if (key := values.get("url_key")) is not None:
            if self._ids.get(getattr(row, "url_key", key)) == page_id:
                del self._ids[row.url_key]
            self._ids[key] = page_id
        vars(row).update(values)
        for name, column in (("has_html", "html"), ("has_origin", "spider"), ("retired", "retired_at")):
            if column in values:
                setattr(row, name, values[column] is not None)

    def write_added(self, connection: Connection) -> None:
        """Take the pages that move away from their keys, and insert the new ones."""
        moved = [{"row": page_id} for page_id in sorted(self._moved - self._added.keys())]
        if moved:
            connection.execute(_LEAVE_KEY, moved)
        if self._added:
            connection.execute(insert(page), [self._added[page_id] for page_id in sorted(self._added)])

    def write_updated(self, connection: Connection) -> None:
        """Update the pages that were read."""
        update_rows(connection, page, self._updated)


_LEAVE_KEY = update(page).where(page.c.id == bindparam("row")).values(url_key=literal("#") + cast(page.c.id, String))


class AddressRows:
    """The addresses that lead to pages and sections: those of a batch, with all that it has changed since."""

    def __init__(self, leads: dict[str, str], waiting: dict[str, list[str]], keys: Collection[str]) -> None:
        self._leads = leads
        self._waiting = waiting
        self._keys = keys
        self._stored = dict(leads)
        self._deleted: set[str] = set()
        self._operations: list[tuple[bool, str, str]] = []

    def target(self, key: str) -> str | None:
        """Return the key of the page or section that an address leads to; None for a page's own address."""
        if key not in self._keys:
            raise NotReadError("keys", key)
        return self._leads.get(key)

    def take_waiting(self, own_key: str) -> list[str]:
        """Return the keys of the stored pages that wait for a visit at an address; they wait no longer."""
        keys = self._waiting.pop(own_key, [])
        for key in keys:
            self._drop(key)
        return keys

    def lead(self, key: str, leads_to: str) -> None:
        """Record that an address, and all that led to it, lead to a page or section."""
        self._leads.update({other: leads_to for other, target in self._leads.items() if target == key})
        self._operations.append((True, key, leads_to))
        self._drop(leads_to)
        self.record(key, leads_to)

    def record(self, key: str, leads_to: str) -> None:
        """Record that an address leads to a page or section."""
        self._leads[key] = leads_to
        self._deleted.discard(key)

    def forget(self, leads_to: str) -> None:
        """Drop all addresses that lead to a page or section."""
        for known in (self._leads, self._stored):
            for key in [key for key, target in known.items() if target == leads_to]:
                del known[key]
        self._operations.append((False, leads_to, leads_to))

    def _drop(self, key: str) -> None:
        self._leads.pop(key, None)
        self._deleted.add(key)

    def write(self, connection: Connection) -> None:
        for leads, group in itertools.groupby(self._operations, key=lambda operation: operation[0]):
            rows = [{"key": key, "to": leads_to} for _, key, leads_to in group]
            connection.execute(_LEAD_ON if leads else _FORGET_LEADING, rows)
        if self._deleted:
            for part in batched(sorted(self._deleted)):
                connection.execute(delete(address).where(address.c.url_key.in_(part)))
        changed = [
            {"url_key": key, "leads_to": leads_to}
            for key, leads_to in sorted(self._leads.items())
            if self._stored.get(key) != leads_to
        ]
        if changed:
            new = insert_on_conflict(connection, address)
            replaced = new.on_conflict_do_update(index_elements=["url_key"], set_={"leads_to": new.excluded.leads_to})
            connection.execute(replaced, changed)


_LEAD_ON = update(address).where(address.c.leads_to == bindparam("key")).values(leads_to=bindparam("to"))
_FORGET_LEADING = delete(address).where(address.c.leads_to == bindparam("key"))


@dataclass(slots=True)
class State:
    """All that a batch knows and changes; each part is described where it is declared."""

    pages: PageRows
    blocks: BlockState
    near: NearPages
    addresses: AddressRows
    sections: SectionRows
    metadata: MetadataChanges
    doubted: set[str]
    """Stated addresses that are not believed: of sections, or doubted for a page before."""
    boilerplate: Mapping[str, frozenset[int]]
    """The digests of the texts that were boilerplate before the batch, by site."""
    texts: list[BoilerplateChange] = field(default_factory=list)
    log: PageLog = field(default_factory=PageLog)
    events: PageEvents = field(default_factory=PageEvents)
    tokens: TokenChanges = field(default_factory=TokenChanges)
    structures: StructureChanges = field(default_factory=StructureChanges)
    evidence: list[SitemapEvidence] = field(default_factory=list)
    absorbed: list[Absorption] = field(default_factory=list)

    def absorb(self, old: StoredPage, into: StoredPage) -> None:
        """Make two stored pages one: the rows of the old page become earlier rows of the other, and it is deleted."""
        live = self.blocks.hide(old.page_id, old.history.last_seen)
        if not old.retired:
            self.texts.append(BoilerplateChange.of_retired(old.site, live))
        self.blocks.absorb(old.page_id, VisitedPage(into.page_id, into.site, old.history.last_seen))
        self.log.restructured.update(self.near.remove([FingerprintedPage(old.page_id, old.site, old.fingerprint)]))
        self.structures.forget(old.page_id)
        self.metadata.forget(old.page_id)
        self.tokens.forget_title(old.page_id)
        self.events.absorb(old.page_id, into.page_id)
        self.log.forget(old.page_id)
        self.log.touched.add(into.page_id)
        self.pages.remove(old.page_id)
        visits = old.history.visits + into.history.visits
        joint = {
            "first_seen": min(old.history.first_seen, into.history.first_seen),
            "visits": visits,
            "changes": old.history.changes + into.history.changes,
        }
        self.pages.update(into.page_id, joint)
        self.addresses.lead(old.history.key, into.history.key)
        self.absorbed.append(Absorption(old.page_id, into.page_id, into.site, visits))

    def write(self, connection: Connection, rules: DuplicateRules, bounds: BoilerplateBounds) -> None:
        """Write all that has changed, each table in one statement where rows have the same columns."""
        log = ChangeLog(connection, self.log)
        self.pages.write_added(connection)
        self.blocks.write(connection, block_index(connection, rules), log)
        self.near.write(connection)
        self.metadata.write(connection)
        self.tokens.write(connection)
        self.structures.write(connection, self.log)
        for absorption in self.absorbed:
            absorption.write(connection, log)
        self.pages.write_updated(connection)
        self.sections.write(connection)
        self.addresses.write(connection)
        self.events.write(connection, self.log)
        log.write()
        write_boilerplate(connection, self.texts, bounds, log, datetime.now(UTC))
        pages.record_sitemap_evidence(connection, self.evidence)


@dataclass(frozen=True, slots=True)
class Absorption:
    """A stored page that has become part of another one. `visits` are those of both pages together."""

    old_id: int
    page_id: int
    site: str
    visits: int

    def write(self, connection: Connection, log: ChangeLog) -> None:
        """Give the other page all rows of the old one, and delete that."""
        old = select(page.c.id).where(page.c.id == self.old_id)
        delete_structures(connection, old)
        move_events(connection, self.old_id, self.page_id)
        move_former(connection, self.old_id, self.page_id, self.visits)
        for table, values in ((block, {"site": self.site}), (sighting, {})):
            moved = {"page_id": self.page_id, "changed": log.sequence} | values
            connection.execute(update(table).where(table.c.page_id == self.old_id).values(moved))
        log.remove_pages(old)
        connection.execute(delete(page).where(page.c.id == self.old_id))


def read_state(connection: Connection, wants: Wants, rules: DuplicateRules) -> State:
    """Read what a batch may need, one statement a table; nothing for nothing wanted."""
    keys = wants.keys | wants.contents | wants.own_keys | wants.stated
    leads, waiting = _read_addresses(connection, keys, wants.own_keys)
    waiting_keys = set(itertools.chain.from_iterable(waiting.values()))
    page_keys = keys | set(leads.values()) | waiting_keys
    rows = pages.read_page_rows(connection, page_keys)
    contents = wants.contents | waiting_keys | {leads[key] for key in wants.contents if key in leads}
    ids = {row.url_key: row.id for row in rows}
    page_ids = set(ids.values()) if wants.all_contents else {ids[key] for key in contents if key in ids}
    earlier = read_earlier(connection, page_ids)
    unseen = list(_unseen(wants, ids, earlier))
    looked_up = [
        candidate
        for candidate in unseen
        if rules.beyond_page and (candidate.block.repeats is None or wants.all_candidates)
    ]
    duplicates = read_duplicates(connection, block_index(connection, rules), looked_up, wants.blocks, rules)
    fingerprinted = [FingerprintedPage(row.id, row.site, row.page_fingerprint) for row in rows]
    fingerprints = {shown.fingerprint for shown in wants.shown if shown.fingerprint is not None}
    sites = {shown.site for shown in wants.shown} | {row.site for row in rows}
    section_rows = read_sections(connection, page_keys)
    doubted = {key for key in wants.stated if section_rows.has(key)}
    if wants.stated:
        doubted.update(connection.scalars(_DOUBTED_BEFORE, {"keys": sorted(wants.stated)}))
    new_pages = len(wants.shown) if wants.all_candidates else sum(shown.key not in ids for shown in wants.shown)
    counts = {page: new_pages, block: len(unseen), sighting: len(unseen)}
    new_ids = {table: _numbers(ids_of_table) for table, ids_of_table in reserve_ids(connection, counts).items()}
    return State(
        PageRows(rows, page_keys, new_ids[page]),
        BlockState(earlier, duplicates, new_ids[block], new_ids[sighting], rules),
        NearPages.read(connection, rules, fingerprinted, fingerprints, page_ids if wants.all_contents else ()),
        AddressRows(leads, waiting, page_keys),
        section_rows,
        MetadataChanges(read_former(connection, page_ids)),
        doubted,
        read_boilerplate(connection, sites),
    )


def _read_addresses(
    connection: Connection, keys: Collection[str], own_keys: Collection[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return where addresses lead, and the keys of the stored pages that wait for a visit at one of the own keys."""
    leads = {
        row.url_key: row.leads_to
        for part in batched(sorted(keys))
        for row in connection.execute(_FIND_ADDRESSES, {"keys": part})
    }
    waiting: dict[str, list[str]] = {}
    for part in batched(sorted(own_keys)):
        for row in connection.execute(_WAITING_KEYS, {"keys": part}):
            waiting.setdefault(row.leads_to, []).append(row.url_key)
    return leads, waiting


def _unseen(wants: Wants, ids: Mapping[str, int], earlier: Mapping[int, Sequence[EarlierRow]]) -> Iterator[Candidate]:
    """Yield the texts that pages have probably not shown before."""
    for shown in wants.shown:
        page_id = ids.get(shown.key)
        rows = () if page_id is None or wants.all_candidates else earlier.get(page_id, ())
        digests = {row.digest for row in rows}
        for candidate in shown.blocks:
            if candidate.digest not in digests:
                yield Candidate(shown.site, page_id, candidate)


def _numbers(ids: Iterable[int]) -> Iterator[int]:
    """Yield the reserved ids; after the last one, more have to be reserved."""
    yield from ids
    raise NotReadError("candidates", 0)
