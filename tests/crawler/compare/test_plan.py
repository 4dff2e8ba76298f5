"""Which methods are compared."""

import pytest

from cleaning.methods import METHODS
from crawler.compare.plan import make_plan, read_methods
from crawler.compare.templates import Templates
from crawler.errors import CompareError, RenderError


def no_browser():
    raise RenderError("there is no browser")


def test_a_list_names_each_method_once():
    assert read_methods(" pab,default , pab") == ["pab", "default"]


@pytest.mark.parametrize(
    ("text", "says"), [("defualt", "did you mean 'default'"), ("", "no method"), (" , ", "known:")]
)
def test_a_list_that_names_none_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        read_methods(text)


def test_what_cannot_work_is_left_out_and_said(source, article, raw_methods):
    plan = make_plan(None, Templates([source(article)], 10_000), no_browser)
    assert plan.methods == raw_methods
    assert plan.left_out.keys() == METHODS.keys() - set(raw_methods)
    assert plan.left_out["vce"] == "there is no browser"


@pytest.mark.parametrize(("name", "error"), [("vce", RenderError), ("ce", CompareError)])
def test_what_was_asked_for_must_work(source, article, name, error):
    with pytest.raises(error):
        make_plan(["default", name], Templates([source(article)], 10_000), no_browser)


def test_no_browser_is_started_for_methods_that_read_the_page_alone(source, article, raw_methods):
    templates = Templates([source(article), source("<p>b</p>")], 10_000)
    asked = [*raw_methods, "ce"]
    assert make_plan(asked, templates, no_browser).methods == asked
