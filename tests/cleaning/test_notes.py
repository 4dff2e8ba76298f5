"""Footnotes of a kept text are kept, in text and Markdown, whoever wrote the page."""

import pytest

from cleaning import clean

STORY = (
    "The harbour was closed for three days in early spring because the ice had damaged the outer breakwater. Divers "
    "found a crack of almost two metres below the water line, and the council stopped all traffic until it was mended."
)
NOTE = "The chart of 1864 was copied from a draft that had been drawn in a mirror."
NAVIGATION = (
    "<nav><ul><li><a href='/'>Home</a><li><a href='/local/'>Local</a><li><a href='/sport/'>Sport</a></ul></nav>"
)
FOOTER = "<footer><p>© 2024 Lindholm Courier. All rights reserved.</p></footer>"
# Of each writer, a mark that stands after "mole", and below it the note.
WRITERS = {
    "kramdown": """<sup id="fnref:1"><a href="#fn:1" class="footnote" rel="footnote" role="doc-noteref">1</a></sup>
<div class="footnotes" role="doc-endnotes"><ol><li id="fn:1"><p>NOTE
<a href="#fnref:1" class="reversefootnote" role="doc-backlink">&#8617;</a></p></li></ol></div>""",
    "hugo": """<sup id="fnref:1"><a href="#fn:1" rel="footnote">1</a></sup>
<div class="footnotes"><hr><ol><li id="fn:1">NOTE <a href="#fnref:1"><sup>[return]</sup></a></li></ol></div>""",
    "pandoc": """<a href="#fn1" class="footnote-ref" id="fnref1" role="doc-noteref"><sup>1</sup></a>
<aside id="footnotes" class="footnotes"><hr><ol><li id="fn1"><p>NOTE<a href="#fnref1">↩︎</a></p></li></ol></aside>""",
    "a file of a book": """<sup><a data-type="noteref" id="id350-marker" href="ch02.html#id350">1</a></sup>
<div data-type="footnotes"><p data-type="footnote" id="id350"><sup><a href="ch02.html#id350-marker">1</a></sup>
NOTE</p></div>""",
    "Word": """<a style="mso-footnote-id:ftn1" href="#_ftn1" name="_ftnref1"><span class="MsoReference">[1]</span></a>
<div><br clear="all"><hr width="33%"><div id="ftn1"><p class="MsoFootnoteText"><a href="#_ftnref1"
name="_ftn1"><span>[1]</span></a> NOTE</p></div></div>""",
    "WordPress": """<sup data-fn="9b1c" class="fn"><a href="#9b1c" id="9b1c-link">1</a></sup>
<ol class="wp-block-footnotes"><li id="9b1c">NOTE <a href="#9b1c-link">↩︎</a></li></ol>""",
    "Substack": """<a class="footnote-anchor" id="footnote-anchor-1" href="#footnote-1" target="_self">1</a>
<div class="footnote"><a id="footnote-1" href="#footnote-anchor-1" class="footnote-number">1</a>
<div class="footnote-content"><p>NOTE</p></div></div>""",
    "Sphinx": """<a class="footnote-reference brackets" href="#id2" id="id1"><span>[</span>1<span>]</span></a>
<aside class="footnote-list brackets"><aside class="footnote brackets" id="id2" role="doc-footnote"><span
class="label"><span>[</span><a role="doc-backlink" href="#id1">1</a><span>]</span></span><p>NOTE</p></aside></aside>""",
    "docutils": """<a class="footnote-reference" href="#id4" id="id3">[1]</a>
<table class="docutils footnote" frame="void" id="id4" rules="none"><tbody valign="top"><tr><td class="label">
<a class="fn-backref" href="#id3">[1]</a></td><td>NOTE</td></tr></tbody></table>""",
    "by hand, in capitals": """<A HREF="#n1" NAME="r1">(1)</A>
<P><A NAME="n1"></A><A HREF="#r1">(1)</A> NOTE</P>""",
    "by hand, with a star": """<a href="#n1" name="r1">*</a>
<p class="small"><a name="n1" href="#r1">*</a> NOTE</p>""",
}


def page_of(mark, note, more=""):
    return clean(
        f"<html lang=en><title>Ice closes the harbour</title><body>{NAVIGATION}<main><article><h1>Ice closes the "
        f"harbour</h1><p>{STORY}</p><p>Old charts show the shoal on the wrong side of the mole{mark} and pilots knew "
        f"it. They said nothing, because strangers who ran aground had to pay for the tow.</p><p>{STORY} It was cold."
        f"</p>{note}{more}</article></main>{FOOTER}",
        "https://a.example/local/ice",
    )


@pytest.mark.parametrize("writer", WRITERS)
def test_a_note_of_a_kept_text_is_kept_in_text_and_markdown(writer):
    mark, note = WRITERS[writer].replace("NOTE", NOTE).split("\n", 1)
    page = page_of(mark, note)
    label = "*" if "star" in writer else "1"
    assert page.text.count(NOTE) == 1
    assert page.markdown.count(NOTE) == 1
    assert f"mole[^{label}] and pilots" in page.markdown
    assert f"\n[^{label}]: {NOTE}\n" in page.markdown


def test_a_numbered_contents_has_no_notes():
    page = page_of(
        "",
        '<h2 id="s1"><a href="#toc1">1</a> The chart</h2><p>It was wrong.</p>',
        '<p id="toc1">See <a href="#s1">1</a>.</p>',
    )
    assert "[^" not in page.markdown


def test_a_note_whose_mark_is_dropped_is_dropped():
    mark, note = WRITERS["WordPress"].replace("NOTE", NOTE).split("\n")
    page = clean(
        f"<body>{NAVIGATION}<main><p>{STORY}</p><p>{STORY} It was cold.</p></main><footer><p>© 2024 Courier{mark} All "
        f"rights reserved.</p><p>{note}</p></footer>"
    )
    assert NOTE not in page.text
    assert NOTE not in page.markdown
