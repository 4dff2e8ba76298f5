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

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cleaning.terms import terms
from crawler.storage import pages
from crawler.storage.blocks import read_earlier
from crawler.storage.change_log import PageEvent, PageEventKind
from crawler.storage.locks import UnlockedPageError
from crawler.urls import is_respelled, site_of, url_key
from crawler.visit import ProcessedPage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy.engine import Connection

    from crawler.page_comparison import EarlierRow
    from crawler.storage.pages import ImportedPage, PageAbsence, PageRecord, StoredPage
    from crawler.storage.state import State

# Two texts belong to one page if both have this share of all their terms. An edited article keeps 0.9 of them; two
# articles of a site have 0.1 to 0.3 in common, and up to 0.7 if menus were kept.
_MIN_SHARE = 0.8
_MIN_SHARE_WITH_TITLE = 0.5
# A variant lacks at most this share of the terms of the page whose address it states, or has as many of its own: an AMP
# page has no captions, a print version says that it was printed.
_MAX_SHARE_OF_VARIANT = 0.1


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
    rows_of_page = pages.read_page_rows(connection, [key])
    if not rows_of_page:
        return False
    stored = pages.stored_page(rows_of_page[0])
    if is_respelled(url_key(stored.url), imported.own_key) or stored.body_hash == imported.body_hash:
        return True
    rows = read_earlier(connection, [stored.page_id])[stored.page_id]
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
    """Decides under which keys the pages of one batch are stored. With `alone`, nobody else writes meanwhile."""

    state: State
    alone: bool

    def place(self, record: PageRecord) -> PlacedPage:
        """Return the page under the key that counts, with the page stored there; other pages there give way."""
        state = self.state
        # First of all: a page that gives way may move to the address that this one states.
        own = self._find_own(record) if record.key != record.own_key else None
        stored = state.pages.find(record.key)
        if stored is not None and not self._is_same_page(record, stored):
            if not is_respelled(url_key(stored.url), record.key):
                self._move_to_own_address(stored)
            stored = None
            if record.is_restated:
                state.doubted.add(record.key)
        if record.key == record.own_key:
            return PlacedPage(record, stored)
        if record.key in state.doubted and (stored is None or _is_claimed(stored)):
            if stored is not None:
                self._move_to_own_address(stored)
            return PlacedPage(record.at_own_address(), state.pages.find(record.own_key))
        if own is not None and stored is None:
            self._set_key(own, record.key, None)
        elif own is not None and stored is not None:
            self._absorb(own, stored)
        return PlacedPage(record, stored if own is None else state.pages.find(record.key))

    def move(self, placed: PlacedPage, moved_from: Sequence[str]) -> PlacedPage:
        """Merge the pages whose addresses redirect to this page for good into this page; return it.

        A page whose text differs from the new one's stays where it is: a site that has removed its articles redirects
        all of them to the home page, or to a form. Pages that have waited for this visit wait no longer.
        """
        record = placed.record
        waiting = self.state.addresses.take_waiting(record.own_key)
        for key in dict.fromkeys([*moved_from, *waiting]):
            old = self._find_moved(key)
            if old is None or (placed.stored is not None and placed.stored.page_id == old.page_id):
                continue
            if (
                _is_moved_path(old, record.own_key)
                or old.body_hash == record.columns["body_hash"]
                or _text_of(record).is_same(self._stored_text(old))
            ):
                if placed.stored is not None:
                    self._absorb(old, placed.stored)
                    page_id = placed.stored.page_id
                else:
                    if old.history.key not in moved_from:
                        self._expect_alone()
                    self._set_key(old, record.key, None)
                    page_id = old.page_id
                self._add_move(old, page_id, record.site, record.visit_time)
                placed = PlacedPage(record, self.state.pages.find(record.key), placed.moved + 1)
        return placed

    def move_absent(self, absence: PageAbsence) -> bool:
        """Merge a page whose URL redirects for good into the page stored at the target, if they agree.

        If there is none yet, the page waits for it.
        """
        if absence.moved_to is None:
            return False
        key = url_key(absence.moved_to)
        is_section = self.state.sections.has(key)
        if is_section:
            self.move_section([absence.key], key)
        new = self.state.pages.find(key) or self.state.pages.find(self.state.addresses.target(key) or key)
        old = self._find_moved(absence.key)
        if old is None:
            return False
        if new is None or new.retired:
            if not is_section:
                self.state.addresses.record(absence.key, key)
            return False
        if new.page_id == old.page_id:
            return False
        if not (_is_moved_path(old, key) or self._stored_text(old).is_same(self._stored_text(new))):
            return False
        self._absorb(old, new)
        self._add_move(old, new.page_id, new.site, absence.visit_time)
        return True

    def move_section(self, moved_from: Sequence[str], key: str) -> None:
        """Merge the sections whose addresses redirect here for good into the section with this key."""
        for old in moved_from:
            if self.state.sections.move(old, key):
                self.state.addresses.lead(old, key)

    def add_section(self, key: str) -> None:
        """Record that a section is at an address: a page that states it gives way."""
        self.state.doubted.add(key)
        stored = self.state.pages.find(key)
        if stored is not None and _is_claimed(stored):
            self._move_to_own_address(stored)

    def note_variant(self, record: PageRecord) -> None:
        """Record that the page's own address leads to the one that it is stored under."""
        own = record.own_key
        if record.key != own and self.state.addresses.target(own) != record.key:
            self.state.addresses.lead(own, record.key)

    def _find_own(self, record: PageRecord) -> StoredPage | None:
        """Return the page stored at a page's own address; another page that only states that address gives way."""
        stored = self.state.pages.find(record.own_key)
        if stored is None or self._is_same_page(record, stored):
            return stored
        self._move_to_own_address(stored)
        return None

    def _find_moved(self, key: str) -> StoredPage | None:
        """Return the page that was fetched at an address which now redirects; None if it is not stored."""
        for candidate in (key, self.state.addresses.target(key)):
            stored = None if candidate is None else self.state.pages.find(candidate)
            if stored is not None and is_respelled(url_key(stored.url), key):
                return stored
        return None

    def _is_same_page(self, record: PageRecord, stored: StoredPage) -> bool:
        """Return True if a visit is to the stored page: it has the same address, or the texts agree."""
        return (
            is_respelled(url_key(stored.url), record.own_key)
            or stored.body_hash == record.columns["body_hash"]
            or _text_of(record).agrees(self._stored_text(stored))
        )

    def _stored_text(self, stored: StoredPage) -> PageText:
        return _live_text(stored, self.state.blocks.of_page(stored.page_id))

    def _move_to_own_address(self, stored: StoredPage) -> None:
        """Store a page under its own address instead of the one that it states."""
        self._expect_alone()
        own = url_key(stored.url)
        other = self.state.pages.find(own)
        if other is not None and _is_claimed(other):
            # Pages may state each other in a circle, so this one leaves its place before the next one moves.
            self._set_key(stored, f"{own}#", stored.history.key)
            self._move_to_own_address(other)
            other = self.state.pages.find(own)
        if other is None:
            self._set_key(stored, own, stored.history.key)
        else:
            self._absorb(stored, other)

    def _set_key(self, stored: StoredPage, key: str, doubted: str | None) -> None:
        """Change the key of a page; the former one leads to the page, unless the page never belonged there."""
        self.state.pages.update(stored.page_id, {"url_key": key, "doubted_canonical": doubted})
        if doubted is None:
            self.state.addresses.lead(stored.history.key, key)
        else:
            self.state.log.described.add(stored.page_id)
            self.state.addresses.forget(stored.history.key)

    def _absorb(self, old: StoredPage, into: StoredPage) -> None:
        self._expect_alone()
        self.state.absorb(old, into)

    def _add_move(self, old: StoredPage, page_id: int, site: str, visit_time: datetime) -> None:
        self.state.events.add(PageEvent(visit_time, page_id, site, PageEventKind.MOVED, moved_from=old.url))

    def _expect_alone(self) -> None:
        if not self.alone:
            raise UnlockedPageError("a page gives way to another one, which changes rows that are not locked")


def _is_claimed(stored: StoredPage) -> bool:
    """Return True if a page is stored under an address that is not its own."""
    return not is_respelled(url_key(stored.url), stored.history.key)


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
