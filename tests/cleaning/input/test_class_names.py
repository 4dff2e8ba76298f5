"""Tests of classes: they answer as the pattern does, the first time and again, for short and long classes."""

import re

import pytest

from cleaning.input.class_names import class_test

LONG = "column " * 40


@pytest.mark.parametrize("names", ["gutter", "line gutter", f"{LONG}gutter", f"gutter {LONG}"])
def test_a_match_is_found_each_time(names):
    names_gutter = class_test(re.compile("gutter"))
    assert [names_gutter(names), names_gutter(names)] == [True, True]


@pytest.mark.parametrize("names", ["", "column", LONG])
def test_other_classes_have_no_match(names):
    names_gutter = class_test(re.compile("gutter"))
    assert [names_gutter(names), names_gutter(names)] == [False, False]


def test_tests_do_not_share_what_they_remember():
    names_gutter = class_test(re.compile("gutter"))
    names_column = class_test(re.compile("column"))
    assert (names_gutter("column"), names_column("column")) == (False, True)
