"""Which dropped texts belong to the kept ones: headings, code, and quotes with their sources."""

import pytest

from cleaning import Decision, Reason, parse
from cleaning.leaves import walk
from cleaning.structure.marks import marks_of_decisions


def kept(body, **reasons):
    """Return the kept texts of a page; `reasons` are those of dropped texts, by their first words."""
    leaves = walk(parse(f"<body>{body}").root)
    decisions = [Decision(leaf.block, 0.5, reasons.get(leaf.block.text.split()[0], Reason.KEPT)) for leaf in leaves]
    return [
        block.text
        for block, is_kept in zip((leaf.block for leaf in leaves), marks_of_decisions(decisions).kept, strict=True)
        if is_kept
    ]


@pytest.mark.parametrize("tag", ["h2", "pre", "blockquote"])
def test_a_heading_code_or_quote_between_kept_texts_of_an_element_is_kept(tag):
    body = f"<div><p>one<{tag}>two</{tag}><p>three</div>"
    assert kept(body, two=Reason.LOW_SCORE) == ["one", "two", "three"]
    assert kept(body, two=Reason.HIDDEN) == ["one", "three"]
    assert kept(body, two=Reason.LOW_SCORE, three=Reason.LOW_SCORE) == ["one"]
    assert kept(f"<p>one<div><{tag}>two</{tag}></div><p>three", two=Reason.LOW_SCORE) == ["one", "three"]


def test_a_post_that_begins_with_a_quote_of_another_keeps_it():
    quote = "<blockquote><p>quoted text of a post</p><p>further text of it</p></blockquote>"
    body = f"<article><div>first</div></article><article><div>{quote}answer</div></article>"
    reasons = dict.fromkeys(["quoted", "further"], Reason.PAGE_DUPLICATE)
    assert kept(body, **reasons) == ["first", "quoted text of a post", "further text of it", "answer"]
    assert kept(body, **dict.fromkeys(reasons, Reason.LOW_SCORE)) == ["first", "answer"]
    assert kept(body, **reasons, answer=Reason.SHORT) == ["first"]


def test_a_quote_is_kept_with_its_speaker():
    body = "<p>one<figure><blockquote>Speaker said<p>the quoted words</p>Ada Quill</blockquote></figure><p>two"
    for reason in (Reason.SHORT, Reason.LOW_SCORE, Reason.BYLINE):
        assert len(kept(body, Speaker=reason, Ada=reason)) == 5
    assert kept(body, Speaker=Reason.LINKS, Ada=Reason.SOCIAL) == ["one", "the quoted words", "two"]
    assert kept(body, Speaker=Reason.SHORT, the=Reason.LOW_SCORE, Ada=Reason.SHORT) == ["one", "two"]


def test_a_link_below_a_quote_is_not_kept_with_it():
    body = "<p>one<blockquote><p>Ada said<p>the quoted words<div>Click to expand</div></blockquote><p>two"
    assert kept(body, Ada=Reason.LINKS, Click=Reason.LINKS) == ["one", "Ada said", "the quoted words", "two"]


def test_a_term_is_kept_with_its_description():
    body = "<dl><dt>align <dd>The first attribute<dt>border<dt>frame<dd>The second one<dt>last<dd>nothing</dl>"
    dropped = dict.fromkeys(["align", "border", "frame", "last", "nothing"], Reason.LINKS)
    assert kept(body, **dropped) == ["align", "The first attribute", "border", "frame", "The second one"]
    assert kept(body, **dropped | {"align": Reason.HIDDEN})[0] == "The first attribute"


def test_nothing_is_kept_of_a_page_without_kept_texts():
    assert kept("<p>one<blockquote>two</blockquote>", one=Reason.SHORT, two=Reason.PAGE_DUPLICATE) == []
