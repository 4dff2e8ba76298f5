"""A site edited between a crawl and a re-crawl: requests, reads and stored pages are exactly the expected ones."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from changing_site import article, listing, prose


@dataclass
class Edit:
    """What happens to a page between the crawls, and what is to come of it."""

    statuses: list  # of its answers to the re-crawl, in order
    before: dict = field(default_factory=dict)  # options of the page in the first place
    after: dict | None = None  # the new one's, None where it stays
    visits: int = 2
    changes: int = 0
    misses: int = 0


PAGES = {
    "/news/1": Edit([304]),
    "/news/2": Edit([304], before={"validators": "etag"}),
    "/news/3": Edit([304], before={"validators": "date"}),
    "/news/4": Edit([200], before={"validators": "none"}),
    "/news/5": Edit([200], after={"second": 500}, changes=1),
    "/news/6": Edit([200], before={"advertisement": "Buy a lantern"}, after={"advertisement": "Buy a kettle"}),
    "/news/7": Edit([404], after={"status": 404}, visits=1, misses=1),
    "/news/8": Edit([410], after={"status": 410}, visits=1, misses=1),
    "/news/9": Edit([301], after={"status": 301, "location": "/news/90"}),
    "/news/10": Edit([200], after={"canonical": "/news/100"}),
    "/news/11": Edit([304, 200], before={"lies": '"another"'}),
    "/news/12": Edit([500], after={"status": 500}, visits=1),
    "/news/13": Edit([], after={"second": 1300}, visits=1),  # its time has not come
}
NEW = "/news/90"
ADDED = "/news/91"


def put(site, path, *, second=None, advertisement="", canonical="", **values):
    number = int(path.rpartition("/")[2])
    # What has moved reads as it did before.
    number = {90: 9}.get(number, number)
    texts = (prose(number), prose(second or number + 100))
    canonical = site.url + canonical if canonical else ""
    site.put(path, article(f"Title {number}", *texts, advertisement=advertisement, canonical=canonical), **values)


@pytest.fixture(scope="module")
def edited(lasting_world):
    """The world after a crawl, the edits and a re-crawl of all but one page."""
    world, site = lasting_world, lasting_world.site
    site.put("/news/", listing(*PAGES))
    for path, edit in PAGES.items():
        put(site, path, **edit.before)
    first = world.crawl()
    before = {path: world.texts(path) for path in PAGES}
    site.put("/news/", listing(*PAGES, ADDED))
    for path, edit in PAGES.items():
        if edit.after is not None:
            put(site, path, **edit.after)
    put(site, NEW)
    put(site, ADDED)
    world.make_due(*(path for path in PAGES if path != "/news/13"), "/news/")
    site.asked.clear()
    again = world.scrapy("recrawl", "--due")
    return SimpleNamespace(world=world, codes=(first.returncode, again.returncode), log=again.stderr, before=before)


def test_both_end_well(edited):
    assert edited.codes == (0, 0)
    assert "Traceback" not in edited.log
    assert "do not add up" not in edited.log


@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_asked_for_as_often_as_it_takes(edited, path):
    answers = [request.status for request in edited.world.site.asked if request.path == path]
    assert answers == PAGES[path].statuses


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/news/9"])  # it is at its new address
def test_each_page_counts_its_visits_changes_and_misses(edited, path):
    page, edit = edited.world.page(path), PAGES[path]
    assert (page["visits"], page["changes"], page["misses"]) == (edit.visits, edit.changes, edit.misses)


def test_nothing_else_is_asked_for(edited):
    site = edited.world.site
    expected = sorted([path for path, edit in PAGES.items() for _ in edit.statuses] + ["/news/", NEW, ADDED])
    assert sorted(site.paths()) == expected
    assert sorted(site.paths(304)) == sorted(path for path, edit in PAGES.items() if 304 in edit.statuses)


def test_what_is_counted_is_what_happened(edited):
    totals = edited.world.totals()
    assert totals["visit/not_modified"] == 5  # three by 304, two by their bodies
    assert totals["page/same_body"] == 2
    assert totals["page/not_modified_doubted"] == 1
    assert totals["recrawl/not_due"] == 1
    assert (totals["store/pages_not_modified"], totals["store/pages_missed"]) == (5, 1)
    assert totals["store/pages_retired"] == 1
    assert (totals["store/pages_changed"], totals["store/pages_unchanged"]) == (1, 3)
    assert (totals["store/pages_new"], totals["store/moved"]) == (1, 1)
    assert totals["clean/pages"] == 5


def test_unmodified_pages_keep_their_blocks_seen_again(edited):
    for path in ("/news/1", "/news/4", "/news/11"):
        assert edited.world.texts(path) == edited.before[path]
        assert edited.world.texts(path, gone=True) == []
        page = edited.world.page(path)
        seen = edited.world.rows(f"SELECT DISTINCT last_seen FROM block WHERE page_id = {page['id']}")
        assert [row["last_seen"] for row in seen] == [page["last_seen"]]
        assert page["last_seen"] > page["first_seen"]


def test_a_changed_paragraph_is_new_and_the_old_one_gone(edited):
    assert edited.world.texts("/news/5") == [*edited.before["/news/5"][:-1], prose(500)]
    assert edited.world.texts("/news/5", gone=True) == [prose(105)]


def test_another_advertisement_is_no_change_but_its_html_is_kept(edited):
    world = edited.world
    assert world.texts("/news/6") == edited.before["/news/6"]
    page = world.page("/news/6")
    assert page["last_changed"] == page["first_seen"]
    assert page["last_seen"] > page["first_seen"]
    assert world.texts("/news/6", gone=True) == []


def test_a_page_not_found_waits_with_its_blocks(edited):
    page = edited.world.page("/news/7")
    assert page["retired_at"] is None
    assert edited.world.texts("/news/7") == edited.before["/news/7"]


def test_a_page_gone_for_good_goes_with_its_blocks(edited):
    assert edited.world.page("/news/8")["retired_at"] is not None
    assert edited.world.texts("/news/8") == []
    assert edited.world.texts("/news/8", gone=True) == edited.before["/news/8"]


def test_a_page_that_moved_keeps_its_blocks_and_visits_at_its_new_address(edited):
    world = edited.world
    assert world.texts(NEW) == edited.before["/news/9"]
    new = world.page(NEW)
    assert (new["visits"], new["changes"], new["misses"]) == (2, 0, 0)
    assert world.rows(f"SELECT * FROM sighting WHERE page_id = {new['id']}") == []
    assert (new["spider"], new["callback"]) == ("section", "parse_article")
    assert world.rows("SELECT id FROM page WHERE url = :url", url=f"{world.site.url}/news/9") == []


def test_a_page_with_another_canonical_address_keeps_its_history(edited):
    url = edited.world.site.url
    rows = edited.world.rows(
        "SELECT url_key, misses, visits FROM page WHERE url = :url ORDER BY id", url=f"{url}/news/10"
    )
    assert rows == [{"url_key": f"{url}/news/100", "misses": 0, "visits": 2}]


def test_every_visit_sets_the_next_one(edited):
    waiting = edited.world.rows("SELECT url FROM page WHERE next_visit < last_seen AND retired_at IS NULL")
    assert waiting == []


def test_the_section_has_changed_and_leads_to_what_is_new(edited):
    (section,) = edited.world.rows("SELECT visits, changes, misses FROM section")
    assert section == {"visits": 2, "changes": 1, "misses": 0}
    assert edited.world.page(ADDED)["visits"] == 1


def test_what_comes_back_is_revived(edited):
    """Last: it visits the site once more."""
    world, site = edited.world, edited.world.site
    put(site, "/news/7")
    put(site, "/news/8")
    site.asked.clear()
    world.make_due("/news/7", "/news/8", "/news/")
    again = world.scrapy("recrawl", "--due")
    assert again.returncode == 0
    # The one that was retired is visited since the section leads there.
    assert sorted(site.paths()) == ["/news/", "/news/7", "/news/8"]
    for path in ("/news/7", "/news/8"):
        page = world.page(path)
        assert (page["misses"], page["retired_at"]) == (0, None)
        assert world.texts(path) == edited.before[path]
    assert world.totals()["store/blocks_revived"] == len(edited.before["/news/8"])
    assert world.rows("SELECT count(*) AS n FROM block WHERE gone_at IS NOT NULL") == [{"n": 1}]
