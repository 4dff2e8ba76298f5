"""Variants of training pages: the same text and labels, with other words, tags and links around it."""

from dataclasses import replace

import numpy as np
import pytest
import training_data
from hypothesis import given
from hypothesis import strategies as st

from cleaning import PageType, Reason, parse
from cleaning.classifier.hints import read_page_hints
from cleaning.classifier.signals import PageSignals
from cleaning.leaf_table import Column, read_leaf_table
from cleaning.training import variants
from cleaning.training.data import Example, read_examples
from cleaning.training.variants import _CHANGES, _Draft, find_parts, graft, vary

PROSE = "The quick brown fox jumps over the lazy dog, and the cat on the warm stove looks at it all day."
PAGE = (
    "<nav class=menu><a href=/>Home</a></nav><main class=content><div class=entry><h2>Of foxes</h2>"
    + "".join(f"<p>{PROSE} {word}.</p>" for word in ("One", "Two", "Three", "Four", "Five"))
    + "</div><div class=more><p>More about foxes, and about the dogs that they jump over.</p></div></main>"
    + f"<footer><p>{PROSE} Imprint.</p></footer>"
)
LABELS = [0, 1, 1, 1, 1, 1, 1, 0, 0]


def make_page(number=0):
    table = read_leaf_table(parse(PAGE).root)
    words = np.array([len(block.text.split()) for block in table.blocks], np.float64)
    labels = np.array(LABELS, np.float32)
    return Example(
        str(number), "wcxb-dev", "a.example", None, PageType.ARTICLE, PROSE, table, PageSignals(), labels, words
    )


def draft(example, number=0):
    return _Draft(example, np.random.default_rng(number))


def changed(change, number=0):
    page = draft(make_page(), number)
    change(page)
    return page.example()


def assert_whole(example):
    """Check that each block is in the elements that the table says."""
    table = example.table
    elements = len(table.tags)
    assert elements == len(table.node_tokens) == len(table.parent) == len(table.first) == len(table.last)
    size = len(table.blocks)
    assert (
        size == len(table.counts) == len(table.node) == len(table.inline_tokens) == example.size == len(example.words)
    )
    around = {number: [] for number in range(elements)}
    for index, innermost in enumerate(table.node.tolist()):
        number = innermost
        while number >= 0:
            around[number].append(index)
            assert table.parent[number] < number
            number = int(table.parent[number])
    assert around == {number: [*range(table.first[number], table.last[number])] for number in range(elements)}


@given(st.integers(0, 100_000))
def test_variant_has_the_texts_and_labels_of_its_page_in_whole_elements(number):
    page = make_page(number)
    variant = vary(page, {})
    assert_whole(variant)
    texts = [block.text for block in page.table.blocks]
    places = [texts.index(block.text) for block in variant.table.blocks]
    assert places == sorted(places)
    assert variant.labels.tolist() == [LABELS[place] for place in places]


def test_variant_of_a_page_is_always_the_same_and_leaves_the_page_as_it_is():
    page = make_page(7)
    before = list(page.table.node_tokens), page.table.parent.tolist(), page.table.counts.tolist()
    first = vary(page, {})
    second = vary(page, {})
    assert first.table.node_tokens == second.table.node_tokens
    assert first.table.tags == second.table.tags
    assert np.array_equal(first.table.counts, second.table.counts)
    assert before == (page.table.node_tokens, page.table.parent.tolist(), page.table.counts.tolist())


def hinted(example):
    """Return the number of blocks of the main text with a hint of a word around them."""
    table = replace(example.table, tags=["div"] * len(example.table.tags))
    indexes = set()
    for number in read_page_hints(table).elements.numbers:
        indexes |= {*range(table.first[number], table.last[number])}
    return len([index for index in indexes if example.labels[index] > 0.5])


@pytest.mark.parametrize("number", range(5))
def test_word_on_the_wrapper_is_around_all_of_the_main_text(number):
    assert hinted(changed(variants._name_wrapper, number)) == 6


@pytest.mark.parametrize("change", [variants._name_sections, variants._name_paragraphs])
def test_words_on_sections_and_paragraphs_are_around_main_text(change):
    assert max(hinted(changed(change, number)) for number in range(20)) > 1


def test_labels_begin_texts_without_changing_them():
    labelled = [changed(variants._label_paragraphs, number) for number in range(20)]
    assert {len(read_page_hints(example.table).inlines.numbers) for example in labelled} > {5}
    assert all(example.table.blocks == make_page().table.blocks for example in labelled)


def test_headings_become_links_and_buttons():
    linked = changed(variants._link_openers, 1)
    assert linked.table.counts[1, Column.LINK_WORDS] == linked.table.counts[1, Column.WORDS] == 2
    tags = {changed(variants._retag_headings, number).table.tags[4] for number in range(40)}
    assert tags > {"button", "summary", "label", "h2"}


def test_short_variant_has_the_first_paragraphs_and_all_other_text():
    variant = changed(variants._shorten)
    assert_whole(variant)
    kept = int(variant.labels.sum())
    assert 2 <= kept <= 4  # the heading too
    assert variant.size - kept == 3
    assert [block.text.split()[-1] for block in variant.table.blocks][-2:] == ["over.", "Imprint."]


def test_every_change_is_as_likely_as_it_says():
    assert all(0 < odds < 1 for _, odds in _CHANGES)


def test_training_pages_give_whole_variants(tmp_path):
    examples = read_examples(training_data.write(tmp_path), ("wcxb-dev",))
    parts = find_parts(examples)
    assert parts.keys() == {Reason.ASIDE}
    assert {part.page.table.tags[part.number] for part in parts[Reason.ASIDE]} == {"aside"}
    grafted = [vary(example, parts) for example in examples]
    assert any(variant.size > example.size for variant, example in zip(grafted, examples, strict=True))
    for variant in grafted:
        assert_whole(variant)


def test_part_of_another_page_is_no_main_text(tmp_path):
    examples = read_examples(training_data.write(tmp_path), ("wcxb-dev",))
    part, *_ = find_parts(examples)[Reason.ASIDE]
    page = replace(examples[1], table=replace(examples[1].table, tags=["div"] * len(examples[1].table.tags)))
    for number in range(30):
        grafted = graft(page, part, np.random.default_rng(number))
        assert_whole(grafted)
        added = grafted.table.tags.index("aside")
        texts = [block.text for block in grafted.table.blocks[grafted.table.first[added] : grafted.table.last[added]]]
        assert texts[0] == "More"
        assert grafted.labels.sum() == examples[1].labels.sum()
        assert grafted.size == examples[1].size + 2
