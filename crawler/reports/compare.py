"""Compare cleaning methods on pages: what each keeps, how long it takes, and how far each two agree."""

from __future__ import annotations

import logging
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, islice
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh64_intdigest

from cleaning.blocks import Page, ParseWarning
from cleaning.clean import decide_leaves, text_page
from cleaning.errors import CleaningError, OptionError, PageError
from cleaning.leaves import walk
from cleaning.methods import METHODS, informative_sections
from cleaning.parse import parse
from cleaning.teaching import load_site_model
from cleaning.terms import tokenise
from crawler.config.names import name_in_use
from crawler.errors import CompareError, RenderError, TimeLimitError
from crawler.fetching.render.browser import Browser
from crawler.fetching.render.rendering import Rendering
from crawler.reports.sources import NoPage, ReportFault
from crawler.time_limit import time_limit
from crawler.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from scrapy.settings import BaseSettings

    from cleaning.blocks import Block
    from cleaning.clean import DecidedLeaf
    from cleaning.leaves import Leaf
    from cleaning.methods.method import Method
    from cleaning.options import Options
    from cleaning.teaching import SiteModel
    from crawler.config import Config
    from crawler.reports.sources import LoadedPage, UnreadPage

logger = logging.getLogger(__name__)

# Enough pages to learn what repeats; they are read and parsed once more for it.
_MAX_LEARNING_PAGES = 30
_MIN_LEARNING_PAGES = 2
_MAX_NOTED = 5
TAUGHT = "taught"
"""The name, beside those of the methods, of `default` with the models of sites."""
_WARM_UP = "<title>A title</title><h1>A title</h1><p>Some words, and <a href='https://b.example/'>a link</a>.</p>"


@dataclass(frozen=True, slots=True)
class CompareFailure:
    """Why a page, or a method on a page, has no result; failures are counted by `reason`."""

    reason: str
    message: str


@dataclass(frozen=True)
class ComparedMethod:
    """A method's decisions on a page; `ms` is the time of its three steps.

    `rendered` is True if it read the page as a browser builds it: a different tree from that of the page's HTML.
    """

    judged: list[DecidedLeaf]
    ms: float
    rendered: bool = False

    @cached_property
    def kept(self) -> list[Block]:
        return [judged.decision.block for judged in self.judged if judged.decision.kept]

    @cached_property
    def words(self) -> int:
        return sum(block.words for block in self.kept)

    @cached_property
    def reasons(self) -> Counter[str]:
        """Blocks by reason, `kept` among them."""
        return Counter(str(judged.decision.reason) for judged in self.judged)

    @cached_property
    def tokens(self) -> Counter[str]:
        """The kept words; pairs of characters in scripts without spaces."""
        return Counter(token for block in self.kept for token in tokenise(block.text))


@dataclass(frozen=True)
class ComparedPage:
    """A page with the result of every method. `render_ms` is None if the page was not rendered."""

    source: UnreadPage
    page: Page
    leaves: list[Leaf]
    parse_ms: float
    render_ms: float | None
    outcomes: dict[str, ComparedMethod | CompareFailure] = field(default_factory=dict)

    @cached_property
    def words(self) -> int:
        return sum(leaf.block.words for leaf in self.leaves)

    @property
    def results(self) -> dict[str, ComparedMethod]:
        return {name: outcome for name, outcome in self.outcomes.items() if isinstance(outcome, ComparedMethod)}

    @property
    def failures(self) -> dict[str, CompareFailure]:
        return {name: outcome for name, outcome in self.outcomes.items() if isinstance(outcome, CompareFailure)}

    @cached_property
    def agreement(self) -> dict[tuple[str, str], float]:
        """How far each two methods agree on the words to keep, 0 to 1, in the methods' order."""
        return {
            (first, second): agreement(ours.tokens, theirs.tokens)
            for (first, ours), (second, theirs) in combinations(self.results.items(), 2)
        }

    @property
    def mean_agreement(self) -> float | None:
        """The mean over all pairs of methods; None for fewer than two methods."""
        return sum(self.agreement.values()) / len(self.agreement) if self.agreement else None


