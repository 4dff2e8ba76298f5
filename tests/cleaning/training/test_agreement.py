"""The agreement of readers, weighted by words."""

from collections import Counter

import pytest
import small_data

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError
from cleaning.training.agreement import Agreement, report
from cleaning.training.annotations import Mark
from cleaning.training.pool import read_pool
from cleaning.training.sheet import guess_page

BODY = "<h1>The bridge</h1><p>One two three four five.</p><p>Six seven eight.</p><p>Nine ten.</p>"


@pytest.fixture
def marked_pages(tmp_path):
    pages = read_pool(small_data.write_pool(tmp_path / "pool", {"a": BODY, "b": f"{BODY}<p>Eleven"}))
    return {page.name: page for page in map(guess_page, pages)}


def decided(page, reader, marks):
    return page.annotated(reader, [Mark(mark) for mark in marks], PageType.ARTICLE)


def test_kappa_is_that_of_a_textbook():
    agreement = Agreement(Counter({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}))
    assert agreement.share == pytest.approx(0.7)
    assert agreement.kappa == pytest.approx(0.4)


def test_those_who_use_one_mark_agree_wholly():
    assert (Agreement(Counter({("+", "+"): 3})).kappa, Agreement(Counter()).share) == (1.0, 1.0)


def test_report_weighs_by_words_and_counts_what_is_undecided(marked_pages):
    annotations = [
        decided(marked_pages["pool/a"], "reader-01", "h++-"),
        decided(marked_pages["pool/a"], "reader-02", "h+-?"),
        decided(marked_pages["pool/b"], "reader-01", "-++--"),
    ]
    lines = report(annotations, marked_pages).splitlines()
    assert lines[2:4] == ["| reader-01 | 2 | 9 | 0 |", "| reader-02 | 1 | 4 | 1 |"]
    # 2 words of h, 5 of + and 3 of + against -: 7 of 10 have the same mark.
    assert lines[7] == "| reader-01 and reader-02 | 1 | 10 | 70.0% | 0.464 | 70.0% | 0.400 |"
    assert lines[-1] == "| pool/a | 70.0% |"


def test_all_pairs_have_a_sum(marked_pages):
    readers = ("reader-01", "reader-02", "reader-03")
    tables = report([decided(marked_pages["pool/a"], reader, "h++-") for reader in readers], marked_pages)
    assert "| all | 3 | 36 | 100.0% | 1.000 | 100.0% | 1.000 |" in tables


def test_single_readers_are_not_compared(marked_pages):
    assert "No page is decided by two readers." in report(
        [decided(marked_pages["pool/a"], "reader-01", "h++-")], marked_pages
    )


def test_unknown_page_is_an_error(marked_pages):
    annotation = decided(marked_pages["pool/a"], "reader-01", "h++-")
    with pytest.raises(AnnotationError, match="reader-01 decided the page pool/a, which is unknown here"):
        report([annotation], {"pool/b": marked_pages["pool/b"]})
    with pytest.raises(AnnotationError, match="reader-01 decided the page pool/a with digest"):
        report([annotation], {"pool/a": marked_pages["pool/b"]})
