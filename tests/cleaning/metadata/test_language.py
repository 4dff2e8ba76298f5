"""The language of a text."""

import pytest

from cleaning.metadata.page import identify_language

ENGLISH = "The town library opens again on Monday after two years of repairs, and its reading room has kept its tables."
GERMAN = "Die Stadtbücherei öffnet am Montag nach zwei Jahren wieder, und der Lesesaal hat seine alten Tische behalten."
CHINESE = (
    "市图书馆经过两年的修缮将于星期一重新开放，阅览室保留了橡木桌子、绿色台灯和高大的窗户，"
    "窗外可以看到河流和古老的磨坊，读者们都非常高兴。"
)


@pytest.mark.parametrize(("text", "code"), [(ENGLISH, "en"), (GERMAN, "de"), (CHINESE, "zh")])
def test_language_of_a_text_is_recognised(text, code):
    assert identify_language(text) == code


@pytest.mark.parametrize("text", ["", "Hello", "x" * 59])
def test_short_text_has_no_language(text):
    assert identify_language(text) is None
