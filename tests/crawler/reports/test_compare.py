"""Every method on one page, the plan of methods, and the totals of all pages."""

from collections import Counter

import pytest

from cleaning import clean
from cleaning.methods import METHODS
from cleaning.methods.method import Method
from crawler.errors import CompareError, RenderError
from crawler.reports.compare import (
    ComparedMethod,
    ComparedPage,
    CompareFailure,
    ComparisonTotals,
    SiteBoilerplate,
    agreement,
    make_plan,
    read_methods,
)
from crawler.reports.comparison import agreement_rows
from crawler.reports.inert_page import short


def test_each_method_gives_what_clean_gives(compare, article, raw_methods):
    compared = compare(article)
    assert list(compared.results) == raw_methods
    for name, result in compared.results.items():
        cleaned = clean(article.encode(), method=name)
        assert [judged.decision for judged in result.judged] == list(cleaned.decisions)
        assert (len(result.kept), result.reasons) == (len(cleaned.kept), Counter(cleaned.counts()))


def test_times_are_measured_apart(compare, article):
    compared = compare(article)
    assert compared.parse_ms > 0
    assert compared.render_ms is None
    assert all(result.ms > 0 for result in compared.results.values())


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [("a b c", "a b c", 1.0), ("a b", "c", 0.0), ("a a b", "a c", 0.4), ("", "", 1.0), ("a", "", 0.0)],
)
def test_agreement_is_the_f1_of_two_multisets_of_words(ours, theirs, expected):
    first = Counter(ours.split())
    second = Counter(theirs.split())
    assert agreement(first, second) == agreement(second, first) == expected


def test_every_two_methods_have_an_agreement(compare, article, raw_methods):
    compared = compare(article)
    assert len(compared.agreement) == len(raw_methods) * (len(raw_methods) - 1) // 2
    assert 0 <= compared.mean_agreement <= 1


def test_one_method_agrees_with_nobody(compare, article):
    compared = compare(article, ["default"])
    assert (compared.agreement, compared.mean_agreement) == ({}, None)


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"", "empty"), (b"  \n", "empty"), (b"%PDF-1.7 \x00\x00", "binary_page"), (b"<p>" + b"a" * 2000, "too_large")],
)
def test_a_source_without_a_page_is_a_failure_with_a_reason(compare, body, reason):
    failure = compare(body, ["default"], max_bytes=1000)
    assert isinstance(failure, CompareFailure)
    assert failure.reason == reason


def test_a_page_in_no_known_encoding_is_compared_and_its_oddity_kept(compare):
    body = b'<meta charset="klingon"><p>' + bytes(range(0x80, 0x100)) * 3 + b" and some words in the end</p>"
    assert isinstance(compare(body, ["default"]), ComparedPage)


def test_a_method_that_breaks_leaves_the_others_alone(compare, article, monkeypatch, caplog):
    def break_down(page, options):
        raise ZeroDivisionError("a bug")

    broken = Method(break_down, METHODS["default"].score, METHODS["default"].decide, "nobody")
    monkeypatch.setitem(METHODS, "broken", broken)
    compared = compare(article, ["broken", "default"])
    assert compared.outcomes["broken"] == CompareFailure("method_failed", "ZeroDivisionError: a bug")
    assert isinstance(compared.outcomes["default"], ComparedMethod)
    assert "Traceback" in caplog.text


def test_a_page_on_which_no_method_works_is_a_failure(compare, article):
    assert compare(article, ["ce"]) == CompareFailure("no_template", "ce: this is the only page of its site")


def test_a_template_is_learned_from_the_pages_of_the_site(compare, source, article):
    shared = "<p>All rights are with the town of the mill, and all wrongs are with the river that took the bridge.</p>"
    first = source(article + shared, site="a")
    second = source(f"<p>Short, but its own.</p>{shared}", site="a")
    compared = compare(second, ["ce"], sources=[first])
    reasons = compared.results["ce"].reasons
    assert reasons["template"] == 1
    assert [block.text for block in compared.results["ce"].kept] == ["Short, but its own."]


def test_a_page_saved_twice_is_no_template_of_itself(compare, source, article):
    assert isinstance(compare(source(article), ["ce"], sources=[source(article)]), CompareFailure)


def test_pages_of_other_sites_teach_no_template(compare, source, article):
    assert isinstance(
        compare(source(article, site="a"), ["ce"], sources=[source("<p>b</p>", site="b")]), CompareFailure
    )


