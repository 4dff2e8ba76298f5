"""The counts of a search on both kinds of database."""

from datetime import date

import newspapers
import pytest

from crawler.reading import facets
from crawler.reading.search import search, search_with_counts
from crawler.reading.search_filters import SearchFilters
from crawler.storage.database import opened_engine, read_transaction


@pytest.fixture(scope="module")
def connection(newspapers_url):
    """A connection to a database of twenty newspapers."""
    with opened_engine(newspapers_url) as engine, read_transaction(engine) as connection:
        yield connection


@pytest.fixture
def counts(connection):
    def run(query, today=None, **criteria):
        filters = SearchFilters.of(**criteria)
        return search_with_counts(connection, query, filters=filters, today=today).counts

    return run


def values(counts, name):
    return {entry.value: entry.count for facet in counts.facets if facet.name == name for entry in facet.values}


def test_counts_are_those_of_all_pages_that_show_a_match(connection, counts):
    whole = counts("mayor quarry")
    assert whole.complete
    assert len(search(connection, "mayor quarry", limit=1_000)) <= whole.pages
    assert sum(values(whole, "section").values()) == whole.pages
    assert sum(values(whole, "kind").values()) == whole.texts
    assert values(whole, "language") == {"en": whole.pages}


@pytest.mark.parametrize("name", ["site", "section", "language", "kind"])
def test_a_filter_by_a_value_gives_the_number_that_the_facet_states(counts, name):
    for value, count in values(counts("mayor quarry"), name).items():
        narrowed = counts("mayor quarry", **{name: value})
        assert (narrowed.texts if name == "kind" else narrowed.pages) == count
        assert list(values(narrowed, name)) == [value]


def test_days_count_what_was_published_since(counts):
    today = date.fromisoformat(latest_week(counts))
    for day, count in values(counts("mayor quarry", today=today), "since").items():
        assert counts("mayor quarry", since=date.fromisoformat(day)).pages == count
    assert values(counts("mayor quarry", today=date(2099, 1, 1)), "since") == {}


def latest_week(counts):
    return max(values(counts("mayor quarry"), "since"))


def test_the_most_frequent_values_come_first_and_the_others_are_counted(counts):
    (sites,) = [facet for facet in counts("mayor quarry").facets if facet.name == "site"]
    numbers = [entry.count for entry in sites.values]
    assert numbers == sorted(numbers, reverse=True)
    assert (len(numbers), sites.others) == (8, 4)


def test_a_text_on_two_sites_counts_on_both(counts):
    both = values(counts("mayor quarry"), "site")
    assert both[newspapers.ORIGINAL] == both[newspapers.COPYING]


def test_more_texts_than_are_counted_are_said_to_be_more(counts, monkeypatch):
    whole = counts("mayor quarry")
    monkeypatch.setattr(facets, "COUNTED_TEXTS", 10)
    few = counts("mayor quarry")
    assert (whole.complete, few.complete) == (True, False)
    assert 0 < few.texts <= 10 < whole.texts


def test_nothing_found_has_no_facets(counts):
    assert counts("nowhere") == facets.SearchCounts(0, 0, complete=True, facets=())


@pytest.mark.parametrize(
    "query", ["\u5e02\u8bae\u4f1a", "\u05d4\u05de\u05d5\u05e2\u05e6\u05d4", "\u0627\u0644\u0645\u062c\u0644\u0633"]
)
def test_scripts_are_counted_alike(counts, query):
    (language,) = values(counts(query), "language")
    assert language in {"zh", "he", "ar"}
