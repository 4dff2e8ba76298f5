"""What one visit after another leaves in the database."""

from dataclasses import replace

import pytest
from sqlalchemy import event
from stored_prose import prose

from cleaning.blocks import Metadata
from crawler.storage.pages import UNREADABLE, compress, decompress
from crawler.storage.store import PageState, SavedVisit, Store
from crawler.visit import Outcome, Visit

A, B, C = "https://a.example/1", "https://b.example/2", "https://c.example/3"


def test_a_new_page_is_stored_with_its_blocks(save, visit, rows):
    saved = save(visit(A, prose(1), "short one"))
    assert saved == [SavedVisit(A, PageState.NEW, 1, stored=2)]
    blocks = rows("SELECT position, text, site, gone_at FROM block ORDER BY position")
    assert [(row["position"], row["text"]) for row in blocks] == [(0, prose(1)), (1, "short one")]
    assert rows("SELECT count(*) AS n FROM fingerprint") == [{"n": 1}]


def test_an_unchanged_page_stores_nothing_again(save, visit, rows):
    save(visit(A, prose(1), prose(2)))
    before = rows("SELECT id, text, first_seen FROM block ORDER BY id")
    assert save(visit(A, prose(1), prose(2), day=3)) == [SavedVisit(A, PageState.UNCHANGED, 1, refreshed=2)]
    assert rows("SELECT id, text, first_seen FROM block ORDER BY id") == before
    (page,) = rows("SELECT visits, changes, first_seen, last_seen, last_changed FROM page")
    assert (page["visits"], page["changes"]) == (2, 0)
    assert page["last_changed"] == page["first_seen"] < page["last_seen"]


def test_a_changed_paragraph_is_new_and_the_old_one_gone(save, visit, rows, page_texts):
    save(visit(A, prose(1), prose(2)))
    saved = save(visit(A, prose(1), prose(3), day=1))
    assert saved == [SavedVisit(A, PageState.CHANGED, 1, stored=1, refreshed=1, gone=1)]
    assert page_texts(A) == [prose(1), prose(3)]
    assert rows("SELECT text FROM block WHERE gone_at IS NOT NULL") == [{"text": prose(2)}]
    assert rows("SELECT changes, last_changed = last_seen AS now FROM page") == [{"changes": 1, "now": 1}]


def test_an_edit_within_three_bits_is_no_sighting_of_the_page_s_own_past(save, visit, candidate, rows):
    save(visit(A, candidate(0, prose(1), fingerprint=0b000)))
    saved = save(visit(A, candidate(0, prose(2), fingerprint=0b001), day=1))
    assert saved == [SavedVisit(A, PageState.CHANGED, 1, stored=1, gone=1)]
    assert rows("SELECT count(*) AS n FROM sighting") == [{"n": 0}]
    assert rows("SELECT count(*) AS n FROM fingerprint") == [{"n": 2}]


def test_a_text_that_returns_is_revived(save, visit, rows):
    save(visit(A, prose(1)))
    save(visit(A, prose(2), day=1))
    assert save(visit(A, prose(1), day=2)) == [SavedVisit(A, PageState.CHANGED, 1, refreshed=1, revived=1, gone=1)]
    assert rows("SELECT text FROM block WHERE gone_at IS NULL") == [{"text": prose(1)}]


def test_moved_blocks_keep_their_ids(save, visit, rows, page_texts):
    save(visit(A, prose(1), prose(2)))
    assert save(visit(A, prose(2), prose(1), day=1))[0].refreshed == 2
    assert page_texts(A) == [prose(2), prose(1)]
    assert rows("SELECT id, position FROM block ORDER BY id") == [{"id": 1, "position": 1}, {"id": 2, "position": 0}]


def test_a_page_of_which_nothing_is_kept_is_a_page(save, visit, rows):
    assert save(visit(A)) == [SavedVisit(A, PageState.NEW, 1)]
    assert rows("SELECT url FROM page") == [{"url": A}]


