"""Languages of pages: valid codes only, one code for a language, and one that agrees with the script of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import clean
from cleaning.metadata.languages import (
    _is_written_in,
    _language_code,
    _language_of_script,
    identify_language,
    read_language,
)

ENGLISH = "The town library opens again on Monday after two years of repairs, and its reading room has kept its tables."
GERMAN = "Die Stadtbücherei öffnet am Montag nach zwei Jahren wieder, und der Lesesaal hat seine alten Tische behalten."
CHINESE = (
    "市图书馆经过两年的修缮将于星期一重新开放，阅览室保留了橡木桌子、绿色台灯和高大的窗户，"
    "窗外可以看到河流和古老的磨坊，读者们都非常高兴。"
)
JAPANESE = "図書館は月曜日に再開します。二年間の修理を経て、閲覧室は元の机と緑のランプ、高い窓をそのまま残しています。"
KOREAN = (
    "시립 도서관은 이 년 동안의 수리를 마치고 월요일에 다시 문을 엽니다. 열람실에는 오래된 책상이 그대로 남아 있습니다."
)
RUSSIAN = "Городская библиотека открывается в понедельник после двух лет ремонта, и в читальном зале остались столы."


@pytest.mark.parametrize(
    ("stated", "code"),
    [
        ("utf", None),
        ("utf-8", None),
        ("xx", None),
        ("und", None),
        ("mul", None),
        ("jp", None),
        ("english", None),
        ("", None),
        ("EN_us", "en"),
        ("ger", "de"),
        ("cmn-Hans-CN", "zh"),
        ("yue", "zh"),
        ("wuu", "zh"),
        ("zh-TW", "zh"),
        ("iw", "he"),
        ("arb", "ar"),
        ("fil-PH", "fil"),
        ("haw", "haw"),
    ],
)
def test_stated_code_is_a_language_or_nothing(stated, code):
    assert _language_code(stated) == code


@pytest.mark.parametrize(
    ("stated", "text", "code"),
    [
        ("en", CHINESE, "zh"),
        ("en", JAPANESE, "ja"),
        ("zh", JAPANESE, "ja"),
        ("ja", CHINESE, "zh"),
        ("en", KOREAN, "ko"),
        ("en", RUSSIAN, "ru"),
        ("zh", ENGLISH, "en"),
        ("de", RUSSIAN, "ru"),
        ("de", ENGLISH, "de"),
        ("bg", RUSSIAN, "bg"),
        ("sr", ENGLISH, "sr"),
        ("zh", CHINESE + " Linux kernel" * 5, "zh"),
        ("en", CHINESE[:50], "zh"),
        ("en", CHINESE[:20], "en"),
        ("fil", ENGLISH, "fil"),
    ],
)
def test_stated_language_counts_if_the_text_is_in_its_script(stated, text, code):
    assert read_language([stated], text) == code


def test_next_stated_language_is_read_if_the_first_one_disagrees():
    assert read_language([None, "utf-8", "en", "zh-CN"], CHINESE) == "zh"


def test_page_in_chinese_that_states_english_is_chinese():
    body = f"<h1>图书馆重新开放</h1><p>{CHINESE}</p><p>{CHINESE[:-1]}，也很安静。</p>"
    page = f'<html lang="en"><body><article>{body}</article>'
    assert clean(page.encode()).language == "zh"


@given(st.lists(st.text(max_size=8) | st.none(), max_size=3), st.text(max_size=100))
def test_any_statement_and_text_gives_a_code_or_nothing(stated, text):
    code = read_language(stated, text)
    assert code is None or _language_code(code) == code


@pytest.mark.parametrize(("text", "code"), [(ENGLISH, "en"), (GERMAN, "de"), (CHINESE, "zh")])
def test_language_of_a_text_is_recognised(text, code):
    assert identify_language(text) == code


@given(
    st.lists(st.sampled_from([CHINESE, RUSSIAN, ENGLISH, "カタカナ", "한국어로 쓴 글입니다.", "ภาษาไทย"]), max_size=12)
)
def test_script_of_one_language_tells_what_the_model_would_not_be_believed_against(pieces):
    text = " ".join(pieces)
    sole = _language_of_script(text[:500])
    recognised = identify_language(text)
    assert sole is None or recognised in {None, sole} or not _is_written_in(text[:500], recognised)


@pytest.mark.parametrize(
    ("text", "code"), [(CHINESE * 2, "zh"), (CHINESE + ENGLISH, None), (ENGLISH, None), ("", None)]
)
def test_script_tells_the_language_alone(text, code):
    assert _language_of_script(text) == code


ZULU = "UMalusi ozinikele kwabasemagunyeni malunga netyala lakhe uvele enkantolo namuhla ekuseni ngoMsombuluko."


def test_a_text_in_capital_letters_and_one_of_lines_are_recognised():
    assert identify_language(ENGLISH.upper()) == identify_language(ENGLISH.replace(" ", "\n")) == "en"
    assert identify_language(f"{GERMAN} \ud800\x00") == "de"


@pytest.mark.parametrize("text", ["1234 567 " * 20, "- " * 60, "\ud800" * 80, ZULU])
def test_what_the_model_cannot_tell_has_no_language(text):
    assert identify_language(text) is None


@pytest.mark.parametrize("text", ["", "Hello", "x" * 59])
def test_short_text_has_no_language(text):
    assert identify_language(text) is None
