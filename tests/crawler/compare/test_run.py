"""Every method on one page."""

from collections import Counter

import pytest

from cleaning import clean
from cleaning.methods import METHODS
from cleaning.methods.method import Method
from crawler.compare.run import Compared, Failure, Result, agreement


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
    one, other = Counter(ours.split()), Counter(theirs.split())
    assert agreement(one, other) == agreement(other, one) == expected


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
def test_what_is_no_page_is_a_failure_with_its_reason(compare, body, reason):
    failure = compare(body, ["default"], max_bytes=1000)
    assert isinstance(failure, Failure)
    assert failure.reason == reason


def test_a_page_in_no_known_encoding_is_compared_and_its_oddity_kept(compare):
    body = b'<meta charset="klingon"><p>' + bytes(range(0x80, 0x100)) * 3 + b" and some words in the end</p>"
    assert isinstance(compare(body, ["default"]), Compared)


def test_a_method_that_breaks_leaves_the_others_alone(compare, article, monkeypatch, caplog):
    def break_down(page, options):
        raise ZeroDivisionError("a bug")

    broken = Method(break_down, METHODS["default"].score, METHODS["default"].decide, "nobody")
    monkeypatch.setitem(METHODS, "broken", broken)
    compared = compare(article, ["broken", "default"])
    assert compared.outcomes["broken"] == Failure("method_failed", "ZeroDivisionError: a bug")
    assert isinstance(compared.outcomes["default"], Result)
    assert "Traceback" in caplog.text


def test_a_page_on_which_no_method_works_is_a_failure(compare, article):
    assert compare(article, ["ce"]) == Failure("no_template", "ce: this is the only page of its site")


def test_a_template_is_learned_from_the_pages_of_the_site(compare, source, article):
    shared = "<p>All rights are with the town of the mill, and all wrongs are with the river that took the bridge.</p>"
    first, second = source(article + shared, site="a"), source(f"<p>Short, but its own.</p>{shared}", site="a")
    compared = compare(second, ["ce"], sources=[first])
    reasons = compared.results["ce"].reasons
    assert reasons["template"] == 1
    assert [block.text for block in compared.results["ce"].kept] == ["Short, but its own."]


def test_a_page_saved_twice_is_no_template_of_itself(compare, source, article):
    assert isinstance(compare(source(article), ["ce"], sources=[source(article)]), Failure)


def test_pages_of_other_sites_teach_no_template(compare, source, article):
    assert isinstance(compare(source(article, site="a"), ["ce"], sources=[source("<p>b</p>", site="b")]), Failure)
