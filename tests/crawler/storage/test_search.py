"""Searches of both kinds of database, with the same results."""

import math
from contextlib import suppress
from datetime import date
from itertools import islice
from random import Random

import pytest

from cleaning.methods.pab import keyword_density
from crawler.errors import QueryError
from crawler.reading.search import Rank, search
from crawler.reading.search_filters import SearchFilters
from crawler.storage import schema
from crawler.storage.boilerplate import BoilerplateBounds
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.store import Store

A, B, C = (f"https://{letter}.example/1" for letter in "abc")


@pytest.fixture
def find(engine):
    """Search and return the texts that are found, the best first."""

    def texts(query, **options):
        with read_transaction(engine) as connection:
            return [hit.text for page in search(connection, query, **options) for hit in page.hits]

    return texts


@pytest.fixture
def pages(engine):
    def run(query, **options):
        with read_transaction(engine) as connection:
            return search(connection, query, **options)

    return run


LATIN = (
    "Old bridge.",
    "A bridge, where the river falls",
    "The river took the old bridge and the mill",
    "The bridgehead",
    "L'homme d’été",
)
LATIN_QUERIES = {
    "bridge": {0, 1, 2},
    "BRIDGE river": {1, 2},
    '"old bridge"': {0, 2},
    '"bridge old"': set(),
    "brid*": {0, 1, 2, 3},
    '"the old brid"*': {2},
    "bridge -old": {1},
    "bridge -brid*": set(),
    'bridge -"the old bridge"': {0, 1},
    "mill OR bridgehead": {2, 3},
    "bridge mill OR falls": {1, 2},
    '"old bridge" OR falls river': {1, 2},
    "homme": {4},
    "l’homme": {4},
    "ETE": {4},
    "ÉTÉ": {4},
    "nothing": set(),
}
UNSPACED = ("计算机科学", "AI人工 智能，手机计算", "新しいコンピュータです")
UNSPACED_QUERIES = {
    "计算": {0, 1},
    "计算机": {0},
    "机": {0, 1},
    "学": {0},
    "算计": set(),
    '"人工 智能"': {1},
    "AI 人工": {1},
    "計算": set(),
    "コンピュータ": {2},
    "ｺﾝﾋﾟｭｰﾀ": {2},
    "ピュー*": {2},
    "计算 -科学": {1},
}


@pytest.mark.parametrize(("texts", "queries"), [(LATIN, LATIN_QUERIES), (UNSPACED, UNSPACED_QUERIES)])
def test_the_query_language(save, visit, find, texts, queries):
    save(visit(A, *texts[:2]), visit(B, *texts[2:]))
    matches = {query: {texts.index(text) for text in find(query)} for query in queries}
    assert matches == queries


def test_priority_rank_is_the_block_priority_times_the_share_of_matching_words(
    save, visit, candidate, rows, pages, engine
):
    save(
        visit(
            A, "compute one two three", "compute compute three four five six seven eight nine ten", "title of compute"
        )
    )
    with engine.begin() as connection:
        for position, priority in enumerate((0.9, 1.1, 1.0)):
            connection.exec_driver_sql(f"UPDATE block SET priority = {priority} WHERE position = {position}")
    (page,) = pages("compute")
    assert [hit.rank for hit in page.hits] == pytest.approx([1 / 3, 0.225, 0.22])


def test_blocks_of_priority_0_come_last_ordered_by_density(save, visit, engine, find):
    save(visit(A, "word and three more", "word", "word and " + "more " * 30))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE block SET priority = 0 WHERE position < 2")
    assert [len(text.split()) for text in find("word")] == [32, 1, 4]


def test_bm25_is_the_same_number_on_both_databases(save, visit, pages):
    save(visit(A, "alpha beta gamma", "alpha alpha delta epsilon"), visit(B, "beta", "delta", "epsilon zeta", "eta"))
    ranks = {hit.text: hit.rank for page in pages("alpha OR beta", rank=Rank.BM25) for hit in page.hits}
    average = 12 / 6

    def weight(holding):
        return max(1e-6, math.log((6 - holding + 0.5) / (holding + 0.5)))

    def part(times, length):
        return times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / average))

    assert ranks == pytest.approx(
        {
            "alpha beta gamma": weight(2) * 2 * part(1, 3),
            "alpha alpha delta epsilon": weight(2) * part(2, 4),
            "beta": weight(2) * part(1, 1),
        }
    )


