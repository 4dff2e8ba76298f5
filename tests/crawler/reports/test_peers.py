"""Other extractors: what they find, what is missing, and BTE, which is ours to write."""

import json
from pathlib import Path

import pytest

from crawler.errors import CompareError
from crawler.reports import peers
from crawler.reports.peers import PEERS, Peer, body_text, load_peers

GOLDEN = Path(__file__).parents[2] / "golden" / "news-article"
PAGE = (GOLDEN / "page.html").read_bytes()
LONGEST = max(json.loads((GOLDEN / "expected.json").read_text("utf-8"))["kept"], key=len)


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_each_finds_the_article(name):
    text = load_peers(name)[name](PAGE)
    assert " ".join(LONGEST.split()[:8]) in " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({"boilerpy3", "inscriptis", "BTE", "jusText", "readability-lxml"}))
def test_the_encoding_of_the_page_is_used(name):
    text = "Über die Brücke führte früher eine schmale Straße, die im Winter geschlossen und im Sommer gefährlich war. "
    page = f"<html lang='de'><body><h1>Über</h1>{f'<p>{text * 3}</p>' * 5}</body></html>"
    assert "Brücke führte früher" in PEERS[name].load()(page.encode("cp1252"), "cp1252")


def test_names_are_separated_by_semicolons():
    assert list(load_peers("BTE")) == ["BTE"]
    with pytest.raises(CompareError, match="--peers names 'nothing'; known: trafilatura; trafilatura, no comments;"):
        load_peers("BTE; nothing")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(peers.PEERS, "lost", Peer("lost-package", "no_such_module", dict))
    with pytest.raises(CompareError, match=r"--peers needs lost-package: pip install lost-package"):
        load_peers("lost")


def test_bte_is_the_stretch_with_most_words_and_fewest_tags():
    page = (
        "<html><ul><li><a href='/'>Home</a></li><li><a>News</a></li></ul><script>var text = 'many words';</script>"
        "<p>One two three <b>four</b> five six seven.</p><!-- a comment --><p>Eight nine ten eleven.</p>"
        "<ul><li><a>About</a></li></ul></html>"
    )
    assert body_text(page) == "One two three four five six seven. Eight nine ten eleven."
    assert body_text("") == body_text("<p><br>") == ""
