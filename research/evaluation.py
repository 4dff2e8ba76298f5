"""Scores and costs of several methods and peers over the same pages, each parsed once for all methods."""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import corpus
from lxml import html
from peers import attempt
from scores import difference, summary
from timing import garbage_frozen, timed

from cleaning import METHODS, PageError, clean, parse
from cleaning.metadata.languages import identify_language
from cleaning.methods.informative_sections import learn_template
from cleaning.terms import visible
from crawler.errors import RenderError
from research.training.data import SETS as LABELLED_SETS

if TYPE_CHECKING:
    from folds import Folds

    from crawler.fetching.render.browser import Browser

SETS = ("fundus-dev", "wcxb-dev")
MORE_SETS = ("magic-dev", "snippets-dev")  # for `default` and the peers alone
LARGEST_PAGE = 100_000_000
FEWEST_OF_LANGUAGE = 3  # pages of a data set
LEARNED = "default"  # the method that was made on these very pages


@dataclass(frozen=True)
class Measured:
    """What a method or a peer made of a data set.

    `groups` gives means, counts and intervals by group of pages (all, half of the hosts, type, language), `ahead` how
    far the method is ahead of each peer in each. The costs are multiples of lxml's parse, which takes `lxml_seconds`
    for the same pages. `failed` pages could not be rendered, or the peer found nothing or failed: they count as empty
    texts; `alone` pages are their host's only one, for a method that needs several. `judged` says how the method that
    was made on these pages was judged: in-sample or cross-validated.
    """

    groups: dict
    cost: float
    lxml_seconds: float
    cost_rendered: float | None = None
    failed: int = 0
    alone: int = 0
    judged: str = ""
    ahead: dict = field(default_factory=dict)

    @property
    def whole(self):
        return self.groups["all"]


@dataclass
class _Sums:
    scores: dict = field(default_factory=dict)  # by the page's id
    lxml_seconds: float = 0.0
    parse_seconds: float = 0.0
    own_seconds: float = 0.0
    render_seconds: float = 0.0
    failed: int = 0

    def of(self, samples):
        return [self.scores[sample.id] for sample in samples]


@dataclass(frozen=True)
class Equipment:
    """What an evaluation has beside the pages and the package.

    A browser, and how many pages of a set it renders at most. The peers: calls by name, from bytes to text. The folds
    that judge the learned method, by models that know no page of the host; its cost is that of the package's model.
    """

    browser: Browser | None = None
    render_pages: int | None = None
    peers: dict = field(default_factory=dict)
    folds: Folds | None = None


