"""The walk: where leaves begin and end, their order, kinds, paths and figures."""

import pytest
from cpu_time import cpu_growth
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from cleaning import Kind, parse
from cleaning.leaves import BLOCK_TAGS, NEVER_CONTENT, enclosing_nodes, walk

IN, OUT = '<a href="/in">x</a>', '<a href="http://other.org/">y</a>'


def blocks(page):
    return [leaf.block for leaf in walk(parse(page).root)]


def texts(page):
    return [block.text for block in blocks(page)]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<div>one<p>two</p>three</div>four", ["one", "two", "three", "four"]),
        ("<p>one<br>two<br/>three", ["one", "two", "three"]),
        ("<p>re<b>al</b>ly <i>one</i><span>line</span></p>", ["really oneline"]),
        ("<ul><li>one<li>two<ul><li>three</ul>four</ul>", ["one", "two", "three", "four"]),
        ("<table><tr><td>one<td>two<tr><th>three</table>", ["one", "two", "three"]),
        ("<a><div>one</div>two</a>three", ["one", "twothree"]),
        ("<p>one<!-- no --> line<?no?></p>", ["one line"]),
        ("<h1>  one \n\t two </h1>", ["one two"]),
        ("<x-card>one <x-name>line</x-name></x-card>", ["one line"]),
        ("<p>one</p>\n  \n<p>&nbsp;</p><p>\u200b</p><p>\uf005</p>", ["one"]),
        ("", []),
        ("<div><p></p><br><hr></div>", []),
    ],
)
def test_leaves_end_at_blocks_and_br_only_in_reading_order(page, expected):
    assert texts(page) == expected


@pytest.mark.parametrize("tag", sorted(NEVER_CONTENT - {"frame", "frameset", "head", "area", "embed", "input"}))
def test_text_of_programs_and_replacements_is_no_leaf(tag):
    assert texts(f"<body><p>one <{tag}>hidden</{tag}></p></body>")[0] == "one"
    assert "hidden" not in " ".join(texts(f"<body><p>one</p><{tag}>hidden</{tag}></body>"))


def test_title_and_head_are_no_leaf():
    assert texts("<head><title>title</title></head><body><p>one</p></body>") == ["one"]


def test_text_beside_and_inside_what_is_left_out():
    source = "<p>one<!-- no --> <svg>no<g>no<!-- no -->no</g>no</svg><!-- no --> line</p>four<script>no</script> words"
    leaves = walk(html.fromstring(f"<body>{source}</body>"))
    assert [leaf.block.text for leaf in leaves] == ["one line", "four words"]


def test_comments_in_a_row_take_linear_time():
    small, large = (html.fromstring(f"<body>one{'<!-- no -->' * count}two</body>") for count in (10_000, 80_000))
    assert [leaf.block.text for leaf in walk(large)] == ["onetwo"]
    assert cpu_growth(walk, small, large) < 20


def test_noscript_is_read_where_the_page_is_an_empty_shell():
    prose = "some words " * 60
    assert texts(f"<p>loading</p><noscript><p>{prose}</p></noscript>") == ["loading", prose.strip()]


def test_noscript_is_not_read_beside_text():
    prose = "some words " * 60
    assert texts(f"<p>{prose}</p><noscript><p>{prose}</p></noscript>") == [prose.strip()]


@pytest.mark.parametrize(
    ("page", "kind"),
    [
        ("<p>x</p>", Kind.PARAGRAPH),
        ("<div>x</div>", Kind.PARAGRAPH),
        ("x", Kind.PARAGRAPH),
        ("<h1>x</h1>", Kind.HEADING),
        ("<h6><div>x</div></h6>", Kind.HEADING),
        ("<ul><li>x</ul>", Kind.LIST_ITEM),
        ("<ul><li><p>x</p></ul>", Kind.LIST_ITEM),
        ("<dl><dt>x</dl>", Kind.LIST_ITEM),
        ("<dl><dd>x</dl>", Kind.LIST_ITEM),
        ("<table><tr><td>x</table>", Kind.TABLE_CELL),
        ("<table><tr><th><b>x</b></table>", Kind.TABLE_CELL),
        ("<table><tr><td><p>x</p></table>", Kind.PARAGRAPH),
        ("<pre>x</pre>", Kind.CODE),
        ("<blockquote>x</blockquote>", Kind.QUOTE),
        ("<blockquote><p>x</p></blockquote>", Kind.QUOTE),
        ("<ul><li><article>x</article></ul>", Kind.PARAGRAPH),
    ],
)
def test_kind_comes_from_the_element_or_the_elements_around(page, kind):
    assert [block.kind for block in blocks(page)] == [kind]


