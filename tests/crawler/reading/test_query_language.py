"""The query language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning.terms import Phrase
from crawler.errors import QueryError
from crawler.reading.query_language import _QUERY_MAX_CHARACTERS, Query, parse_query, split_query


def phrase(words, *, begins=False):
    return Phrase(tuple(words.split()), begins)


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("one two", [["one"], ["two"]], []),
        ('"One  two" three', [["one two"], ["three"]], []),
        ("\u201cone two\u201d", [["one two"]], []),
        ("one -two", [["one"]], ["two"]),
        ('one -"two three"', [["one"]], ["two three"]),
        ("one OR two three", [["one", "two"], ["three"]], []),
        ("one OR two OR three", [["one", "two", "three"]], []),
        ("one or two", [["one"], ["or"], ["two"]], []),
        ("state-of-the-art don't", [["state of the art"], ["don t"]], []),
        ("(one OR two) three!", [["one", "two"], ["three"]], []),
        ("one & - two", [["one"], ["two"]], []),
        ("计算机 科学", [["计算 算机"], ["科学"]], []),
        ('"计算机 科学"', [["计算 算机 机 科学"]], []),
    ],
)
def test_words_and_phrases_are_parsed(text, wanted, unwanted):
    expected = tuple(tuple(phrase(words) for words in alternatives) for alternatives in wanted)
    assert parse_query(text) == Query(expected, tuple(phrase(words) for words in unwanted))


@pytest.mark.parametrize(
    ("text", "words"), [("comput*", "comput"), ('"old brid"*', "old brid"), ("计算*", "计算"), ("机", "机")]
)
def test_the_last_word_may_be_a_prefix_and_a_single_character_is_one(text, words):
    assert parse_query(text).wanted == ((phrase(words, begins=True),),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no words"),
        ("!!! ...", "has no words"),
        ("-one", "has unwanted words only"),
        ('one "two', "without its partner"),
        ("OR one", "nothing precedes it"),
        ("one OR OR two", "nothing precedes it"),
        ("one OR", "nothing follows"),
        ("one OR -two", "-word is not one"),
        ("one NOT two", "-word"),
        ("one AND two", "words need no AND, all must occur"),
        ("foo:bar", 'foo: is not a field; to search for the text itself, write "foo:bar" (a query has words, '),
        ('one -author:"A B"', "author: is not a field (a query has words, "),
        ("title:one OR two", "OR cannot stand between a title and a word"),
        ("-title:one", "has unwanted words only"),
        ("*", "must follow the beginning"),
        ("co*er", "must follow the beginning"),
        ("site:a.example one", "--site"),
        ("x" * (_QUERY_MAX_CHARACTERS + 1), "1,001 characters; 1,000 is the most"),
        (" ".join(f"a{n}" for n in range(65)), "65 words; 64 is the most"),
    ],
)
def test_a_malformed_query_is_one_sentence(text, message):
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=80))
def test_any_text_is_parsed_or_raises_query_error(text):
    try:
        query = parse_query(text)
    except QueryError:
        return
    assert query.wanted
    assert all(word and not set(word) & set("\"' \\*") for words_of in query.phrases for word in words_of.words)


@pytest.mark.parametrize(
    "text", ["12:30", "https://a.example/x", "re: one", "one:", '"foo:bar"', "日本:東京", "a or b"]
)
def test_a_colon_in_the_text_is_no_field(text):
    assert parse_query(text).title is None


def test_titles_are_a_query_of_their_own():
    query = parse_query('title:"old mill" OR Title:brid* river -title:budget -games')
    titles = Query(((Phrase(("old", "mill")), Phrase(("brid",), begins=True)),), (Phrase(("budget",)),))
    assert query == Query(((Phrase(("river",)),),), (Phrase(("games",)),), titles)


def test_a_repeated_word_counts_once():
    assert parse_query("one one OR two").phrases == (phrase("one"), phrase("two"))


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("bridge river", "The RIVER, and an old bridge", True),
        ("bridge river", "The river", False),
        ('"old bridge"', "the old, bridge", True),
        ("brid*", "the bridgehead", True),
        ("brid", "the bridgehead", False),
        ("one OR two", "number two", True),
        ("one -two", "one and two", False),
        ("ete", "L\u2019homme d\u2019\u00e9t\u00e9", True),
        ("\u8ba1\u7b97", "\u6211\u7684\u8ba1\u7b97\u673a", True),
    ],
)
def test_a_text_matches_as_the_databases_match_it(query, text, matches):
    assert parse_query(query).matches(text) is matches


def test_a_query_is_split_into_what_must_occur_and_what_must_not():
    text = 'mill OR bridge \u201cold brid*\u201d -winter river* title:late ... -"a b"'
    wanted, unwanted = split_query(text)
    assert wanted == ["mill OR bridge", '"old brid*"', "river*", "title:late"]
    assert unwanted == ["-winter", '-"a b"']
    assert parse_query(" ".join(wanted + unwanted)) == parse_query(text)