def test_the_same_page_twice_in_a_batch_is_one_page(save, visit, rows):
    states = [saved.state for saved in save(visit(A, prose(1)), visit(A, prose(1), day=1))]
    assert states == [PageState.NEW, PageState.UNCHANGED]
    assert rows("SELECT visits FROM page") == [{"visits": 2}]


def test_a_failing_visit_undoes_its_whole_batch(save, visit, candidate, rows):
    broken = visit(B, candidate(0, prose(2), repeats=5))
    with pytest.raises(KeyError):
        save(visit(A, prose(1)), broken)
    for table in ("page", "block", "sighting", "fingerprint"):
        assert rows(f"SELECT count(*) AS n FROM {table}") == [{"n": 0}]


def test_visits_without_a_page_are_returned_in_their_place(save, visit, rows):
    refused = Visit(B, visit(B).at, Outcome.CAPTCHA, 403)
    uncleaned = Visit(C, visit(C).at, Outcome.CLEANING_FAILED, 200, page=visit(C).page.fetched)
    saved = save(refused, visit(A, prose(1)), uncleaned)
    assert [(result.url, result.state) for result in saved] == [
        (B, PageState.NONE),
        (A, PageState.NEW),
        (C, PageState.NONE),
    ]
    assert rows("SELECT url FROM page") == [{"url": A}]


def test_no_visits_are_saved_as_nothing(save):
    assert save() == []


def test_nul_and_lone_surrogates_are_no_obstacle(save, visit, rows):
    stated = Metadata(authors=("a\x00b\udc80c",), section="\ud800", language="e\x00n")
    save(visit(f"{A}?q=\x00\ud800", prose(1), title="t\x00\udfffi\x1btle", stated=stated))
    (page,) = rows("SELECT url, title, author, section, language FROM page")
    assert page == {"url": f"{A}?q=\ufffd\ufffd", "title": "title", "author": "abc", "section": "", "language": "en"}


def test_what_the_spider_states_wins(save, visit, rows):
    save(visit(A, title="of the page", stated=Metadata(authors=("stated",))))
    save(visit(B, title="of the page", stated=Metadata(title="stated")))
    assert rows("SELECT title, author FROM page ORDER BY id") == [
        {"title": "of the page", "author": "stated"},
        {"title": "stated", "author": None},
    ]


def test_a_canonical_url_makes_one_page_of_two_addresses(save, visit, rows):
    save(visit(f"{A}?from=mail", prose(1), canonical=A))
    assert save(visit(f"{A}?from=feed", prose(1), canonical=A))[0].state is PageState.UNCHANGED
    assert rows("SELECT url, url_key FROM page") == [{"url": f"{A}?from=mail", "url_key": A}]


def test_pages_that_all_call_the_home_page_canonical_stay_apart(save, visit, rows):
    root = "https://a.example/"
    save(visit(f"{root}?One&id=1", prose(1), canonical=root), visit(f"{root}?Two&id=2", prose(2), canonical=root))
    assert rows("SELECT count(*) AS n FROM page") == [{"n": 2}]


def test_credentials_in_a_url_are_not_stored(save, visit, rows):
    save(visit("https://me:secret@a.example/x"))
    assert rows("SELECT url, url_key FROM page") == [{"url": "https://a.example/x", "url_key": "https://a.example/x"}]


def test_html_is_kept_compressed_and_replaced_when_it_changes(save, visit, rows):
    for day, body in enumerate([b"<p>one" * 100, b"<p>one" * 100, b"<p>two" * 100]):
        save(visit(A, prose(1), day=day, body=body))
        stored = rows("SELECT html FROM page")[0]["html"]
        assert len(stored) < len(body)
        assert decompress(stored) == body