def test_code_keeps_its_lines():
    assert texts("<pre>\nif x:\n    go()\n</pre>") == ["if x:\n    go()"]


@pytest.mark.parametrize(
    "page",
    [
        "<div><p>one</p><p>two</p></div><div><p>three</p></div>",
        "<div>a<p>b</p>c<div>d</div>e</div>f",
        "<span><p>one</p></span><p>two</p><span><p>three</p><b><p>four</p></b></span>",
        "<x-card><p>one</p></x-card><x-card><p>two</p></x-card>",
        "<p>a</p><script>x</script><p>b</p><style>y</style><p>c</p>",
        "<a><div>one</div></a><a><div>two</div></a>",
        "<table><tr><td>one</td></tr></table><table><tbody><tr><td>two</td></tr></tbody></table>",
        "<b><i><li>one</li></i></b><b><li>two</li></b>",
        "<o:p><div>one</div></o:p><div>two</div>",
    ],
)
def test_xpath_finds_the_element_of_a_leaf_by_its_path(page):
    root = parse(page).root
    for leaf in walk(root):
        assert root.getroottree().xpath(leaf.block.path) == [leaf.node.element]


def test_path_of_a_part_of_a_tree_leads_to_its_element():
    root = html.fromstring("<section><div><p>one</p></div></section>")
    (leaf,) = walk(root)
    assert root.getroottree().xpath(leaf.block.path) == [leaf.node.element]


def test_path_of_a_deep_element_leads_to_an_ancestor():
    root = parse("<div>" * 1_000 + "deep").root
    (leaf,) = walk(root)
    (element,) = root.getroottree().xpath(leaf.block.path)
    assert element in list(leaf.node.element.iterancestors())


@pytest.mark.parametrize(
    ("page", "priority"),
    [
        ("<h1>Heading</h1>", 1.0),
        ("<p>t <b>one</b> u <b>two</b></p>", 0.9),
        ("<p>t <i>one</i> u <b>two</b></p>", 0.7),
        ("<p>t <b>one</b></p>", 0.5),
        ("<p>t</p>", 0.1),
        (f"<p>t <i>one</i>{IN * 4}</p>", 1.1),
        (f"<p>t <b>one</b>{IN * 4}</p>", 1.3),
        (f"<p>t{IN * 5}{OUT * 5}</p>", 2.1),
        ("<li>plain</li>", 0.0),
        (f"<li>{IN}</li>", 0.2),
        ('<p>t <img alt="cat"></p>', 0.4),
        ("<p>t <img></p>", 0.1),
        ('<p>t <img alt=" "></p>', 0.1),
        ("<h2>x <b>y</b></h2>", 1.3),
        ("<p><em>x</em></p>", 0.1),
        (f'<p><a href="mailto:a@b.org">x</a>{OUT}</p>', 0.5),
        ("<div>bare</div>", 0.0),
        ("<h3>x</h3>", 0.8),
        ("<h4>x</h4>", 0.7),
        ("<h5>x</h5>", 0.6),
        ("<h6>x</h6>", 0.5),
        ("<div><strong>x</strong></div>", 0.4),
    ],
)
def test_priority_is_the_sum_of_the_papers_table(page, priority):
    assert [block.priority for block in blocks(page)] == [priority]


@pytest.mark.parametrize(
    "empty",
    ["<p><b></b><a href=x> </a></p>", '<div><img alt="cat"></div>', "<b><i> </i></b><br>", "<p><b>\x07</b></p>"],
)
def test_tags_of_an_empty_block_do_not_count_in_the_next(empty):
    assert [block.priority for block in blocks(f"<div>{empty}<p>text</p></div>")] == [0.1]


def test_nested_blocks_count_their_own_tags_only():
    assert [block.priority for block in blocks("<li>a <i>b</i><h2>c <b>d</b></h2>e</li>")] == [0.2, 1.3, 0.0]


@pytest.mark.parametrize(
    ("page", "words", "link_words"),
    [
        ("<p>one two <a>three four</a></p>", 4, 2),
        ("<p><a>one <b>two</b></a></p>", 2, 2),
        ("<p>one two</p>", 2, 0),
        ("<p>un<a>link</a>ed</p>", 1, 1),
        ("<p><a>中文网页</a>中文</p>", 3, 2),
        ("<p>— !</p>", 0, 0),
    ],
)
def test_words_inside_links_are_counted_among_the_words(page, words, link_words):
    (block,) = blocks(page)
    assert (block.words, block.link_words) == (words, link_words)


