"""Inline text: links, emphasis, images and line breaks."""

from structures import markdown


def test_a_link_to_the_page_itself_is_text(read):
    body = '<h1><a href="https://a.example/x/">One</a></h1><p><a href="/x/#top">two</a> <a href="/x">three</a></p>'
    assert markdown(read(body)) == "# One\n\ntwo [three](https://a.example/x)"


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


def test_emphasis_of_chinese_text_ends_before_its_punctuation(read):
    assert markdown(read("<p><b>问题：</b>回答</p>")) == "**问题**：回答"


def test_a_link_over_a_line_break_is_one_link(read):
    body = "<a href=/plan>the whole<br>plan</a>"
    assert markdown(read(f"<p>See {body} now.</p>")) == "See [the whole  \nplan](https://a.example/plan) now."
    assert markdown(read(f"<h2>{body}</h2>")) == "## [the whole plan](https://a.example/plan)"
    other = "<p><a href=/a>one</a><br><a href=/b>two</a></p>"
    assert markdown(read(other)) == "[one](https://a.example/a)  \n[two](https://a.example/b)"
