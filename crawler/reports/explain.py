"""Explain a page: each block with its decision, what it repeats, and what the database holds of it."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from cleaning.blocks import Page, ParseWarning, Reason
from cleaning.clean import clean, decide_leaves, text_page
from cleaning.errors import CleaningError
from cleaning.fingerprint import NearFingerprints, fingerprint
from cleaning.methods import METHODS
from cleaning.methods.weighted import DistinctBlock
from cleaning.options import Options
from cleaning.page_fingerprint import Fingerprinter
from cleaning.parse import parse
from cleaning.teaching import load_site_model
from cleaning.terms import index_tokens, join_tokens
from crawler.errors import CompareError, StoreError, StoreMissingError, TimeLimitError
from crawler.reading.text_diff import dice_similarity
from crawler.reports.fetch import fetch_page
from crawler.reports.sources import LoadedPage, NoPage, is_address, open_target
from crawler.storage import schema
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.queries import read_contents
from crawler.teaching.records import read_site_model
from crawler.teaching.site_models import read_model_file
from crawler.time_limit import time_limit
from crawler.urls import known_url, site_of, without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lxml.html import HtmlElement
    from scrapy.settings import BaseSettings

    from cleaning.blocks import Block, Decision
    from cleaning.leaves import Leaf
    from cleaning.structure.clean_page import CleanPage
    from cleaning.teaching import SiteModel
    from crawler.config import Config
    from crawler.storage.queries import PageContents, StoredText


# A block with fewer words is not taken for a part of a text that goes over several blocks.
_PART_WORDS_MIN = 3
_SIMILARITY_MIN = 0.5


@dataclass(frozen=True, slots=True)
class EarlierBlock:
    """The position of the block that another one repeats, and by how many bits the two differ."""

    position: int
    distance: int = 0


@dataclass(frozen=True, slots=True)
class ExplainedBlock:
    """A block of the page, with its text nodes and the decision on it.

    `repeats` is the earlier block of the page that it is a duplicate of. `stored` is its text in the
    database. One that `is_taught` is decided otherwise since readers corrected pages of the site.
    """

    leaf: Leaf
    decision: Decision
    repeats: EarlierBlock | None = None
    stored: StoredText | None = None
    is_taught: bool = False

    @property
    def block(self) -> Block:
        return self.decision.block


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """The blocks with a reason, and their words."""

    reason: Reason
    blocks: int
    words: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """A page with one row for each block, in the method's order; `cleaned` has its type, encoding and metadata.

    `threshold` is the score that the method asks of a block to be kept, None if it has no such number. `contents` is
    what the database holds of the page, `missing` how many of the stored texts are not among the blocks kept now.
    """

    page: Page
    cleaned: CleanPage
    options: Options
    rows: tuple[ExplainedBlock, ...]
    threshold: float | None = None
    contents: PageContents | None = None
    missing: int = 0

    @property
    def words(self) -> int:
        return sum(row.block.words for row in self.rows)

    @property
    def lowest_kept(self) -> float | None:
        """The lowest score of a kept block; None if nothing is kept."""
        return min((row.decision.score for row in self.rows if row.decision.kept), default=None)

    def reasons(self) -> list[ReasonCount]:
        """Return blocks and words by reason, `kept` first, then the most frequent; they add up to the rows."""
        words: dict[Reason, list[int]] = {}
        for row in self.rows:
            words.setdefault(row.decision.reason, []).append(row.block.words)
        counts = [ReasonCount(reason, len(sizes), sum(sizes)) for reason, sizes in words.items()]
        return sorted(counts, key=lambda count: (count.reason is not Reason.KEPT, -count.blocks, count.reason))

    def counts(self) -> dict[Reason, int]:
        """Return blocks by reason, in the order of `reasons`."""
        return {count.reason: count.blocks for count in self.reasons()}

    def with_contents(self, contents: PageContents) -> Explanation:
        """Return the explanation with what the database holds of the page; equal texts are matched in order."""
        unmatched: dict[str, deque[StoredText]] = {}
        for text in contents.texts:
            unmatched.setdefault(text.text, deque()).append(text)
        rows = []
        for row in self.rows:
            texts = unmatched.get(row.block.text) if row.decision.kept else None
            rows.append(replace(row, stored=texts.popleft()) if texts else row)
        return replace(self, rows=tuple(rows), contents=contents, missing=sum(map(len, unmatched.values())))


def explain(
    html: bytes | str | HtmlElement | Page,
    url: str | None = None,
    *,
    method: str = "default",
    encoding: str | None = None,
    fingerprinter: Fingerprinter | None = None,
    site_model: SiteModel | None = None,
    **options: Any,
) -> Explanation:
    """Return why each block of a page is kept or dropped.

    It takes the arguments of `cleaning.clean`, makes the same decisions and raises the same errors. `fingerprinter`
    says how kept blocks are compared with one another. A page without text has no rows.
    """
    cleaning_options = Options.read(options)
    page = html if isinstance(html, Page) else parse(html, url, encoding, max_bytes=cleaning_options.max_bytes)
    page = text_page(page)
    cleaned = clean(page, method=method, site_model=site_model, **options)
    leaves = [judged.leaf for judged in decide_leaves(page, METHODS[method], cleaning_options)]
    decisions = cleaned.decisions
    repeats = _find_copies(decisions, cleaning_options.weighted_distance if method == "weighted" else None)
    repeats |= _future_duplicates(decisions, fingerprinter or Fingerprinter())
    rows = tuple(
        ExplainedBlock(leaf, decision, repeats.get(place), is_taught=place in cleaned.taught)
        for place, (leaf, decision) in enumerate(zip(leaves, decisions, strict=True))
    )
    threshold = next((float(leaf.threshold) for leaf in leaves if isinstance(leaf, DistinctBlock)), None)
    return Explanation(page, cleaned, cleaning_options, rows, threshold)


def _future_duplicates(decisions: Sequence[Decision], fingerprinter: Fingerprinter) -> dict[int, EarlierBlock]:
    """Return, by place, the kept blocks that would be stored as duplicates of an earlier block of the page."""
    places = [place for place, decision in enumerate(decisions) if decision.kept]
    return {
        place: EarlierBlock(block.repeats, block.distance)
        for place, block in zip(places, fingerprinter.fingerprint(decisions).blocks, strict=True)
        if block.repeats is not None
    }


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A block that has a text that somebody looks for: the whole of it, a part, or one that is similar.

    `share` is that of the words looked for, or for a similar text the Dice coefficient.
    """

    row: ExplainedBlock
    share: float
    whole: bool


