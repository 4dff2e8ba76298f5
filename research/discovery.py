"""How well article links are told from the other links of a section page: precision, recall and F1.

    python research/discovery.py [--set hand|silver] [--by-site | --by-page] [--json]
    python research/discovery.py --learned        what the first articles of a site teach about its further links
    python research/discovery.py --outcomes
                                                  how often cleaned pages are told to be articles rightly
    python research/discovery.py --next                     the next page of each listing, as far as one is found
    python research/discovery.py --wrong PAGE               the links of a page that are taken or left out wrongly

Compared are `ours` (`spiders.links.article_links`, nothing known of the site), `every link` within the site, and
`long text`: every link whose text has five words or more, the rule that is tried first by everybody.

`hand` has section and home pages whose links were labelled by hand: in the group `tuned` those of the seven portals on
which the first rules were set, in `other` those of other sites. `silver` has the listings and collections of wcxb-dev,
where a link is taken for an item of the list if its text stands in the page's gold text; it compares rules with each
other only. research/listings.py tells how both were made.

--learned plays a crawl on each page: of the links that ours takes, the first N (in the order of their hashes) turn out
to be what their labels say, unclear ones to be no articles; then all other links are judged, with and without that
knowledge. --outcomes cleans pages and compares `crawler.discovery.article_detection.is_article` with what they are:
articles of wcxb-dev and
fundus-dev, listings of wcxb-dev, and the section pages of `hand`.

Rows count all links of a group as one (micro); `f1 by page` is the mean of the pages' own F1, which weighs a page of
30 links like one of 600. The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from statistics import fmean

import corpus
import listings
import xxhash
from rich.console import Console
from rich.table import Table

from cleaning import clean, parse
from cleaning.tracking import without_tracking
from crawler.discovery.article_detection import is_article
from spiders.link_history import LinkHistory
from spiders.links import article_links
from spiders.pagination import next_page

LONG_TEXT = 5
LEARNED = (0, 4, 8)
SETS = {"hand": listings.by_hand, "silver": listings.silver}


@dataclass(frozen=True)
class Score:
    """What a rule took of some links: rightly, wrongly, and what it left out."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other):
        return Score(self.right + other.right, self.wrong + other.wrong, self.missed + other.missed)

    @property
    def precision(self):
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self):
        return self.right / max(1, self.right + self.missed)

    @property
    def f1(self):
        return 2 * self.right / max(1, 2 * self.right + self.wrong + self.missed)


def ours(listing):
    return every_form(listing, article_links(listing.response))


def every_form(listing, links):
    """Return all URLs of the page that are the same page's as one of the links: ours takes each page once."""
    pages = {without_tracking(link.url) for link in links}
    return {url for url in listings.texts(listing.response) if without_tracking(url) in pages}


def every_link(listing):
    return listing.articles | listing.others


def long_text(listing):
    counted = {url: len(listings.words(text)) for url, text in listings.texts(listing.response).items()}
    return {url for url, count in counted.items() if count >= LONG_TEXT}


def after(listing, pages):
    """Return the page without the links that a crawl has followed, and what it takes of the others after these."""
    first = sorted(ours(listing), key=lambda url: xxhash.xxh64_intdigest(url.encode()))[:pages]
    learned = LinkHistory()
    for url in first:
        learned.learn(url, is_article=url in listing.articles)
    taken = every_form(listing, article_links(listing.response, history=learned))
    return replace(listing, articles=listing.articles - set(first), others=listing.others - set(first)), taken


RULES = {"ours": ours, "every link": every_link, "long text": long_text}


def score(listing, taken):
    """Return how right it is to take these links; unclear ones do not count."""
    return Score(
        len(listing.articles & taken),
        len(listing.others & taken),
        len(listing.articles - taken),
    )


def measure(pages, rules, grouped):
    """Return by group and rule the micro score, and the mean F1 of the group's pages."""
    scores_by_group = {}
    for page in pages:
        for name, rule in rules.items():
            scores_by_group.setdefault(grouped(page), {}).setdefault(name, []).append(score(page, rule(page)))
    return {
        group: {name: summary(scores) for name, scores in by_rule.items()}
        for group, by_rule in sorted(scores_by_group.items())
    }


def measure_learning(pages):
    """Return by group and number of pages learned from the scores on all links but those."""
    scores_by_group = {}
    for page in pages:
        rest = after(page, max(LEARNED))[0]
        for known in LEARNED:
            taken = after(page, known)[1]
            scores_by_group.setdefault(page.group, {}).setdefault(f"after {known} pages", []).append(score(rest, taken))
    return {
        group: {name: summary(scores) for name, scores in by_rule.items()}
        for group, by_rule in sorted(scores_by_group.items())
    }


