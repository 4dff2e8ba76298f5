"""What words are worth: odds of main text, without the pages left out."""

from dataclasses import replace

import numpy as np
import pytest

from cleaning import parse
from cleaning.blocks import PageType
from cleaning.classifier.signals import read_signals
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements
from cleaning.training.data import Example
from cleaning.training.word_scores import WordTotals, count_page_words, score_type_words

PAGE = "<main class=story><p>aa bb cc</p><p>dd ee ff</p></main><div class=story><p class=box>gg</p></div>"


def example(source, labels, host="a.example", kind=PageType.ARTICLE):
    page = parse(source, f"https://{host}/blog")
    table = read_leaf_table(page.root)
    signals = read_signals(page, read_statements(page.root))
    words = np.array([len(block.text.split()) for block in table.blocks], np.float64)
    return Example(host, "wcxb-dev", host, None, kind, "", table, signals, np.array(labels, np.float32), words)


def test_word_of_several_nested_elements_counts_once():
    totals = count_page_words(example(PAGE, [1, 0, 0]))
    assert totals["story"].tolist() == pytest.approx([0.4, 1.0, 0.0])  # weights: words + 1, of ten
    assert totals["box"].tolist() == pytest.approx([0.0, 0.2, 0.0])
    nested = count_page_words(example("<div class=aa><div class=aa><p>x</p></div></div><p>y</p>", [1, 0]))
    assert nested["aa"].tolist() == pytest.approx([0.5, 0.5, 0.0])


def test_text_without_a_known_label_counts_for_nothing():
    whole = count_page_words(example(PAGE, [1, 0, 0]))
    partly = example(PAGE, [1, 0, 0])
    known = count_page_words(replace(partly, known=np.array([True, True, False])))
    assert known["t:aa"].tolist() == pytest.approx(whole["t:aa"].tolist())
    assert known["story"].tolist() == pytest.approx([0.4, 0.8, 0.0])
    assert not known.keys() & {"box", "t:gg", "w:gg"}
    assert count_page_words(replace(partly, known=np.zeros(3, bool))) == {}


def test_short_texts_have_words_of_their_own():
    totals = count_page_words(example(PAGE, [1, 0, 0]))
    assert totals["t:aa"].tolist() == pytest.approx([10 / 3, 10 / 3, 0.0])
    assert totals["t:gg"].tolist() == pytest.approx([0.0, 10 / 3, 0.0])


def test_words_of_all_texts_are_relative_to_the_pages_share_of_main_text():
    totals = count_page_words(example(PAGE, [1, 0, 0]))
    roots = np.sqrt([4, 4, 2])  # words + 1
    first, _, third = (50 * roots / roots.sum()).tolist()
    assert totals["w:aa"].tolist() == pytest.approx([first, first, first * first / 50])
    assert totals["w:gg"].tolist() == pytest.approx([0.0, third, third * first / 50])


def test_word_with_the_usual_share_on_its_pages_has_score_0():
    source = "<p>aa bb xx</p><p>aa cc yy</p><p>bb cc zz</p>"
    even = [example(source, [0.5, 0.5, 0.5], f"{number}.example") for number in range(8)]
    scores = WordTotals(even, np.zeros(8, int)).scores(())
    assert {word: score for word, score in scores.items() if word.startswith("w:") and score} == {}
    half = [example(source, [1, 0.5, 0], f"{number}.example") for number in range(8)]
    scores = WordTotals(half, np.zeros(8, int)).scores(())
    assert [scores[f"w:{word}"] for word in ("bb", "yy")] == [0.0, 0.0]
    assert scores["w:aa"] == pytest.approx(np.log(3), abs=0.01)  # main text three times of four
    assert scores["w:xx"] > 5
    seven = WordTotals(half[:7], np.zeros(7, int)).scores(())
    assert "w:aa" not in seven
    assert "t:aa" in seven


def test_page_without_blocks_has_no_words():
    assert count_page_words(example("", [])) == {}


def test_word_of_main_text_is_worth_more_and_rare_ones_nothing():
    source = "<div class=story><p>x</p></div><div class=menu><p>y</p></div>"
    examples = [example(source, [1, 0], f"{number}.example") for number in range(5)]
    examples.append(example("<div class=mine><p>x</p></div>", [1], "0.example"))
    scores = WordTotals(examples, np.zeros(6, int)).scores(())
    assert scores["story"] > 1
    assert scores["menu"] < -1
    assert abs(scores["<div>"]) < 0.5
    assert "mine" not in scores  # of one host alone


def test_left_out_pages_have_no_effect():
    told = [example("<div class=box><p>x</p></div><p>y</p>", [1, 0], f"{number}.example") for number in range(5)]
    contradicted = [example("<div class=box><p>x</p></div><p>y</p>", [0, 1], f"{number}.other") for number in range(5)]
    totals = WordTotals(told + contradicted, np.repeat([0, 1], 5))
    assert totals.scores((1,))["box"] == pytest.approx(-totals.scores((0,))["box"], abs=0.01)
    assert totals.scores((1,))["box"] > 1
    assert totals.scores(())["box"] == pytest.approx(0, abs=0.01)


def test_scores_are_rounded_as_in_the_file():
    examples = [example("<p>x</p><div>y</div>", [0.3, 0.1], f"{number}.example") for number in range(7)]
    scores = WordTotals(examples, np.zeros(7, int)).scores(())
    assert all(score == np.float16(score) for score in scores.values())


def test_words_of_urls_have_scores_for_types():
    examples = [example("<p>x", [1], f"{number}.example") for number in range(5)]
    examples += [example("<p>x", [1], f"{number}.forum", PageType.FORUM) for number in range(5)]
    scores = score_type_words(examples)
    article, forum = 0, 1
    assert scores["h:forum"][forum] > 0 > scores["h:forum"][article]
    assert scores["h:example"][article] > 0 > scores["h:example"][forum]
    assert scores["u:blog"][article] == pytest.approx(scores["u:blog"][forum], abs=0.05)
