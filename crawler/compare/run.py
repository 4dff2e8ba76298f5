"""Every method on one page: what each keeps, how long it takes, and how far two of them agree."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from cleaning.blocks import ParseWarning
from cleaning.clean import decide_leaves
from cleaning.errors import CleaningError, PageError
from cleaning.leaves import walk
from cleaning.methods import METHODS
from cleaning.parse import parse
from cleaning.terms import tokenise
from crawler.compare.faults import Fault, NoPage
from crawler.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cleaning.blocks import Block, Page
    from cleaning.clean import DecidedLeaf
    from cleaning.leaves import Leaf
    from cleaning.options import Options
    from crawler.compare.targets import Loaded, Source
    from crawler.compare.templates import Templates
    from crawler.fetching.render.browser import Browser

logger = logging.getLogger(__name__)

_WARM_UP = "<title>A title</title><h1>A title</h1><p>Some words, and <a href='https://b.example/'>a link</a>.</p>"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a page, or a method on a page, gave nothing to compare; counted under `reason`."""

    reason: str
    message: str


@dataclass(frozen=True)
class Result:
    """A method's decisions on a page; `ms` is what its three steps took.

    `rendered` is True where it read the page as a browser builds it, whose tree is not that of the page's HTML.
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
        """The kept words; scripts without spaces by pairs of characters."""
        return Counter(token for block in self.kept for token in tokenise(block.text))


@dataclass(frozen=True)
class Compared:
    """A page with what every method made of it. `leaves` are the shared walk's, `render_ms` None without rendering."""

    source: Source
    page: Page
    leaves: list[Leaf]
    parse_ms: float
    render_ms: float | None
    outcomes: dict[str, Result | Failure] = field(default_factory=dict)

    @cached_property
    def words(self) -> int:
        return sum(leaf.block.words for leaf in self.leaves)

    @property
    def results(self) -> dict[str, Result]:
        return {name: found for name, found in self.outcomes.items() if isinstance(found, Result)}

    @cached_property
    def agreement(self) -> dict[tuple[str, str], float]:
        """How far each two methods agree on the words to keep, 0 to 1, in the methods' order."""
        return {
            (one, other): agreement(ours.tokens, theirs.tokens)
            for (one, ours), (other, theirs) in combinations(self.results.items(), 2)
        }

    @property
    def mean_agreement(self) -> float | None:
        """The mean over all pairs of methods; None for fewer than two."""
        return sum(self.agreement.values()) / len(self.agreement) if self.agreement else None


def agreement(ours: Counter[str], theirs: Counter[str]) -> float:
    """Return the F1 of two multisets of words: twice what is common by what both have; 1.0 where both are empty."""
    total = ours.total() + theirs.total()
    return 2 * (ours & theirs).total() / total if total else 1.0


class Comparison:
    """Compares one page after the other and holds nothing of them."""

    def __init__(
        self, methods: Sequence[str], options: Options, templates: Templates, browser: Browser | None = None
    ) -> None:
        self.methods = methods
        self._options = options
        self._templates = templates
        self._browser = browser
        self._warm()

    def run(self, source: Source) -> Compared | Failure:
        """Return the page with every method's result, or why there is none."""
        try:
            loaded = source.load()
            started = time.perf_counter()
            page = parse(loaded.body, source.url, loaded.content_type, max_bytes=self._options.max_bytes)
            parse_ms = _since(started)
        except NoPage as error:
            return Failure(error.reason, str(error))
        except PageError as error:
            return Failure(error.cause, str(error))
        if ParseWarning.EMPTY in page.parse_warnings:
            return Failure(Fault.EMPTY, "no element and no text")
        rendered, render_ms = self._render(source, loaded)
        compared = Compared(source, page, walk(page.root), parse_ms, render_ms)
        for name in self.methods:
            compared.outcomes[name] = self._outcome(name, page, source, rendered)
        return compared if compared.results else _of_all(compared.outcomes)

    def _outcome(self, name: str, page: Page, source: Source, rendered: Page | Failure | None) -> Result | Failure:
        needs = METHODS[name].needs
        if needs == "layout":
            assert rendered is not None  # a browser was asked for where a method needs one
            return rendered if isinstance(rendered, Failure) else self._judge(name, rendered, source.name)
        if needs == "template":
            template = self._templates.of(source)
            if template is None:
                return Failure(Fault.NO_TEMPLATE, "this is the only page of its site")
            page = replace(page, template=template)
        return self._judge(name, page, source.name)

    def _judge(self, name: str, page: Page, where: str) -> Result | Failure:
        started = time.perf_counter()
        try:
            judged = decide_leaves(page, METHODS[name], self._options)
        except CleaningError as error:
            return Failure(Fault.METHOD_FAILED, str(error))
        except Exception as error:
            # The boundary of one method on one page: the other methods and pages are compared all the same.
            logger.exception("%s failed on %s", name, where)
            return Failure(Fault.METHOD_FAILED, f"{type(error).__name__}: {error}")
        return Result(judged, _since(started), rendered=METHODS[name].needs == "layout")

    def _render(self, source: Source, loaded: Loaded) -> tuple[Page | Failure | None, float | None]:
        if self._browser is None:
            return None, None
        started = time.perf_counter()
        try:
            page = self._browser.render(loaded.body, source.url, loaded.content_type)
        except (RenderError, PageError) as error:
            return Failure(Fault.RENDER_FAILED, str(error)), None
        return page, _since(started)

    def _warm(self) -> None:
        """Let each method load its lists, stemmers and domain names, which no page should be charged for."""
        page = replace(parse(_WARM_UP, "https://a.example/"), template=frozenset())
        for name in self.methods:
            if METHODS[name].needs != "layout":
                self._judge(name, page, "the page that loads the methods")


def _of_all(failures: Mapping[str, Result | Failure]) -> Failure:
    """Return the first failure for a page on which no method worked."""
    for name, found in failures.items():
        if isinstance(found, Failure):
            return Failure(found.reason, f"{name}: {found.message}")
    raise AssertionError("no method is compared")


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
