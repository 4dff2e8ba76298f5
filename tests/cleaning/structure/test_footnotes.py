"""Footnotes: their marks in the text, and their notes."""

from structures import markdown


def test_footnotes_have_the_labels_of_their_marks(read):
    document = read(
        '<p>One<sup><a href="#fn:1">[1]</a></sup> and <a href="#other">x</a>.</p>'
        '<ol><li id="fn:1"><p>The note. <a href="#fnref:1">↩</a></p></li></ol>'
    )
    assert markdown(document) == "One[^1] and x.\n\n[^1]: The note."


def test_a_mark_whose_note_is_dropped_is_text(read):
    document = read('<p>One<sup><a href="#fn1">1</a></sup>.</p><p id="fn1">note</p>', drop=["note"])
    assert markdown(document) == "One<sup>1</sup>."
    styled = read('<p>One<a href="#footnote-1">1</a>.</p><p id="footnote-1">note</p>', drop=["note"])
    assert markdown(styled) == "One<sup>1</sup>."
    assert markdown(read('<p>In <a href="#fn2">2</a>, <a href="#part-1">1</a> and <a href="#">3</a>.</p>')) == (
        "In <sup>2</sup>, 1 and 3."
    )
