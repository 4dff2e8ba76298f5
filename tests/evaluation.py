"""Scores and costs of several methods over the same pages, each parsed once."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace

import corpus
from lxml import html

from cleaning import METHODS, PageError, clean, parse
from cleaning.methods.ce import learn
from crawler.render import RenderError

SETS = {"fundus-dev": 4, "wcxb-dev": 1}  # words to a shingle
LARGEST_PAGE = 100_000_000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Score:
    f1: float
    precision: float
    recall: float


@dataclass(frozen=True)
class Measured:
    """What a method made of a data set.

    `groups` gives means and counts by group of pages (all, half of the hosts, type, language). The costs are multiples
    of lxml's parse, which takes `lxml_seconds` for the method's pages. `failed` pages could not be rendered and count
    as empty texts; `alone` pages are their host's only one, for a method that needs several.
    """

    groups: dict
    cost: float
    lxml_seconds: float
    cost_rendered: float | None = None
    failed: int = 0
    alone: int = 0

    @property
    def whole(self):
        return self.groups["all"]


@dataclass
class _Sums:
    scores: dict = field(default_factory=lambda: defaultdict(list))
    lxml_seconds: float = 0.0
    parse_seconds: float = 0.0
    clean_seconds: float = 0.0
    render_seconds: float = 0.0
    failed: int = 0


class Evaluation:
    """The methods' results on the pages of one data set; of them at most `render_pages` are rendered."""

    def __init__(self, name, methods, browser=None, samples=None, render_pages=None):
        self._name = name
        self._methods = list(methods)
        self._browser = browser
        everything = corpus.read_samples(name)
        self._samples = everything if samples is None else samples
        self._sums = {method: _Sums() for method in self._methods}
        self._templates = {}
        self._to_render = {sample.id for sample in corpus.pin(self._samples, render_pages)}
        if any(METHODS[method].needs == "template" for method in self._methods):
            self._templates = learn_templates(corpus.same_hosts(everything, self._samples))

    def run(self):
        for done, sample in enumerate(self._samples):
            if done == 0:
                self._warm(sample)
            self._measure(sample, done)
            if (done + 1) % 50 == 0 or done + 1 == len(self._samples):
                print(f"{self._name}: {done + 1}/{len(self._samples)} pages", file=sys.stderr)
        return {method: self._result(method) for method in self._methods}

    def _warm(self, sample):
        """Load what is loaded at first use: stop words, stemmer, language models."""
        page = parse(sample.body, sample.url, max_bytes=LARGEST_PAGE)
        for method in self._methods:
            if not METHODS[method].needs:
                clean(page, method=method)

    def _measure(self, sample, turn):
        body = sample.body
        lxml_seconds, _ = timed(lambda: html.document_fromstring(body, parser=html.HTMLParser(encoding="utf-8")))
        parse_seconds, page = timed(lambda: parse(body, sample.url, max_bytes=LARGEST_PAGE))
        page = replace(page, template=self._templates.get(sample.host, frozenset()))
        # Another method is first on each page: the first finds the tree's elements not yet in memory as Python objects.
        first = turn % len(self._methods)
        for method in self._methods[first:] + self._methods[:first]:
            if METHODS[method].needs == "layout" and sample.id not in self._to_render:
                continue
            sums = self._sums[method]
            sums.lxml_seconds += lxml_seconds
            sums.parse_seconds += parse_seconds
            seen = self._render(body, sample, sums) if METHODS[method].needs == "layout" else page
            text = self._clean(seen, method, sums) if seen else ""
            found = score(text, sample.text, SETS[self._name])
            for group in dict.fromkeys(filter(None, ["all", sample.half, sample.type, sample.language])):
                sums.scores[group].append(found)

    def _clean(self, page, method, sums):
        seconds, cleaned = timed(lambda: clean(page, method=method))
        sums.clean_seconds += seconds
        return cleaned.text

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

    def _result(self, method):
        sums, needs = self._sums[method], METHODS[method].needs
        groups = {group: summary(scores) for group, scores in sums.scores.items()}
        cost = round((sums.parse_seconds + sums.clean_seconds) / sums.lxml_seconds, 2)
        rendered = round((sums.render_seconds + sums.clean_seconds) / sums.lxml_seconds, 1)
        alone = sum(sample.host not in self._templates for sample in self._samples)
        return Measured(
            groups,
            cost,
            sums.lxml_seconds,
            rendered if needs == "layout" else None,
            sums.failed,
            alone if needs == "template" else 0,
        )


def learn_templates(samples):
    """Return the template of each host that has several pages."""
    by_host = defaultdict(list)
    for sample in samples:
        by_host[sample.host].append(sample)
    return {
        host: learn(parse(sample.body, sample.url, max_bytes=LARGEST_PAGE) for sample in of_host)
        for host, of_host in by_host.items()
        if len(of_host) > 1
    }


def timed(call):
    """Return the CPU seconds that a call takes, and its result."""
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


def score(found, gold, size):
    """Return the score of a text against the gold one, over multisets of shingles of that many words."""
    ours, theirs = shingles(found, size), shingles(gold, size)
    common = (ours & theirs).total()
    if not ours and not theirs:
        return Score(1.0, 1.0, 1.0)
    precision, recall = common / max(1, ours.total()), common / max(1, theirs.total())
    return Score(2 * precision * recall / (precision + recall) if common else 0.0, precision, recall)


def shingles(text, size):
    words = _WORD.findall(text.lower())
    return Counter(zip(*(words[place:] for place in range(size)), strict=False))


def summary(scores):
    """Return the means over pages and the share of pages under 0.5."""
    pages = len(scores)
    means = {name: round(sum(getattr(one, name) for one in scores) / pages, 4) for name in Score.__annotations__}
    return {"pages": pages, **means, "under_half": round(sum(one.f1 < 0.5 for one in scores) / pages, 4)}
