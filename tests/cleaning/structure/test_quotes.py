"""Quotes as forums write them: nested as they are, with their speakers. What is called a quote elsewhere is none."""

import pytest

from cleaning import Decision, Reason, parse
from cleaning.leaves import body_of, walk
from cleaning.structure.marks import marks_of_decisions
from cleaning.structure.quotes import _names_speaker, find_quotes
from cleaning.structure.writers.markdown import to_markdown

# What each program wrote, by its name; WHO says BODY.
FORUMS = {
    "phpBB 2": '<table><tr><td><span><b>WHO wrote:</b></span></td></tr><tr><td class="quote">BODY</td></tr></table>',
    "phpBB 3, subsilver": '<div class="quotetitle">WHO wrote:</div><div class="quotecontent">BODY</div>',
    "phpBB 3.2": "<blockquote><div><cite>WHO wrote:<div>12 Jan</div></cite>BODY</div></blockquote>",
    "vBulletin 3": '<div style="margin:20px"><div class="smallfont">Quote:</div><table><tr><td class="alt2">'
    "<div>Originally Posted by <b>WHO</b></div><div>BODY</div></td></tr></table></div>",
    "vBulletin 4": '<div class="bbcode_container"><div class="bbcode_quote"><div class="quote_container">'
    '<div class="bbcode_quote_container"></div><div class="bbcode_postedby">Originally Posted by <b>WHO</b></div>'
    '<div class="message">BODY</div></div></div></div>',
    "SMF 1": '<div class="quoteheader"><a href="/t">Quote from: WHO on May 1</a></div><div class="quote">BODY</div>',
    "SMF 2": '<div class="quoteheader"><div class="topslice_quote"><a href="/t">Quote from: WHO on May 1</a></div>'
    '</div><blockquote class="bbc_standard_quote">BODY</blockquote><div class="quotefooter"></div>',
    "Discourse": '<aside class="quote no-group"><div class="title"><div class="quote-controls"></div>WHO:</div>'
    "<blockquote><p>BODY</p></blockquote></aside>",
    "XenForo 1": '<div class="bbCodeBlock bbCodeQuote"><aside><div class="attribution type">WHO said:</div>'
    '<blockquote class="quoteContainer"><div class="quote">BODY</div></blockquote></aside></div>',
    "XenForo 2": '<blockquote class="bbCodeBlock bbCodeBlock--quote"><div class="bbCodeBlock-title">WHO said:</div>'
    '<div class="bbCodeBlock-content"><div class="bbCodeBlock-expandContent">BODY</div></div></blockquote>',
    "MyBB 1.2": '<div class="quote_header">WHO Wrote:</div><div class="quote_body">BODY</div>',
    "Invision 4": '<blockquote class="ipsQuote"><div class="ipsQuote_citation">On 1/2/2019, WHO said:</div>'
    '<div class="ipsQuote_contents"><p>BODY</p></div></blockquote>',
    "Invision 3": '<p class="citation">WHO, on 12 January, said:</p><div class="blockquote">'
    '<div class="quote">BODY</div></div>',
    "Invision 2": '<div class="quotetop">QUOTE(WHO @ Jan 12 2009)</div><div class="quotemain">BODY</div>',
    "FluxBB": '<div class="quotebox"><cite>WHO wrote:</cite><blockquote><div><p>BODY</p></div></blockquote></div>',
    "Discuz": '<div class="quote"><blockquote><a href="/r">WHO 发表于 2019-1-12</a><br>BODY</blockquote></div>',
    "UBB.threads": '<div class="ubbcode-block"><div class="ubbcode-header">Originally Posted by WHO</div>'
    '<div class="ubbcode-body">BODY</div></div>',
    "Web Wiz": '<table><tr><td class="BBquote"><strong>WHO wrote:</strong><br><br>BODY</td></tr></table>',
    "WoltLab": '<blockquote class="quoteBox"><div class="quoteBoxTitle"><a href="/z">Zitat von WHO</a></div>'
    '<div class="quoteBoxContent"><p>BODY</p></div></blockquote>',
    "Burning Board 2": "<table><tr><td><span>Zitat:</span></td></tr><tr><td>Original von WHO<br>BODY</td></tr></table>",
    "a fieldset": '<fieldset class="quote"><legend>WHO wrote:</legend>BODY</fieldset>',
}


def quoted(template, speaker, body):
    return template.replace("WHO", speaker).replace("BODY", body)


def levels(markdown):
    """Return the lines of a text as (depth of quotes, text); without marks of format and empty lines."""
    lines = []
    for line in markdown.replace("*", "").splitlines():
        text = line.lstrip("> ")
        if text:
            lines.append((line[: len(line) - len(text)].count(">"), text.strip()))
    return lines


def with_speaker(lines, depth, speaker):
    return [text for level, text in lines if level == depth and speaker in text]


@pytest.mark.parametrize("template", FORUMS.values(), ids=FORUMS)
def test_a_quote_holds_its_speaker_and_its_words(read, template):
    post = quoted(template, "Ada", "The pump stopped after the storm.")
    lines = levels(to_markdown(read(f"<div><p>first words</p>{post}my answer</div>")))
    assert lines[0] == (0, "first words")
    assert lines[-2:] == [(1, "The pump stopped after the storm."), (0, "my answer")]
    assert with_speaker(lines, 1, "Ada")
    assert {depth for depth, _ in lines[1:-1]} == {1}


