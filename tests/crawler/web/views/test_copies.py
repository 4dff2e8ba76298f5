"""The views of copies."""

import pytest
from copied_pages import fill
from web_answers import check_inert

from crawler.storage.database import opened_engine


@pytest.fixture(scope="module")
def ask_copies(serving, ask_port, tmp_path_factory):
    """Ask a server of two sites that repeat each other."""
    url = f"sqlite:///{tmp_path_factory.mktemp('copies') / 'blocks.db'}"
    with opened_engine(url) as engine:
        fill(engine)
    with serving(url) as port:
        yield lambda path: ask_port(port, path)


def test_the_pairs_of_sites_lead_to_pages_and_to_two_pages_side_by_side(ask_copies):
    assert 'href="/copies/example.org/example.net"' in ask_copies("/copies").text
    document = ask_copies("/copies/example.org/example.net").text
    assert "identical" in document
    assert "scrapy duplicates --between example.org example.net &gt; copies.csv" in document
    edited = ask_copies("/api/copies/example.org/example.net").json["copies"][1]
    answer = ask_copies(f"/pages/{edited['copy']['id']}/beside/{edited['original']['id']}")
    check_inert(answer)
    assert "<del>is</del>" in answer.text
    assert "<ins>comes</ins>" in answer.text


def test_the_pairs_of_one_site(ask_copies):
    pairs = ask_copies("/api/copies?site=https://copy.example.net/1").json["pairs"]
    assert [(pair["original"], pair["site"], pair["articles"]) for pair in pairs] == [("example.org", "example.net", 3)]
    assert ask_copies("/api/copies?site=example.com").json["pairs"] == []
    assert "repeats no other" in ask_copies("/copies?site=example.com").text


def test_a_page_that_is_not_stored_stands_beside_nothing(ask_copies):
    answer = ask_copies("/api/pages/1/beside/999")
    assert (answer.status, answer.json["problem"]) == (404, "there is no page 999 in the database")


@pytest.mark.parametrize("order", ["articles", "pages", "texts", "original", "site", "first", "latest"])
def test_the_pairs_are_sorted_by_their_headings(ask_newspapers, order):
    answer = ask_newspapers(f"/api/copies?order={order}").json
    assert (answer["total"], answer["previous"]) == (len(answer["pairs"]), None)
    values = [pair[order] for pair in answer["pairs"]]
    assert values == sorted(values, reverse=order in {"articles", "pages", "texts", "latest"})
    assert f'href="/copies?order={order}"' in ask_newspapers("/copies").text