def test_repeated_words_count_each_time(save, visit, pages):
    save(visit(A, "ha ha ha no no no"))
    (page,) = pages("ha")
    assert page.hits[0].rank == pytest.approx(0.5)


def test_a_block_is_found_on_a_sighting_after_its_own_page_dropped_it(save, visit, candidate, pages):
    text = "one bridge of stone"
    save(visit(A, candidate(0, text, fingerprint=7)), visit(B, candidate(0, text, fingerprint=7)))
    assert [(page.url, page.hits[0].pages) for page in pages("bridge")] == [(A, 2)]
    save(visit(A, "something else", day=1))
    assert [(page.url, page.hits[0].pages) for page in pages("bridge")] == [(B, 1)]
    save(visit(B, "something else", day=1))
    assert pages("bridge") == []
    save(visit(A, candidate(0, text, fingerprint=7), day=2))
    assert [page.url for page in pages("bridge")] == [A]


def test_boilerplate_is_not_found(engine, visit, closing_store, find, url):
    with closing_store(boilerplate=BoilerplateBounds(2, 0.5)) as store:
        crawl = store.begin_crawl("test", {})
        store.save(crawl, [visit(f"https://a.example/{n}", "Printer friendly page", f"the text {n}") for n in range(3)])
        assert find("printer") == []
        assert len(find("text")) == 3


def test_filters(save, visit, candidate, pages, engine):
    text = "one bridge of stone"
    save(visit(A, candidate(0, text, fingerprint=7)), visit(B, candidate(0, text, fingerprint=7), "bridge"))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE page SET language = 'en', section = 'Rivers' WHERE id = 1")
        connection.exec_driver_sql("UPDATE page SET published = '2024-03-01' WHERE id = 2")

    def urls(**criteria):
        return [page.url for page in pages("bridge stone OR bridge", filters=SearchFilters.of(**criteria))]

    assert urls(site="https://www.a.example/other") == [A]
    assert urls(site="b.example") == [B]
    assert urls(site="c.example") == []
    assert urls(language="EN-us") == [A]
    assert urls(section="Rivers") == [A]
    assert urls(section="rivers") == []
    assert urls(since=date(2024, 3, 1)) == [B, A]
    assert urls(since=date(2024, 5, 1)) == [A]
    assert urls(since=date(2024, 5, 2)) == []
    assert urls(site="a.example", since=date(2024, 5, 1), language="en", section="Rivers") == [A]


def test_the_limit_counts_pages_with_their_best_blocks(save, visit, pages):
    save(*(visit(f"https://a.example/{n}", *(f"word {'x ' * (n + i)}{n} {i}" for i in range(9))) for n in range(7)))
    best_pages = pages("word", limit=3)
    assert [page.url for page in best_pages] == [f"https://a.example/{n}" for n in range(3)]
    assert [len(hit.text.split()) for hit in best_pages[0].hits] == [3, 4, 5]


def test_gone_blocks_are_skipped(save, visit, pages):
    save(visit(A, *(f"word {n}" for n in range(200))))
    save(visit(A, "nothing", day=1), visit(B, "word and much more besides"))
    assert [page.url for page in pages("word", limit=1)] == [B]


@pytest.mark.parametrize("rank", Rank)
def test_no_query_is_interpreted_by_the_database(save, visit, find, rank):
    save(visit(A, "quote ' and double \" and back\\slash 100% _under :* | & ! ( ) NEAR AND OR"))
    queries = (
        *("'", "a' OR 1=1 --", "back\\slash", "100%", ":*", "NEAR(a b)", "a:b", "{a}", "^a", "\x00\ud800 quote"),
        *("x" * 900, "under* | !", "_under", "((quote", "a*b", "-", "--quote", "and AND and", "and NOT quote"),
    )
    assert all(len(_found_or_refused(find, query, rank)) <= 1 for query in queries)
    assert find("back\\slash", rank=rank)
    assert find("_under", rank=rank)


def _found_or_refused(find, query, rank):
    with suppress(QueryError):
        return find(query, rank=rank)
    return []


