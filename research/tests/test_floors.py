"""Floors under the quality of cleaning and of discovery, on pinned samples of the development data."""

import json

import discovery
import evaluation
import fit_links
import floors
import listings
import manifest
import pytest
import structure_quality
from outline_marks import read_marks

from cleaning import METHODS
from crawler.fetching.render.browser import Browser
from research.training.annotations import read_annotations

FLOORS = floors.read(floors.PATH)
TREE = [name for name, method in METHODS.items() if method.needs != "layout"]
RENDERED = [name for name in METHODS if name not in TREE]
STRUCTURE = {"headings": 0.97, "items": 0.84, "tables": 0.95, "code": 0.95, "quotes": 0.9, "links": 0.88}
# Three portals, and five other sites: with and without dates, in English and Chinese.
LISTINGS = ("bbc/16", "qq/04", "timesofindia/08", "indianexpress/00", "2902", "2970", "3030", "4632")
LINKS = {"tuned": 0.94, "other": 0.95}

pytestmark = pytest.mark.usefixtures("data")


@pytest.fixture(scope="module")
def means(data):
    return floors.measure(TREE)


@pytest.mark.parametrize("name", floors.PINNED)
def test_the_pinned_pages_are_those_that_the_floors_were_taken_from(name):
    expected = {"pages": floors.PINNED[name], "rendered": floors.RENDERED[name], "digest": floors.digest(name)}
    assert FLOORS["data"][name] == expected


@pytest.mark.parametrize("name", manifest.SETS)
def test_the_data_is_that_of_the_manifest(name):
    assert manifest.differences(name) == []


@pytest.mark.parametrize("method", TREE)
def test_a_method_stays_above_its_floors(method, means):
    assert all(means[method][name] >= floor for name, floor in FLOORS["floors"][method].items()), means[method]


def test_a_method_that_needs_a_browser_stays_above_its_floor(chromium):
    with Browser(executable=chromium, seconds=120, max_bytes=evaluation.LARGEST_PAGE) as browser:
        scores = floors.measure_rendered(RENDERED, browser)
    for method in RENDERED:
        assert all(scores[method][name] >= floor for name, floor in FLOORS["floors"][method].items()), scores


def test_the_structure_of_marked_pages_stays_above_its_floors(monkeypatch):
    ours = {structure_quality.OURS: structure_quality.our_markdown}
    monkeypatch.setattr(structure_quality, "makers", lambda: ours)
    scores_by_kind = structure_quality.measure(read_marks(every=3))[structure_quality.OURS]
    means = {
        kind: sum(score.f1 for score in scores.values()) / len(scores)
        for kind, scores in scores_by_kind.items()
        if scores
    }
    assert all(means[kind] >= floor for kind, floor in STRUCTURE.items()), means


def test_article_links_are_told_better_than_by_their_text_alone():
    measured = discovery.measure(listings.by_hand(LISTINGS), discovery.RULES, lambda page: page.group)
    assert measured.keys() == LINKS.keys()
    for group, by_rule in measured.items():
        assert by_rule["ours"]["f1"] >= LINKS[group], by_rule
        assert by_rule["ours"]["f1"] > by_rule["long text"]["f1"]


def test_the_weights_of_links_are_what_a_fit_on_all_pages_gives():
    kept = json.loads(fit_links.PATH.read_text("utf-8"))
    names = [name for name in kept if name != "constant"]
    assert fit_links.fit(fit_links.count(listings.by_hand()), names) == pytest.approx(kept, abs=1e-3)


def test_the_annotations_of_all_readers_can_be_read():
    assert len({page.page_name for page in read_annotations()}) > 300
