"""The figures of all pages together."""

import pytest

from crawler.compare.figures import Figures
from crawler.compare.run import Failure

TWO = ["default", "subtree"]


@pytest.fixture
def gather(compare, source):
    """Compare these pages and add them up."""

    def run(pages, methods=TWO):
        figures = Figures(methods)
        for name, html in pages.items():
            figures.add(source(html, name), compare(source(html, name), methods))
        return figures

    return run


def test_sums_are_those_of_the_pages(gather, compare, article):
    one = compare(article, TWO)
    figures = gather({"a": article, "b": article, "c": ""})
    assert (figures.pages, figures.compared, figures.words) == (3, 2, 2 * one.words)
    for name, result in one.results.items():
        sums = figures.methods[name]
        assert (sums.pages, sums.blocks, sums.kept) == (2, 2 * len(result.judged), 2 * len(result.kept))
        assert sums.words == 2 * result.words
        assert sums.share == result.words / one.words
        assert sums.reasons.total() == sums.blocks
        assert sums.median_ms > 0


def test_agreement_is_the_mean_of_the_pages_whichever_way_round(gather, compare, article):
    other = "<p>Short.</p>"
    values = [compare(html, TWO).agreement["default", "subtree"] for html in (article, other)]
    figures = gather({"a": article, "b": other})
    assert figures.agreement("default", "subtree") == sum(values) / 2
    assert figures.agreement("subtree", "default") == sum(values) / 2


def test_failures_are_counted_and_the_first_few_kept(gather):
    figures = gather({str(number): "" for number in range(20)})
    assert figures.failures == {"empty": 20}
    assert 1 <= len(figures.failed) < 20
    assert figures.failed[0] == ("0", Failure("empty", "no element and no text"))


def test_methods_without_a_page_have_no_share_and_no_time():
    (one,) = Figures(["default"]).methods.values()
    assert (one.share, one.median_ms, one.mean_ms) == (None, None, None)


def test_pages_of_little_agreement_come_first_and_those_of_full_agreement_not_at_all(gather, compare, article):
    prose = "<p>The bridge over the river was closed on Monday, after the water had risen by two metres in one night."
    full = f"<article>{prose}{prose.replace('Monday', 'Tuesday')}{prose.replace('Monday', 'Friday')}"
    pages = {"full": full} | {f"p{n}": article + "<p>And a little more of it.</p>" * n for n in range(8)}
    figures = gather(pages)
    worst = figures.most_disagreed()
    means = [compare(html, TWO).mean_agreement for html in pages.values()]
    assert means[0] == 1
    assert [each.agreement for each in worst] == sorted(mean for mean in means if mean < 1)[: len(worst)]
    assert worst == sorted(worst)
    assert "full" not in [each.name for each in worst]