def find_text(explanation: Explanation, text: str, limit: int = 5) -> list[TextMatch]:
    """Return the blocks with a text, those with the whole of it first; case, accents and punctuation do not count.

    A text may go over several blocks: each has a part then. If no block has any of it, similar blocks are returned.
    Raises CompareError for a text without words, and for one that no block has.
    """
    words = index_tokens(text)
    if not words:
        raise CompareError("there is no word to look for; paste a sentence as the page shows it")
    wanted = join_tokens(words)
    counts = Counter(words)
    matches = []
    similar = []
    for row in explanation.rows:
        block_words = index_tokens(row.block.text)
        block_text = join_tokens(block_words)
        if wanted in block_text:
            matches.append(TextMatch(row, 1.0, whole=True))
        elif len(block_words) >= _PART_WORDS_MIN and block_text in wanted:
            matches.append(TextMatch(row, len(block_words) / len(words), whole=False))
        elif (likeness := dice_similarity(counts, Counter(block_words))) >= _SIMILARITY_MIN:
            similar.append(TextMatch(row, likeness, whole=False))
    if not matches and not similar:
        raise CompareError(_why_no_block(explanation, wanted))
    return sorted(matches or similar, key=lambda match: (not match.whole, -match.share))[:limit]


def _why_no_block(explanation: Explanation, wanted: str) -> str:
    if wanted in join_tokens(index_tokens(" ".join(explanation.page.root.itertext(with_tail=True)))):
        return "no block has this text: it is in the HTML, but in a script, a template or another place without text"
    return "no block has this text, and it is not in the page's HTML: a script may load it, or the page has changed"


def _find_copies(decisions: Sequence[Decision], max_distance: int | None) -> dict[int, EarlierBlock]:
    """Return, by place, the block that each `page_duplicate` repeats: the first remaining block with the same text.

    With `max_distance` (for the method `weighted`, which compares before it scores), the nearest fingerprint counts
    too. A copy is left out if its original is not found: the method may compare other texts than those of the blocks.
    """
    copies: dict[int, EarlierBlock] = {}
    if not any(decision.reason is Reason.PAGE_DUPLICATE for decision in decisions):
        return copies
    originals = {Reason.KEPT} if max_distance is None else {Reason.KEPT, Reason.LOW_SCORE}
    by_text: dict[str, int] = {}
    by_fingerprint: NearFingerprints[int] | None = None if max_distance is None else NearFingerprints(max_distance)
    for place, decision in enumerate(decisions):
        text, position = decision.block.text, decision.block.position
        if decision.reason is Reason.PAGE_DUPLICATE:
            if text in by_text:
                copies[place] = EarlierBlock(by_text[text])
            elif by_fingerprint and (near := by_fingerprint.nearest(fingerprint(text))):
                copies[place] = EarlierBlock(near.item, near.bits)
        elif decision.reason in originals and text not in by_text:
            by_text[text] = position
            if by_fingerprint:
                by_fingerprint.add(fingerprint(text), position)
    return copies


