"""The signatures of blocks."""

import numpy as np

from cleaning import parse
from cleaning.leaf_table import read_leaf_table
from cleaning.teaching.signatures import digest_text, read_signatures, signature_features

LINE = "The ferry of the northern lake sails again from Monday, the office said. "
PAGE = f"""<html class="js"><body class="post-7 topic-sport"><main id="main-12"><article><div class="text"><div>
<div><p class="lead a1">{LINE}</p><p>Short</p><p><a href="/x">{LINE}</a></p></div></div></div></article></main>
</body></html>"""


def signatures(source, score=0.9):
    table = read_leaf_table(parse(source).root)
    return read_signatures(table, np.full(len(table.blocks), score))


def test_elements_are_named_without_digits_and_without_the_whole_page():
    first = signatures(PAGE)[0]
    assert first.elements == "p.lead a < div < div < div.text < article"
    other = PAGE.replace("post-7 topic-sport", "post-8 topic-art").replace("a1", "a2").replace("main-12", "main-13")
    assert signatures(other)[0] == first


def test_shapes_say_kind_length_links_and_part():
    shapes = [signature.shape for signature in signatures(PAGE)]
    assert shapes == ["paragraph medium in", "paragraph short in", "paragraph medium linked in"]
    assert {shape.split()[-1] for shape in (signature.shape for signature in signatures(PAGE, 0.1))} == {"before"}


def test_features_are_pairs_of_kind_and_name():
    features = dict(signature_features(signatures(PAGE)[0]))
    assert list(features) == ["elements", "elements and shape", "place", "parent", "parent and shape", "text"]
    assert features["parent"] == features["place"].rpartition("/")[0]
    assert features["text"] == digest_text(f"  {LINE} \n")


def test_a_page_without_text_has_none():
    assert signatures("") == []
