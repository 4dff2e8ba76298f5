"""A database of two sites of which one copies the other, in part and whole, and of a third one that copies nothing."""

from cleaned_pages import SENTENCE, html, visit_at

from crawler.storage.near_duplicates import DuplicateRules
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store

ORIGINAL, COPYING = "example.org", "example.net"


def fill(engine):
    """Store five pages of the original site, and two days later four copies, of which one is only in part."""
    prepare_schema(engine)
    store = Store(engine, rules=DuplicateRules())
    crawl = store.begin_crawl("test", {})
    store.save(crawl, [visit_at(f"https://lake.example.org/{number}", own(number)) for number in range(5)])
    copies = {0: own(0), 1: own(1).replace("is late", "comes late"), 2: part_of(2), 3: own(3)}
    store.save(crawl, [visit_at(f"https://copy.example.net/{n}", body, day=2) for n, body in copies.items()])
    other = html(900).replace("ferryman", "baker").replace("harbour", "bakery").replace("lake", "town")
    store.save(crawl, [visit_at("https://www.example.com/1", other, day=2)])
    store.end_crawl(crawl, "finished", {})


def own(number):
    """A page without the text that all pages of `cleaned_pages` share."""
    return html(number).replace("The harbour office asks", f"The harbour office of pier {number} in {number * 7} asks")


def part_of(number):
    """A page with one text of another page, of fewer than 60 words, and texts of its own."""
    sentences = "".join(
        f"<p>{SENTENCE.format(n=900 + line).replace('ferryman', 'miller') * 2}</p>" for line in range(3)
    )
    return (
        f"<!doctype html><title>Mills</title><article><h1>The mills of the valley</h1>{sentences}"
        f"<p>{SENTENCE.format(n=number * 10) * 2}</p></article>"
    )
