"""The key under which a page is stored, which depends on whether its canonical address is believed.

A page may state another address than its own (rel=canonical): a print version states the article's. Many templates
state one address on all their pages: the listing's, the site's with a language, or the newest article's. If that were
believed, pages with different texts would overwrite each other. So an address that a page states is doubted

- if a section, or a page with another text, is at that address,
- if a page with another text states it too,
- if it was doubted for a page that still states it.

Then the page is stored under its own address, and remembers the other one in the column `doubted_canonical`. If
its canonical address was believed before the others came, it is moved back to its own. Two texts are another's if each
says what the other does not: the manuals of two versions have most of their words in common. A page that is believed
to be a variant is a visit of the page at the address that it states, and does not overwrite what was read there.

A page also has a new address if its own redirects there for good (301, 308), and the text there is the same. It keeps
its history, blocks and visits. If a page is stored there already, the two become one. The addresses that it has left,
and those of its variants, stay in table `address`. If the new address has a request of its own that is still waiting, a
row in this table waits for that visit.

There, two texts belong to one page if they have most of their terms in common; with a common title, fewer are enough.
Everything is decided in the transaction of `Store.save`, under its locks on the keys of both addresses, so the order in
which pages and processes come does not matter. A change of a third page takes all locks: `UnlockedPageError` asks for
them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sqlalchemy import bindparam, delete, select, update

from cleaning.terms import terms
from crawler.errors import StoreError
from crawler.storage import pages
from crawler.storage.blocks import VisitedPage, mark_gone, read_earlier
from crawler.storage.boilerplate import BoilerplateChange
from crawler.storage.change_log import PageEvent, PageEventKind
from crawler.storage.headlines import move_former
from crawler.storage.structure import delete_structures
from crawler.storage.tables import address, block, insert_on_conflict, page, section, sighting
from crawler.urls import is_respelled, is_root, site_of, url_key
from crawler.visit import ProcessedPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.page_comparison import EarlierRow
    from crawler.storage.boilerplate import BoilerplateCounter
    from crawler.storage.change_log import ChangeLog, PageEvents
    from crawler.storage.headlines import NameWriter
    from crawler.storage.near_duplicates import NearDuplicatePages
    from crawler.storage.pages import ImportedPage, PageAbsence, PageRecord, StoredPage
    from crawler.storage.search_index import TokenWriter
    from crawler.storage.structure import StructureWriter

# Two texts belong to one page if both have this share of all their terms. An edited article keeps 0.9 of them; two
# articles of a site have 0.1 to 0.3 in common, and up to 0.7 if menus were kept.
_MIN_SHARE = 0.8
_MIN_SHARE_WITH_TITLE = 0.5
# A variant lacks at most this share of the terms of the page whose address it states, or has as many of its own: an AMP
# page has no captions, a print version says that it was printed.
_MAX_SHARE_OF_VARIANT = 0.1

_DOUBTED_BEFORE = select(page.c.doubted_canonical).where(
    page.c.doubted_canonical.in_(bindparam("keys", expanding=True))
)
_WAITING_KEYS = (
    select(address.c.leads_to, address.c.url_key)
    .join(page, page.c.url_key == address.c.url_key)
    .where(address.c.leads_to.in_(bindparam("keys", expanding=True)))
)
_SECTION_KEYS = select(section.c.url_key).where(section.c.url_key.in_(bindparam("keys", expanding=True)))


class UnlockedPageError(StoreError):
    """The transaction would change a page that it has not locked: run it again with everything locked."""


@dataclass(frozen=True, slots=True)
class PageText:
    """The identity of a page beside its addresses: the title and the terms of its text."""

    title: str | None
    terms: frozenset[str]

    @classmethod
    def of(cls, title: str | None, texts: Iterable[str]) -> PageText:
        return cls(title, frozenset(term for text in texts for term in terms(text)))

    def is_same(self, other: PageText) -> bool:
        """Return True if these are probably two texts of one page; two pages without text need a common title."""
        common, either = len(self.terms & other.terms), len(self.terms | other.terms)
        if not either:
            return self._has_title_of(other)
        return common / either >= (_MIN_SHARE_WITH_TITLE if self._has_title_of(other) else _MIN_SHARE)

    def agrees(self, other: PageText) -> bool:
        """Return True if one of the two texts says nothing that the other does not; see `texts_agree`."""
        common = len(self.terms & other.terms)
        return texts_agree(common, len(self.terms), len(other.terms), has_title=self._has_title_of(other))

    def _has_title_of(self, other: PageText) -> bool:
        return self.title is not None and self.title == other.title


def is_stored_page(connection: Connection, imported: ImportedPage, key: str) -> bool:
    """Return True if the page stored under a key is the imported one: it has the same address or the same text."""
    stored = pages.find_page(connection, key)
    if stored is None:
        return False
    if is_respelled(url_key(stored.url), imported.own_key) or stored.body_hash == imported.body_hash:
        return True
    rows = read_earlier(connection, stored.page_id)
    imported_page = imported.visit.page
    assert isinstance(imported_page, ProcessedPage)
    texts = [candidate.text for candidate in imported_page.blocks]
    title = imported_page.cleaned.metadata.title
    return PageText.of(title, texts).agrees(_live_text(stored, rows))


def texts_agree(common_terms: int, terms: int, other_terms: int, *, has_title: bool) -> bool:
    """Return True if one text has all terms of the other, and few more: then no text is lost if they are one page.

    `has_title` says that the texts have the same title; two texts without terms need it.
    """
    most = max(terms, other_terms)
    if not most:
        return has_title
    return common_terms == min(terms, other_terms) and common_terms >= (1 - _MAX_SHARE_OF_VARIANT) * most


@dataclass(frozen=True, slots=True)
class PlacedPage:
    """A page as it is to be stored, under the key that counts, and the page stored under that key."""

    record: PageRecord
    stored: StoredPage | None
    moved: int = 0
    """How many pages have become this one, because their addresses redirect to it for good."""

    @property
    def was_elsewhere(self) -> bool:
        """Whether the stored page was read at another address, and has not moved from there."""
        stored = self.stored
        return stored is not None and not self.moved and not is_respelled(url_key(stored.url), self.record.own_key)

    @property
    def variant_of(self) -> StoredPage | None:
        """The stored page, if it was found at its last visit at another address, which is as good; None otherwise."""
        stored = self.stored
        if stored is None or stored.retired or stored.history.misses or not self.record.is_restated:
            return None
        return stored if self.was_elsewhere else None


@dataclass(frozen=True, slots=True)
class PageAddresses:
    """Finds the keys under which the pages of one batch are stored.

    `new_pages` has the ids, by key, of pages that are inserted but not saved yet. With `alone`, nobody else writes.
    """

    connection: Connection
    change_log: ChangeLog
    events: PageEvents
    boilerplate: BoilerplateCounter
    structures: StructureWriter
    near_duplicates: NearDuplicatePages
    new_pages: dict[str, int]
    names: NameWriter
    tokens: TokenWriter
    alone: bool
    doubted: set[str] = field(default_factory=set)
    waiting: dict[str, list[str]] = field(default_factory=dict)

    def prefetch(self, records: Sequence[PageRecord]) -> None:
        """Read, in three queries, what is known of the pages' addresses.

        These are the stated ones that are sections or were doubted before, and the stored pages that redirect to one
        for good and wait for its visit.
        """
        own_keys = sorted({record.own_key for record in records})
        for row in self.connection.execute(_WAITING_KEYS, {"keys": own_keys}):
            self.waiting.setdefault(row.leads_to, []).append(row.url_key)
        keys = sorted({record.key for record in records if record.is_restated})
        if keys:
            for statement in (_DOUBTED_BEFORE, _SECTION_KEYS):
                self.doubted.update(self.connection.scalars(statement, {"keys": keys}))

    def place(self, record: PageRecord) -> PlacedPage:
        """Return the page under the key that counts, with the page stored there; other pages there give way."""
        if record.key in self.new_pages:
            return PlacedPage(record, None)
        # First of all: a page that gives way may move to the address that this one states.
        own = self._find_own(record) if record.key != record.own_key else None
        stored = pages.find_page(self.connection, record.key)
        if stored is not None and not self._is_same_page(record, stored):
            if not is_respelled(url_key(stored.url), record.key):
                self._give_way(stored)
            stored = None
            if record.is_restated:
                self.doubted.add(record.key)
        if record.key == record.own_key:
            return PlacedPage(record, stored)
        if record.key in self.doubted and (stored is None or self._is_claimed(stored)):
            if stored is not None:
                self._give_way(stored)
            return PlacedPage(record.at_own_address(), pages.find_page(self.connection, record.own_key))
        return PlacedPage(record, self._join(record, stored, own))

    def add_section(self, key: str) -> None:
        """Record that a section is at an address: a page that states it gives way."""
        self.doubted.add(key)
        stored = pages.find_page(self.connection, key)
        if stored is not None and self._is_claimed(stored):
            self._give_way(stored)

    def move(self, placed: PlacedPage, moved_from: Sequence[str]) -> PlacedPage:
        """Merge the pages whose addresses redirect to this page for good into this page; return it.

        A page whose text differs from the new one's stays where it is: a site that has removed its articles redirects
        all of them to the home page, or to a form. Pages that have waited for this visit wait no longer.
        """
        waiting = self.waiting.pop(placed.record.own_key, [])
        if waiting:
            self.connection.execute(delete(address).where(address.c.url_key.in_(waiting)))
        for key in dict.fromkeys([*moved_from, *waiting]):
            old = self._find_moved(key)
            if old is None or (placed.stored is not None and placed.stored.page_id == old.page_id):
                continue
            if (
                _is_moved_path(old, placed.record.own_key)
                or old.body_hash == placed.record.columns["body_hash"]
                or _text_of(placed.record).is_same(self._stored_text(old))
            ):
                placed = self._move(old, placed, moved_from)
        return placed

    def move_absent(self, absence: PageAbsence) -> bool:
        """Merge a page whose URL redirects for good into the page stored at the target, if they agree.

        If there is none yet, the page waits for it.
        """
        if absence.moved_to is None:
            return False
        key = url_key(absence.moved_to)
        is_section = self._has_section(key)
        if is_section:
            self.move_section([absence.key], key)
        targets = pages.read_addresses(self.connection, [key])
        new = pages.find_page(self.connection, key) or pages.find_page(self.connection, targets.get(key, key))
        old = self._find_moved(absence.key)
        if old is None:
            return False
        if new is None or new.retired:
            if not is_section:
                self._record_address(absence.key, key)
            return False
        if new.page_id == old.page_id:
            return False
        if not (_is_moved_path(old, key) or self._stored_text(old).is_same(self._stored_text(new))):
            return False
        self._absorb(old, new)
        self._add_move(old, new.page_id, new.site, absence.visit_time)
        return True

    def move_section(self, moved_from: Sequence[str], key: str) -> None:
        """Merge the sections whose addresses redirect here for good into the section with this key.

        A section that redirects to the home page has not moved there.
        """
        for old in moved_from:
            if old == key or not self._has_section(old) or (is_root(key) and not is_root(old)):
                continue
            of_old = section.c.url_key == old
            if self._has_section(key):
                self.connection.execute(delete(section).where(of_old))
            else:
                self.connection.execute(update(section).where(of_old).values(url_key=key))
            self._lead(old, key)

    def change_site(self, stored: StoredPage, site: str, earlier: Sequence[EarlierRow]) -> None:
        """Move the texts of a page to another site, which does not count them yet."""
        self.connection.execute(update(block).where(block.c.page_id == stored.page_id).values(site=site))
        if not stored.retired:
            self.boilerplate.add(BoilerplateChange.of_retired(stored.site, [row for row in earlier if not row.gone]))

    def note_variant(self, record: PageRecord) -> None:
        """Record that the page's own address leads to the one that it is stored under."""
        own = record.own_key
        if record.key != own and pages.read_addresses(self.connection, [own]).get(own) != record.key:
            self._lead(own, record.key)

    def _has_section(self, key: str) -> bool:
        return self.connection.scalar(select(section.c.id).where(section.c.url_key == key)) is not None

    def _find_moved(self, key: str) -> StoredPage | None:
        """Return the page that was fetched at an address which now redirects; None if it is not stored."""
        targets = pages.read_addresses(self.connection, [key])
        for candidate in (key, targets.get(key)):
            stored = None if candidate is None else pages.find_page(self.connection, candidate)
            if stored is not None and is_respelled(url_key(stored.url), key):
                return stored
        return None

    def _move(self, old: StoredPage, placed: PlacedPage, moved_from: Sequence[str]) -> PlacedPage:
        key = placed.record.key
        if placed.stored is not None:
            self._absorb(old, placed.stored)
        else:
            if old.history.key not in moved_from:
                self._expect_alone()
            self._delete_unsaved(key)
            self._set_key(old, key, None)
        page_id = old.page_id if placed.stored is None else placed.stored.page_id
        self._add_move(old, page_id, placed.record.site, placed.record.visit_time)
        return PlacedPage(placed.record, pages.find_page(self.connection, key), placed.moved + 1)

    def _add_move(self, old: StoredPage, page_id: int, site: str, visit_time: datetime) -> None:
        self.events.add(PageEvent(visit_time, page_id, site, PageEventKind.MOVED, moved_from=old.url))

    def _lead(self, key: str, leads_to: str) -> None:
        """Record that an address, and all that led to it, lead to a page or section."""
        self.connection.execute(update(address).where(address.c.leads_to == key).values(leads_to=leads_to))
        self.connection.execute(delete(address).where(address.c.url_key == leads_to))
        self._record_address(key, leads_to)

    def _record_address(self, key: str, leads_to: str) -> None:
        new = insert_on_conflict(self.connection, address)
        replaced = new.on_conflict_do_update(index_elements=["url_key"], set_={"leads_to": new.excluded.leads_to})
        self.connection.execute(replaced, {"url_key": key, "leads_to": leads_to})

    def _is_claimed(self, stored: StoredPage) -> bool:
        """Return True if a page is stored under an address that is not its own."""
        return not is_respelled(url_key(stored.url), stored.history.key)

    def _is_same_page(self, record: PageRecord, stored: StoredPage) -> bool:
        """Return True if a visit is to the stored page: it has the same address, or the texts agree."""
        return (
            is_respelled(url_key(stored.url), record.own_key)
            or stored.body_hash == record.columns["body_hash"]
            or _text_of(record).agrees(self._stored_text(stored))
        )

    def _stored_text(self, stored: StoredPage) -> PageText:
        """Return the text of a stored page; for a retired one, all text that it ever had."""
        return _live_text(stored, read_earlier(self.connection, stored.page_id))

    def _join(self, record: PageRecord, stored: StoredPage | None, own: StoredPage | None) -> StoredPage | None:
        """Return the page at the stated address, after the page at the own address has been merged into it."""
        if own is None:
            return stored
        if stored is None:
            self._set_key(own, record.key, None)
        else:
            self._absorb(own, stored)
        return pages.find_page(self.connection, record.key)

    def _find_own(self, record: PageRecord) -> StoredPage | None:
        """Return the page stored at a page's own address; another page that only states that address gives way."""
        stored = pages.find_page(self.connection, record.own_key)
        if stored is None or self._is_same_page(record, stored):
            return stored
        self._give_way(stored)
        return None

    def _give_way(self, stored: StoredPage) -> None:
        """Store a page under its own address instead of the one that it states."""
        self._expect_alone()
        own = url_key(stored.url)
        self._delete_unsaved(own)
        other = pages.find_page(self.connection, own)
        if other is not None and self._is_claimed(other):
            # Pages may state each other in a circle, so this one leaves its place before the next one moves.
            self._set_key(stored, f"{own}#", stored.history.key)
            self._give_way(other)
            other = pages.find_page(self.connection, own)
        if other is None:
            self._set_key(stored, own, stored.history.key)
        else:
            self._absorb(stored, other)

    def _set_key(self, stored: StoredPage, key: str, doubted: str | None) -> None:
        """Change the key of a page; the former one leads to the page, unless the page never belonged there."""
        values = {"url_key": key, "doubted_canonical": doubted}
        self.connection.execute(update(page).where(page.c.id == stored.page_id).values(values))
        if doubted is None:
            self._lead(stored.history.key, key)
        else:
            self.change_log.describe_page(stored.page_id)
            self.connection.execute(delete(address).where(address.c.leads_to == stored.history.key))

    def _delete_unsaved(self, key: str) -> None:
        """Delete the row of a page that is inserted but not saved yet: nothing refers to it."""
        page_id = self.new_pages.pop(key, None)
        if page_id is not None:
            self.connection.execute(delete(page).where(page.c.id == page_id))

    def _absorb(self, old: StoredPage, into: StoredPage) -> None:
        """Make two stored pages one: the rows of the old page become earlier rows of the other, and it is deleted."""
        self._expect_alone()
        rows = read_earlier(self.connection, old.page_id)
        self._hide(old, [row for row in rows if not row.gone])
        chosen = select(page.c.id).where(page.c.id == old.page_id)
        for near_id in self.near_duplicates.remove(self.connection, chosen):
            self.change_log.restructure_page(near_id)
        self.structures.forget(old.page_id)
        delete_structures(self.connection, chosen)
        self.names.forget(old.page_id)
        self.tokens.forget_title(old.page_id)
        self.events.absorb(old.page_id, into.page_id)
        move_former(self.connection, old.page_id, into.page_id, old.history.visits + into.history.visits)
        for table, values in ((block, {"site": into.site}), (sighting, {})):
            moved = {"page_id": into.page_id, "changed": self.change_log.sequence} | values
            self.connection.execute(update(table).where(table.c.page_id == old.page_id).values(moved))
        self.change_log.forget_page(old.page_id)
        self.change_log.remove_pages(chosen)
        self.change_log.touch_page(into.page_id)
        self.connection.execute(delete(page).where(page.c.id == old.page_id))
        self.connection.execute(update(page).where(page.c.id == into.page_id).values(_joint_history(old, into)))
        self._lead(old.history.key, into.history.key)

    def _hide(self, stored: StoredPage, live: Sequence[EarlierRow]) -> None:
        """Mark the texts of a page as gone, and stop counting them for its site."""
        last_seen = stored.history.last_seen
        mark_gone(self.connection, VisitedPage(stored.page_id, stored.site, last_seen, self.change_log.sequence), live)
        if not stored.retired:
            self.boilerplate.add(BoilerplateChange.of_retired(stored.site, live))

    def _expect_alone(self) -> None:
        if not self.alone:
            raise UnlockedPageError("a page gives way to another one, which changes rows that are not locked")


def _text_of(record: PageRecord) -> PageText:
    return PageText.of(record.columns["title"], [candidate.text for candidate in record.page.blocks])


def _live_text(stored: StoredPage, rows: Sequence[EarlierRow]) -> PageText:
    """Return the text of a stored page; for a retired one, all text that it ever had."""
    texts = [row.text for row in rows if not row.gone] or [row.text for row in rows]
    return PageText.of(stored.title, texts)


def _is_moved_path(stored: StoredPage, key: str) -> bool:
    """Return True if a page's new address is the old one on another host of its site, or with another scheme."""
    old = urlsplit(url_key(stored.url))
    new = urlsplit(key)
    return stored.site == site_of(key) and (old.path, old.query, old.fragment) == (new.path, new.query, new.fragment)


def _joint_history(old: StoredPage, into: StoredPage) -> dict[str, Any]:
    """Return the columns of a page that has absorbed another page with the same text."""
    return {
        "first_seen": min(old.history.first_seen, into.history.first_seen),
        "visits": old.history.visits + into.history.visits,
        "changes": old.history.changes + into.history.changes,
    }
