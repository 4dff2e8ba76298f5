"""What the reader makes of elements: seen as Markdown, which shows all of it."""

import pytest

from cleaning.structure.markdown import to_markdown
from cleaning.structure.nodes import NodeType


def markdown(document, **options):
    return to_markdown(document, **options).rstrip("\n")


def test_headings_keep_their_levels_without_permalinks(read):
    document = read('<h1>Top <a href="#top">#</a></h1><h3>Low¶</h3><p>Part # 4</p><h2>Part #</h2>')
    assert markdown(document) == "# Top\n\n### Low\n\nPart # 4\n\n## Part \\#"


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


def test_a_link_to_the_page_itself_is_text(read):
    body = '<h1><a href="https://a.example/x/">One</a></h1><p><a href="/x/#top">two</a> <a href="/x">three</a></p>'
    assert markdown(read(body)) == "# One\n\ntwo [three](https://a.example/x)"


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


def test_lists_nest_and_keep_their_numbers(read):
    document = read("<ol start=3><li>c<ul><li>d<ul><li>e</ul></ul><li>f</ol>")
    assert markdown(document) == "3. c\n   - d\n     - e\n4. f"


def test_a_list_begins_with_the_number_of_its_first_kept_item(read):
    assert markdown(read("<ol><li>a<li>b<li>c</ol>", drop=["a"])) == "2. b\n3. c"


def test_a_list_of_posts_is_no_list(read):
    document = read("<ul><li><h2>One</h2><p>text</p><li><h2>Two</h2><p>more</p></ul>")
    assert markdown(document) == "## One\n\ntext\n\n## Two\n\nmore"


def test_items_with_several_blocks_are_apart(read):
    document = read("<ul><li><p>a</p><pre>x = 1</pre><li>b</ul>")
    assert markdown(document) == "- a\n\n  ```\n  x = 1\n  ```\n\n- b"


def test_a_definition_list_has_its_terms_in_bold(read):
    document = read("<dl><dt>T<dt>U<dd>one<dd>two<dt>V<dd>three</dl>")
    assert markdown(document) == "- **T**  \n  **U**\n\n  one\n\n  two\n\n- **V**\n\n  three"


def test_a_table_resolves_its_spans(read):
    document = read(
        "<table><caption>C</caption><tr><th>a<th colspan=2>b<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5"
        "<tr><td colspan=3>all</table>"
    )
    assert markdown(document) == (
        "C\n\n| a | b | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 | 5 |\n| all |  |  |"
    )


def test_a_table_stays_whole_if_some_of_its_cells_are_dropped(read):
    document = read("<table><tr><th>x<th>y<tr><td>1<td>2<tr><td>3<td>4</table>", drop=["1", "4"])
    assert markdown(document) == "| x | y |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"


def test_a_table_whose_cells_are_nearly_all_dropped_gives_the_kept_texts(read):
    document = read("<table><tr><th>x<th>y<tr><td>1<td>2<tr><td>3<td>4</table>", drop=["x", "y", "2", "3", "4"])
    assert markdown(document) == "1"


def test_a_table_that_arranges_the_page_is_no_table(read):
    document = read("<table><tr><td><h2>Menu</h2>a<td><p>Text</p><table><tr><th>k<th>v<tr><td>1<td>2</table></table>")
    assert markdown(document) == "## Menu\n\na\n\nText\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"


def test_code_keeps_its_lines_and_its_language(read):
    document = read('<div class="highlight-python"><pre><span>def</span> f():\n\n    return `1`\n</pre></div>')
    assert markdown(document) == "```python\ndef f():\n\n    return `1`\n```"


@pytest.mark.parametrize(
    ("markup", "language"),
    [
        ('<pre><code class="hljs language-rust">x</code></pre>', "rust"),
        ('<pre class="brush: sql; gutter: false">x</pre>', "sql"),
        ('<pre class="prettyprint lang-c++">x</pre>', "c++"),
        ('<div class="highlight highlight-source-shell"><pre>x</pre></div>', "shell"),
        ('<pre data-lang="go">x</pre>', "go"),
        ('<pre class="sourceCode haskell">x</pre>', "haskell"),
        ('<pre class="notranslate">x</pre>', ""),
        ("<pre>x</pre>", ""),
    ],
)
def test_code_has_the_language_that_the_page_names(read, markup, language):
    (node,) = read(markup).content
    assert (node.type, node.language) == (NodeType.CODE, language)


def test_code_has_no_line_numbers_and_no_buttons(read):
    document = read(
        '<table><tr><td class="gutter"><pre>1\n2</pre><td class="code">'
        "<pre><button>Copy</button><div>a</div><div>  b</div></pre></table>"
    )
    assert markdown(document) == "```\na\n  b\n```"


def test_blank_lines_of_code_in_spans_stay(read):
    assert markdown(read("<pre><span>a\n</span>\n<span>b</span><br><br>c</pre>")) == "```\na\n\nb\n\nc\n```"


def test_line_breaks_stay_and_two_of_them_begin_a_paragraph(read):
    assert markdown(read("<p>Roses<br>Violets<br><br>Sugar</p>")) == "Roses  \nViolets\n\nSugar"


def test_a_dropped_line_ends_the_paragraph(read):
    assert markdown(read("<p>a<br>b<br>c</p>", drop=["b"])) == "a\n\nc"


def test_a_link_is_absolute_and_http(read):
    document = read(
        '<p><a href="../y?a=1&amp;copy;">up</a> <a href="javascript:alert(1)">script</a> '
        '<a href=" java\nscript:x">hidden</a> <a href="mailto:a@b.example">mail</a> <a href="#z">longer place</a></p>'
    )
    assert markdown(document) == "[up](https://a.example/y?a=1\\&copy;) script hidden mail longer place"


