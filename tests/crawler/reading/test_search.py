"""The excerpt of a text with its hits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning.terms import index_tokens, join_tokens, token_spans
from crawler.errors import QueryError
from crawler.reading.query_language import parse_query
from crawler.reading.search import make_excerpt


def marked(text, query, **options):
    excerpt = make_excerpt(text, parse_query(query).phrases, **options)
    return [excerpt.text[start:end] for start, end in excerpt.hits]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("The old bridge, an Old Bridge.", '"old bridge"', ["old bridge", "Old Bridge"]),
        ("Computers compute", "comput*", ["Computers", "compute"]),
        ("计算机科学", "计算机", ["计算机"]),
        ("手机，机器", "机", ["机", "机"]),
        ("ＡＩ and ﬁre", "ai fire", ["ＡＩ", "ﬁre"]),
        ("l’homme", "homme", ["homme"]),
        ("हिन्दी भाषा", "हिन्दी", ["हिन्दी"]),
        ("nothing", "else", []),
        ("", "else", []),
    ],
)
def test_hits_are_the_positions_of_the_words(text, query, expected):
    assert marked(text, query) == expected


def test_a_long_text_is_cut_around_its_hits_between_words():
    text = "before " * 200 + "the old bridge " + "after " * 200
    excerpt = make_excerpt(text, parse_query("bridge").phrases, width=100)
    assert excerpt.text.startswith("\u2026before")
    assert excerpt.text.endswith("after\u2026")
    assert len(excerpt.text) <= 102
    assert [excerpt.text[start:end] for start, end in excerpt.hits] == ["bridge"]


def test_a_long_text_without_spaces_is_cut_too():
    excerpt = make_excerpt("好" * 500 + "计算" + "好" * 500, parse_query("计算").phrases, width=100)
    assert len(excerpt.text) <= 102
    assert [excerpt.text[start:end] for start, end in excerpt.hits] == ["计算"]


@given(st.text(), st.text(min_size=1, max_size=6))
def test_hits_are_in_order_and_within_the_excerpt(text, query):
    try:
        phrases = parse_query(query).phrases
    except QueryError:
        return
    excerpt = make_excerpt(text, phrases, width=40)
    ends = [0, *(place for hit in excerpt.hits for place in hit), len(excerpt.text)]
    assert ends == sorted(ends)


@given(st.text(alphabet="ab计算机ー' _.é\u0301ＡＢ", max_size=30))
def test_places_returns_the_same_words_as_cut(text):
    assert [place.word for place in token_spans(text)] == index_tokens(text)


def test_each_phrase_of_joined_words_can_be_counted():
    assert join_tokens("don t don t don".split()).count(join_tokens(["don", "t"])) == 2


@given(st.lists(st.sampled_from(["a", "b", "ab"]), max_size=12))
def test_each_word_of_joined_words_can_be_counted(words):
    for word in ("a", "b", "ab"):
        assert join_tokens(words).count(f" {word} ") == words.count(word)