@pytest.mark.postgresql
def test_both_databases_give_the_same_results(engine, url, tmp_path, visit):
    random = Random(1)
    words = "alpha beta gamma delta don't ÉTÉ 计算机 科学 计算 a a_b straße".split()
    texts = iter([" ".join(random.choices(words, k=random.randint(1, 9))) for _ in range(144)])
    pages = [visit(f"https://a.example/{n}", *islice(texts, 9)) for n in range(16)]
    with opened_engine(f"sqlite:///{tmp_path / 'other.db'}") as other:
        for database in (engine, other):
            schema.prepare_schema(database)
            store = Store(database)
            store.save(store.begin_crawl("test", {}), pages)
        all_queries = [
            *words,
            "alpha OR 科学 -beta",
            '"alpha beta"',
            "be* -delta",
            '"计算 科"* gamma',
            "alpha beta OR gamma",
            "alpha alpha OR beta",
        ]
        for query in all_queries:
            for rank in Rank:
                ours, theirs = (_ranked(database, query, rank) for database in (engine, other))
                assert [hit[:2] for hit in ours] == [hit[:2] for hit in theirs]
                assert [hit[2] for hit in ours] == pytest.approx([hit[2] for hit in theirs])
                assert ours or " " in query


def _ranked(engine, query, rank):
    with read_transaction(engine) as connection:
        pages = search(connection, query, rank=rank, limit=100)
        return [(page.url, hit.block_id, hit.rank) for page in pages for hit in page.hits]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Nelson's column", "nelson"),
        ("Nelson's column", "nelson's"),
        ("新新新新", "新新"),
        ("新新新新", "新"),
        ("計算機 科学 AI", "計算"),
        ("a café, a cafe", "cafe"),
        ("red red red red", '"red red"'),
    ],
)
def test_the_density_is_that_of_the_method_pab(save, visit, pages, text, query):
    save(visit(A, text))
    (page,) = pages(query, rank=Rank.DENSITY)
    assert page.hits[0].rank == pytest.approx(keyword_density(text, query.strip('"')))
    assert page.hits[0].rank <= 1


def test_a_title_is_found_as_a_text_of_its_page(save, visit, pages):
    save(visit(A, "The old mill burns.", title="Café İzmir", headline="A quiet evening"), visit(B, "A quiet text."))
    assert [(page.url, [(hit.kind, hit.block_id, hit.text) for hit in page.hits]) for page in pages("quiet")] == [
        (B, [("paragraph", 2, "A quiet text.")]),
        (A, [("title", None, "Café İzmir · A quiet evening")]),
    ]
    (hit,) = pages("title:izmir")[0].hits
    assert (hit.rank, hit.excerpt.hits) == (0.2, ((5, 10),))
    for rank in Rank:
        assert [page.url for page in pages("cafe IZMIR", rank=rank)] == [A]


def test_a_title_restricts_the_pages_of_a_query(save, visit, pages):
    save(
        visit(A, "The budget grows.", title="Mayor resigns"),
        visit(B, "The budget shrinks.", title="Weather"),
        visit(C, "A budget."),
    )

    def urls_of(query, **filters):
        return [page.url for page in pages(query, **filters)]

    for rank in Rank:
        assert urls_of("title:mayor budget", rank=rank) == [A]
        assert sorted(urls_of("budget -title:mayor", rank=rank)) == [B, C]
        assert sorted(urls_of("title:mayor OR title:weath*", rank=rank)) == [A, B]
        assert urls_of('title:"mayor resigns" -budget', rank=rank) == [A]
        assert urls_of("title:budget", rank=rank) == []
    assert urls_of("title:mayor", filters=SearchFilters.of(site="b.example")) == []
    assert urls_of("title:mayor", filters=SearchFilters.of(site="a.example")) == [A]


def test_a_heading_that_repeats_the_title_is_one_hit(save, visit, pages):
    save(visit(A, "Mayor resigns", "The mayor of this town resigns.", title="Mayor Resigns"))
    assert [hit.text for hit in pages("resigns")[0].hits] == ["Mayor Resigns", "The mayor of this town resigns."]


def test_only_the_present_title_of_a_page_that_is_there_is_found(save, visit, pages, engine):
    save(visit(A, "A text.", title="One"))
    save(visit(A, "A text.", day=1, title="Two"))
    assert (pages("one"), [page.url for page in pages("two")]) == ([], [A])
    save(visit(A, "A text.", day=2))
    assert pages("title:two") == []
    save(visit(A, "A text.", day=3, title="Three"))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE page SET retired_at = last_seen")
    assert pages("three") == []