def no_browser():
    raise RenderError("there is no browser")


def test_a_list_names_each_method_once():
    assert read_methods(" pab,default , pab") == ["pab", "default"]


@pytest.mark.parametrize(
    ("text", "says"), [("defualt", "did you mean 'default'"), ("", "no method"), (" , ", "known:")]
)
def test_an_unknown_method_or_an_empty_list_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        read_methods(text)


def test_methods_that_cannot_work_are_left_out_with_the_reason(source, article, raw_methods):
    plan = make_plan(None, SiteBoilerplate([source(article)], 10_000), no_browser)
    assert plan.methods == raw_methods
    assert plan.left_out.keys() == METHODS.keys() - set(raw_methods)
    assert plan.left_out["vce"] == "there is no browser"


@pytest.mark.parametrize(("name", "error"), [("vce", RenderError), ("ce", CompareError)])
def test_methods_that_are_asked_for_must_work(source, article, name, error):
    with pytest.raises(error):
        make_plan(["default", name], SiteBoilerplate([source(article)], 10_000), no_browser)


def test_no_browser_is_started_for_methods_that_read_the_page_alone(source, article, raw_methods):
    templates = SiteBoilerplate([source(article), source("<p>b</p>")], 10_000)
    names = [*raw_methods, "ce"]
    assert make_plan(names, templates, no_browser).methods == names


TWO = ["default", "subtree"]


@pytest.fixture
def gather(compare, source):
    """Compare these pages and add them up."""

    def run(pages, methods=TWO):
        totals = ComparisonTotals(methods)
        for name, html in pages.items():
            totals.add(source(html, name), compare(source(html, name), methods))
        return totals

    return run


def test_sums_are_those_of_the_pages(gather, compare, article):
    compared = compare(article, TWO)
    totals = gather({"a": article, "b": article, "c": ""})
    assert (totals.pages, totals.compared, totals.words) == (3, 2, 2 * compared.words)
    for name, result in compared.results.items():
        sums = totals.methods[name]
        assert (sums.pages, sums.blocks, sums.kept) == (2, 2 * len(result.judged), 2 * len(result.kept))
        assert sums.words == 2 * result.words
        assert sums.share == result.words / compared.words
        assert sums.reasons.total() == sums.blocks
        assert sums.median_ms > 0


def test_agreement_is_the_mean_of_the_pages_in_either_order(gather, compare, article):
    other = "<p>Short.</p>"
    values = [compare(html, TWO).agreement["default", "subtree"] for html in (article, other)]
    totals = gather({"a": article, "b": other})
    assert totals.agreement == {("default", "subtree"): sum(values) / 2}
    assert [list(map(str, row[2:])) for row in agreement_rows(TWO, totals.agreement)] == [
        ["·", short(sum(values) / 2)],
        [short(sum(values) / 2), "·"],
    ]


def test_failures_are_counted_and_the_first_few_kept(gather):
    totals = gather({str(number): "" for number in range(20)})
    assert totals.failures == {"empty": 20}
    assert 1 <= len(totals.failed) < 20
    assert totals.failed[0] == ("0", CompareFailure("empty", "no element and no text"))


def test_methods_without_a_page_have_no_share_and_no_time():
    (method_totals,) = ComparisonTotals(["default"]).methods.values()
    assert (method_totals.share, method_totals.median_ms, method_totals.mean_ms) == (None, None, None)


def test_pages_of_little_agreement_come_first_and_those_of_full_agreement_not_at_all(gather, compare, article):
    prose = "<p>The bridge over the river was closed on Monday, after the water had risen by two metres in one night."
    full = f"<article>{prose}{prose.replace('Monday', 'Tuesday')}{prose.replace('Monday', 'Friday')}"
    pages = {"full": full} | {f"p{n}": article + "<p>And a little more of it.</p>" * n for n in range(8)}
    totals = gather(pages)
    worst = totals.most_disagreed
    means = [compare(html, TWO).mean_agreement for html in pages.values()]
    assert means[0] == 1
    assert [disagreement.agreement for disagreement in worst] == sorted(mean for mean in means if mean < 1)[
        : len(worst)
    ]
    assert worst == sorted(worst)
    assert "full" not in [disagreement.name for disagreement in worst]