class HtmlOrigin(StrEnum):
    """Where the HTML was taken from."""

    FILE = "file"
    STORED = "stored"
    FETCHED = "fetched"


@dataclass(frozen=True, slots=True)
class PageToExplain:
    """The page's HTML, and what the database holds of it: None for a file, and for a page that is not stored.

    `site_model` is the accepted model of the page's site, in JSON.
    """

    name: str
    url: str | None
    origin: HtmlOrigin
    loaded: LoadedPage
    contents: PageContents | None = None
    site_model: str | None = None


def find_page(
    name: str, url: str | None, config: Config, settings: BaseSettings, *, max_bytes: int, refetch: bool = False
) -> PageToExplain:
    """Return the page that a file, `-` or an address names; `url` is the address that a saved page came from.

    A stored page is read from the database if its HTML was kept; `refetch` fetches it all the same. `max_bytes` limits
    a file. Raises CompareError if there is no page, or several.
    """
    if not is_address(name, url):
        target = open_target(name, url, max_bytes)
        if target.several:
            raise CompareError(f"{name!r} may hold many pages; name one of them (scrapy compare shows several)")
        (source,) = target.sources
        try:
            return PageToExplain(source.name, source.url, HtmlOrigin.FILE, source.load())
        except NoPage as error:
            raise CompareError(f"{source.name}: {error.reason}: {error}") from error
    stored = _read_stored(name, config.database_url, refetch=refetch)
    contents, site_model = stored.contents, stored.site_model
    if contents is not None and contents.html is not None and not refetch:
        loaded = LoadedPage(contents.html, contents.encoding)
        return PageToExplain(contents.url, known_url(contents.url), HtmlOrigin.STORED, loaded, contents, site_model)
    try:
        (source,) = fetch_page(name, settings).sources
    except CompareError as error:
        if contents is None or refetch:
            raise
        raise CompareError(
            f"{without_credentials(name)} is stored without its HTML (it says noarchive, was crawled with "
            f"KEEP_HTML=false, or was imported), and cannot be fetched again: {error}"
        ) from error
    return PageToExplain(source.name, source.url, HtmlOrigin.FETCHED, source.load(), contents, site_model)


class _Stored(NamedTuple):
    """What the database has of a page, and the model of its site."""

    contents: PageContents | None = None
    site_model: str | None = None


def _read_stored(url: str, database_url: str, *, refetch: bool) -> _Stored:
    """Return what is stored of a page and its site; nothing if there is no database."""
    try:
        with opened_engine(database_url, must_exist=True) as engine:
            schema.check_schema(engine)
            with read_transaction(engine) as connection:
                contents = read_contents(connection, without_credentials(url))
                return _Stored(contents, read_site_model(connection, site_of(url)))
    except StoreMissingError:
        return _Stored()
    except StoreError as error:
        if refetch:
            return _Stored()
        raise CompareError(f"{error}; --fetch explains the page as its site gives it now") from error


def explain_found(
    source: PageToExplain, method: str, options: Mapping[str, Any], config: Config, render: Callable[[], Page]
) -> Explanation:
    """Return the explanation of a page, within CLEANING_SECONDS; raises CompareError if there is nothing to explain.

    `render` is called for the page with its layout, if the method needs that. The template of a stored page's site is
    stored too.
    """
    loaded, contents = source.loaded, source.contents
    try:
        page = render() if METHODS[method].needs == "layout" else None
        with time_limit(config.cleaning_seconds):
            if page is None:
                max_bytes = Options.read(options).max_bytes
                page = parse(loaded.body, source.url, loaded.content_type, max_bytes=max_bytes)
                page = replace(page, template=None if contents is None else contents.template)
            model = _site_model(source, method, config)
            explanation = explain(page, method=method, fingerprinter=config.fingerprinter, site_model=model, **options)
    except (CleaningError, TimeLimitError) as error:
        raise CompareError(f"{source.name}: {error}") from error
    if ParseWarning.EMPTY in page.parse_warnings:
        raise CompareError(f"{source.name}: there is nothing to explain: no element and no text")
    return explanation if contents is None else explanation.with_contents(contents)


def _site_model(source: PageToExplain, method: str, config: Config) -> SiteModel | None:
    """Return the model by which a crawl would clean the page; None if its site has none, or the method takes none."""
    if METHODS[method].decide_taught is None or source.url is None:
        return None
    if config.site_models:
        text = read_model_file(config.site_models, "SITE_MODELS").get(site_of(source.url))
    else:
        text = source.site_model
    return load_site_model(text)