def test_link_around_blocks_counts_in_each():
    assert [block.link_words for block in blocks("<a><div>one two</div><div>three</div></a><p>four</p>")] == [2, 1, 0]


def test_chain_leads_outward_to_the_body():
    (leaf,) = walk(parse("<div><section><p><b>x</b></p></section></div>").root)
    assert [node.tag for node in leaf.node.chain()] == ["p", "section", "div", "body"]


tags = st.sampled_from(
    [*sorted(BLOCK_TAGS), "b", "a", "span", "br", "img", "script", "svg", "noscript", "x-card", "o:p"]
)
trees = st.recursive(
    st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.builds("<{0}>{1}</{0}>".format, tags, st.lists(inner, max_size=4).map("".join)),
    max_leaves=20,
)


@given(trees)
def test_walk_leaves_the_tree_as_it_was(page):
    root = parse(page).root
    before = etree.tostring(root)
    walk(root)
    assert etree.tostring(root) == before


@given(trees)
def test_every_leaf_has_text_a_path_and_its_position(page):
    root = parse(page).root
    for position, leaf in enumerate(walk(root)):
        assert leaf.block.text.strip()
        assert leaf.block.position == position
        assert root.getroottree().xpath(leaf.block.path) == [leaf.node.element]
        assert 0 <= leaf.block.link_words <= leaf.block.words


def test_enclosing_nodes_come_once_and_outer_ones_first():
    nodes = enclosing_nodes(walk(parse(f"<div><p>word</p><ul><li>{IN}</li><li>y</li></ul></div>").root))
    assert [node.tag for node in nodes] == ["body", "div", "p", "ul", "li", "li"]


def test_invisible_characters_are_no_text():
    persian = "<b>\u0645\u06cc</b>\u200c<i>\u0631</i>"
    page = f"<p>re\u00adad {persian} this<i class=icon>\uf005</i>now\ufeff</p><pre>a\u200bb\n  c</pre>"
    assert texts(page) == ["read \u0645\u06cc\u200c\u0631 this now", "ab\n  c"]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('<h2 id=a>The plan<a class=headerlink href="#a">#</a></h2>', "The plan"),
        ('<h2>The plan <a href="/page#a">\u00b6</a></h2>', "The plan"),
        ('<h2><a class=anchor href="#a"><span>Permalink: The plan</span></a>The plan</h2>', "The plan"),
        ('<h2>The plan <a href="#a">Permalink</a></h2>', "The plan"),
        ('<h2><a href="#a">\U0001f517</a> The plan <span class=hash-link>#</span></h2>', "The plan"),
        ('<h2>The plan<span class="mw-editsection"><span>[</span><a href=/e>edit</a>]</span></h2>', "The plan"),
        ("<h2>C#</h2>", "C#"),
        ("<h2>\u00a7 5 Law</h2>", "\u00a7 5 Law"),
        ('<h2><a href="#p5">\u00a7</a> 5 Law</h2>', "\u00a7 5 Law"),
        ('<h2><a class=anchor href="#a">The plan</a></h2>', "The plan"),
        ('<h2>The <a href="#a">edit</a> command</h2>', "The command"),
        ('<h2>The plan <a href="#note">1</a></h2>', "The plan 1"),
        ('<h2><a href="/tag/x">#</a> x</h2>', "# x"),
        ('<p>See <a href="#a">#</a> and <a class=anchor href="#b">this</a></p>', "See # and this"),
        ("<p><i class=material-icons>expand_more</i> More</p>", "More"),
        ('<p><span class="material-symbols-outlined">home</span> Home <mat-icon>menu</mat-icon></p>', "Home"),
        ("<p><i class=material-icons>Two Words</i></p>", "Two Words"),
        ("<p><i class=material>steel</i></p>", "steel"),
        ("<p><ruby>\u6f22<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>\u5b57</p>", "\u6f22\u5b57"),
        ("<pre><span class=lineno>1</span>x\n<span class=lineno>2</span>y</pre>", "x\ny"),
        ("<table><tr><td class=gutter><pre>1\n2</pre><td><pre>x\ny</pre></table>", "x\ny"),
        ("<div class=gutter>12 words</div>", "12 words"),
        ("<p><span class=lineno>7</span> dwarfs</p>", "7 dwarfs"),
    ],
)
def test_ornaments_are_no_text(page, expected):
    assert " ".join(texts(page)) == expected
