"""Text to terms: white space, words, stop words, stems."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh64_intdigest

from cleaning.terms import (
    _FIRST_ACCENT,
    _LAST_ACCENT,
    _LONG_STRETCH,
    _MAX_ACCENTS,
    _PART,
    _UNSPACED_START,
    _UNWANTED,
    _WORD,
    bare,
    count_words,
    fold,
    fold_for_search,
    index_tokens,
    normalise,
    stop_words,
    terms,
    tidy_code,
    token_spans,
    tokenise,
    visible,
    visible_parts,
)

any_text = st.text(st.characters())  # lone surrogates among them


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a \t b\r\n c ", "a b c"),
        ("a\u00a0b\u3000c", "a b c"),
        ("a\x00b\x1bc\x7f\x9b", "abc"),
        ("a\ud800b", "ab"),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_normalised_text_is_one_clean_line(text, expected):
    assert normalise(text) == expected


@given(any_text)
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(any_text)
def test_normalised_text_can_be_stored(text):
    normalised = normalise(text)
    assert "\n" not in normalised
    assert "\x00" not in normalised
    assert normalised.encode("utf-8").decode("utf-8") == normalised


@given(any_text)
def test_tidied_code_can_be_stored(text):
    tidied = tidy_code(text)
    assert tidy_code(tidied) == tidied
    assert tidied.encode("utf-8").decode("utf-8") == tidied


def test_code_keeps_lines_and_indentation():
    assert tidy_code("\n\n  if x:\r\n\tgo()   \n\n") == "  if x:\n\tgo()"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Cat's 2 hats.", ["the", "cat's", "2", "hats"]),
        ("Don’t STRASSE Straße", ["don't", "strasse", "strasse"]),
        ("ﬁne Ｆｕｌｌ", ["fine", "full"]),
        ("中文网页", ["中文", "文网", "网页"]),
        ("中", ["中"]),
        ("用Python写", ["用", "python", "写"]),
        ("पहाड़ी गाँव", ["पहाड़ी", "गाँव"]),
        ("مَرْحَبًا بكم", ["مَرْحَبًا", "بكم"]),
        ("... — !", []),
        ("", []),
    ],
)
def test_words_are_folded_and_unspaced_scripts_give_bigrams(text, expected):
    assert tokenise(text) == expected


@given(st.text(st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_gives_the_same_words(text):
    assert tokenise(text) == tokenise(text + " é")[:-1]


@pytest.mark.parametrize(
    ("text", "expected"), [("one two, three", 3), ("中文网页", 2), ("中文网", 2), ("用Python", 2), ("— !", 0), ("", 0)]
)
def test_two_unspaced_characters_make_a_word(text, expected):
    assert count_words(text) == expected


@given(st.text() | st.text(st.sampled_from("aé_9'’ \t\n\r\x0b\x1c\x85\xa0\u2028\u3000\u200d中ก\u0301.,")))
def test_the_short_ways_give_what_the_whole_patterns_give(text):
    assert normalise(text) == " ".join(_UNWANTED.sub("", visible(text)).split())
    words = _WORD.findall(text)
    assert count_words(text) == sum((len(word) + 1) // 2 if _UNSPACED_START.match(word) else 1 for word in words)


def test_terms_are_stems_without_stop_words_in_order():
    assert terms("The runners were running and the relational caresses") == ["runner", "run", "relat", "caress"]


def test_stemmer_is_the_one_of_1980():
    # NLTK's own extensions give "die" and "sky".
    assert terms("dying skies") == ["dy", "ski"]


def test_words_of_other_scripts_are_no_stems():
    assert terms("Привет мира") == ["привет", "мира"]


@pytest.mark.parametrize("text", ["", "the of and", "!?"])
def test_text_without_terms_has_none(text):
    assert terms(text) == []


@given(any_text)
def test_any_text_has_terms(text):
    assert all(term and isinstance(term, str) for term in terms(text))


def test_stop_words_are_lower_case():
    assert {"the", "of", "and"} <= stop_words()
    assert all(word == word.lower() for word in stop_words())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("The river's END, the_end", ["the", "river", "s", "end", "the_end"]),
        ("L’ÉTÉ ＡＢ", ["l", "ete", "ab"]),
        ("计算机AI人", ["计算", "算机", "机", "ai", "人"]),
        ("हिन्दी", ["हिन्दी"]),
        ("x" * 250, ["x" * 100, "x" * 100, "x" * 50]),
        ("\0 ... !", []),
    ],
)
def test_texts_are_found_by_whole_words_and_by_bigrams(text, expected):
    assert index_tokens(text) == expected


@given(st.text(st.sampled_from("aB_9' .") | st.sampled_from("aB_9' .é中\u0301"), max_size=300), st.integers(1, 60))
def test_the_short_ways_of_the_index_give_the_same_words(text, times):
    whole = text * times
    words = []
    for part in _PART.findall(fold_for_search(whole)):
        unspaced = _UNSPACED_START.match(part)
        words += [part[index : index + 2] for index in range(len(part))] if unspaced else [part]
    assert index_tokens(whole) == words


@pytest.mark.parametrize(
    "words",
    [
        ("İstanbul", "ISTANBUL", "istanbul", "ıstanbul"),
        ("café", "CAFE", "cafe\u0301", "ｃａｆé"),
        ("Straße", "STRASSE"),
        ("Łódź", "lodz"),
        ("Ærøskøbing", "aeroskobing"),
        ("Đường", "duong", "ĐƯỜNG"),
        ("Ἀθῆναι", "αθηναι", "ΑΘΗΝΑΙ"),
        ("hyphen\u00adation", "hyphenation"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("می\u200cخواهم", "میخواهم"),
        ("كَتَبَ", "كتب", "كـتـب"),
        ("שָׁלוֹם", "שלום"),
        ("ёлка", "елка"),
        ("за\u0301мок", "замок"),
        ("об’єкт", "обʼєкт", "об'єкт"),
        ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),
        ("ｶﾞ", "ガ", "カ\u3099"),
    ],
)
def test_words_that_a_reader_may_type_otherwise_are_the_same(words):
    assert len({tuple(index_tokens(word)) for word in words}) == 1


@pytest.mark.parametrize(
    ("letter", "other"),
    [
        ("कि", "की"),  # Hindi vowel signs
        ("ไม", "ไม่"),  # a Thai tone
        ("か", "が"),
        ("й", "и"),
        ("ї", "і"),
        ("ў", "у"),
        ("ѓ", "г"),
        ("أن", "ان"),  # the hamza is a letter
        ("각", "가"),
        ("ம", "மா"),
    ],
)
def test_marks_that_are_letters_stay(letter, other):
    assert index_tokens(letter) != index_tokens(other)


@given(any_text)
def test_folding_twice_changes_nothing(text):
    assert fold_for_search(fold_for_search(text)) == fold_for_search(text)


def test_places_are_those_of_the_original_text():
    text = "Das Caf\u00e9 hy\u00adphen  \u0130zmir \uff76\uff9e \u3131 x"
    assert [text[span.start : span.end] for span in token_spans(text)] == [
        "Das",
        "Caf\u00e9",
        "hy\u00adphen",
        "\u0130zmir",
        "\uff76\uff9e",
        "\u3131",
        "x",
    ]


def test_stored_words_and_queries_are_folded_alike():
    """If this fails, the words in every database are others than those of queries: add a revision that renews them."""
    numbers = [*range(0x250), *range(0x370, 0x700), *range(0x900, 0x980), *range(0xE00, 0xE80), *range(0x3040, 0x3100)]
    # A later Unicode adds characters, and changes none.
    old = [chr(number) for number in numbers if unicodedata.ucd_3_2_0.category(chr(number)) != "Cn"]
    text = " ".join(f"x{character}" for character in old)
    assert f"{xxh64_intdigest(' '.join(index_tokens(text)).encode()):x}" == "92acb8250a816c6e"


def test_accents_without_end_are_read_in_linear_time():
    """Sorting them takes quadratic time: minutes for these."""
    accents = "\u0301\u0316" * 500_000
    assert len(fold("a" + accents)) == _MAX_ACCENTS  # the first accent and the letter are one character
    assert fold("\u0301" * _LONG_STRETCH) == unicodedata.normalize("NFKC", "\u0301" * _LONG_STRETCH)
    assert max(map(unicodedata.combining, map(chr, range(_LAST_ACCENT + 1, sys.maxunicode + 1)))) == 0
    assert not any(map(unicodedata.combining, map(chr, range(_FIRST_ACCENT))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Do\u00adnau\u00addampf", "Donaudampf"),
        ("\ufeffzero\u200b\u2060width", "zerowidth"),
        ("preheader \u034f \u200c \u034f \u200c", "preheader"),
        ("Auf\u200clage", "Auflage"),
        ("end\u200d", "end"),
        ("\u200eplain\u200f \u202etext\u202c \u2066here\u2069", "plain text here"),
        ("rated \uf005\uf005 well", "rated well"),
        ("link \uf08e.", "link ."),
        ("left\ue5ccright", "left right"),
        ("\U000f0123 icon", "icon"),
        ("\u5206\u4eab\ue600", "\u5206\u4eab"),
        ("hidden\U000e0041\U000e0042 order", "hidden order"),
        ("an \ufffc object", "an object"),
    ],
)
def test_what_shows_nothing_is_left_out(text, expected):
    assert normalise(text) == tidy_code(text).replace("  ", " ").strip() == expected


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # a Persian verb
        "\u0647\u200d .",  # an initial form in an abbreviation
        "\u0915\u094d\u200d\u0937 \u0915\u094d\u200c\u0937",  # Hindi, with half a letter and without
        "\u0d28\u0d4d\u200d",  # Malayalam
        "\U0001f469\u200d\U0001f680 \u2764\ufe0f\u200d\U0001f525",
        "\U0001f44b\U0001f3fd\u200d\U0001f9d1",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # the flag of England
        "\u0e20\u0e32\u0e29\u0e32\u200b\u0e44\u0e17\u0e22",  # two Thai words
        "\u05d0\u05d1 C++\u200e \u05d2",
        "\u5434\ue123\u660e",  # a rare character in a name; in an element of its own it would be an icon
    ],
)
def test_what_a_script_needs_stays(text):
    assert visible(text) == text
    assert "".join(visible_parts(list(text))) == text.replace("\ue123", " ")


def test_joiners_beside_a_space_join_nothing():
    assert normalise("\u0645\u06cc\u200c \u0631\u0648\u0645") == "\u0645\u06cc \u0631\u0648\u0645"
    assert normalise("\u0631\u200c\u200c\u0648\u0645\u200c") == "\u0631\u200c\u0648\u0645"


def test_parts_are_judged_by_their_neighbours_and_an_icon_by_its_own_element():
    assert visible_parts(["\u0645\u06cc", "\u200c", "\u0631"]) == ["\u0645\u06cc", "\u200c", "\u0631"]
    assert visible_parts(["a", "\u200c\u00ad", "b"]) == ["a", "", "b"]
    assert visible_parts(["\u5434", "\ue123", "\u660e"]) == ["\u5434", " ", "\u660e"]


INVISIBLE_TEXT = st.text(
    st.sampled_from("ab \u00ad\u034f\u061c\u200b\u200c\u200d\u200f\u202e\ue000\ufeff\ufffc\U000e0061\U000f0000")
    | st.sampled_from("\u0645\u0915\u094d\u0e01\u5434\u2764\ufe0f\U0001f3f4\U0001f680\n")
)


@given(st.lists(INVISIBLE_TEXT))
def test_parts_together_are_the_visible_text(parts):
    texts = visible_parts(parts)
    assert bare("".join(texts)) == bare("".join(parts))
    assert [bare(text) for text in texts] == [bare(part) for part in parts]


@pytest.mark.parametrize(
    ("text", "plain"),
    [("Do\u00adnau\u200bdampf\ufeff", "Donaudampf"), ("\u00fcber\u00adall \uf005", "\u00fcberall")],
)
def test_invisible_characters_make_no_other_word(text, plain):
    assert terms(text) == terms(plain)
    assert index_tokens(text) == index_tokens(plain)


@pytest.mark.parametrize("marks", ["\u202e", "\u202ea \u202c", "a\u200b", "\u200b", "\u200b\u00ad", "\u2066\u200c"])
def test_no_mark_costs_a_call_of_python(marks):
    """A page of nine megabytes may have three millions of them."""
    assert calls_of(lambda: visible(marks * 10)) == calls_of(lambda: visible(marks * 10_000))


def calls_of(work):
    calls = []
    sys.setprofile(lambda _frame, event, _arg: calls.append(event))
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(calls)
