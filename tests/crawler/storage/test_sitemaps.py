"""Which sitemaps of a long index a run reads."""

from datetime import UTC, date, datetime, timedelta

from sqlalchemy import func, select

from crawler.discovery.feeds import FeedEntry
from crawler.storage import due, schema
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.tables import sitemap

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OLD = date(2024, 1, 1)


def entries(*names, changed=OLD):
    return [FeedEntry(f"https://a.example/{name}.xml", changed=changed) for name in names]


def take(connection, listed, most, now=NOW):
    return "".join(entry.url[-5] for entry in due.take_sitemaps(connection, listed, most, now))


def know(connection, *names):
    for entry in entries(*names):
        due.record_known_sitemap(connection, entry.url)


def test_sitemaps_take_turns(engine):
    schema.prepare_schema(engine)
    with engine.begin() as connection:
        listed = entries(*"abcde")
        assert [take(connection, listed, 2, NOW + run * DAY) for run in range(4)] == ["ab", "cd", "ea", "bc"]


def test_those_whose_entries_were_known_come_last(engine):
    schema.prepare_schema(engine)
    with engine.begin() as connection:
        listed = entries(*"abcde")
        assert take(connection, listed, 3) == "abc"
        know(connection, "a", "c")
        assert [take(connection, listed, 4, NOW + run * DAY) for run in (1, 2)] == ["deba", "abde"]


def test_a_sitemap_that_has_changed_comes_first(engine):
    schema.prepare_schema(engine)
    with engine.begin() as connection:
        assert take(connection, entries(*"abc"), 3) == "abc"
        know(connection, *"abc")
        later = entries("a", "b") + entries("c", changed=date(2024, 1, 2))
        assert take(connection, later, 1, NOW + DAY) == "c"
        know(connection, "c")
        assert take(connection, later, 1, NOW + 2 * DAY) == "a"
        # Within a day its date does not tell.
        today = entries("a", "b") + entries("c", changed=NOW.date())
        assert [take(connection, today, 1, NOW + hour * DAY / 24) for hour in (1, 2)] == ["c", "c"]


def test_an_index_without_dates_is_read_in_turns(engine):
    schema.prepare_schema(engine)
    with engine.begin() as connection:
        listed = entries(*"abc", changed=None) + entries("a", changed=None)
        assert take(connection, listed, 2) == "ab"
        know(connection, "a", "b")
        assert take(connection, listed, 2, NOW + DAY) == "ca"
        assert take(connection, [], 2) == ""


def test_what_is_known_of_sitemaps_is_pruned_and_forgotten(engine):
    schema.prepare_schema(engine)

    def count():
        with engine.connect() as connection:
            return connection.execute(select(func.count()).select_from(sitemap)).scalar()

    with engine.begin() as connection:
        take(connection, [*entries(*"ab"), FeedEntry("https://b.example/c.xml")], 3)
    assert count() == 3
    prune_pages(engine, PruneSelection.of(site="a.example"))
    assert count() == 1
    with engine.begin() as connection:
        due.forget_addresses(connection, NOW + 399 * DAY)
    assert count() == 1
    with engine.begin() as connection:
        due.forget_addresses(connection, NOW + 401 * DAY)
    assert count() == 0
