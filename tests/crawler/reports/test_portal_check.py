"""The evidence for the table of news sites: proven, unproven or wrong."""

from dataclasses import replace

import pytest

from crawler.discovery.portals import read_portals
from crawler.errors import ConfigError
from crawler.reports.portal_check import EvidenceState, SavedPages, _is_saved_page, _names_host, check_evidence

PAGE = """<!doctype html><html lang="en"><title>The river</title>
<link rel="alternate" type="application/rss+xml" href="/feed.xml"><main><p>The river rose in the night, and the bridge
at the mill was closed until the morning, said the mayor of the town, who had seen it.</p></main>"""
TABLE = """
[river]
host = "river.example.org"
feeds = ["https://river.example.org/feed.xml"]
language = "en"

[river.evidence]
host = "notes.txt"
feeds = "sites/river/1.html"
"""


@pytest.fixture
def saved(tmp_path):
    site = tmp_path / "sites" / "river"
    site.mkdir(parents=True)
    (site / "1.html").write_text(PAGE, "utf-8")
    (site.parent / "index.tsv").write_text("site\tfile\turl\nriver\t1.html\thttps://river.example.org/1\n", "utf-8")
    (tmp_path / "notes.txt").write_text("Of river.example.org we know nothing.", "utf-8")
    return SavedPages(tmp_path)


@pytest.fixture
def portal(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(TABLE, "utf-8")
    return read_portals(str(path))["river"]


def states(portal, saved):
    return {finding.column: finding.state for finding in check_evidence(portal, saved)}


def test_a_value_is_proven_by_a_page_or_a_document(portal, saved):
    assert states(portal, saved) == {
        "host": EvidenceState.PROVEN,
        "feeds": EvidenceState.PROVEN,
        "language": EvidenceState.UNPROVEN,
    }


def test_evidence_that_does_not_exist_is_wrong(portal, saved):
    missing = replace(portal, evidence={"host": ["nothing.txt"]})
    (finding,) = [finding for finding in check_evidence(missing, saved) if finding.column == "host"]
    assert (finding.state, finding.detail) == (EvidenceState.WRONG, "there is no nothing.txt")


def test_a_page_in_another_language_disproves_the_language(portal, saved):
    german = replace(portal, language="de", evidence={"language": ["sites/river/1.html"]})
    assert states(german, saved)["language"] is EvidenceState.WRONG


def test_evidence_outside_of_the_folder_is_not_read(saved):
    assert saved.document("../../etc/passwd") is None
    assert saved.page("sites/../../x.html", "https://river.example.org/") is None


def test_a_folder_without_saved_pages_is_named(tmp_path):
    with pytest.raises(ConfigError, match="holds no saved pages"):
        SavedPages(tmp_path)


def test_a_host_is_named_alone_and_not_within_a_longer_one():
    assert _names_host("at River.example.org, too", "river.example.org")
    assert not _names_host("at www.river.example.org.evil", "river.example.org")
    assert _is_saved_page("sites/river/1.html")
    assert not _is_saved_page("notes.txt")
