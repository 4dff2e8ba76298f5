"""A database of pages that changed, repeat one another and attack, for the web page."""

from datetime import UTC, datetime, timedelta

from cleaned_pages import address, html, visit
from sqlalchemy import insert, update

from crawler.storage import schema
from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.store import Store
from crawler.storage.tables import host, page, request, section

PAGES = 60
EDITED, LEFT = "Ferry 1 is early", "A paragraph that went away soon enough: nobody who lived at the lake missed it."
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202egnp.exe\x1b[2J {{ 7 * 7 }}'
ATTACK = 1_000
NOW = datetime.now(UTC)


def fill(engine):
    """Store the pages by one crawl, and leave another open, with requests in every state."""
    schema.prepare_schema(engine)
    store = Store(engine, rules=DuplicateRules())
    crawl = store.begin_crawl("lake", {"site": "lake.example.org", "token": "secret-1234"})
    store.save(crawl, [visit(number) for number in range(PAGES)])
    edited = html(1).replace("Ferry 1 is late", EDITED)
    more = edited.replace("</article>", f"<p>{LEFT}</p></article>")
    for day, body in enumerate((more, edited), start=1):
        store.save(crawl, [visit(1, body, day=day)])
    # The same page under another address, with a word of its own: a near-duplicate.
    store.save(crawl, [visit(ATTACK, attack_page()), visit(ATTACK + 1, html(2).replace("in winter as well", "always"))])
    store.end_crawl(crawl, "finished", {"visit/page": PAGES + 2, "blocks/kept": 300, "blocks/footer": 60})
    open_crawl = store.begin_crawl(HOSTILE, {"url": "https://me:secret-1234@lake.example.org/"})
    store.close()
    with engine.begin() as connection:
        connection.execute(insert(request), list(requests(open_crawl)))
        hostile = {"title": HOSTILE, "author": HOSTILE, "section": HOSTILE, "language": HOSTILE}
        connection.execute(update(page).where(page.c.url == address(ATTACK)).values(hostile))
        due = {"next_visit": NOW - timedelta(hours=1), "spider": "lake"}
        connection.execute(update(page).where(page.c.id.in_([3, 4])).values(due))
        connection.execute(update(page).where(page.c.id == 5).values(next_visit=NOW + timedelta(days=2)))
        paused = {"host": "lake.example.org", "delay": 2.5, "paused_until": NOW + timedelta(hours=1)}
        connection.execute(insert(host), paused | {"reason": HOSTILE, "refusals": 3})
        connection.execute(insert(section), a_section())


def requests(crawl):
    for number, state in enumerate(["queued"] * 3 + ["failed"] * 55 + ["done"]):
        failed = {"outcome": "download_failed", "error": f"{HOSTILE} https://me:secret-1234@a.example/"}
        yield {
            "crawl_id": crawl,
            "key": f"k{number}",
            "url": f"https://lake.example.org/{number}?api_key=secret-1234",
            "host": "lake.example.org",
            "method": "GET",
            "headers": {},
            "cb_kwargs": {},
            "meta": {},
            "priority": 0,
            "state": state,
            "attempts": 1,
            "added": NOW,
            "outcome": None,
            "error": None,
        } | (failed if state == "failed" else {})


def a_section():
    seen = dict.fromkeys(("first_seen", "last_seen", "last_changed"), NOW)
    empty = {name: {} for name in ("cb_kwargs", "arguments", "headers", "meta", "settings")}
    own = {"url": "https://lake.example.org/news", "url_key": "https://lake.example.org/news"}
    numbers = {"visits": 4, "changes": 2, "links_hash": 1, "misses": 0}
    return own | seen | empty | numbers | {"site": "example.org", "spider": "lake", "next_visit": NOW}


def attack_page():
    body = "".join(
        f"<p>{'A sentence of the attacker, who writes at length about the harbour. ' * 3}{n}</p>" for n in "ab"
    )
    return (
        f"<!doctype html><title>x</title><body onload=alert(1)><article><h1 onclick=alert(1)>Attack</h1>{body}"
        "<p>&lt;script&gt;alert(1)&lt;/script&gt; &lt;img src=x onerror=alert(1)&gt; is what the market of the town "
        "did not sell, said the mayor to everybody who would listen to him.</p></article><script>alert(1)</script>"
    )