def test_damaged_html_is_an_error_and_no_other_page():
    compressed = bytearray(compress(bytes(range(256)) * 8))
    for place in (0, len(compressed) // 2, len(compressed) - 1):
        damaged = compressed[:place] + bytes([compressed[place] ^ 1]) + compressed[place + 1 :]
        with pytest.raises(UNREADABLE):
            decompress(bytes(damaged))
    with pytest.raises(UNREADABLE):
        decompress(bytes(compressed[:-1]))


def test_html_is_left_out_if_the_setting_is_off(engine, visit, rows):
    for keep, expected in ((False, None), (True, b"<p>"), (False, None)):
        store = Store(engine, keep_html=keep)
        store.save(store.begin_crawl("test", {}), [visit(A, body=b"<p>")])
        stored = rows("SELECT html FROM page")[0]["html"]
        assert (stored if stored is None else decompress(stored)) == expected


def test_a_batch_takes_the_same_statements_whatever_its_number_of_pages(engine, save, visit):
    def pages(first, number, texts):
        url = "https://lake.example.org/{}"
        return [
            visit(url.format(first + page), *(prose(100 * page + texts + seed) for seed in range(15)))
            for page in range(number)
        ]

    save(visit(A, *(prose(seed) for seed in range(15))))
    statements = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    counts = []
    for first, number, texts in ((0, 1, 1000), (1, 40, 2000), (0, 1, 1001), (0, 40, 2001)):
        statements.clear()
        save(*pages(first, number, texts))
        counts.append(len(statements))
    new, many_new, changed, many_changed = counts
    assert new <= many_new <= 35
    assert changed <= many_changed <= 40


def test_the_new_pages_of_a_batch_are_inserted_by_one_statement(engine, save, visit, rows):
    save(visit(B, "An old mill"))
    statements = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    saved = save(visit(A, "The river"), visit(B, "A new mill"), visit(C, "The bridge"))
    assert [result.state for result in saved] == [PageState.NEW, PageState.CHANGED, PageState.NEW]
    assert sum(statement.startswith("INSERT INTO page (") for statement in statements) == 1
    assert rows("SELECT id, url FROM page ORDER BY id") == [
        {"id": result.page_id, "url": url} for result, url in ((saved[1], B), (saved[0], A), (saved[2], C))
    ]


def test_a_page_is_not_there_before_the_visit_that_finds_it(save, visit, rows):
    missing = replace(visit(A), outcome=Outcome.NOT_FOUND, status=404, page=None)
    saved = save(missing, visit(A, "The river"), visit(B, "The bridge"), visit(B, "A wide bridge", day=1))
    assert [result.state for result in saved] == [PageState.NONE, PageState.NEW, PageState.NEW, PageState.CHANGED]
    assert rows("SELECT misses, visits FROM page ORDER BY id") == [
        {"misses": 0, "visits": 1},
        {"misses": 0, "visits": 2},
    ]


@pytest.mark.slow
def test_a_page_of_ten_thousand_blocks_is_stored_and_stored_again(save, visit):
    blocks = [f"number {n} of many short blocks" for n in range(10_500)]
    assert save(visit(A, *blocks))[0].stored == len(blocks)
    assert save(visit(A, *blocks))[0].refreshed == len(blocks)
    assert save(visit("https://www.a.example/2", *blocks))[0].exact == len(blocks)


def test_a_page_visited_twice_in_a_batch_is_found_by_its_last_words(save, visit, rows, candidate):
    first = [candidate(0, "an old mill"), candidate(1, "the river"), candidate(2, "the bridge")]
    block = replace(first[1].decision.block, priority=0.25)
    second = [candidate(0, "An - OLD - mill!"), replace(first[1], decision=replace(first[1].decision, block=block))]
    save(visit(A, *first), visit(A, *second, day=1))
    tokens = rows("SELECT block_id, words, priority, tokens FROM block_tokens ORDER BY block_id")
    blocks = rows("SELECT id AS block_id, priority FROM block ORDER BY id")
    assert [{"block_id": row["block_id"], "priority": row["priority"]} for row in tokens] == blocks
    assert [row["tokens"] for row in tokens] == [" an  old  mill ", " the  river ", " the  bridge "]
    assert (tokens[0]["words"], tokens[1]["priority"]) == (3, 0.25)
    save(visit(A, candidate(0, "An old MILL"), day=2), visit(A, candidate(0, "an old mill"), day=3))
    last = rows("SELECT words, tokens FROM block_tokens ORDER BY block_id LIMIT 1")
    assert last == [{"words": 3, "tokens": " an  old  mill "}]
