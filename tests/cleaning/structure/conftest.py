"""Documents of pages whose every text is kept."""

import pytest

from cleaning import parse
from cleaning.leaves import body_of, walk
from cleaning.structure.marks import mark_headline, marks_of_leaves
from cleaning.structure.quotes import find_quotes
from cleaning.structure.reader import read_structure


@pytest.fixture(scope="session")
def read():
    """Return the function that reads the body of a page at https://a.example/x/ with all its texts, or some, kept."""

    def read_body(body, drop=(), url="https://a.example/x/", title=None):
        page = parse(f"<html><body>{body}</body></html>", url)
        leaves = walk(page.root)
        quotes = find_quotes(body_of(page.root), [leaf.block for leaf in leaves])
        marks = marks_of_leaves(leaves, [(leaf, _Decided(leaf.block, drop)) for leaf in leaves], quotes)
        mark_headline(marks, title)
        return read_structure(page, marks)

    return read_body


class _Decided:
    """The decision on a block: dropped if its text is in a list."""

    def __init__(self, block, drop):
        self.block = block
        self.kept = block.text not in drop
