"""The health board: which sites need a look, and why."""

from itertools import pairwise

import newspapers
import pytest


@pytest.fixture
def board(ask_newspapers):
    return {site["site"]: site for site in ask_newspapers("/api/sites").json["sites"]}


def test_sites_that_need_a_look_come_first(ask_newspapers):
    sites = ask_newspapers("/api/sites").json["sites"]
    ranks = [(not site["failing"], not site["needs_look"], site["site"]) for site in sites]
    assert ranks == sorted(ranks)
    assert {site["site"]: site["state"] for site in sites if site["needs_look"]} == {
        newspapers.REFUSED: "refused",
        newspapers.SILENT: "silent",
        newspapers.VANISHED: "vanished",
        newspapers.REDESIGNED: "less text",
        newspapers.QUIET: "no new text",
        newspapers.MOVED: "moved",
    }


def test_a_refused_site_says_since_when_everywhere(board, ask_newspapers):
    site = board[newspapers.REFUSED]
    assert site["sentence"].startswith("refused since 20")
    assert site["sentence"].endswith(" visits were refused")
    assert site["last_success"] < site["since"]
    assert ask_newspapers(f"/api/sites/{newspapers.REFUSED}").json["health"]["sentence"] == site["sentence"]
    words = site["sentence"].removeprefix("refused ")
    for path in ("/", "/sites", f"/sites/{newspapers.REFUSED}"):
        assert f'<span class="state bad">refused</span> {words}' in ask_newspapers(path).text


def test_a_redesign_shows_in_the_share_of_blocks_that_are_kept(board, ask_newspapers):
    site = board[newspapers.REDESIGNED]
    assert (site["kept_share"], site["less_kept"]) == (0.0, True)
    assert site["usual_share"] > 0.3
    assert not board[newspapers.OPEN]["less_kept"]
    assert ask_newspapers("/api/sites?order=kept").json["sites"][0]["site"] == newspapers.REDESIGNED
    days = ask_newspapers(f"/api/sites/{newspapers.REDESIGNED}?days=7").json["days"]
    assert len(days) == 7
    assert {day["kept_share"] for day in days} == {None, 0.0}


def test_a_site_that_has_moved_says_where_to(board):
    assert board[newspapers.MOVED]["sentence"] == f"its pages have moved to {newspapers.MOVED_TO}"
    assert (board[newspapers.MOVED]["pages"], board[newspapers.MOVED]["failing"]) == (0, False)


def test_a_trend_counts_the_new_and_changed_pages_of_each_day(board):
    assert len(board[newspapers.OPEN]["trend"]) == 21
    # The last seven times 24 hours begin on the eighth day.
    assert sum(board[newspapers.OPEN]["trend"][-8:]) >= board[newspapers.OPEN]["changed"] > 0
    assert sum(board[newspapers.QUIET]["trend"][-10:]) == 0


def test_states_filter_and_are_counted(ask_newspapers):
    board = ask_newspapers("/api/sites?state=problems").json
    assert board["states"]["problems"] == board["total"] == len(board["sites"]) == 6
    (site,) = ask_newspapers("/api/sites?state=less+text").json["sites"]
    assert site["site"] == newspapers.REDESIGNED
    assert ask_newspapers("/api/sites?state=less+text&begins=harbour").json["sites"] == []


@pytest.mark.parametrize(("order", "field"), [("pages", "pages"), ("changed", "changed")])
def test_the_address_orders_the_sites(ask_newspapers, order, field):
    values = [site[field] for site in ask_newspapers(f"/api/sites?order={order}").json["sites"]]
    assert all(first >= second for first, second in pairwise(values))
    assert 'href="/sites?order=pages"' in ask_newspapers("/sites").text


def test_the_longest_silence_comes_first(ask_newspapers):
    moments = [site["last_success"] for site in ask_newspapers("/api/sites?order=answered").json["sites"]]
    assert moments == sorted(moments)


def test_the_board_pages_back(ask_newspapers):
    later = ask_newspapers("/api/sites?cursor=10").json
    assert (len(later["sites"]), later["total"], later["previous"], later["next"]) == (11, 21, "0", None)
    assert ask_newspapers("/sites?order=fastest").status == 400
