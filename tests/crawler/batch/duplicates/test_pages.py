"""Pages that repeat another: equal texts of any length, near ones by fingerprint."""

import pytest
from batch_jobs import options, rows
from warcs import article, paragraph, write_warc

from crawler.batch.duplicates.decisions import PageComparisonMode
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


def test_no_pages_are_compared_on_request_or_without_a_scope(tmp_path, archive):
    assert repeats(tmp_path, archive, page_duplicates=PageComparisonMode.OFF)[0] == {}


def test_a_job_of_other_rules_is_not_continued(tmp_path, archive):
    run_batch(options(tmp_path, archive))
    with pytest.raises(Exception, match="which holds a job with page_duplicates 'near', not 'off'"):
        run_batch(options(tmp_path, archive, page_duplicates=PageComparisonMode.OFF, resume=True))