def measure_outcomes(limit):
    """Return by data set and kind of page how many are told to be articles; `limit` pages of each set at most."""
    told = {}
    for name in ("fundus-dev", "wcxb-dev"):
        for sample in corpus.pin(corpus.read_samples(name), limit):
            if sample.type in {"article", "listing"}:
                page = parse(sample.body, sample.url, max_bytes=listings.LARGEST_PAGE)
                told.setdefault(f"{name}, {sample.type}", []).append(is_article(clean(page)))
    for page in listings.by_hand()[:limit]:
        if "/" in page.name:
            told.setdefault("sites, section page", []).append(is_article(clean(page.response.tree)))
    return {kind: {"pages": len(verdicts), "told articles": sum(verdicts)} for kind, verdicts in told.items()}


def show_outcomes(results):
    table = Table("pages", "of", "told to be articles", title="what cleaned pages turned out to be")
    for kind, row in results.items():
        table.add_row(kind, str(row["pages"]), f"{row['told articles']} ({row['told articles'] / row['pages']:.1%})")
    Console(width=100).print(table)


def summary(scores):
    micro = sum(scores, Score())
    return {
        "pages": len(scores),
        "articles": micro.right + micro.missed,
        "precision": round(micro.precision, 4),
        "recall": round(micro.recall, 4),
        "f1": round(micro.f1, 4),
        "f1 by page": round(fmean(page_score.f1 for page_score in scores), 4),
    }


def grouping(options):
    """Return what names the group of a page in the table."""
    if options.by_page:
        return lambda page: f"{page.group}: {page.name}"
    return (lambda page: f"{page.group}: {page.site}") if options.by_site else (lambda page: page.group)


def show(results, title):
    columns = ("pages", "articles", "precision", "recall", "f1", "f1 by page")
    table = Table("group", "rule", *columns, title=title)
    for group, by_rule in results.items():
        for name, row in by_rule.items():
            table.add_row(
                group, name, *(f"{row[key]:.3f}" if key not in columns[:2] else str(row[key]) for key in columns)
            )
    Console(width=120).print(table)


def show_next():
    """Print what `next_page` finds on the pages of both sets, those of wcxb-dev without gold links among them."""
    pages = [page.response for page in listings.by_hand()] + listings.unlabelled()
    following_pages = [(page.url, following) for page in pages if (following := next_page(page))]
    print("\n".join(f"{url}\t{following}" for url, following in following_pages))
    print(f"{len(pages)} pages, {len(following_pages)} with a next one", file=sys.stderr)


def show_wrong(name):
    """Print what ours does wrongly on a page labelled by hand."""
    (page,) = listings.by_hand([name])
    taken = ours(page)
    said = listings.texts(page.response)
    for mark, urls in (("taken", page.others & taken), ("missed", page.articles - taken)):
        for url in sorted(urls):
            print(f"{mark}\t{url}\t{said[url][:60]}")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, default="hand", help="which labels (default: hand)")
    apart = parser.add_mutually_exclusive_group()
    apart.add_argument("--by-site", action="store_true", help="a row for each site")
    apart.add_argument("--by-page", action="store_true", help="a row for each page")
    apart.add_argument("--learned", action="store_true", help="what the first pages of a site teach")
    apart.add_argument("--next", action="store_true", help="print the next page of each listing of both sets")
    apart.add_argument("--outcomes", action="store_true", help="how often cleaned pages are judged rightly")
    parser.add_argument("--pages", type=int, help="with --outcomes: only so many pages of each data set")
    parser.add_argument(
        "--wrong", metavar="PAGE", help="print the wrong links of a page labelled by hand (bbc/16, 2900)"
    )
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    options = parser.parse_args()
    if not corpus.DATA.exists():
        parser.error(f"there is no data at {corpus.DATA}; set BLOCKSIEVE_DATA")
    return options


def main():
    options = read_arguments()
    if options.wrong:
        show_wrong(options.wrong)
        return
    if options.next:
        show_next()
        return
    if options.outcomes:
        results = measure_outcomes(options.pages)
        print(json.dumps(results, indent=2)) if options.json else show_outcomes(results)
        return
    pages = SETS[options.set]()
    results = measure_learning(pages) if options.learned else measure(pages, RULES, grouping(options))
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        show(results, f"{len(pages)} pages: links told to be articles")


if __name__ == "__main__":
    main()
