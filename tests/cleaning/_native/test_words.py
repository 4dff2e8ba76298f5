"""Word scores, text overlap, hints and similarity groups in C equal the pure ones, on any text and page."""

import json
import os
import subprocess
import sys

import corpus
import numpy as np
import pytest
from cpu_time import bounded_cpu_time
from hypothesis import given, settings
from hypothesis import strategies as st

from cleaning import clean, parse
from cleaning._native import load_compiled
from cleaning.classifier.features import SimilarityGroups, group_similar, pure_group_similar
from cleaning.classifier.hints import read_hint, read_hints
from cleaning.classifier.lexicon import Lexicon, any_words, element_words, inline_words, text_words
from cleaning.classifier.shipped import load_shipped_model
from cleaning.classifier.signals import PageSignals, measure_overlap, pure_measure_overlap
from cleaning.leaf_table import read_leaf_table
from cleaning.terms import tokenise

pytestmark = pytest.mark.skipif(
    None in (load_compiled("words"), load_compiled("features")),
    reason="COMPILER: Blocksieve was installed without its compiled core",
)
TOKENS = [
    "articleBody",
    "HTMLVideo main-text",
    "nav_bar",
    "A",
    "AB",
    "aB",
    "a" * 21,
    "x" * 20,
    "col2row",
    "",
    " ",
    "footer",
    "footer footer",
    "cookie-banner ad_slot",
    "\u212aelvin \u0130stanbul éclair",
    " ".join(f"word{'abc'[n % 3]}" for n in range(60)),
]
TEXTS = [
    "Read 42 more",
    "it's 'quoted' rock'n'roll a'",
    "\u2019tis John\u2019s ½ ﬁne",
    "这是一个测试。中文 x 字",
    "हिन्दी में लिखा गया",
    "١٢٣ نص عربي",
    "ß İ Ω e\u0301 \U00020000\U00020001",
    "under_score 7",
    "word " * 14,
    "word " * 15,
    "x" * 280,
    "x" * 281,
    "one two three four five six seven eight " * 20,
    "long " * 990 + "word beyond",
    "",
]
tokens = st.one_of(st.sampled_from(TOKENS), st.lists(st.sampled_from(TOKENS), max_size=6).map("-".join), st.text())
texts = st.one_of(st.sampled_from(TEXTS), st.lists(st.sampled_from(TEXTS), max_size=6).map(" ".join), st.text())
tags = st.sampled_from(["p", "div", "nav", "o:p", "x-é", ""])
pieces = st.one_of(
    st.sampled_from(["word", " ", "字", "<br>"]),
    st.builds("<{} class='{}'>".format, st.sampled_from("p div li ul td table a h1".split()), st.sampled_from(TOKENS)),
    st.sampled_from(["</p>", "</div>", "</ul>", "</a>", "</table>"]),
)


def scored(words):
    """Return a lexicon of every other of the words, and of pieces of words that are none."""
    known = sorted(words)[::2]
    return Lexicon(
        {"art": 9.0, "t:rea": 9.0, "i:": 9.0} | {word: float(np.float16(-1 / (n + 1))) for n, word in enumerate(known)}
    )


def assert_same_scores(lexicon, elements, inlines, short):
    of_tags, of_signs = [tag for tag, _ in elements], [signs for _, signs in elements]
    assert lexicon.elements(of_tags, of_signs).T.tolist() == [
        list(lexicon.of_element(*element)) for element in elements
    ]
    assert lexicon.inlines(inlines).T.tolist() == [list(lexicon.of_inline(inline)) for inline in inlines]
    of_short, of_any = lexicon.texts(short)
    assert of_short.T.tolist() == [list(lexicon.of_text(text)) for text in short]
    assert of_any.T.tolist() == [list(lexicon.sum_of(text)) for text in short]


@settings.get_profile("kernel")
@given(st.lists(st.tuples(tags, tokens), max_size=8), st.lists(tokens, max_size=8), st.lists(texts, max_size=8))
def test_words_are_found_as_the_pure_lexicon_finds_them(elements, inlines, short):
    words = [element_words(*element) for element in elements] + [inline_words(inline) for inline in inlines]
    words += [words_of(text) for text in short for words_of in (text_words, any_words)]
    assert_same_scores(scored(frozenset().union(*words)), elements, inlines, short)


@settings.get_profile("kernel")
@given(st.lists(texts, max_size=6), st.lists(texts, max_size=3), texts)
def test_evidence_is_the_pure_one(texts, summaries, body):
    signals = PageSignals(body=body * 2, summaries=tuple(frozenset(tokenise(text)) for text in summaries))
    compared = [*texts, body]
    assert measure_overlap(compared, signals).tolist() == pure_measure_overlap(compared, signals).tolist()


