"""Chunks: what they hold together, and how large they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning import OptionError
from cleaning.structure.writers.chunks import Chunker


def chunks(document, size, overlap=0, unit="words"):
    return Chunker(document, size, overlap, unit, links=False).chunks()


def test_a_chunk_has_one_section_and_the_path_of_its_headings(read):
    pieces = chunks(read("<p>intro</p><h1>A</h1><h2>B</h2><p>one</p><h2>C</h2><p>two</p><h1>D</h1>"), 100)
    assert [(chunk.text, chunk.headings, chunk.positions) for chunk in pieces] == [
        ("intro", (), (0,)),
        ("# A\n\n## B\n\none", ("A", "B"), (1, 2, 3)),
        ("## C\n\ntwo", ("A", "C"), (4, 5)),
        ("# D", ("D",), (6,)),
    ]


def test_a_long_paragraph_is_cut_between_sentences(read):
    pieces = chunks(read("<p>One two three. Dr. Four five 1.5 six! 七八九十。一二三四？ Ten.</p>"), 5)
    assert [chunk.text for chunk in pieces] == [
        "One two three.",
        "Dr. Four five 1.5 six!",
        "七八九十。 一二三四？ Ten.",
    ]


def test_a_format_is_never_cut(read):
    pieces = chunks(read("<p>One. <b>Two two. Three three.</b> Four.</p>"), 2)
    assert [chunk.text for chunk in pieces] == ["One.", "**Two two. Three three.** Four."]


def test_tables_and_code_are_never_cut(read):
    rows = "<tr><th>a<th>b" + "<tr><td>1<td>2" * 20
    pieces = chunks(read(f"<p>One two three.</p><table>{rows}</table><pre>x. y. z. w.\n\nv</pre><p>End here.</p>"), 3)
    assert [chunk.text[:14] for chunk in pieces] == [
        "One two three.",
        "| a | b |\n| --",
        "```\nx. y. z. w",
        "End here.",
    ]
    assert pieces[1].size == 42
    assert pieces[2].text.endswith("v\n```")


def test_lists_are_cut_between_items_and_keep_their_numbers(read):
    pieces = chunks(read("<ol><li>a b<li>c d<li>e f</ol>"), 6)
    assert [chunk.text for chunk in pieces] == ["1. a b\n2. c d", "3. e f"]


def test_a_chunk_begins_with_the_last_sentences_of_the_one_before(read):
    pieces = chunks(
        read("<p>One two. Three four.</p><p>Five six. Seven eight.</p><h2>H</h2><p>Nine.</p>"), 4, overlap=2
    )
    assert [chunk.text for chunk in pieces] == [
        "One two. Three four.",
        "Five six. Seven eight.",
        "## H\n\nNine.",
    ]
    pieces = chunks(read("<p>One two. Three four.</p><p>Five six. Seven eight.</p>"), 6, overlap=2)
    assert [chunk.text for chunk in pieces] == ["One two. Three four.", "Three four.\n\nFive six. Seven eight."]


def test_other_units(read):
    document = read("<p>Abc. Defg. Hi.</p>")
    assert [chunk.text for chunk in chunks(document, 10, unit="characters")] == ["Abc. Defg.", "Hi."]
    pieces = chunks(document, 2, unit=lambda text: text.count("."))
    assert [(chunk.text, chunk.size) for chunk in pieces] == [("Abc. Defg.", 2), ("Hi.", 1)]


@pytest.mark.parametrize(
    ("size", "overlap", "unit"),
    [(0, 0, "words"), (5, 5, "words"), (5, -1, "words"), (5, 0, "tokens"), ("5", 0, "words"), (True, 0, "words")],
)
def test_values_out_of_bounds_are_errors(read, size, overlap, unit):
    with pytest.raises(OptionError, match="chunks is"):
        chunks(read("<p>a</p>"), size, overlap, unit)


SENTENCES = st.lists(st.integers(1, 6).map(lambda count: " ".join(["Word"] * count) + "."), min_size=1, max_size=6)


@given(
    st.lists(st.tuples(st.sampled_from(["p", "li", "h2", "pre"]), SENTENCES), min_size=1, max_size=8),
    st.integers(6, 20),
    st.integers(0, 5),
)
def test_every_block_is_in_a_chunk_and_chunks_have_their_size(read, blocks, size, overlap):
    markup = "".join(f"<{tag}>{' '.join(sentences)}</{tag}>" for tag, sentences in blocks)
    document = read(markup)
    pieces = chunks(document, size, overlap)
    positions = {position for node in document.walk() for position in node.positions}
    assert {position for chunk in pieces for position in chunk.positions} == positions
    for chunk in pieces:
        unsplittable = any(sign in chunk.text for sign in ("```", "##", "- "))
        assert chunk.size <= size or unsplittable
    if not overlap:
        words = sum(len(sentence.split()) for _, sentences in blocks for sentence in sentences)
        assert sum(chunk.size for chunk in pieces) == words
