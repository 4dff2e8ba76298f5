"""What the words of texts say of a block, and of the elements around it."""

import numpy as np
import pytest

from cleaning import parse
from cleaning.classifier.features import VOCABULARY_NAMES, PageSums, read_vocabulary
from cleaning.classifier.lexicon import Lexicon
from cleaning.leaf_table import read_leaf_table

LEXICON = Lexicon({"w:aa": 1.0, "w:bb": -2.0, "w:cc": -1.0, "w:dd": -0.5, "w:0": 4.0})
PAGE = "<section><p>aa bb cc dd</p><p>aa aa unheard</p></section><p>1999</p><p>unheard</p>"


def column(name):
    rows = read_vocabulary(PageSums(read_leaf_table(parse(PAGE).root)), LEXICON)
    assert rows.dtype == np.float32
    return [pytest.approx(float(value)) for value in rows[:, VOCABULARY_NAMES.index(name)]]


def test_block_has_the_scores_of_its_words():
    assert column("mean_word") == [-2.5 / 4, 1, 4, 0]
    assert column("least_word") == [-2, 1, 4, 0]
    assert column("greatest_word") == [1, 1, 4, 0]
    assert column("least_words") == [-3.5 / 3, 1, 4, 0]


def test_elements_have_the_mean_of_all_words_in_them():
    assert column("mean_word_0") == column("mean_word")
    assert column("mean_word_1") == [-1.5 / 5, -1.5 / 5, 2.5 / 6, 2.5 / 6]
    assert column("mean_word_2") == [2.5 / 6] * 4
