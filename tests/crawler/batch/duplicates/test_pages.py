"""Pages that repeat another: equal texts of any length, near ones by fingerprint or by MinHash."""

import numpy as np
import pytest
from batch_jobs import options, rows
from warcs import article, paragraph, write_warc

from crawler.batch.duplicates.decisions import PageComparisonMode
from crawler.batch.duplicates.minhash import MinHashRules
from crawler.batch.duplicates.pages import first_of_groups
from crawler.batch.job import run_batch

LONG = paragraph("long", 300)
TEXTS = {
    "https://a.example/first": LONG,
    "https://a.example/short": "Three words only.",
    "https://b.example/copy": LONG,
    "https://b.example/short": "Three words only.",
    "https://b.example/near": f"{LONG.removesuffix('.')} changed.",
    "https://b.example/other": paragraph("other", 300),
    "https://b.example/empty": "",
    "https://c.example/empty": "",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Pages of one headline, so that only their paragraph tells them apart."""
    folder = tmp_path_factory.mktemp("pages")
    pages = [(url, article("One headline for all", text) if text else "<p></p>") for url, text in TEXTS.items()]
    write_warc(folder / "a.warc.gz", pages[:4])
    write_warc(folder / "b.warc.gz", pages[4:])
    return folder


def repeats(tmp_path, archive, **more):
    """Return the URL of the original, the kind and the bits of each page that repeats another, and the counts."""
    summary = run_batch(options(tmp_path, archive, **more))
    pages = rows(tmp_path / "out", "pages")
    urls = {page["id"]: page["url"] for page in pages}
    return {
        page["url"]: (urls[page["duplicate_of"]], page["duplicate"], page["duplicate_bits"])
        for page in pages
        if page["duplicate_of"] is not None
    }, summary.counts


EXACT = {
    "https://b.example/copy": ("https://a.example/first", "exact", 0),
    "https://b.example/short": ("https://a.example/short", "exact", 0),
}


@pytest.mark.parametrize("blocks_per_task", [1, 500_000])
def test_equal_texts_of_any_length_are_exact_copies(tmp_path, archive, blocks_per_task):
    copies, counts = repeats(tmp_path, archive, near_duplicates=False, blocks_per_task=blocks_per_task)
    assert copies == EXACT
    assert (counts["stored/exact_pages"], counts["stored/near_pages"]) == (2, 0)


@pytest.mark.parametrize("blocks_per_task", [1, 500_000])
def test_near_texts_are_copies_of_the_first_within_the_distance(tmp_path, archive, blocks_per_task):
    copies, _ = repeats(tmp_path, archive, blocks_per_task=blocks_per_task)
    original, kind, bits = copies.pop("https://b.example/near")
    assert copies == EXACT
    assert (original, kind) == ("https://a.example/first", "near")
    assert 0 <= bits <= 3


@pytest.mark.parametrize("blocks_per_task", [1, 500_000])
def test_minhash_groups_near_texts(tmp_path, archive, blocks_per_task):
    near = {"https://b.example/near": ("https://a.example/first", "near", None)}
    mode = PageComparisonMode.MINHASH
    assert repeats(tmp_path, archive, page_duplicates=mode, blocks_per_task=blocks_per_task)[0] == EXACT | near


def test_no_pages_are_compared_on_request_or_without_a_scope(tmp_path, archive):
    assert repeats(tmp_path, archive, page_duplicates=PageComparisonMode.OFF)[0] == {}


def test_a_job_of_other_rules_is_not_continued(tmp_path, archive):
    mode = PageComparisonMode.MINHASH
    run_batch(options(tmp_path, archive, page_duplicates=mode))
    with pytest.raises(Exception, match="which holds a job with minhash '14x8x5w', not '20x13x24c'"):
        run_batch(options(tmp_path, archive, page_duplicates=mode, minhash=MinHashRules.read("20x13x24c"), resume=True))


@pytest.mark.parametrize("seed", range(20))
def test_groups_are_those_of_a_search(seed):
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 200))
    ends = random.integers(0, count, (2, int(random.integers(0, 2 * count))))
    neighbours = {number: set() for number in range(count)}
    for one_end, other_end in ends.T.tolist():
        neighbours[one_end].add(other_end)
        neighbours[other_end].add(one_end)
    expected = [None] * count
    for start in range(count):
        waiting = [start] if expected[start] is None else []
        while waiting:
            number = waiting.pop()
            expected[number] = start
            waiting += [other for other in neighbours[number] if expected[other] is None]
    assert first_of_groups(*ends, count).tolist() == expected


def test_a_long_chain_is_one_group():
    numbers = np.random.default_rng(0).permutation(10_000)
    assert not first_of_groups(numbers[:-1], numbers[1:], 10_000).any()