@pytest.mark.parametrize("template", FORUMS.values(), ids=FORUMS)
@pytest.mark.parametrize("more", ["More of what Ada has said.", ""])
def test_quotes_in_quotes_nest(read, template, more):
    inner = quoted(template, "Bob", "Did you look at the float switch?")
    post = quoted(template, "Ada", f"{inner}{more}")
    lines = levels(to_markdown(read(f"<div><p>first words</p>{post}my answer</div>")))
    assert lines[0] == (0, "first words")
    assert lines[-1] == (0, "my answer")
    assert (2, "Did you look at the float switch?") in lines
    assert with_speaker(lines, 1, "Ada")
    assert with_speaker(lines, 2, "Bob")
    assert not more or (1, more) in lines


def test_a_speaker_above_an_element_that_is_a_quote_stays_above_it(read):
    markdown = to_markdown(read('<p>one</p><b>Ada wrote:</b><div class="quote">the quoted words</div><p>two</p>'))
    assert levels(markdown) == [(0, "one"), (0, "Ada wrote:"), (1, "the quoted words"), (0, "two")]


@pytest.mark.parametrize(
    "body",
    [
        '<div class="stock-quote"><div>ACME:</div><div>price 190.20 dollars today</div></div>',
        '<div class="quote"><span>ACME</span> 190.20</div>',
        '<div class="quote-of-the-day"><h3>Quote of the day:</h3><p>to be or not to be</p></div>',
        '<section class="get-a-quote"><p>Get a quote:</p><p>call us for a price</p></section>',
        '<div class="request-quote"><p>Ada wrote:</p><p>they were quick and cheap</p></div>',
        '<div class="blockquote-footer"><p>Ada wrote:</p><p>in The Times of May</p></div>',
        '<div class="pullquote"><p>Ada said:</p><p>the pump is very old</p></div>',
        '<aside class="pull-quote"><p>the pump is very old</p></aside>',
        '<div class="quote"><p>the pump is very old</p></div>',
        '<div class="citation">Ada and Bob (2009): Pumps.</div><div class="text">the pump is very old</div>',
        '<div class="citations"><div>Citation:</div><div>Ada and Bob: Pumps, 2009, page 12.</div></div>',
        "<div><div>Citation:</div><div>Ada and Bob: Pumps, 2009, page 12.</div></div>",
        "<table><tr><td>Quote:</td><td>190 dollars for a pump</td></tr></table>",
        '<div><a href="/q">Quote:</a><a href="/r">Report this post to us</a></div>',
        "<div><div>Quote:</div><div>190.20</div></div>",
        "<div><div>Quote:</div><div>one two three four</div><div>five six seven</div></div>",
        "<ul><li><div>Quote:</div><div>one two three four</div></li></ul>",
        '<ul><li class="quote">Ada wrote:<p>one two three four</p></li></ul>',
        '<div class="quote-controls"><div>Ada:</div><div>Reply, report, and quote this</div></div>',
    ],
)
def test_other_things_that_are_called_quotes_are_none(read, body):
    assert ">" not in to_markdown(read(f"<p>one</p>{body}<p>two</p>"))


def test_a_named_block_quote_does_not_take_the_sentence_above_it(read):
    body = '<p>In May he wrote:</p><blockquote class="wp-block-quote"><p>It is old.</p></blockquote>'
    assert levels(to_markdown(read(body))) == [(0, "In May he wrote:"), (1, "It is old.")]


def test_a_head_without_its_quote_is_no_quote(read):
    body = '<p>one</p><div class="quotetitle">Ada wrote:</div><div class="quotecontent">gone</div><p>two</p>'
    assert levels(to_markdown(read(body, drop=["gone"]))) == [(0, "one"), (0, "Ada wrote:"), (0, "two")]


def test_a_table_of_data_with_quotes_stays_a_table(read):
    row = '<tr><td>a</td><td class="quotebody">b</td></tr>'
    assert ">" not in to_markdown(read(f"<table><tr><th>x</th><th>y</th></tr>{row}</table>"))


@pytest.mark.parametrize("reason", [Reason.PAGE_DUPLICATE, Reason.LOW_SCORE, Reason.FORM])
def test_a_dropped_quote_is_kept_with_its_answer(reason):
    template = FORUMS["phpBB 3, subsilver"]
    body = f"<div>first</div><div>{quoted(template, 'Ada', 'quoted words')}answer</div>"
    leaves = walk(parse(body).root)
    reasons = {"quoted words": reason, "Ada wrote:": Reason.SHORT}
    decisions = [Decision(leaf.block, 0.5, reasons.get(leaf.block.text, Reason.KEPT)) for leaf in leaves]
    quotes = find_quotes(body_of(parse(body).root), [leaf.block for leaf in leaves])
    assert list(marks_of_decisions(decisions, quotes).kept) == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "text",
    ["Ada wrote:", "Ada a écrit :", "Ada schrieb am 1. Mai:", "Quote from: Ada", "Quote (Ada @ 2009)", "Цитата: Ada"],
)
def test_a_speaker_is_named(text):
    assert _names_speaker(text)


@pytest.mark.parametrize("text", ["", "Quote", "He wrote a book.", "Ada", "Originally", "wrote:"])
def test_no_speaker_is_named(text):
    assert not _names_speaker(text)
