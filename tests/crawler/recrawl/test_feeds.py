"""Feeds of a crawl that finds its pages not modified."""

import json

from changing_site import article, listing, prose

PATHS = ["/news/1", "/news/2", "/news/3"]


def lines(world):
    rows = [json.loads(line) for line in (world.folder / "pages.jsonl").read_text("utf-8").splitlines()]
    return {row.pop("url").removeprefix(world.site.url): row for row in rows}


def test_a_second_crawl_fills_the_file_with_stored_pages_or_says_what_is_missing(world):
    world.site.put("/news/", listing(*PATHS))
    for number, path in enumerate(PATHS):
        world.site.put(path, article(f"Title {number}", prose(number), prose(7)))
    feed = ("-a", f"url={world.site.url}/news/", "-a", r"allow=/news/\d+", "-O", "pages.jsonl")
    assert world.scrapy("crawl", "section", *feed, STRUCTURE="true").returncode == 0
    first = lines(world)
    assert set(first) == set(PATHS)
    # With the option the second crawl writes the same pages.
    again = world.scrapy("crawl", "section", *feed, STRUCTURE="true", FEED_UNCHANGED="true", SUMMARY="summary.jsonl")
    assert (again.returncode, world.totals()["visit/not_modified"]) == (0, 3)
    assert "was overwritten" not in again.stderr
    second = lines(world)
    for path in PATHS:
        unstored = {name: first[path].pop(name, None) for name in ("fetched", "type")}
        assert second[path].pop("fetched") >= unstored["fetched"]
        assert second[path] == first[path]
    # Without it the file is empty, and the log, the table and the summary say so.
    empty = world.scrapy("crawl", "section", *feed, STRUCTURE="true", SUMMARY="summary.jsonl")
    assert (empty.returncode, lines(world)) == (0, {})
    sentence = (
        "feed pages.jsonl was overwritten and is empty: 3 pages that were not modified are not in it; "
        "FEED_UNCHANGED=true writes them too, and -o in place of -O appends"
    )
    assert sentence in " ".join(empty.stderr.split())
    warnings = [json.loads(line)["warnings"] for line in (world.folder / "summary.jsonl").read_text().splitlines()]
    assert warnings == [[], [f"the {sentence}"]]
    # One page is new: the file has that one only, which is said too.
    world.site.put("/news/4", article("Title 4", prose(40)), validators="none")
    world.site.put("/news/", listing(*PATHS, "/news/4"))
    partly = world.scrapy("crawl", "section", *feed, STRUCTURE="true")
    assert list(lines(world)) == ["/news/4"]
    assert "has 1 item of this crawl only: 3 pages that were not modified are not in it" in partly.stderr
