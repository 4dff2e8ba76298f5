"""Fit the weights by which article links are told (spiders/data/link-weights.json), and judge them on sites unseen.

    python research/fit_links.py  cross-validation by site, beside what research/discovery.py compares with
    python research/fit_links.py --write         fit on all labelled pages, and write the file
    python research/fit_links.py --features      the same cross-validation without each feature in turn

A logistic regression over `spiders.link_features.features_by_url`, on the pages labelled by hand
(research/listings.py).
A page of n
links weighs as much as the square root of n, so that three home pages of a thousand links do not decide all. The
features were chosen among 43 by taking away, one after the other, that without which cross-validation was best, as
long as it became better; so the cross-validated figures are a little too good. The silver standard had no part in it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import discovery
import listings
import numpy as np

from spiders.link_features import features_by_url
from spiders.links import page_anchors

PATH = Path(__file__).parents[1] / "spiders" / "data" / "link-weights.json"
PENALTY = 60.0  # on the squares of standardised weights
STEPS, CLOSE = 40, 1e-8


@dataclass(frozen=True)
class Counted:
    """A labelled page with the features of its links."""

    page: listings.Listing
    features: dict[str, dict[str, float]]

    def matrix(self, names):
        return np.array([[self.features[url][name] for name in names] for url in self.labelled], float)

    @property
    def labelled(self):
        known = self.page.articles | self.page.others
        return [url for url in self.features if url in known]

    @property
    def labels(self):
        return np.array([url in self.page.articles for url in self.labelled], float)


def count(pages):
    return [Counted(page, features_by_url(page_anchors(page.response), page.response.url)) for page in pages]


def fit(counted, names):
    """Return the weight of each feature, and the constant, by Newton's method."""
    rows = np.vstack([listing.matrix(names) for listing in counted])
    wanted = np.concatenate([listing.labels for listing in counted])
    heft = np.concatenate([np.full(len(listing.labels), len(listing.labels) ** -0.5) for listing in counted])
    heft *= len(heft) / heft.sum()
    mean, spread = rows.mean(0), rows.std(0) + 1e-9
    table = np.hstack([(rows - mean) / spread, np.ones((len(rows), 1))])
    penalty = np.diag([*[PENALTY] * len(names), 0.0])
    solution = np.zeros(table.shape[1])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-np.clip(table @ solution, -30, 30)))
        slope = table.T @ (heft * (chance - wanted)) + penalty @ solution
        step = np.linalg.solve((table * (heft * chance * (1 - chance))[:, None]).T @ table + penalty, slope)
        solution -= step
        if np.abs(step).max() < CLOSE:
            break
    weights = solution[:-1] / spread
    return dict(zip(names, weights.tolist(), strict=True)) | {"constant": float(solution[-1] - weights @ mean)}


def taken(listing, weights):
    names = [name for name in weights if name != "constant"]
    odds = {url: sum(weights[name] * own[name] for name in names) for url, own in listing.features.items()}
    return {url for url, value in odds.items() if value + weights["constant"] > 0}


def cross_validate(counted, names):
    """Return for each page the links taken by weights that were fitted without the pages of its site."""
    taken_links = {}
    for site in sorted({listing.page.site for listing in counted}):
        weights = fit([listing for listing in counted if listing.page.site != site], names)
        taken_links |= {listing.page.name: taken(listing, weights) for listing in counted if listing.page.site == site}
    return taken_links


def rules(counted, names):
    unseen = cross_validate(counted, names)
    return {"ours, site unseen": lambda page: unseen[page.name]} | discovery.RULES


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help=f"write {PATH.name}")
    what.add_argument("--features", action="store_true", help="leave out each feature in turn")
    parser.add_argument("--by-site", action="store_true", help="a row for each site")
    parser.add_argument("--by-page", action="store_true", help="a row for each page")
    parser.add_argument("--json", action="store_true", help="print figures for programs")
    return parser.parse_args()


def main():
    options = read_arguments()
    counted = count(listings.by_hand())
    pages, names = [listing.page for listing in counted], list(next(iter(counted[0].features.values())))
    if options.write:
        weights = {name: round(weight, 4) for name, weight in fit(counted, names).items()}
        PATH.write_text(json.dumps(weights, indent=2) + "\n", "utf-8")
        return
    if options.features:
        without = {
            f"without {name}": cross_validate(counted, [feature for feature in names if feature != name])
            for name in names
        }
        compared = {
            name: (lambda page, taken_by_page=taken_by_page: taken_by_page[page.name])
            for name, taken_by_page in without.items()
        }
    else:
        compared = rules(counted, names)
    results = discovery.measure(pages, compared, discovery.grouping(options))
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        discovery.show(results, f"{len(pages)} pages: links told to be articles, by weights that never saw the site")


if __name__ == "__main__":
    main()