@settings.get_profile("kernel")
@given(st.lists(st.tuples(tags, tokens), max_size=8))
def test_hints_are_the_pure_ones(elements):
    hints = read_hints([tag for tag, _ in elements], [signs for _, signs in elements])
    assert rows_of(hints) == hints_of(elements)


def rows_of(hints):
    return list(zip(*(column.tolist() for column in hints), strict=True))


def hints_of(elements):
    hints = enumerate(read_hint(*element) for element in elements)
    return [(number, hint.code, hint.level, hint.entries) for number, hint in hints if hint is not None]


@settings.get_profile("kernel")
@given(st.lists(pieces, max_size=40).map("<p>x".__add__("{}").format) | st.lists(pieces, max_size=40).map("".join))
def test_looks_are_the_pure_ones(source):
    table = read_leaf_table(parse(f"<p>x</p>{source}").root)
    assert_same_groups(group_similar(table), pure_group_similar(table))


def assert_same_groups(groups, want):
    for name in SimilarityGroups.__dataclass_fields__:
        column = getattr(groups, name)
        expected = getattr(want, name)
        assert (column.dtype, column.tolist()) == (expected.dtype, expected.tolist()), name


@pytest.mark.parametrize("name", ["wcxb-dev", "fundus-dev"])
def test_saved_pages_have_the_pure_signs_hints_and_looks(data, name):
    lexicon = load_shipped_model().lexicon
    for sample in corpus.pin(corpus.read_samples(name), 60):
        table = read_leaf_table(parse(sample.body, sample.url).root)
        elements = list(zip(table.tags, table.node_tokens, strict=True))
        texts_ = [block.text for block in table.blocks]
        assert_same_scores(lexicon, elements, table.inline_tokens, texts_)
        assert rows_of(read_hints(table.tags, table.node_tokens)) == hints_of(elements)
        if table.blocks:
            assert_same_groups(group_similar(table), pure_group_similar(table))
            stated = " ".join(texts_[::3])
            signals = PageSignals(body=stated, summaries=(frozenset(tokenise(stated)[:40]),))
            assert measure_overlap(texts_, signals).tolist() == pure_measure_overlap(texts_, signals).tolist()


def test_decisions_are_the_same_without_the_core(data):
    names = [sample.id for sample in corpus.pin(corpus.read_samples("wcxb-dev"), 12)]
    code = (
        "import json, sys; import corpus; from cleaning import clean; names = json.loads(sys.argv[1]);"
        "pages = {each.id: each for each in corpus.read_samples('wcxb-dev')};"
        "print(json.dumps([[[each.score, each.reason] for each in clean(pages[name].body, pages[name].url).decisions]"
        " for name in names]))"
    )
    pure = {**os.environ, "BLOCKSIEVE_PURE": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", code, json.dumps(names)], capture_output=True, text=True, check=True, env=pure
    )
    pages = {sample.id: sample for sample in corpus.read_samples("wcxb-dev")}
    for name, decisions in zip(names, json.loads(run.stdout), strict=True):
        ours = clean(pages[name].body, pages[name].url).decisions
        assert [decision.reason for decision in ours] == [reason for _, reason in decisions]
        assert [decision.score for decision in ours] == pytest.approx([score for score, _ in decisions], abs=1e-9)


def test_hostile_texts_take_a_bounded_time():
    words = [f"w{number}" for number in range(20_000)]
    signals = PageSignals(body=" ".join(words), summaries=(frozenset(words[:300]),))
    with bounded_cpu_time():
        overlap = measure_overlap([" ".join(words[start : start + 90]) for start in range(0, 20_000, 3)], signals)
    assert overlap[0, 0] == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda words: words.elements([None], ["a"]),
        lambda words: words.elements(["a"], [b"a"]),
        lambda words: words.inlines([1]),
        lambda words: words.texts([None]),
        lambda words: words.texts(None),
        lambda words: words.texts([b"a"]),
    ],
)
def test_what_is_no_text_is_refused(ask):
    with pytest.raises(TypeError):
        ask(load_compiled("words").ScoredWords({"<a>": 1.0}))


@pytest.mark.parametrize(("parent", "node"), [([-1, 5], [0]), ([-1, 0], [2]), ([-1], [0])])
def test_numbers_that_lead_nowhere_are_refused(parent, node):
    table = read_leaf_table(parse("<p>x").root)
    changed = type(table)(
        table.blocks,
        table.counts,
        np.array(node, np.int32),
        table.inline_tokens,
        table.tags,
        np.array(parent, np.int32),
        table.node_tokens,
        table.first,
        table.last,
    )
    with pytest.raises(ValueError, match="element"):
        group_similar(changed)
