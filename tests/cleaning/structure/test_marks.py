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
    beside = f"<p>one<div><{tag}>two</{tag}><p>other<p>words</div><p>three"
    assert kept(beside, two=Reason.LOW_SCORE, other=Reason.LINKS, words=Reason.LINKS) == ["one", "three"]


def test_a_quote_or_code_in_a_wrapper_of_its_own_stands_where_the_wrapper_stands():
    for tag in ("pre", "blockquote"):
        body = f"<p>one</p><div><figure><{tag}>two</{tag}>name</figure></div><p>three"
        assert kept(body, two=Reason.LOW_SCORE, name=Reason.SHORT) == ["one", "two", "three"]
        assert kept(body, two=Reason.SOCIAL, name=Reason.SHORT) == ["one", "three"]
        more = body.replace("name", "name and more than a few words on the quote")
        assert kept(more, two=Reason.LOW_SCORE, name=Reason.LOW_SCORE) == ["one", "three"]
        pulled = body.replace("figure", "aside")
        assert kept(pulled, two=Reason.ASIDE, name=Reason.ASIDE) == ["one", "two", "three"]
        answered = body.replace("figure", "article")
        assert kept(answered, two=Reason.LOW_SCORE, name=Reason.SHORT) == ["one", "three"]
    assert kept("<p>one<div><h2>two</h2></div><p>three", two=Reason.LOW_SCORE) == ["one", "three"]
    post = "<div><div>Ada wrote:<blockquote>quoted text</blockquote></div><p>answer</div>"
    reasons = {"Ada": Reason.SHORT, "quoted": Reason.PAGE_DUPLICATE}
    assert kept(f"<div>first</div>{post}", **reasons) == ["first", "quoted text", "answer"]


def test_a_short_or_repeated_heading_stands_above_its_text():
    body = "<div><h3>one</h3><p>two</div><div><h3>three</h3><p>four</div>"
    for reason in (Reason.SHORT, Reason.PAGE_DUPLICATE):
        assert kept(body, one=reason, three=reason) == ["one", "two", "three", "four"]
        assert kept(body, three=reason, four=Reason.SHORT) == ["one", "two"]
        assert kept("<div><div><h3>one</h3></div><p>two</div>", one=reason) == ["two"]
    assert kept(body, one=Reason.OUTSIDE, three=Reason.RELATED) == ["two", "four"]


def test_a_heading_that_opens_a_text_is_kept_with_the_text():
    body = "<div><h3><button>one</button></h3><p>two</div>"
    assert kept(body, one=Reason.FORM) == ["one", "two"]
    assert kept(body.replace("h3", "div"), one=Reason.FORM) == ["two"]
    assert kept(body, one=Reason.HIDDEN) == ["two"]


def test_a_post_that_begins_with_a_quote_of_another_keeps_it():
    quote = "<blockquote><p>quoted text of a post</p><p>further text of it</p></blockquote>"
    body = f"<article><div>first</div></article><article><div>{quote}answer</div></article>"
    whole = ["first", "quoted text of a post", "further text of it", "answer"]
    for reason in (Reason.PAGE_DUPLICATE, Reason.LOW_SCORE, Reason.SHORT):
        dropped = dict.fromkeys(["quoted", "further"], reason)
        assert kept(body, **dropped) == whole
        assert kept(body, **dropped, answer=Reason.SHORT) == ["first"]
    for reason in (Reason.SOCIAL, Reason.ADVERTISEMENT, Reason.BYLINE):
        assert kept(body, quoted=reason, further=reason) == ["first", "answer"]
    dropped = {"quoted": Reason.LOW_SCORE, "further": Reason.LOW_SCORE, "more": Reason.LOW_SCORE}
    parted = body.replace("answer", "<p>more</p>answer")
    assert kept(parted, **dropped) == ["first", "answer"]


def test_a_quote_in_an_aside_is_kept_with_its_answer():
    quote = "<aside><div>ada:</div><blockquote>quoted text</blockquote></aside>"
    reasons = {"ada:": Reason.ASIDE, "quoted": Reason.ASIDE}
    assert kept(f"<div>first</div><div>{quote}<p>answer</div>", **reasons) == ["first", "quoted text", "answer"]