def test_a_link_around_blocks_is_in_each_of_them(read):
    document = read('<a href="/y"><h2>Title</h2><p>Text</p></a>')
    assert markdown(document) == "## [Title](https://a.example/y)\n\n[Text](https://a.example/y)"


def test_a_relative_link_of_a_page_without_an_address_is_text(read):
    assert markdown(read('<p><a href="/y">up</a></p>', url=None)) == "up"


def test_links_can_be_left_out_or_put_at_the_end(read):
    document = read('<p><a href="/a">one</a> [1] <a href="/b">two</a> <a href="/a">three</a></p>')
    assert markdown(document, links=False) == "one [1] two three"
    assert markdown(document, links="references") == (
        "[one][1] \\[1\\] [two][2] [three][1]\n\n[1]: https://a.example/a\n[2]: https://a.example/b"
    )


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


def test_text_in_italics_is_emphasis(read):
    document = read("<p><cite>a</cite>, <var>b</var>, <dfn>c</dfn>, <span style='font-style:italic'>d</span></p>")
    assert markdown(document) == "*a*, *b*, *c*, *d*"
    assert markdown(read("<p><cite class=source>a</cite> <span style='color:red'>b</span></p>")) == "a b"


def test_text_with_a_bold_style_is_strong_but_not_in_a_heading(read):
    bold = '<span style="color: red; font-weight: {}">a</span>'
    for weight in ("bold", "700"):
        assert markdown(read(f"<p>{bold.format(weight)} b</p>")) == "**a** b"
        assert markdown(read(f"<h2>{bold.format(weight)} b</h2>")) == "## a b"
    assert markdown(read(f"<p>{bold.format('400')} b</p>")) == "a b"


def test_an_image_beyond_dropped_text_is_dropped(read):
    words = "many other words " * 8
    document = read(f'<p>a</p><div>{words}</div><div><img src="/i.png"></div><p>b</p>', drop=[words.strip()])
    assert markdown(document, images=True) == "a\n\nb"


def test_an_invalid_list_is_a_list(read):
    assert markdown(read("<li>a</li><li>b</li><p>c</p>")) == "- a\n- b\n\nc"
    assert markdown(read("<ul>a<li>b</li><ul><li>c</li></ul></ul>")) == "- a\n- b\n  - c"


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


def test_emphasis_of_chinese_text_ends_before_its_punctuation(read):
    assert markdown(read("<p><b>问题：</b>回答</p>")) == "**问题**：回答"


def test_right_to_left_text_stays_as_it_is(read):
    assert markdown(read('<p dir="rtl">שלום <b>עולם</b></p>')) == "שלום **עולם**"


def test_deep_nesting_is_bounded(read):
    document = read("<ul><li>x" * 500)
    assert max(len(line) - len(line.lstrip()) for line in markdown(document).splitlines()) < 40
    assert markdown(document).count("x") == 500


def test_texts_have_no_invisible_characters(read):
    body = "<p>Do\u00adnau <b>\u0645\u06cc</b>\u200c<i>\u0631</i><i class=fa>\uf005</i> \u200bx</p><p>\u200b</p>"
    assert to_markdown(read(body)) == "Donau **\u0645\u06cc**\u200c*\u0631* x\n"
    assert to_markdown(read("<p>a <img src=/i.png width=90 alt='a\u00adb'> c"), images=True) == (
        "a ![ab](https://a.example/i.png) c\n"
    )


def test_a_link_over_a_line_break_is_one_link(read):
    body = "<a href=/plan>the whole<br>plan</a>"
    assert markdown(read(f"<p>See {body} now.</p>")) == "See [the whole  \nplan](https://a.example/plan) now."
    assert markdown(read(f"<h2>{body}</h2>")) == "## [the whole plan](https://a.example/plan)"
    other = "<p><a href=/a>one</a><br><a href=/b>two</a></p>"
    assert markdown(read(other)) == "[one](https://a.example/a)  \n[two](https://a.example/b)"


def test_the_picture_of_a_hook_is_the_text_of_its_cell(read):
    named, two = "<img src=/y.png width=16 alt=Yes>", "<img src='data:x' alt=No> 2"
    rows = f"<tr><th>what<th>has it<tr><td>One<td>{named}<tr><td>Two<td>{two}"
    assert markdown(read(f"<table>{rows}</table>")).splitlines()[2:] == ["| One | Yes |", "| Two | 2 |"]


def test_the_labels_of_a_group_of_listings_are_no_paragraphs(read):
    code = "<span class=lang>sh</span><pre><code>npm i</code></pre>"
    listing = f'<div class="language-sh"><button class=copy></button>{code}</div>'
    tabs = "<div class=tabs><input type=radio><label for=a>npm</label></div>"
    assert (
        markdown(read(f'<div class="vp-code-group">{tabs}<div class=blocks>{listing}</div></div>'))
        == "```sh\nnpm i\n```"
    )
    assert markdown(read("<p><label>Name</label></p>")) == "Name"


def test_quotes_in_quotes_of_forums_nest(read):
    inner = "<blockquote><div><cite>Bob wrote:</cite><p>inner</p></div></blockquote>"
    document = read(f"<blockquote><div><cite>Ada wrote:</cite>{inner}outer</div></blockquote><p>reply</p>")
    assert markdown(document) == "> *Ada wrote:*\n>\n> > *Bob wrote:*\n> >\n> > inner\n>\n> outer\n\nreply"
