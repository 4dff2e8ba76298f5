"""The signature of a block: by what the model of a site recognises it on other pages of the site."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning.classifier.features import without_digits
from cleaning.leaf_table import Column

if TYPE_CHECKING:
    from cleaning.blocks import Block
    from cleaning.leaf_table import LeafTable

# Chosen on the development data (research/teach.py measures it): with fewer elements, sites lose where
# a signature holds both text and teasers; with more, another class on an outer element makes every page a stranger.
_ELEMENTS = 5
_WHOLE_PAGE = frozenset({"html", "body"})  # their classes name the page's topic or number
_MAX_TOKEN_CHARS = 120
_DIGEST_BYTES = 6
_SURE_SCORE, _SURE_WORDS = 0.8, 8
_FEW_WORDS, _SOME_WORDS = 5, 20
_MAX_LINKED_SHARE = 0.5


class BlockSignature(NamedTuple):
    """What is alike between blocks with the same role on several pages of a site.

    `elements` are the element of the block and up to four around it, the innermost first, each with the words of its
    attributes without digits: `p < div.promo box < article`. `shape` says the block's kind, its length, whether most of
    it is links, and whether it stands before, in or after the text that is surely kept. `place` is its XPath. `text` is
    the digest of its text (12 hexadecimal digits).
    """

    elements: str
    shape: str
    place: str
    text: str


def read_signatures(table: LeafTable, scores: np.ndarray) -> list[BlockSignature]:
    """Return the signature of each block of a page, from its leaf table and the trained scores (n)."""
    names: dict[int, str] = {-1: ""}
    linked = table.counts[:, Column.LINK_WORDS] > _MAX_LINKED_SHARE * table.counts[:, Column.WORDS]
    sure = np.flatnonzero((scores >= _SURE_SCORE) & (table.counts[:, Column.WORDS] >= _SURE_WORDS)).tolist()
    first, last = (sure[0], sure[-1]) if sure else (len(table.blocks), -1)
    signatures = []
    for index, block in enumerate(table.blocks):
        part = "before" if index < first else "after" if index > last else "in"
        shape = f"{block.kind} {_length(block)}{' linked' if linked[index] else ''} {part}"
        elements = _name_elements(table, int(table.node[index]), names)
        signatures.append(BlockSignature(elements, shape, block.path, digest_text(block.text)))
    return signatures


def signature_features(signature: BlockSignature) -> tuple[tuple[str, str], ...]:
    """Return the features of a block by which a model may know it: pairs of kind and name."""
    parent = signature.place.rpartition("/")[0]
    return (
        ("elements", signature.elements),
        ("elements and shape", f"{signature.elements} ({signature.shape})"),
        ("place", signature.place),
        ("parent", parent),
        ("parent and shape", f"{parent} ({signature.shape})"),
        ("text", signature.text),
    )


def digest_text(text: str) -> str:
    """Return the digest of a text, without regard to white space."""
    return hashlib.blake2b(" ".join(text.split()).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _length(block: Block) -> str:
    return "short" if block.words <= _FEW_WORDS else "medium" if block.words <= _SOME_WORDS else "long"


def _name_elements(table: LeafTable, number: int, names: dict[int, str]) -> str:
    chain: list[str] = []
    while number >= 0 and len(chain) < _ELEMENTS:
        if number not in names:
            tokens = without_digits(table.node_tokens[number])[:_MAX_TOKEN_CHARS]
            names[number] = f"{table.tags[number]}.{tokens}" if tokens else table.tags[number]
        if table.tags[number] not in _WHOLE_PAGE:
            chain.append(names[number])
        number = int(table.parent[number])
    return " < ".join(chain)