def test_a_list_in_a_quote_is_kept_with_the_quote():
    body = "<div>first</div><div><blockquote>quoted<ul><li>one<li>two</ul></blockquote><p>answer</div>"
    reasons = dict.fromkeys(["quoted", "one", "two"], Reason.SHORT)
    assert kept(body, **reasons) == ["first", "quoted", "one", "two", "answer"]
    listed = body.replace("<blockquote>quoted", "").replace("</blockquote>", "")
    assert kept(listed, one=Reason.SHORT, two=Reason.SHORT) == ["first", "answer"]


def test_a_quote_is_kept_with_its_speaker():
    body = "<p>one<figure><blockquote>Speaker said<p>the quoted words</p>Ada Quill</blockquote></figure><p>two"
    for reason in (Reason.SHORT, Reason.LOW_SCORE, Reason.BYLINE):
        assert len(kept(body, Speaker=reason, Ada=reason)) == 5
    assert kept(body, Speaker=Reason.LINKS, Ada=Reason.SOCIAL) == ["one", "the quoted words", "two"]
    assert kept(body, Speaker=Reason.SHORT, the=Reason.LOW_SCORE, Ada=Reason.SHORT) == ["one", "two"]


def test_a_link_to_the_speaker_or_source_is_kept_with_the_quote():
    quote = "<blockquote><a href=/u>Ada wrote:</a><p>quoted words</p><p>From <a href=/t>The Tribune</a></blockquote>"
    linked = {"Ada": Reason.LINKS, "From": Reason.LINKS}
    for body in (f"<p>one{quote}<p>two", f"<div>one</div><div>{quote}</div>"):
        assert {"Ada wrote:", "quoted words", "From The Tribune"} <= set(kept(body, **linked))
    other = "<div>one</div><div><blockquote><a href=/u>Ada</a><p>quoted words</blockquote></div>"
    assert kept(other, Ada=Reason.LINKS) == ["one", "quoted words"]


def test_a_link_below_a_quote_is_not_kept_with_it():
    more = "<div><a href=/x>Click to expand</a></div>"
    body = f"<p>one<blockquote><p>Ada said<p>the quoted words{more}</blockquote><p>two"
    assert kept(body, Ada=Reason.LINKS, Click=Reason.LINKS) == ["one", "Ada said", "the quoted words", "two"]


def test_an_embedded_post_of_nothing_but_links_is_not_kept():
    post = "<blockquote><p>{}</p><p><a href=/u>by Ada</a></p></blockquote>"
    body = f"<div><p>one</p>{post}<p>two</div>"
    reasons = {"A": Reason.SOCIAL, "by": Reason.SOCIAL}
    assert kept(body.format("<a href=/p>A post</a>"), **reasons) == ["one", "two"]
    assert kept(body.format("A post of words"), **reasons) == ["one", "A post of words", "by Ada", "two"]


def test_a_term_is_kept_with_its_description():
    body = "<dl><dt>align <dd>The first attribute<dt>border<dt>frame<dd>The second one<dt>last<dd>nothing</dl>"
    dropped = dict.fromkeys(["align", "border", "frame", "last", "nothing"], Reason.LINKS)
    assert kept(body, **dropped) == ["align", "The first attribute", "border", "frame", "The second one"]
    assert kept(body, **dropped | {"align": Reason.HIDDEN})[0] == "The first attribute"


@pytest.mark.parametrize("item", ["<li>{}</li>", "<li><p>{}</p></li>"])
def test_an_item_that_repeats_a_text_is_kept_with_its_list(item):
    items = "".join(map(item.format, ["one", "two", "three"]))
    repeated = Reason.PAGE_DUPLICATE
    for tag in ("ol", "ul"):
        body = f"<p>above</p><{tag}>{items}</{tag}><p>below</p>"
        assert kept(body, two=repeated) == ["above", "one", "two", "three", "below"]
        assert kept(body, two=Reason.LINKS) == ["above", "one", "three", "below"]
    assert kept(f"<ol>{items}</ol>", three=repeated) == ["one", "two", "three"]
    assert kept(f"<ul>{items}</ul>", three=repeated) == ["one", "two"]
    post = "<ul><li>one</li><li><div><div>two</div></div></li><li>three</li></ul>"
    assert kept(post, two=repeated) == ["one", "three"]


def test_nothing_is_kept_of_a_page_without_kept_texts():
    assert kept("<p>one<blockquote>two</blockquote>", one=Reason.SHORT, two=Reason.PAGE_DUPLICATE) == []
