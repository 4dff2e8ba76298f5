"""Declared options: each type reads texts, checks values, and says what it takes."""

import re
from dataclasses import dataclass
from datetime import date

import pytest

from cleaning.declare import (
    day,
    declared_options,
    did_you_mean,
    integer,
    mapping,
    number,
    one_of,
    option,
    parsed,
    pattern,
    required,
    switch,
    text,
    texts,
    web_url,
    words_of,
)

COLOURS = ("red", "green")


def refuse(value):
    raise ValueError(f"not {value!r}")


@pytest.mark.parametrize(
    ("option_type", "raw_value", "value"),
    [
        (integer(0, 20), "7", 7),
        (integer(0, 20), 20.0, 20),
        (integer(0, 10**7), "1e6", 1_000_000),
        (number(0.0, 1.0), "0.5", 0.5),
        (number(0.0, 1.0), 1, 1.0),
        (switch(), "Yes", True),
        (switch(), 0, False),
        (one_of(COLOURS), "red", "red"),
        (words_of(COLOURS), "green, RED green", ("green", "red")),
        (words_of(COLOURS), ["red"], ("red",)),
        (words_of(COLOURS), "", ()),
        (text(), 7, "7"),
        (texts(len, "texts"), "a{1,2}  b", ("a{1,2}", "b")),
        (mapping(len, "a mapping"), '{"a": 1}', {"a": 1}),
        (mapping(len, "a mapping"), "", {}),
        (web_url(), " https://x.example/a ", "https://x.example/a"),
        (day(), "2024-05-31", date(2024, 5, 31)),
        (pattern(), "a+", re.compile("a+")),
        (parsed("letters", "letters", list), "ab", ["a", "b"]),
    ],
)
def test_a_text_or_a_value_is_read(option_type, raw_value, value):
    assert option_type.read(raw_value) == value


@pytest.mark.parametrize(
    ("option_type", "raw_value", "says"),
    [
        (integer(0, 3), "4", "it takes a whole number from 0 to 3"),
        (integer(0, 3), "2.7", "it takes a whole number from 0 to 3"),
        (integer(0, 3), True, "it takes a whole number from 0 to 3"),
        (integer(0, 3), "9" * 5_000, "it takes a whole number from 0 to 3"),
        (number(0.0, 1.0), "nan", "it takes a number from 0.0 to 1.0"),
        (number(0.0, 1.0), "inf", "it takes a number from 0.0 to 1.0"),
        (switch(), "perhaps", "it takes true or false"),
        (one_of(COLOURS), "rde", "it takes one of red, green (did you mean 'red'?)"),
        (one_of(COLOURS), "xyz", "it takes one of red, green"),
        (words_of(COLOURS), "red blue", "('blue' is not one of them)"),
        (words_of(COLOURS, may_be_empty=False), ",", "it takes words out of red, green, with commas between them"),
        (words_of(COLOURS), 7, "it takes words out of red, green"),
        (text(refuse, "a good text"), "bad", "it takes a good text (not 'bad')"),
        (texts(refuse, "good texts"), "bad", "it takes good texts (not ('bad',))"),
        (mapping(len, "a mapping"), "{a", "it takes a mapping (not JSON: "),
        (mapping(len, "a mapping"), "[1]", "it takes a mapping"),
        (web_url(), "ftp://x.example/", "it takes an http or https URL of at most 2000 characters"),
        (web_url(), "http://[x", "it takes an http or https URL"),
        (web_url(), "http://x/" + "a" * 2_000, "it takes an http or https URL"),
        (day(), "2024-13-01", "it takes a date like 2024-05-31"),
        (pattern(), "(", "it takes a regular expression of at most 500 characters (missing )"),
        (pattern(), "a" * 501, "it takes a regular expression of at most 500 characters"),
    ],
)
def test_a_bad_value_is_told_what_the_option_takes(option_type, raw_value, says):
    with pytest.raises(ValueError, match=r"^it takes ") as raised:
        option_type.read(raw_value)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("option_type", "value"), [(integer(0, 3), "1"), (integer(0, 3), 1.0), (number(0.0, 1.0), True), (switch(), 1)]
)
def test_a_check_takes_no_value_of_another_type(option_type, value):
    with pytest.raises(ValueError, match=r"^it takes "):
        option_type.check(value)


def test_options_are_known_by_their_declaration():
    @dataclass(frozen=True, kw_only=True)
    class Declared:
        url: str = required(web_url(), "Where to start.")
        extra: dict = option({}, mapping(len, "a mapping"), "More.")

    url, extra = declared_options(Declared).values()
    assert (url.name, url.is_required, url.help, url.type.allowed) == ("url", True, "Where to start.", "URL")
    assert (extra.default, extra.is_required) == ({}, False)
    assert Declared(url="u").extra is not Declared(url="u").extra


def test_an_unknown_name_is_answered_by_the_nearest_or_by_all():
    assert did_you_mean("gren", COLOURS) == "did you mean 'green'?"
    assert did_you_mean("zzz", COLOURS) == "known: green, red"