class Evaluation:
    """The results on the pages of one data set."""

    def __init__(self, set_name, methods, samples=None, equipment=None):
        equipment = equipment or Equipment()
        self._name = set_name
        self._methods = list(methods)
        self._peers = equipment.peers
        self._folds = equipment.folds
        self._browser = equipment.browser
        everything = corpus.read_samples(set_name)
        self._samples = everything if samples is None else samples
        self._sums = {name: _Sums() for name in (*self._methods, *self._peers)}
        self._templates = {}
        self._to_render = {sample.id for sample in corpus.pin(self._samples, equipment.render_pages)}
        if any(METHODS[method].needs == "template" for method in self._methods):
            self._templates = learn_templates(corpus.same_hosts(everything, self._samples))

    def run(self):
        """Return what was measured, by method and peer."""
        for sample in self._samples[:1]:
            self._warm(sample)
        with garbage_frozen():
            for turn, sample in enumerate(self._samples):
                self._measure(sample, turn)
                if (turn + 1) % 50 == 0 or turn + 1 == len(self._samples):
                    print(f"{self._name}: {turn + 1}/{len(self._samples)} pages", file=sys.stderr)
        return self._results()

    def _warm(self, sample):
        """Load what is loaded at first use: stop words, stemmer, language models."""
        page = parse(sample.body, sample.url, max_bytes=LARGEST_PAGE)
        for method in self._methods:
            if not METHODS[method].needs:
                clean(page, method=method)
        for extract in self._peers.values():
            attempt(extract, sample.body)

    def _measure(self, sample, turn):
        body = sample.body
        lxml_seconds, _ = timed(lambda: html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8")))
        parse_seconds, page = timed(lambda: parse(body, sample.url, max_bytes=LARGEST_PAGE))
        page = replace(page, template=self._templates.get(sample.host, frozenset()))
        # Another is first on each page: the first method finds the tree's elements not yet in memory as Python objects.
        first, everyone = turn % len(self._sums), list(self._sums)
        for method in everyone[first:] + everyone[:first]:
            rendered = method in METHODS and METHODS[method].needs == "layout"
            if rendered and sample.id not in self._to_render:
                continue
            sums = self._sums[method]
            sums.lxml_seconds += lxml_seconds
            if method in self._peers:
                text = self._extract(method, body)
            else:
                sums.parse_seconds += parse_seconds
                seen = self._render(body, sample, sums) if rendered else page
                text = self._clean(seen, method, sample.host) if seen else ""
            # Some gold texts, and the texts of other extractors, have soft hyphens and other invisible characters.
            score = LABELLED_SETS[self._name].score
            sums.scores[sample.id] = score(visible(text), visible(sample.text), sample.snippets)

    def _extract(self, peer, body):
        seconds, text = timed(lambda: attempt(self._peers[peer], body))
        self._sums[peer].own_seconds += seconds
        self._sums[peer].failed += not text
        return text

    def _clean(self, page, method, host):
        seconds, cleaned = timed(lambda: clean(page, method=method))
        self._sums[method].own_seconds += seconds
        return self._folds.text(page, host) if self._folds and method == LEARNED else cleaned.text

    def _render(self, body, sample, sums):
        """Return the page as the browser lays it out, None where it cannot; the browser's time is not our process's."""
        began = time.perf_counter()
        try:
            return self._browser.render(body, sample.url)
        except (RenderError, PageError) as error:
            print(f"{sample.id}: {error}", file=sys.stderr)
            sums.failed += 1
            return None
        finally:
            sums.render_seconds += time.perf_counter() - began

    def _results(self):
        groups = group(self._samples)
        return {method: self._result(method, groups) for method in self._sums}

    def _result(self, method, groups):
        sums, needs = self._sums[method], METHODS[method].needs if method in METHODS else None
        measured = {
            name: [sample for sample in of_group if sample.id in sums.scores] for name, of_group in groups.items()
        }
        measured = {name: of_group for name, of_group in measured.items() if of_group}
        rendered = round((sums.render_seconds + sums.own_seconds) / sums.lxml_seconds, 1)
        alone = sum(sample.host not in self._templates for sample in self._samples)
        return Measured(
            {name: summary(sums.of(of_group), hosts(of_group)) for name, of_group in measured.items()},
            round((sums.parse_seconds + sums.own_seconds) / sums.lxml_seconds, 2),
            sums.lxml_seconds,
            rendered if needs == "layout" else None,
            sums.failed,
            alone if needs == "template" else 0,
            ("cross-validated" if self._folds else "in-sample") if method == LEARNED else "",
            {peer: self._ahead(sums, self._sums[peer], measured) for peer in self._peers if method in METHODS},
        )

    def _ahead(self, ours, theirs, groups):
        return {
            name: difference(ours.of(of_group), theirs.of(of_group), hosts(of_group))
            for name, of_group in groups.items()
        }


def group(samples):
    """Return the pages by group: all, half of the hosts, type, language of the gold text (rare ones together)."""
    gold = {sample.id: " ".join(sample.snippets.kept) if sample.snippets else sample.text for sample in samples}
    languages = {sample.id: identify_language(gold[sample.id]) or "unknown" for sample in samples}
    counts = Counter(languages.values())
    groups = defaultdict(list)
    for sample in samples:
        language = languages[sample.id]
        language = language if counts[language] >= FEWEST_OF_LANGUAGE else "other"
        for name in ("all", sample.half, f"type: {sample.type}", f"language: {language}"):
            groups[name].append(sample)
    return dict(groups)


def hosts(samples):
    return [sample.host for sample in samples]


def learn_templates(samples):
    """Return the template of each host that has several pages."""
    by_host = defaultdict(list)
    for sample in samples:
        by_host[sample.host].append(sample)
    return {
        host: learn_template(parse(sample.body, sample.url, max_bytes=LARGEST_PAGE) for sample in of_host)
        for host, of_host in by_host.items()
        if len(of_host) > 1
    }
