"""A crawl's memory does not depend on the number of queued requests."""

from crawler.storage import crawls, requests, schema
from crawler.storage.database import opened_engine, write_transaction

SPIDER = """
    import scrapy
    from crawler.page import page

    class TheSpider(scrapy.Spider):
        name = "the_spider"

        def parse(self, response):
            yield page(response)
"""
FILL = """
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :rows)
    INSERT INTO request (crawl_id, key, url, host, method, headers, cb_kwargs, meta, priority, state, attempts, added)
    SELECT :crawl, 'key' || n, :site || '/' || n, '127.0.0.1', 'GET', '{}', '{}', '{}', 0, 'queued', 0, :now
    FROM numbers
"""
ROWS, FETCHED = 200_000, 200
# SQLite's cache, which a larger file fills, and a little; the requests themselves would be several times that.
MOST_MORE_BYTES = 80_000_000


def fill(database, site, rows):
    """Begin a crawl with this number of queued requests."""
    with opened_engine(database.url) as engine:
        schema.prepare_schema(engine)
        with write_transaction(engine) as connection:
            joined = crawls.join_crawl(connection, "the_spider", {"site": site}, fresh=True)
            crawls.mark_seeded(connection, joined.crawl_id, requests.database_now(connection))
    database.write(FILL, {"rows": rows, "crawl": joined.crawl_id, "site": site, "now": "2024-05-01 12:00:00.000000"})


def test_200_000_queued_requests_take_no_more_memory_than_a_few(run, serve, answer, page, database):
    site, requests = serve({f"/{number}": answer(page) for number in range(1, 1_000)})
    peaks = {}
    for rows in (FETCHED, ROWS):
        fill(database, site, rows)
        crawled = run(SPIDER, {"site": site}, CLOSESPIDER_PAGECOUNT=FETCHED)
        assert crawled.code == 0, crawled.log
        peaks[rows] = crawled.peak_bytes
    assert len(requests) >= 2 * FETCHED

    assert database.states()["queued"] > ROWS - 3 * FETCHED
    assert peaks[ROWS] < peaks[FETCHED] + MOST_MORE_BYTES
