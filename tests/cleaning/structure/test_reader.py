"""What the reader makes of elements: seen as Markdown, which shows all of it."""

import pytest
from structures import markdown

from cleaning.structure.writers.markdown import to_markdown


@pytest.mark.parametrize(
    ("body", "dropped", "expected"),
    [
        ("<h1>The  old Mill¶</h1><p>text</p>", ["The old Mill¶"], "# The old Mill\n\ntext"),
        ("<h2>The old mill</h2><p>by Ada</p><p>text</p>", ["The old mill", "by Ada"], "## The old mill\n\ntext"),
        ("<h3>The old mill</h3><h1>The old mill</h1><p>text</p>", ["The old mill"], "# The old mill\n\ntext"),
        ("<p>Opinion</p><h1>The old mill</h1><p>text</p>", ["The old mill"], "Opinion\n\n# The old mill\n\ntext"),
        ("<h1>The old mill - A walk</h1><p>text</p>", ["The old mill - A walk"], "# The old mill - A walk\n\ntext"),
    ],
)
def test_the_headline_is_shown_if_it_is_dropped(read, body, dropped, expected):
    assert markdown(read(body, drop=dropped, title="The old mill")) == expected


@pytest.mark.parametrize(
    ("body", "dropped", "expected"),
    [
        ("<p>text</p><h3>The old mill</h3>", ["The old mill"], "text"),
        ("<h1>Another mill</h1><p>text</p>", ["Another mill"], "text"),
        ("<h2>The old mill - A walk</h2><p>text</p>", ["The old mill - A walk"], "text"),
        ("<p>text</p><h1>The old mill - A walk</h1>", ["The old mill - A walk"], "text"),
        ("<h2>THE OLD MILL</h2><h1>The old mill</h1><p>text</p>", ["THE OLD MILL"], "# The old mill\n\ntext"),
        ("<h1>The old mill</h1><p>text</p>", ["The old mill", "text"], ""),
    ],
)
def test_another_dropped_heading_is_no_headline(read, body, dropped, expected):
    assert markdown(read(body, drop=dropped, title="The old mill")) == expected


def test_headings_have_no_links_to_an_editor(read):
    document = read(
        '<h2>Tea[<a href="/edit">edit</a> | <a href="/source">source</a>]</h2><h3>See [<a href="/2">2</a>] x</h3>'
    )
    assert markdown(document, links=False) == "## Tea\n\n### See [2] x"
    assert markdown(read('<h2>[<a href="/a">all</a>]</h2>'), links=False) == "## [all\\]"


def test_a_formula_with_an_image_of_it_is_one_formula(read):
    span = '<span class="mwe-math-element"><math alttext="x^2"><mi>x</mi></math><img alt="x^2" src="/svg/x"></span>'
    assert markdown(read(f"<p>a</p><dl><dd>{span}</dd></dl><p>b</p>"), images=True) == "a\n\n$x^2$\n\nb"
    assert markdown(read(f"<p>a {span} b</p>"), images=True) == "a $x^2$ b"


def test_line_breaks_stay_and_two_of_them_begin_a_paragraph(read):
    assert markdown(read("<p>Roses<br>Violets<br><br>Sugar</p>")) == "Roses  \nViolets\n\nSugar"


def test_a_dropped_line_ends_the_paragraph(read):
    assert markdown(read("<p>a<br>b<br>c</p>", drop=["b"])) == "a\n\nc"


def test_images_are_included_on_demand_with_their_captions(read):
    document = read(
        '<p>Before</p><figure><img src="/i.png" alt="A [cat]"><figcaption>Fig. 1</figcaption></figure><p>After</p>'
    )
    assert markdown(document) == "Before\n\nFig. 1\n\nAfter"
    assert markdown(document, images=True) == "Before\n\n![A \\[cat\\]](https://a.example/i.png)\n\nFig. 1\n\nAfter"


@pytest.mark.parametrize(
    "image", ['<img src="data:image/png;base64,x">', '<img src="/i.png" width=1>', '<img src="javascript:x">', "<img>"]
)
def test_an_image_without_an_address_or_a_size_is_left_out(read, image):
    assert markdown(read(f"<p>a</p>{image}<p>b</p>"), images=True) == "a\n\nb"


def test_a_lazy_image_has_its_real_address(read):
    document = read('<p>a <img src="data:image/gif;base64,x" data-src="/i.png" alt=""> b</p>')
    assert markdown(document, images=True) == "a ![](https://a.example/i.png) b"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>a</p>{}<blockquote>b</blockquote>", "a\n\n{}\n\n> b"),
        ("<p>a</p><blockquote>b<p>{}</p></blockquote><p>c</p>", "a\n\n> b\n>\n> {}\n\nc"),
        ("<p>a</p><blockquote>{}<p>b</p></blockquote>", "a\n\n> {}\n>\n> b"),
        ("<ol><li>a<br>{}</li><li>b</li></ol>", "1. a\n\n   {}\n\n2. b"),
        ("<p>a</p>{}<ul><li>b</li></ul>", "a\n\n{}\n\n- b"),
        ("<ul><li>a<p>{}</p></li></ul><blockquote>b</blockquote>", "- a\n\n{}\n\n> b"),
        ("<p>a</p><ul>{}<li>b</li></ul>", "a\n\n- {}\n\n  b"),
        ("<p>a</p><h2>{}<br>b</h2>", "a\n\n{}\n\n## b"),
        ("<dl><dt>a</dt><dd>b<p>{}</p></dd></dl><p>c</p>", "- **a**\n\n  b\n\n{}\n\nc"),
    ],
)
def test_an_image_stays_in_the_element_that_holds_it(read, body, expected):
    document = read(body.format('<img src="/i.png" alt="i">'))
    assert markdown(document, images=True) == expected.format("![i](https://a.example/i.png)")


def test_an_image_beyond_dropped_text_is_dropped(read):
    words = "many other words " * 8
    document = read(f'<p>a</p><div>{words}</div><div><img src="/i.png"></div><p>b</p>', drop=[words.strip()])
    assert markdown(document, images=True) == "a\n\nb"


def test_right_to_left_text_stays_as_it_is(read):
    assert markdown(read('<p dir="rtl">שלום <b>עולם</b></p>')) == "שלום **עולם**"


def test_texts_have_no_invisible_characters(read):
    body = "<p>Do\u00adnau <b>\u0645\u06cc</b>\u200c<i>\u0631</i><i class=fa>\uf005</i> \u200bx</p><p>\u200b</p>"
    assert to_markdown(read(body)) == "Donau **\u0645\u06cc**\u200c*\u0631* x\n"
    assert to_markdown(read("<p>a <img src=/i.png width=90 alt='a\u00adb'> c"), images=True) == (
        "a ![ab](https://a.example/i.png) c\n"
    )


def test_the_labels_of_a_group_of_listings_are_no_paragraphs(read):
    code = "<span class=lang>sh</span><pre><code>npm i</code></pre>"
    listing = f'<div class="language-sh"><button class=copy></button>{code}</div>'
    tabs = "<div class=tabs><input type=radio><label for=a>npm</label></div>"
    assert (
        markdown(read(f'<div class="vp-code-group">{tabs}<div class=blocks>{listing}</div></div>'))
        == "```sh\nnpm i\n```"
    )
    assert markdown(read("<p><label>Name</label></p>")) == "Name"