def agreement(ours: Counter[str], theirs: Counter[str]) -> float:
    """Return the F1 of two multisets of words: twice the common words by all words; 1.0 if both are empty."""
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0


class SiteBoilerplate:
    """The repeated texts of each site, learned when its first page is compared; no page is held."""

    def __init__(self, sources: Sequence[UnreadPage], max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._sources: dict[str, list[UnreadPage]] = {}
        self._learned: dict[str, frozenset[int] | None] = {}
        for source in sources:
            self._sources.setdefault(source.site, []).append(source)

    def expect_pages(self, method: str) -> None:
        """Raise CompareError, which names the method, if no site has more than one page."""
        if all(len(sources) < _MIN_LEARNING_PAGES for sources in self._sources.values()):
            raise CompareError(
                f"{method} needs several pages of a site to learn what repeats; compare a folder of them"
            )

    def of(self, source: UnreadPage) -> frozenset[int] | None:
        """Return the boilerplate of the page's site; None if fewer than two different pages of it can be read."""
        if source.site not in self._learned:
            self._learned[source.site] = self._learn(self._sources[source.site])
        return self._learned[source.site]

    def _learn(self, sources: Sequence[UnreadPage]) -> frozenset[int] | None:
        pages = islice(self._pages(sources), _MAX_LEARNING_PAGES)
        first = list(islice(pages, _MIN_LEARNING_PAGES))
        return informative_sections.learn_template(chain(first, pages)) if len(first) >= _MIN_LEARNING_PAGES else None

    def _pages(self, sources: Sequence[UnreadPage]) -> Iterator[Page]:
        """Yield the readable pages; a page saved twice counts once, otherwise all of it would repeat."""
        seen: set[int] = set()
        for source in sources:
            try:
                loaded = source.load()
                page = parse(loaded.body, source.url, loaded.content_type, max_bytes=self._max_bytes)
            except (NoPage, PageError):
                continue  # counted when the page itself is compared
            digest = xxh64_intdigest(loaded.body)
            if digest not in seen:
                seen.add(digest)
                yield page


@dataclass(slots=True)
class ComparisonPlan:
    """The methods to compare, in the order of METHODS, and why others are left out.

    With models of sites, `default` is followed by TAUGHT.
    """

    methods: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    browser: Browser | None = None


def read_methods(text: str) -> list[str]:
    """Return the methods of a list with commas, each once. Raises ValueError for an unknown method or an empty list."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        METHODS.find(name)
    if not names:
        raise ValueError(f"no method is named; known: {', '.join(METHODS)}")
    return list(dict.fromkeys(names))


def offline_browser(config: Config, settings: BaseSettings, max_bytes: int) -> Browser:
    """Return a browser for saved pages; scripts, which mostly need their site, run only if RENDER_JAVASCRIPT is set."""
    javascript = settings.get(name_in_use("RENDER_JAVASCRIPT", settings)) is not None and config.render_javascript
    return Browser(Rendering.of(config), network=False, javascript=javascript, max_bytes=max_bytes)


def make_plan(
    names: Sequence[str] | None,
    boilerplate: SiteBoilerplate,
    start_browser: Callable[[], Browser],
    *,
    with_site_models: bool = False,
) -> ComparisonPlan:
    """Return the methods to compare; the browser starts only if a method needs it.

    If no methods are asked for, a method that cannot work here is left out. Raises CompareError or RenderError for a
    method that was asked for and cannot work.
    """
    plan = ComparisonPlan()
    for name in names or METHODS:
        try:
            needs = METHODS.find(name).needs
            if needs == "template":
                boilerplate.expect_pages(name)
            elif needs == "layout" and plan.browser is None:
                plan.browser = start_browser()
        except (OptionError, CompareError, RenderError) as error:
            if names:
                raise
            plan.left_out[name] = str(error)
        else:
            plan.methods.append(name)
            if with_site_models and METHODS[name].decide_taught is not None:
                plan.methods.append(TAUGHT)
    if with_site_models and TAUGHT not in plan.methods:
        raise CompareError(f"--site-models is for the method `default`, and --methods names {', '.join(plan.methods)}")
    return plan


@dataclass(frozen=True, slots=True)
class MethodComparer:
    """Compares methods on one page after the other, each within `seconds`, and keeps nothing of the pages.

    `site_models` are the models of sites, in JSON, by which TAUGHT cleans.
    """

    methods: Sequence[str]
    options: Options
    boilerplate: SiteBoilerplate
    seconds: float
    browser: Browser | None = None
    site_models: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Run each method once, so that loading its lists and models is not measured on the first page."""
        page = replace(parse(_WARM_UP, "https://a.example/"), template=frozenset())
        for name in self.methods:
            if _method_of(name).needs != "layout":
                self._judge(name, page, "the page that loads the methods")

    def compare(self, source: UnreadPage) -> ComparedPage | CompareFailure:
        """Return the page with every method's result, or why there is none."""
        try:
            loaded = source.load()
            started = time.perf_counter()
            page = parse(loaded.body, source.url, loaded.content_type, max_bytes=self.options.max_bytes)
            parse_ms = _since(started)
        except NoPage as error:
            return CompareFailure(error.reason, str(error))
        except PageError as error:
            return CompareFailure(error.cause, str(error))
        if ParseWarning.EMPTY in page.parse_warnings:
            return CompareFailure(ReportFault.EMPTY, "no element and no text")
        rendered, render_ms = None, None
        if self.browser is not None:
            started = time.perf_counter()
            rendered = self._render(self.browser, source, loaded)
            render_ms = _since(started) if isinstance(rendered, Page) else None
        page = text_page(page)
        compared = ComparedPage(source, page, walk(page.root), parse_ms, render_ms)
        for name in self.methods:
            compared.outcomes[name] = self._outcome(name, page, source, rendered)
        if compared.results:
            return compared
        name, failure = next(iter(compared.failures.items()))
        return CompareFailure(failure.reason, f"{name}: {failure.message}")

    def _render(self, browser: Browser, source: UnreadPage, loaded: LoadedPage) -> Page | CompareFailure:
        try:
            return browser.render(loaded.body, source.url, loaded.content_type)
        except (RenderError, PageError) as error:
            return CompareFailure(ReportFault.RENDER_FAILED, str(error))

    def _outcome(
        self, name: str, page: Page, source: UnreadPage, rendered: Page | CompareFailure | None
    ) -> ComparedMethod | CompareFailure:
        if name == TAUGHT:
            site = site_of(page.url or "")
            if site not in self.site_models:
                return CompareFailure(ReportFault.NO_SITE_MODEL, f"the site {site or 'of the page'} has no model")
            return self._judge(name, page, source.name, load_site_model(self.site_models[site]))
        needs = METHODS[name].needs
        if needs == "layout":
            assert rendered is not None  # the plan started a browser
            return rendered if isinstance(rendered, CompareFailure) else self._judge(name, rendered, source.name)
        if needs == "template":
            template = self.boilerplate.of(source)
            if template is None:
                return CompareFailure(ReportFault.NO_TEMPLATE, "this is the only page of its site")
            page = replace(page, template=template)
        return self._judge(name, page, source.name)

    def _judge(
        self, name: str, page: Page, where: str, site_model: SiteModel | None = None
    ) -> ComparedMethod | CompareFailure:
        method = _method_of(name)
        started = time.perf_counter()
        try:
            with time_limit(self.seconds):
                judged = decide_leaves(page, method, self.options, site_model)
        except (CleaningError, TimeLimitError) as error:
            return CompareFailure(ReportFault.METHOD_FAILED, str(error))
        except Exception as error:
            # The boundary of one method on one page: the other methods and pages are still compared.
            logger.exception("%s failed on %s", name, where)
            return CompareFailure(ReportFault.METHOD_FAILED, f"{type(error).__name__}: {error}")
        return ComparedMethod(judged, _since(started), rendered=method.needs == "layout")


def _method_of(name: str) -> Method:
    return METHODS["default" if name == TAUGHT else name]


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


@dataclass(slots=True)
class MethodTotals:
    """A method's figures over all pages that it worked on; `page_words` are the words of these pages."""

    pages: int = 0
    blocks: int = 0
    kept: int = 0
    words: int = 0
    page_words: int = 0
    milliseconds: array[float] = field(default_factory=lambda: array("d"))
    reasons: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    last_failure: str | None = None

    @property
    def share(self) -> float | None:
        """Kept words by words of the pages; None for pages without words."""
        return self.words / self.page_words if self.page_words else None

    @property
    def median_ms(self) -> float | None:
        return median(self.milliseconds) if self.milliseconds else None

    @property
    def mean_ms(self) -> float | None:
        return fmean(self.milliseconds) if self.milliseconds else None

    def add(self, compared: ComparedPage, outcome: ComparedMethod | CompareFailure) -> None:
        if isinstance(outcome, CompareFailure):
            self.failures[outcome.reason] += 1
            self.last_failure = outcome.message
            return
        self.pages += 1
        self.blocks += len(outcome.judged)
        self.kept += len(outcome.kept)
        self.words += outcome.words
        self.page_words += compared.words
        self.milliseconds.append(outcome.ms)
        self.reasons.update(outcome.reasons)


class Disagreement(NamedTuple):
    """A page on which methods agree little; such pages are ordered by their agreement."""

    agreement: float
    number: int
    name: str


class ComparisonTotals:
    """Figures over all pages; memory grows by one number for each page and method.

    `failed` has the first few failures. `most_disagreed` has the few pages on which methods agree least, worst first;
    pages of full agreement are left out.
    """

    def __init__(self, methods: Sequence[str]) -> None:
        self.methods = {name: MethodTotals() for name in methods}
        self.pages = 0
        self.compared = 0
        self.blocks = 0
        self.words = 0
        self.parse_ms: array[float] = array("d")
        self.render_ms: array[float] = array("d")
        self.parse_warnings: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.failed: list[tuple[str, CompareFailure]] = []
        self.most_disagreed: list[Disagreement] = []
        self._agreement: dict[tuple[str, str], tuple[float, int]] = {}

    @property
    def agreement(self) -> dict[tuple[str, str], float]:
        """How far each two methods agree, in the methods' order: the mean of the pages on which both worked."""
        sums = {pair: self._agreement.get(pair) for pair in combinations(self.methods, 2)}
        return {pair: sum_and_count[0] / sum_and_count[1] for pair, sum_and_count in sums.items() if sum_and_count}

    def add(self, source: UnreadPage, result: ComparedPage | CompareFailure) -> None:
        """Count a page; `pages` is its number afterwards, from 1."""
        self.pages += 1
        if isinstance(result, CompareFailure):
            self.failures[result.reason] += 1
            self.failed = [*self.failed, (source.name, result)][:_MAX_NOTED]
            return
        self.compared += 1
        self.blocks += len(result.leaves)
        self.words += result.words
        self.parse_ms.append(result.parse_ms)
        if result.render_ms is not None:
            self.render_ms.append(result.render_ms)
        self.parse_warnings.update(map(str, result.page.parse_warnings))
        for name, outcome in result.outcomes.items():
            self.methods[name].add(result, outcome)
        for pair, value in result.agreement.items():
            total, pages = self._agreement.get(pair, (0.0, 0))
            self._agreement[pair] = (total + value, pages + 1)
        mean = result.mean_agreement
        if mean is not None and mean < 1:
            noted = [*self.most_disagreed, Disagreement(mean, self.pages, source.name)]
            self.most_disagreed = sorted(noted)[:_MAX_NOTED]
