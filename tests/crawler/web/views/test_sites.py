"""The sites of the database, and one of them."""

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
