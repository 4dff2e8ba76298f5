"""The preview of a site's model: what it would change on the stored pages of the site."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from cleaning import PageError, clean
from cleaning.errors import OptionError
from crawler.errors import TimeLimitError
from crawler.storage.database import read_transaction
from crawler.storage.pages import decompress
from crawler.storage.reclean import RecleanJob, count_pages_after, read_pages_after
from crawler.teaching.records import METHOD
from crawler.time_limit import time_limit
from crawler.urls import known_url
from crawler.workers.tasks import PageToClean, parse_again

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sqlalchemy.engine import Engine

    from cleaning import CleanPage
    from cleaning.teaching import SiteModel
    from crawler.storage.reclean import PageToReclean

EXAMPLES = 10
_PAGES_AT_ONCE = 20


class ModelChange(NamedTuple):
    """The model of a site that is in use, if any, and the one that is looked at."""

    before: SiteModel | None
    after: SiteModel


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A text that the model decides otherwise, its page, and whether it would be kept."""

    url: str
    text: str
    keep: bool


@dataclass(slots=True)
class SitePreview:
    """The pages of a site, and what the model would change on them.

    `total` pages are stored, and with `more` not all of them were looked at. `pages` were cleaned with the model and
    without. On `unlike` ones it does not fit, `changed` ones change. `unread` pages have no stored HTML or cannot be
    cleaned, and `other_methods` ones are cleaned by a method that cannot be taught. `fields_changed` pages get another
    title, author or date. `examples` has texts of different pages, at most ten.
    """

    site: str
    total: int = 0
    more: bool = False
    pages: int = 0
    unlike: int = 0
    changed: int = 0
    unread: int = 0
    other_methods: int = 0
    blocks_dropped: int = 0
    blocks_kept: int = 0
    words_dropped: int = 0
    words_kept: int = 0
    words_before: int = 0
    fields_changed: int = 0
    examples: list[ChangedText] = field(default_factory=list)

    def add(self, url: str, before: CleanPage, after: CleanPage) -> None:
        """Count a page that was cleaned without the model, or with an earlier one, and with it."""
        self.pages += 1
        self.unlike += after.fits_site is False
        kept_before = {block.position for block in before.kept}
        kept_after = {block.position for block in after.kept}
        self.words_before += sum(block.words for block in before.kept)
        changed = sorted(kept_before ^ kept_after)
        self.changed += bool(changed)
        self.fields_changed += _fields(before) != _fields(after)
        for number, position in enumerate(changed):
            block = after.decisions[position].block
            keep = position in kept_after
            self.blocks_kept += keep
            self.blocks_dropped += not keep
            self.words_kept += block.words * keep
            self.words_dropped += block.words * (not keep)
            if number == 0 and len(self.examples) < EXAMPLES:
                self.examples.append(ChangedText(url, block.text, keep))


def _fields(page: CleanPage) -> tuple[str | None, str | None, str | None]:
    return page.title, page.author, page.published


def preview_site_model(
    engine: Engine,
    site: str,
    change: ModelChange,
    seconds: float,
    report: Callable[[int, int], None] = lambda *_: None,
    limit: int | None = None,
) -> SitePreview:
    """Return what a model would change on all stored pages of a site, beside the one in use, if any.

    Each page may take `seconds`; `report` gets the number of pages done and of all. With a `limit` only the first pages
    are looked at. Raises StoreError.
    """
    preview = SitePreview(site)
    job = RecleanJob("", site)
    with read_transaction(engine) as connection:
        preview.total = count_pages_after(connection, job, 0)
    preview.more = limit is not None and preview.total > limit
    for number, page in enumerate(islice(_read_pages(engine, job), limit), 1):
        if page.method != METHOD:
            preview.other_methods += 1
        elif page.html is None or page.retired:
            preview.unread += 1
        else:
            _add_page(preview, page, change, seconds)
        report(number, preview.total)
    return preview


def _read_pages(engine: Engine, job: RecleanJob) -> Iterator[PageToReclean]:
    after_page = 0
    while True:
        read = partial(read_pages_after, job=job, after_page=after_page, most=_PAGES_AT_ONCE, html=True)
        with read_transaction(engine) as connection:
            pages = read(connection)
        if not pages:
            return
        yield from pages
        after_page = pages[-1].page_id


def _add_page(preview: SitePreview, page: PageToReclean, change: ModelChange, seconds: float) -> None:
    assert page.html is not None  # such pages are not cleaned
    options: Mapping[str, Any] = (page.settings or {}).get("CLEANING_OPTIONS") or {}
    try:
        stored = PageToClean.from_stored(decompress(page.html), known_url(page.url), page.encoding)
        with time_limit(seconds):
            tree = parse_again(stored)
            cleaned = [clean(tree, method=METHOD, site_model=model, **options).described() for model in change]
    except (PageError, OptionError, TimeLimitError):
        preview.unread += 1
        return
    preview.add(page.url, *cleaned)
