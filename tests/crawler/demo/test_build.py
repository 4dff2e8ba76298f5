"""How the site is built: the families of duplicates, and the same bytes for the same seed."""

from itertools import combinations

import pytest

from cleaning.fingerprint import distance, fingerprint
from cleaning.terms import terms
from crawler.demo.build import build_site
from crawler.demo.ground_truth import ground_truth
from crawler.demo.pages import site_replies


def has_fingerprint(text):
    return len(set(terms(text))) >= 20


def test_near_duplicates_are_within_three_bits_of_their_centre(facts, blocks):
    assert len(facts["near"]) >= 10
    for family in facts["near"]:
        texts = [blocks[tuple(place)] for place in (family["centre"], *family["copies"])]
        assert len(texts) >= 3
        assert all(has_fingerprint(text) for text in texts)
        assert all(1 <= distance(*map(fingerprint, pair)) <= 3 for pair in combinations(texts, 2))


def test_all_other_texts_are_more_than_six_bits_apart(facts, blocks):
    family_of = {tuple(place): n for n, f in enumerate(facts["near"]) for place in (f["centre"], *f["copies"])}
    family_of |= {tuple(place): -n - 1 for n, places in enumerate(facts["exact"]) for place in places}
    marks = [
        (fingerprint(text), family_of.get(place, place)) for place, text in blocks.items() if has_fingerprint(text)
    ]

    close = [
        1
        for (a, family), (b, other_family) in combinations(marks, 2)
        if family != other_family and (a ^ b).bit_count() <= 6
    ]

    assert not close


def test_exact_families_are_complete(facts, blocks):
    stems = {}
    for place, text in blocks.items():
        stems.setdefault(tuple(terms(text)), []).append(place)

    repeated = [places for places in stems.values() if len(places) > 1]

    numbered = {tuple(map(tuple, group)) for group in facts["numbered"]}
    assert [list(map(tuple, family)) for family in facts["exact"]] == repeated
    assert not numbered & {tuple(places) for places in repeated}


def test_exact_duplicates_differ_in_case_and_are_never_on_the_same_page(facts, blocks):
    families = [[tuple(place) for place in family] for family in facts["exact"]]
    texts = [{blocks[place] for place in family} for family in families]

    assert all(len({text.casefold() for text in family}) == 1 for family in texts)
    assert any(len(family) > 1 for family in texts)
    assert all(len({path for path, _ in family}) == len(family) for family in families)


def test_mirrors_repeat_a_whole_article_under_another_id(facts):
    bodies = {article["path"]: article["blocks"] for article in facts["articles"]}

    assert len(facts["mirrors"]) >= 5
    assert all(original != mirror and bodies[original] == bodies[mirror] for original, mirror in facts["mirrors"])


@pytest.mark.slow
def test_same_seed_gives_the_same_bytes(site):
    assert site_replies(site) == site_replies(build_site())


@pytest.mark.slow
def test_another_seed_gives_another_site(facts):
    assert ground_truth(build_site(8))["articles"] != facts["articles"]
