"""The agreement of annotators, weighted by words."""

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


def decided(page, annotator, marks):
    return page.annotated(annotator, [Mark(mark) for mark in marks], PageType.ARTICLE)


def test_kappa_is_that_of_a_textbook():
    found = Agreement(Counter({("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}))
    assert found.share == pytest.approx(0.7)
    assert found.kappa == pytest.approx(0.4)


def test_those_who_use_one_mark_agree_wholly():
    assert (Agreement(Counter({("+", "+"): 3})).kappa, Agreement(Counter()).share) == (1.0, 1.0)


def test_report_weighs_by_words_and_counts_what_is_undecided(marked_pages):
    annotations = [
        decided(marked_pages["pool/a"], "anna", "h++-"),
        decided(marked_pages["pool/a"], "bert", "h+-?"),
        decided(marked_pages["pool/b"], "anna", "-++--"),
    ]
    lines = report(annotations, marked_pages).splitlines()
    assert lines[2:4] == ["| anna | 2 | 9 | 0 |", "| bert | 1 | 4 | 1 |"]
    # 2 words of h, 5 of + and 3 of + against -: 7 of 10 have the same mark.
    assert lines[7] == "| anna and bert | 1 | 10 | 70.0% | 0.464 | 70.0% | 0.400 |"
    assert lines[-1] == "| pool/a | 70.0% |"


def test_all_pairs_have_a_sum(marked_pages):
    found = report([decided(marked_pages["pool/a"], name, "h++-") for name in ("anna", "bert", "cleo")], marked_pages)
    assert "| all | 3 | 36 | 100.0% | 1.000 | 100.0% | 1.000 |" in found


def test_single_annotators_are_not_compared(marked_pages):
    assert "No page is decided by two annotators." in report(
        [decided(marked_pages["pool/a"], "anna", "h++-")], marked_pages
    )


def test_unknown_page_is_an_error(marked_pages):
    one = decided(marked_pages["pool/a"], "anna", "h++-")
    with pytest.raises(AnnotationError, match="anna decided the page pool/a, which is unknown here"):
        report([one], {"pool/b": marked_pages["pool/b"]})
    with pytest.raises(AnnotationError, match="anna decided the page pool/a with digest"):
        report([one], {"pool/a": marked_pages["pool/b"]})
