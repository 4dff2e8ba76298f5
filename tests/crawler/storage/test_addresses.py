"""Which address a page is stored under: canonical addresses that are believed, and those that are not."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import permutations
from threading import Barrier

import pytest
from sqlalchemy import text

from crawler.reading.exports.export import ExportRequest, write_export
from crawler.reading.exports.rows import ExportContent
from crawler.reading.history import read_page_history
from crawler.schedule import RevisitBounds
from crawler.storage.addresses import PageText
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.pages import REVISIT_KEY, PageAbsence, keys_not_due
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.queries import read_contents
from crawler.storage.state import AddressRows
from crawler.storage.store import PageState, Store
from crawler.urls import url_key
from crawler.visit import Outcome, RequestRecord, Visit

SITE = "https://a.example"
LISTING = f"{SITE}/news/"
TOPICS = ("harbour", "glacier", "violin", "parliament", "orchard")


def article(topic):
    """Two paragraphs that have nothing in common with those of another topic."""
    return [" ".join(f"{topic}{part}{number}" for number in range(25)) for part in ("first", "second")]


def address(topic):
    return f"{SITE}/news/{topic}.html"


@pytest.fixture
def lying(visit):
    """A visit of an article that states the listing as its canonical address."""

    def make(topic, *, day=0, canonical=LISTING, **values):
        return visit(address(topic), *article(topic), day=day, canonical=canonical, title=topic, **values)

    return make


@pytest.fixture
def addresses(rows):
    """The pages as (URL, key, doubted canonical address), in the order of their URLs."""

    def read():
        page_rows = rows("SELECT url, url_key, doubted_canonical FROM page ORDER BY url")
        return [(row["url"], row["url_key"], row["doubted_canonical"]) for row in page_rows]

    return read


def own_addresses(*topics):
    return [(address(topic), address(topic), LISTING) for topic in sorted(topics)]


@pytest.mark.parametrize("canonical", [LISTING, f"{SITE}/index.html", f"{SITE}/?lang=en", address("orchard")])
def test_articles_that_state_one_canonical_address_stay_apart(save, lying, addresses, page_texts, canonical):
    saved = [save(lying(topic, canonical=canonical))[0] for topic in TOPICS[:4]]
    assert [result.state for result in saved] == [PageState.NEW] * 4
    assert [result.doubted_canonical for result in saved] == [None, canonical, canonical, canonical]
    assert addresses() == [(address(topic), address(topic), canonical) for topic in sorted(TOPICS[:4])]
    assert [page_texts(address(topic)) for topic in TOPICS[:4]] == [article(topic) for topic in TOPICS[:4]]


def test_articles_of_one_batch_stay_apart(save, lying, addresses):
    saved = save(*(lying(topic) for topic in TOPICS))
    assert {result.state for result in saved} == {PageState.NEW}
    assert addresses() == own_addresses(*TOPICS)


def test_a_later_crawl_finds_each_article_again(store, lying, addresses, rows):
    for day in range(3):
        crawl_id = store.begin_crawl("test", {})
        saved = [store.save(crawl_id, [lying(topic, day=day)])[0] for topic in TOPICS]
    assert {result.state for result in saved} == {PageState.UNCHANGED}
    assert addresses() == own_addresses(*TOPICS)
    assert rows("SELECT DISTINCT visits, changes FROM page") == [{"visits": 3, "changes": 0}]


def test_an_article_that_no_longer_states_the_listing_keeps_its_history(save, lying, visit, addresses, rows):
    save(*(lying(topic) for topic in TOPICS[:2]))
    honest = visit(address(TOPICS[0]), *article(TOPICS[0]), day=1, title=TOPICS[0])
    assert save(honest)[0].state is PageState.UNCHANGED
    assert addresses() == [
        (address("glacier"), address("glacier"), LISTING),
        (address("harbour"), address("harbour"), None),
    ]
    assert rows("SELECT visits FROM page ORDER BY url") == [{"visits": 1}, {"visits": 2}]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("last", ["harbour", "orchard"], ids=["a circle", "a chain"])
def test_articles_that_state_each_other_stay_apart(save, lying, page_texts, order, last):
    stated = {"harbour": "violin", "violin": "glacier", "glacier": last}
    topics = [list(stated)[number] for number in order]
    for day in range(2):
        for topic in topics:
            save(lying(topic, day=day, canonical=address(stated[topic])))
    assert [page_texts(address(topic)) for topic in topics] == [article(topic) for topic in topics]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_listing_and_articles_does_not_matter(save, lying, visit, addresses, order):
    listing = visit(LISTING, *(" ".join(article(topic)[0].split()[:9]) for topic in TOPICS), title="News")
    visits = [listing, lying("harbour"), lying("violin")]
    for number in order:
        save(visits[number])
    assert addresses() == [(LISTING, LISTING, None), *own_addresses("harbour", "violin")]


def test_a_single_liar_gives_way_when_the_listing_comes(save, lying, visit, addresses, page_texts):
    save(lying("harbour"))
    assert addresses() == [(address("harbour"), LISTING, None)]
    assert save(visit(LISTING, "Today's headlines of our town", title="News"))[0].state is PageState.NEW
    assert addresses() == [(LISTING, LISTING, None), *own_addresses("harbour")]
    assert page_texts(address("harbour")) == article("harbour")


def test_the_next_export_shows_the_address_that_is_not_believed(engine, save, lying, visit, tmp_path):
    def export(since=None):
        path = tmp_path / "pages.jsonl"
        result = write_export(engine, ExportRequest(path, ".jsonl", ExportContent.PAGES, since=since), lambda _: None)
        rows = map(json.loads, path.read_text().splitlines())
        return {row["url"]: row["doubted_canonical"] for row in rows}, result.cursor

    save(lying("harbour"))
    stated, cursor = export()
    assert stated == {address("harbour"): None}
    save(visit(LISTING, "Today's headlines of our town", title="News"))
    assert export(cursor)[0] == {LISTING: None, address("harbour"): LISTING}


@pytest.fixture
def joined(engine):
    """A store that has joined a crawl whose pages and sections can be visited again."""
    store = Store(engine)
    crawl_id = store.join_crawl("one", {}, CrawlPolicy(revisits=RevisitBounds(3600, 864_000))).crawl_id
    yield lambda *visits: store.save(crawl_id, visits)
    if store._crawl_lock is not None:
        store._crawl_lock.close()


def request_for(url, key=None):
    meta = {} if key is None else {REVISIT_KEY: key}
    return RequestRecord("key", url, "a.example", callback="parse_article", meta=meta)


def section_visit(now, url=LISTING):
    child = RequestRecord("child", address("harbour"), "a.example")
    return Visit(url, now, Outcome.SECTION, 200, children=1, request=request_for(url), requests=(child,))


@pytest.mark.parametrize("section_first", [True, False])
def test_an_address_of_a_section_is_not_believed(joined, lying, now, addresses, section_first):
    visits = [section_visit(now), replace(lying("harbour"), request=request_for(address("harbour")))]
    for visit in visits if section_first else reversed(visits):
        joined(visit)
    assert addresses() == own_addresses("harbour")


def test_a_revisit_of_a_page_that_gives_way_does_not_miss_the_section(joined, lying, now, rows):
    request = request_for(address("harbour"), LISTING)
    joined(replace(lying("harbour"), request=request_for(address("harbour"))))
    joined(section_visit(now))
    joined(replace(lying("harbour", day=1), request=request))
    assert rows("SELECT misses FROM section") == [{"misses": 0}]
    assert rows("SELECT url_key, misses, visits FROM page") == [
        {"url_key": address("harbour"), "misses": 0, "visits": 2}
    ]


VARIANTS = (
    f"{SITE}/news/harbour.html?print=1",
    f"{SITE}/news/harbour.html?page=all",
    f"{SITE}/amp/harbour",
    "https://m.a.example/news/harbour.html",
    "http://www.a.example/news/harbour.html?utm_source=mail",
)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("variant_first", [True, False])
def test_variants_with_the_same_text_are_one_page(save, visit, rows, variant, variant_first):
    own = address("harbour")
    pair = [
        visit(own, *article("harbour"), canonical=own, title="harbour"),
        visit(variant, *article("harbour"), "Printed for you", canonical=own, title="harbour - print"),
    ]
    for page_visit in pair if variant_first else reversed(pair):
        save(page_visit)
    save(*pair)
    assert rows("SELECT url_key, doubted_canonical, visits FROM page") == [
        {"url_key": own, "doubted_canonical": None, "visits": 4}
    ]


def test_variants_that_say_a_little_more_or_less_change_nothing(save, visit, rows, page_texts):
    """In each crawl the variants are read before the page and after it."""
    own, first, second = address("harbour"), *VARIANTS[:2]
    texts = [*article("harbour"), "Share this"]
    for day in range(3):
        visits = [
            visit(first, *texts[:2], day=day, canonical=own, title="print"),
            visit(own, *texts, day=day, canonical=own, title="harbour"),
            visit(second, *texts, "Printed for you", day=day, canonical=own, title="all"),
        ]
        states = [save(page_visit)[0].state for page_visit in visits]
    assert states == [PageState.UNCHANGED] * 3
    assert page_texts(own) == texts
    assert rows("SELECT url, title, visits, changes FROM page") == [
        {"url": own, "title": "harbour", "visits": 9, "changes": 0}
    ]
    assert rows("SELECT kind FROM page_event") == [{"kind": "new"}]


def test_a_variant_stands_for_a_page_that_is_missing(save, visit, now, rows, page_texts):
    own, print_version = address("harbour"), VARIANTS[0]
    save(visit(own, *article("harbour"), canonical=own))
    save(Visit(own, now, Outcome.NOT_FOUND, 404, request=request_for(own)))
    save(visit(print_version, *article("harbour"), "Printed for you", canonical=own, day=1))
    assert rows("SELECT url, url_key, misses FROM page") == [{"url": print_version, "url_key": own, "misses": 0}]
    assert page_texts(print_version)[2:] == ["Printed for you"]


MANUAL = {
    "latest": "Call connect() with a timeout of 30 seconds; close() is done by the context.",
    "v1": "Call open() with a timeout of 10 seconds, and close() when you are done.",
    "v2": "Call connect() with a timeout of 20 seconds, and close() when you are done.",
}


@pytest.mark.parametrize("order", list(permutations(MANUAL)))
@pytest.mark.parametrize("together", [True, False])
def test_versions_of_a_manual_that_state_the_latest_stay_apart(save, visit, addresses, page_texts, order, together):
    """Their titles are the same, and so are most of their words."""
    latest = f"{SITE}/latest/install.html"
    common = [*article("harbour"), *article("glacier")]
    for day in range(3):
        visits = [
            visit(f"{SITE}/{name}/install.html", *common, MANUAL[name], day=day, canonical=latest, title="Installation")
            for name in order
        ]
        states = save(*visits) if together else [save(page_visit)[0] for page_visit in visits]
    assert {saved.state for saved in states} == {PageState.UNCHANGED}
    urls = {name: f"{SITE}/{name}/install.html" for name in MANUAL}
    assert addresses() == [(url, url, None if name == "latest" else latest) for name, url in urls.items()]
    assert {name: page_texts(url) for name, url in urls.items()} == {name: [*common, MANUAL[name]] for name in urls}


def test_pages_of_a_long_article_do_not_overwrite_its_first_page(save, visit, addresses, page_texts):
    own = address("harbour")
    save(visit(own, *article("harbour"), canonical=own, title="harbour"))
    save(visit(f"{own}?page=2", *article("orchard"), canonical=own, title="harbour"))
    assert addresses() == [(own, own, None), (f"{own}?page=2", f"{own}?page=2", own)]
    assert page_texts(own) == article("harbour")


def test_a_doubted_variant_that_shows_the_same_text_again_joins_its_page(save, visit, addresses, rows, page_texts):
    own, print_version = address("harbour"), VARIANTS[0]
    save(visit(own, *article("harbour"), canonical=own, title="harbour"))
    save(visit(print_version, *article("violin"), canonical=own, title="harbour", day=1))
    assert len(addresses()) == 2
    saved = save(visit(print_version, *article("harbour"), canonical=own, title="harbour", day=2))
    assert saved[0].state is PageState.UNCHANGED
    assert [(key, doubted) for _, key, doubted in addresses()] == [(own, None)]
    assert page_texts(own) == article("harbour")
    assert rows("SELECT visits FROM page") == [{"visits": 3}]
    assert rows("SELECT id FROM block WHERE page_id NOT IN (SELECT id FROM page)") == []


def test_a_variant_that_states_its_canonical_address_later_keeps_its_history(save, visit, addresses, rows):
    own, print_version = address("harbour"), VARIANTS[0]
    save(visit(print_version, *article("harbour"), title="harbour"))
    save(visit(print_version, *article("harbour"), canonical=own, title="harbour", day=1))
    assert save(visit(own, *article("harbour"), canonical=own, title="harbour", day=2))[0].state is PageState.UNCHANGED
    assert addresses() == [(own, own, None)]
    assert rows("SELECT visits FROM page") == [{"visits": 3}]


@pytest.mark.parametrize("together", [True, False])
def test_a_page_that_states_its_address_with_https_later_keeps_its_history(save, visit, rows, together):
    plain = [f"http://a.example/{number}" for number in (1, 2)]
    save(*(visit(url, *article(url[-1])) for url in plain))
    later = [visit(url, *article(url[-1]), canonical=url.replace("http:", "https:"), day=1) for url in plain]
    for batch in [later] if together else [[page_visit] for page_visit in later]:
        save(*batch)
    assert rows("SELECT url_key, visits FROM page ORDER BY url_key") == [
        {"url_key": url.replace("http:", "https:"), "visits": 2} for url in plain
    ]


def test_a_site_that_begins_to_state_one_address_everywhere_loses_nothing(save, lying, visit, addresses, rows):
    save(*(visit(address(topic), *article(topic), title=topic) for topic in TOPICS))
    saved = save(*(lying(topic, day=1) for topic in TOPICS))
    assert {result.state for result in saved} == {PageState.UNCHANGED}
    assert addresses() == own_addresses(*TOPICS)
    assert rows("SELECT DISTINCT visits FROM page") == [{"visits": 2}]


def test_pages_that_an_earlier_version_made_one_come_apart(save, lying, engine, addresses, page_texts):
    """Four articles stored one over the other: one row under the listing, with the address of the last one."""
    save(lying("violin"))
    save(*(lying(topic, day=1) for topic in TOPICS))
    assert addresses() == own_addresses(*TOPICS)
    assert [page_texts(address(topic)) for topic in TOPICS] == [article(topic) for topic in TOPICS]


@pytest.mark.parametrize("held", ["harbour", "orchard"])
def test_a_page_gives_way_to_what_is_stored_at_its_own_address(save, lying, visit, engine, rows, held):
    def move(key, to):
        with engine.begin() as connection:
            connection.execute(text("UPDATE page SET url_key = :to WHERE url_key = :key"), {"key": key, "to": to})

    save(lying("harbour"))
    move(LISTING, f"{SITE}/away")
    save(visit(address("harbour"), *article(held), day=1))
    move(f"{SITE}/away", LISTING)
    save(lying("violin", day=2))
    assert rows("SELECT url, url_key, visits FROM page ORDER BY url") == [
        {"url": address("harbour"), "url_key": address("harbour"), "visits": 2},
        {"url": address("violin"), "url_key": address("violin"), "visits": 1},
    ]
    assert rows("SELECT site, pages FROM site") == [{"site": "a.example", "pages": 2}]
    assert rows("SELECT id FROM block WHERE page_id NOT IN (SELECT id FROM page)") == []


def test_two_writers_that_store_liars_at_once_lose_nothing(closing_store, lying, addresses, store):
    crawl_id = store.begin_crawl("test", {})
    started = Barrier(2)

    def write(topics):
        with closing_store() as own:
            started.wait()
            for topic in topics:
                own.save(crawl_id, [lying(topic)])

    with ThreadPoolExecutor(2) as pool:
        for written in [pool.submit(write, TOPICS[:3]), pool.submit(write, TOPICS[3:])]:
            written.result()
    assert addresses() == own_addresses(*TOPICS)


def test_documents_are_counted_once_after_pages_came_apart(save, lying, rows):
    save(*(lying(topic) for topic in TOPICS))
    save(*(lying(topic, day=1) for topic in TOPICS))
    assert rows("SELECT site, pages FROM site") == [{"site": "a.example", "pages": len(TOPICS)}]
    assert rows("SELECT DISTINCT pages FROM document_frequency") == [{"pages": 1}]


@pytest.mark.parametrize("address", ["#!/news/1", "#!news/1"])
def test_hashbang_addresses_are_pages_of_their_own(save, visit, addresses, address):
    save(visit(f"{SITE}/{address}", *article("harbour")), visit(f"{SITE}/{address}2", *article("violin")))
    assert [key for _, key, _ in addresses()] == [f"{SITE}/{address}", f"{SITE}/{address}2"]


def test_two_texts_are_of_one_page_if_most_terms_are_in_both():
    whole = PageText.of("harbour", article("harbour"))
    assert whole.is_same(PageText.of("harbour", article("harbour")[:1]))
    assert not whole.is_same(PageText.of("another title", article("harbour")[:1]))
    assert whole.is_same(PageText.of("another title", [*article("harbour"), "printed today"]))
    assert not whole.is_same(PageText.of("harbour", article("violin")))


def test_pages_without_text_are_one_page_if_their_titles_are():
    assert PageText.of("Photo 1", []).is_same(PageText.of("Photo 1", []))
    assert not PageText.of("Photo 1", []).is_same(PageText.of("Photo 2", []))
    assert not PageText.of(None, []).is_same(PageText.of(None, []))
    assert PageText.of("Photo 1", []).agrees(PageText.of("Photo 1", []))
    assert not PageText.of(None, []).agrees(PageText.of(None, []))


NEW_SITE = "https://b.example"


@pytest.fixture
def moved(visit):
    """A visit of an article to which old addresses redirect for good."""

    def make(topic, url, *old, day=1, texts=None, **values):
        page_visit = visit(url, *(texts or article(topic)), day=day, title=topic, **values)
        return replace(page_visit, moved_from=tuple(url_key(old_url) for old_url in old))

    return make


@pytest.fixture
def addressed(rows):
    """The other addresses, with those that they lead to."""
    return lambda: {row["url_key"]: row["leads_to"] for row in rows("SELECT * FROM address")}


@pytest.fixture
def redirected(store, now):
    """Record that URLs redirect for good to one that has a request of its own."""
    return lambda new, *urls: store.record_absences([PageAbsence(url_key(url), url, now, new) for url in urls])


@pytest.mark.parametrize("new", ["https://a.example/news/harbour", "https://www.a.example/x", f"{NEW_SITE}/harbour"])
def test_a_page_moves_with_its_history(save, visit, moved, rows, addressed, new):
    old = "http://a.example/news/harbour.html"
    save(visit(old, *article("harbour"), "A heading of its own", title="harbour"))
    before = rows("SELECT id, first_seen FROM page ORDER BY id")
    saved = save(moved("harbour", new, old, texts=[*article("harbour"), "A heading of its own"]))[0]
    assert (saved.state, saved.moved, saved.refreshed, saved.stored) == (PageState.UNCHANGED, 1, 3, 0)
    assert rows("SELECT id, first_seen FROM page ORDER BY id") == before
    site = url_key(new).split("/")[2].removeprefix("www.")
    assert rows("SELECT url, url_key, site, visits, changes, misses FROM page") == [
        {"url": new, "url_key": new, "site": site, "visits": 2, "changes": 0, "misses": 0}
    ]
    assert rows("SELECT DISTINCT site FROM block") == [{"site": site}]
    assert rows("SELECT site, pages FROM site WHERE pages > 0") == [{"site": site, "pages": 1}]
    assert rows("SELECT DISTINCT site, pages FROM document_frequency") == [{"site": site, "pages": 1}]
    assert addressed() == {old: new}


def test_an_edited_page_moves_as_a_change(save, visit, moved, rows):
    save(visit(address("harbour"), *article("harbour"), title="harbour"))
    edited = [article("harbour")[0], article("harbour")[1] + " corrected"]
    assert save(moved("harbour", f"{NEW_SITE}/1", address("harbour"), texts=edited))[0].state is PageState.CHANGED
    assert rows("SELECT visits, changes FROM page") == [{"visits": 2, "changes": 1}]


def test_incremental_exports_see_a_move(save, visit, moved, rows):
    save(visit(address("harbour"), *article("harbour"), title="harbour"))
    (first,) = rows("SELECT described FROM change_log")
    save(moved("harbour", f"{NEW_SITE}/1", address("harbour")))
    (second,) = rows("SELECT described FROM change_log")
    assert second["described"] > first["described"]


def test_a_page_moves_along_a_chain_and_again(save, visit, moved, rows, addressed):
    hops = [f"{SITE}/1", f"{SITE}/2", f"{NEW_SITE}/3", f"{NEW_SITE}/4"]
    save(visit(hops[0], *article("harbour"), title="harbour"))
    save(moved("harbour", hops[2], hops[0], hops[1]))
    save(moved("harbour", hops[3], hops[2], day=2))
    assert rows("SELECT url, visits FROM page") == [{"url": hops[3], "visits": 3}]
    assert addressed() == {hops[0]: hops[3], hops[2]: hops[3]}


def test_a_page_that_is_stored_at_the_new_address_becomes_one_with_the_old_page(save, visit, moved, rows, page_texts):
    old, new = address("harbour"), f"{NEW_SITE}/harbour"
    save(visit(old, *article("harbour"), title="harbour"))
    save(visit(new, *article("harbour"), title="harbour", day=1))
    assert rows("SELECT count(*) AS n FROM sighting") == [{"n": 2}]
    assert save(moved("harbour", new, old, day=2))[0].moved == 1
    assert rows("SELECT url, site, visits FROM page") == [{"url": new, "site": "b.example", "visits": 3}]
    assert page_texts(new) == article("harbour")
    assert rows("SELECT DISTINCT url, text FROM informative_block ORDER BY text") == [
        {"url": new, "text": text} for text in sorted(article("harbour"))
    ]
    assert rows("SELECT site, pages FROM site WHERE pages > 0") == [{"site": "b.example", "pages": 1}]


def test_removed_articles_that_redirect_to_one_page_do_not_move_there(save, visit, moved, rows):
    """A site that redirects what it has removed to its home page, or to a form."""
    home = f"{SITE}/"
    save(*(visit(address(topic), *article(topic), title=topic) for topic in TOPICS))
    front = [" ".join(article(topic)[0].split()[:6]) for topic in TOPICS]
    saved = save(moved("News", home, *map(address, TOPICS), texts=front))[0]
    assert (saved.state, saved.moved) == (PageState.NEW, 0)
    assert rows("SELECT count(*) AS n FROM page") == [{"n": len(TOPICS) + 1}]


def test_a_retired_page_that_moved_is_active_again(save, visit, moved, now, rows):
    save(visit(address("harbour"), *article("harbour"), title="harbour"))
    save(Visit(address("harbour"), now, Outcome.NOT_FOUND, 410))
    assert rows("SELECT url FROM page WHERE retired_at IS NOT NULL") == [{"url": address("harbour")}]
    save(moved("harbour", f"{NEW_SITE}/1", address("harbour")))
    assert rows("SELECT url, retired_at FROM page") == [{"url": f"{NEW_SITE}/1", "retired_at": None}]
    assert rows("SELECT site, pages FROM site WHERE pages > 0") == [{"site": "b.example", "pages": 1}]


@pytest.mark.parametrize("together", [True, False])
def test_a_redirect_to_a_stored_page_joins_the_two(redirected, visit, save, rows, together):
    """The new page was stored by way of its own links before the old address was asked for again."""
    old, new = address("harbour"), f"{NEW_SITE}/harbour"
    other = address("violin")
    save(visit(old, *article("harbour"), title="harbour"), visit(other, *article("violin"), title="violin"))
    save(visit(new, *article("harbour"), title="harbour", day=1))
    saved = redirected(new, old, other) if together else [redirected(new, url)[0] for url in (old, other)]
    assert [(result.state, result.moved) for result in saved] == [(PageState.NONE, 1), (PageState.MISSED, 0)]
    assert rows("SELECT url, misses, visits FROM page ORDER BY url") == [
        {"url": other, "misses": 1, "visits": 1},
        {"url": new, "misses": 0, "visits": 2},
    ]


@pytest.mark.parametrize("together", [True, False])
def test_a_redirect_to_a_page_that_is_still_to_be_visited_joins_the_two(
    redirected, visit, save, rows, addressed, together
):
    """The listing of the new site links to its pages, so a page there has a request of its own, which comes later."""
    old, other = map(address, ("harbour", "violin"))
    new = f"{NEW_SITE}/harbour"
    save(visit(old, *article("harbour"), title="harbour"), visit(other, *article("violin"), title="violin"))
    redirected(new, old, other)
    assert addressed() == {old: new, other: new}
    visits = [
        visit(new, *article("harbour"), title="harbour", day=1),
        visit(f"{NEW_SITE}/road", *article("road"), title="road", day=1),
    ]
    saved = save(*visits) if together else [save(visit)[0] for visit in visits]
    assert [(result.state, result.moved) for result in saved] == [(PageState.UNCHANGED, 1), (PageState.NEW, 0)]
    assert rows("SELECT url, misses, visits FROM page ORDER BY url") == [
        {"url": other, "misses": 1, "visits": 1},
        {"url": new, "misses": 0, "visits": 2},
        {"url": f"{NEW_SITE}/road", "misses": 0, "visits": 1},
    ]
    assert addressed() == {old: new}


def test_a_retired_page_at_the_new_address_is_not_removed_with_the_page_that_waits(
    redirected, visit, save, rows, engine, now
):
    old, new = address("harbour"), f"{NEW_SITE}/violin"
    save(visit(new, *article("violin"), title="violin"))
    save(Visit(new, now, Outcome.NOT_FOUND, 410), visit(old, *article("harbour"), title="harbour"))
    redirected(new, old)
    with engine.connect() as connection:
        assert read_page_history(connection, old).url == old
    assert prune_pages(engine, PruneSelection(url=old)).pages == 1
    assert rows("SELECT url FROM page") == [{"url": new}]


def test_a_section_moves_unless_it_redirects_to_the_home_page(joined, now, rows, addressed):
    sections = [f"{SITE}/sport/", f"{SITE}/closed/"]
    for url in sections:
        joined(section_visit(now, url))
    joined(replace(section_visit(now, f"{NEW_SITE}/sports/"), moved_from=(sections[0],)))
    joined(replace(section_visit(now, f"{NEW_SITE}/"), moved_from=(sections[1],)))
    assert rows("SELECT url, site, visits FROM section ORDER BY url") == [
        {"url": sections[1], "site": "a.example", "visits": 1},
        {"url": f"{NEW_SITE}/", "site": "b.example", "visits": 1},
        {"url": f"{NEW_SITE}/sports/", "site": "b.example", "visits": 2},
    ]
    assert addressed() == {sections[0]: f"{NEW_SITE}/sports/"}


def test_links_to_other_addresses_of_a_page_are_not_due(joined, visit, engine, now, rows):
    own, print_version = address("harbour"), VARIANTS[0]
    joined(replace(visit(print_version, *article("harbour"), canonical=own), request=request_for(print_version)))
    with engine.connect() as connection:
        asked_for = [replace(request_for(url), key=url) for url in (own, print_version, address("violin"))]
        assert keys_not_due(connection, asked_for, now, RevisitBounds(3600, 864_000)) == {own, print_version}


def test_a_former_address_finds_the_page_and_is_removed_with_it(save, visit, moved, engine, addressed):
    old, new = address("harbour"), f"{NEW_SITE}/harbour"
    save(visit(old, *article("harbour"), title="harbour"), visit(address("violin"), *article("violin")))
    save(moved("harbour", new, old))
    with engine.connect() as connection:
        assert read_page_history(connection, old).page.url == new
        assert read_contents(connection, old).url == new
    assert prune_pages(engine, PruneSelection(url=old)).pages == 1
    assert addressed() == {}


def test_an_address_that_is_forgotten_and_leads_there_again_is_stored(engine, rows):
    with engine.begin() as connection:
        first = AddressRows({}, {}, {"a", "b"})
        first.record("a", "b")
        first.write(connection)
        later = AddressRows({"a": "b"}, {}, {"a", "b"})
        later.forget("b")
        later.record("a", "b")
        later.write(connection)
    assert rows("SELECT url_key, leads_to FROM address") == [{"url_key": "a", "leads_to": "b"}]
