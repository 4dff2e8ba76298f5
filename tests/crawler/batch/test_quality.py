"""The measures of Gopher and C4, on texts whose values can be counted by hand."""

from pathlib import Path

import pytest

from crawler.batch.quality import QUALITY_COLUMNS, measure_quality

PROSE = """The mill stood empty for a decade before anybody asked what it would cost to repair.
Her uncle remembered the noise of its wheel, and the smell of wet flour in winter.
In spring the council sent two engineers who measured every beam with a laser.
They found rot below the second floor but little damage anywhere else.
A bakery from the next town offered to pay half if it could use the cellar.
Neighbours complained about lorries, dust and the long queue that they expected on Sundays.
After three meetings, a compromise was reached that nobody had proposed at the start.
Work begins in May and should end with the first harvest of next year."""


def test_every_measure_has_a_value_for_any_text():
    for text in ("", "word", PROSE, "日本語の文章。" * 20, "\ud800 \x00", "• \n…"):
        measures = measure_quality(text)
        assert measures.keys() == QUALITY_COLUMNS.keys()
        assert all(
            0 <= value <= 1 for name, value in measures.items() if name.endswith("_share") and name != "symbol_share"
        )


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("mean_word_length", "one three", 4.0),
        ("symbol_share", "# one … two three...", 3 / 5),
        ("bullet_line_share", "• one\n- two\nthree\nfour", 0.5),
        ("ellipsis_line_share", "one…\ntwo...\nthree\nfour.", 0.5),
        ("letter_word_share", "one 2 3 four", 0.5),
        ("stop_words", "The mill, the mill and that", 3),
        (
            "closed_line_share",
            "One two three four five.\nOne two.\nOne two three four five\nSix words that use cookies here.",
            0.25,
        ),
        ("sentences", "One two three. Four five! Six?\nOne two three four five.", 4),
        ("repeated_line_share", "one\ntwo\none\none", 0.5),
        ("repeated_line_char_share", "oneone\ntwo\noneone", 6 / 15),
        ("top_2gram_share", "ab cd xy ab cd", 8 / 10),
        ("top_2gram_share", "ab cd ef", 0.0),
        ("top_3gram_share", "a b c d a b c", 6 / 7),
        ("repeated_5gram_share", "a b c d e x a b c d e y", 10 / 12),
        ("repeated_5gram_share", "a a a a a a", 1.0),
        ("repeated_10gram_share", "a b c d e x a b c d e y", 0.0),
    ],
)
def test_a_measure_is_as_counted(name, text, value):
    assert measure_quality(text)[name] == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "gopher", "c4"),
    [
        (PROSE, None, None),
        ("Three words only.", "words", "sentences"),
        (PROSE.replace(" t", " # # t"), "symbol_share", None),
        ("\n".join(f"• {line}" for line in PROSE.split("\n")), "bullet_line_share", None),
        (PROSE + "\nfunction start() { return the end of it all; }", None, "curly_bracket"),
        (PROSE + "\nLorem Ipsum dolor sit amet and so on.", None, "lorem_ipsum"),
        ("\n".join([PROSE] * 2), "repeated_line_share", None),
        ("1234 5678 " * 40, "letter_word_share", "sentences"),
    ],
)
def test_the_first_broken_rule_is_named(text, gopher, c4):
    measures = measure_quality(text)
    assert (measures["gopher"], measures["c4"]) == (gopher, c4)


def test_a_text_without_spaces_is_only_judged_by_its_lines():
    lines = [f"これは{number}番目の文章です。水車小屋は売られました。" for number in range(10)]
    measures = measure_quality("\n".join(lines))
    assert (measures["gopher"], measures["c4"]) == (None, None)
    assert measure_quality("\n".join(lines[:1] * 10))["gopher"] == "repeated_line_share"


def test_the_docs_name_each_measure():
    page = (Path(__file__).parents[3] / "docs" / "scale.md").read_text("utf-8")
    assert [
        f"| `{name}` | {meaning} |"
        for name, meaning in QUALITY_COLUMNS.items()
        if f"| `{name}` | {meaning} |" not in page
    ] == []
