"""The leaf table: what each column counts, and the elements around the leaves."""

import numpy as np
import pytest

from cleaning import parse
from cleaning.leaf_table import Column, build_leaf_table, read_leaf_table, widen_ideographs
from cleaning.leaves import walk


def table(body):
    return build_leaf_table(walk(parse(f"<html><body>{body}</body></html>").root))


@pytest.mark.parametrize(
    ("column", "count"),
    [
        (Column.WORDS, 6),
        (Column.LINK_WORDS, 2),
        (Column.LINK_CHARS, 9),
        (Column.LINKS, 1),
        (Column.PAUSES, 1),
        (Column.ENDS, 1),
        (Column.DIGITS, 2),
        (Column.BOLD_CHARS, 2),
        (Column.UPPER, 1),
    ],
)
def test_a_column_counts_what_its_name_says(column, count):
    leaves = table("<p>The ice is <b>12</b>, <a href=/b>says ann.</a></p>")
    assert leaves.counts[0, column] == count


def test_an_element_has_its_parent_and_the_leaves_inside_it():
    leaves = table("<div class=story><p>one</p><ul><li>two<li>three</ul></div>")
    assert [block.text for block in leaves.blocks] == ["one", "two", "three"]
    spans = {
        tag: (int(first), int(last)) for tag, first, last in zip(leaves.tags, leaves.first, leaves.last, strict=True)
    }
    assert spans["div"] == (0, 3)
    assert spans["ul"] == (1, 3)
    story = leaves.tags.index("div")
    assert leaves.parent[leaves.tags.index("ul")] == story
    assert "story" in leaves.node_tokens[story]


def test_the_head_of_a_table_is_the_table_of_its_first_leaves():
    leaves = table("<p>one</p><div><p>two</p></div><div><p>three</p></div>")
    head = leaves.head(2)
    assert [block.text for block in head.blocks] == ["one", "two"]
    assert head.last.max() == 2
    assert len(head.tags) < len(leaves.tags)
    assert leaves.head(3) is leaves


def test_a_page_without_text_has_an_empty_table():
    leaves = table("<p></p>")
    assert leaves.blocks == []
    assert leaves.counts.shape == (0, len(Column))


def test_chinese_characters_count_more_than_letters():
    text = "港口因冰封关闭了三个星期，没有人知道冰什么时候会破裂。"
    counts = table(f"<p>{text}</p>").counts
    assert counts[0, Column.CHARS] == round(2.5 * len(text))
    assert counts[0, Column.PAUSES] == 1


def test_other_texts_keep_their_counts():
    text = "The harbour of Lindholm was closed for three weeks."
    leaves = table(f"<p>{text}</p>")
    assert leaves.counts[0, Column.CHARS] == len(text)
    assert widen_ideographs(leaves.counts, leaves.blocks) is leaves.counts


def test_the_table_that_cleaning_reads_is_the_built_one():
    page = parse("<html><body><p>one <b>two</b></p><p>three</p></body></html>")
    built = build_leaf_table(walk(page.root))
    table_read = read_leaf_table(page.root)
    assert table_read.blocks == built.blocks
    assert np.array_equal(table_read.counts, built.counts)
