"""A floor under how well article links are told, on some of the labelled pages, and the programs' figures."""

import json
import sys
from pathlib import Path

import discovery
import fit_links
import listings
import processes
import pytest
from scrapy.http import HtmlResponse

from spiders.link_features import features_by_url
from spiders.links import page_anchors

# Three portals, and five other sites: with and without dates, in English and Chinese.
PAGES = ("bbc/16", "qq/04", "timesofindia/08", "indianexpress/00", "2902", "2970", "3030", "4632")
FLOOR = {"tuned": 0.94, "other": 0.95}


@pytest.fixture(scope="module")
def pages(data):
    return listings.by_hand(PAGES)


def test_article_links_are_told_better_than_by_their_text_alone(pages):
    measured = discovery.measure(pages, discovery.RULES, lambda page: page.group)
    assert {group: by_rule["ours"]["pages"] for group, by_rule in measured.items()} == {"other": 5, "tuned": 3}
    for group, by_rule in measured.items():
        assert by_rule["ours"]["f1"] >= FLOOR[group], by_rule
        assert by_rule["ours"]["f1"] > by_rule["long text"]["f1"] > by_rule["every link"]["f1"]


def test_what_a_site_teaches_does_no_harm(pages):
    for by_rule in discovery.measure_learning(pages[:5]).values():
        assert by_rule["after 8 pages"]["f1"] >= by_rule["after 0 pages"]["f1"] - 0.005


def test_scores_count_what_was_labelled_and_nothing_else(pages):
    page = pages[0]
    everything = discovery.score(page, discovery.every_link(page))
    assert (everything.recall, everything.missed, everything.wrong) == (1.0, 0, len(page.others))
    assert discovery.score(page, set()) == discovery.Score(0, 0, len(page.articles))
    labelled = len(page.articles) + len(page.others)
    assert 0 < labelled < len(listings.texts(page.response))  # the unclear ones are in neither


def test_the_weights_are_those_of_the_features():
    page = HtmlResponse("https://a.example/", body='<a href="/a/b">A story</a>', encoding="utf-8")
    (counted,) = features_by_url(page_anchors(page), page.url).values()
    assert json.loads(fit_links.PATH.read_text("utf-8")).keys() == {*counted, "constant"}


def test_the_weights_are_what_a_fit_on_all_pages_gives(data):
    counted = fit_links.count(listings.by_hand())
    kept = json.loads(fit_links.PATH.read_text("utf-8"))
    assert fit_links.fit(counted, [name for name in kept if name != "constant"]) == pytest.approx(kept, abs=1e-3)


def test_a_fit_on_other_sites_tells_the_links_of_one_that_it_has_not_seen(pages):
    counted = fit_links.count(pages)
    names = list(next(iter(counted[0].features.values())))
    unseen = fit_links.cross_validate(counted, names)
    by_name = {page.name: page for page in pages}
    scores = [discovery.score(by_name[name], taken) for name, taken in unseen.items()]
    assert sum(scores, discovery.Score()).f1 > 0.85


def test_outcomes_are_written_between_the_marks_of_a_page(data, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("\n".join(["Before.", *discovery.MARKS, "After."]), "utf-8")
    for _ in range(2):
        discovery.write_outcomes(page, {"sites, section page": {"pages": 18, "told articles": 4}})
    written = page.read_text("utf-8")
    assert written.count("| sites, section page | 18 | 4 | 22.2% |\n\nMeasured with model `") == 1
    assert written.startswith("Before.\n")
    assert written.endswith("\nAfter.")


def test_the_program_prints_the_wrong_links_of_a_page(pages):
    (page,) = (page for page in pages if page.name == "timesofindia/08")
    wrong = discovery.score(page, discovery.ours(page))
    command = [sys.executable, str(Path(__file__).parents[1] / "research" / "discovery.py"), "--wrong", page.name]
    done = processes.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], timeout=300
    )
    printed = [line.split("\t")[0] for line in done.stdout.splitlines()]
    assert (printed.count("taken"), printed.count("missed")) == (wrong.wrong, wrong.missed)
    assert wrong.wrong > 0
