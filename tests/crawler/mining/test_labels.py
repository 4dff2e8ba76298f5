"""Labels of pages in the database: they are replaced as a whole, found by search, and deleted with their pages."""

import pytest
from cleaned_pages import address, fill
from mined_documents import documents
from sqlalchemy import select

from crawler.errors import MiningError, QueryError
from crawler.mining import Document, classify, cluster, count_terms, find_patterns
from crawler.mining.labels import store_labels
from crawler.reading.search import search, search_with_counts
from crawler.reading.search_filters import SearchFilters
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store
from crawler.storage.tables import block, block_label, page_label


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request, fresh_url):
    with opened_engine(fresh_url(request.param)) as engine:
        prepare_schema(engine)
        fill(Store(engine), 5)
        yield engine


@pytest.fixture(scope="module")
def counts():
    """Mined documents, whose ids begin with those of the five stored pages; the last one has no section."""
    *rest, last = documents()
    columns = {**last.columns, "section": None}
    return count_terms([*rest, Document(last.id, last.url, last.title, last.text, columns, last.moment)])


def stored(engine):
    columns = select(page_label.c.name, page_label.c.page_id, page_label.c.value).order_by(*page_label.primary_key)
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(columns)]


def test_the_labels_of_a_name_are_replaced_as_a_whole(engine, counts):
    assert store_labels(engine, "section", classify(counts)) == 5
    assert stored(engine) == [("section", number, "news/harbour") for number in range(1, 6)]
    clusters = cluster(counts, 4)
    assert store_labels(engine, "topic", clusters) == store_labels(engine, "topic", clusters) == 5
    assert [name for name, _, _ in stored(engine)] == ["section"] * 5 + ["topic"] * 5
    (value,) = {value for name, _, value in stored(engine) if name == "topic"}
    assert value.split()[1] in "ferry quay harbour captain storm pilot anchor deck fishing crew".split()


def test_a_page_without_a_label_of_its_own_gets_that_of_the_model(counts):
    result = classify(counts)
    (judged,) = result.unlabelled
    assert (judged.document.id, judged.label, judged.predicted) == (120, None, "科技")
    assert 0 < judged.confidence <= 1
    assert result.left_out == {"no_label": 1, "rare_label": 0}


def test_search_finds_pages_by_their_label_and_counts_them(engine, counts):
    store_labels(engine, "topic", cluster(counts, 4))
    value = stored(engine)[0][2]
    filters = SearchFilters.of(label=f"topic={value}")
    with read_transaction(engine) as connection:
        everywhere = search(connection, "ferry")
        assert search(connection, "ferry", filters=filters) == everywhere != []
        assert search(connection, "ferry", filters=SearchFilters.of(label="topic=other")) == []
        counted = search_with_counts(connection, "ferry", filters=SearchFilters.of())
    (facet,) = [facet for facet in counted.counts.facets if facet.name == "label"]
    assert [entry.value for entry in facet.values] == [f"topic={value}"]
    assert facet.values[0].count == counted.counts.pages


def test_a_label_of_blocks_restricts_a_search_to_them(engine, counts):
    store_labels(engine, "topic", cluster(counts, 4))
    with engine.connect() as connection:
        texts = set(connection.scalars(select(block.c.id)))
    mined = {document.id for document in counts.documents}
    assert store_labels(engine, "topic", classify(counts), "blocks") == len(texts & mined)
    assert stored(engine) == []
    filters = SearchFilters.of(label="topic=news/harbour")
    with read_transaction(engine) as connection:
        labelled = set(connection.scalars(select(block_label.c.block_id).where(block_label.c.value == "news/harbour")))
        everywhere = search_with_counts(connection, "ferry", limit=100)
        restricted = search_with_counts(connection, "ferry", limit=100, filters=filters)
    assert 0 < restricted.counts.texts < everywhere.counts.texts  # the titles have no label
    assert {hit.block_id for page in restricted.pages for hit in page.hits} <= labelled
    for counted in (everywhere, restricted):
        (facet,) = [facet for facet in counted.counts.facets if facet.name == "label"]
        assert [(entry.value, entry.count) for entry in facet.values] == [
            ("topic=news/harbour", restricted.counts.texts)
        ]


@pytest.mark.parametrize("label", ["", "topic", "=politics", "topic="])
def test_a_label_has_a_name_and_a_value(label):
    with pytest.raises(QueryError, match="it takes NAME=VALUE"):
        SearchFilters.of(label=label)


def test_labels_go_with_their_pages(engine, counts):
    store_labels(engine, "section", classify(counts))
    prune_pages(engine, PruneSelection.of(url=address(0)))
    assert [page_id for _, page_id, _ in stored(engine)] == [2, 3, 4, 5]


@pytest.mark.parametrize("name", ["", "Topic", "1st", "a b", "x" * 41, "topic=", "thé"])
def test_another_name_is_refused(engine, counts, name):
    with pytest.raises(MiningError, match="it takes up to 40 small letters"):
        store_labels(engine, name, classify(counts))


def test_patterns_are_no_labels(engine, counts):
    with pytest.raises(MiningError, match="only classes and clusters"):
        store_labels(engine, "topic", find_patterns(counts))
    assert stored(engine) == []
