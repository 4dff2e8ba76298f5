"""The words that tell a page's type."""

import numpy as np

from cleaning import parse
from cleaning.classifier.signals import PAGE_TYPES, PAGE_WORD_NAMES, page_type_words, read_signals, sum_word_scores
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements


def test_words_are_of_the_address_the_types_and_the_outermost_elements():
    source = (
        '<meta property="og:type" content="product"><body class="single-product">'
        '<div id="page"><section class="inner"><p>x</p></section></div>'
    )
    page = parse(source, "https://shop.example.org/items/blue-vase-12")
    found = page_type_words(read_leaf_table(page.root), read_signals(page, read_statements(page.root)))
    assert {"u:items", "u:blue", "u:vase", "h:shop", "h:example", "b:single", "b:single_product", "b:page"} <= found
    assert any(word.startswith("y:") and "product" in word for word in found)
    assert "b:inner" not in found


def test_known_words_add_up_and_unknown_ones_say_nothing():
    scores = {"u:blog": np.arange(7.0), "u:news": np.ones(7)}
    assert sum_word_scores(frozenset({"u:blog", "u:news", "u:x"}), scores).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert sum_word_scores(frozenset({"u:x"}), scores).tolist() == [0] * 7


def test_every_type_has_its_feature():
    assert len(PAGE_WORD_NAMES) == len(PAGE_TYPES) == 7
