"""The sites of the database, and one of them."""

import newspapers
from shown_pages import PAGES


def test_a_site_has_its_pages_and_sections(ask):
    site = ask("/api/sites/example.org").json
    assert site["pages"] >= PAGES
    assert site["sampled"] <= site["pages"]
    assert site["sections"]


def test_sites_are_listed_by_the_beginning_of_their_names(ask):
    assert [site["site"] for site in ask("/api/sites?begins=exa").json["sites"]] == ["example.org"]
    assert ask("/api/sites?begins=zzz").json["sites"] == []


def test_a_site_without_pages_is_not_stored(ask):
    assert ask("/api/sites/nowhere.example").status == 404


def test_the_newspapers_have_the_sites_and_scripts_that_the_views_are_looked_at_with(ask_newspapers):
    sites = {site["site"]: site["pages"] for site in ask_newspapers("/api/sites").json["sites"]}
    assert {paper.site for paper in newspapers.PAPERS} - {site for site in sites if sites[site]} == {newspapers.MOVED}
    assert sites[newspapers.MOVED_TO]
    languages = {
        site: {page["language"] for page in ask_newspapers(f"/api/sites/{site}").json["newest"]}
        for site in (newspapers.CHINESE, newspapers.ARABIC, newspapers.HEBREW)
    }
    assert languages == {newspapers.CHINESE: {"zh"}, newspapers.ARABIC: {"ar"}, newspapers.HEBREW: {"he"}}


def test_the_pages_of_a_site_page_back(ask):
    first = ask("/api/sites/example.org").json
    assert first["previous"] is None
    second = ask(f"/api/sites/example.org?cursor={first['next']}").json
    assert second["newest"]
    again = ask(f"/api/sites/example.org?cursor={second['previous']}").json
    assert again["newest"] == first["newest"]
