"""The query language, and the excerpt with its hits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning.terms import index_tokens, join_tokens, token_spans
from crawler.errors import QueryError
from crawler.reading.search import _QUERY_MAX_CHARACTERS, Phrase, Query, _make_excerpt, parse_query


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


def marked(text, query, **options):
    excerpt = _make_excerpt(text, parse_query(query).phrases, **options)
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
    excerpt = _make_excerpt(text, parse_query("bridge").phrases, width=100)
    assert excerpt.text.startswith("\u2026before")
    assert excerpt.text.endswith("after\u2026")
    assert len(excerpt.text) <= 102
    assert [excerpt.text[start:end] for start, end in excerpt.hits] == ["bridge"]


def test_a_long_text_without_spaces_is_cut_too():
    excerpt = _make_excerpt("好" * 500 + "计算" + "好" * 500, parse_query("计算").phrases, width=100)
    assert len(excerpt.text) <= 102
    assert [excerpt.text[start:end] for start, end in excerpt.hits] == ["计算"]


@given(st.text(), st.text(min_size=1, max_size=6))
def test_hits_are_in_order_and_within_the_excerpt(text, query):
    try:
        phrases = parse_query(query).phrases
    except QueryError:
        return
    excerpt = _make_excerpt(text, phrases, width=40)
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
