"""A parser reads the Markdown back to the same structure, whatever the text of the page is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cleaning import OptionError
from cleaning.structure.nodes import NodeType, StructureNode
from cleaning.structure.writers.markdown import MarkdownWriter, to_markdown

PARSER = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
FORMATS = (NodeType.STRONG, NodeType.EMPHASIS, NodeType.DELETED)

# Words with every sign that means something in Markdown, HTML or a table.
SIGNS = r"""abX9 你。*_`~#>+-=|\[]()<>&!:;.,"'/?$^{}%@"""
WORDS = st.one_of(
    st.text(st.sampled_from(SIGNS), min_size=1, max_size=7),
    st.sampled_from(
        [
            "1.",
            "2)",
            "---",
            "===",
            "- x",
            "***",
            "[a](b)",
            "![i](j)",
            "[x]: y",
            "[^1]:",
            "<b>",
            "<!--",
            "&amp;",
            "&#42;",
            "~~~",
            "```",
            "|---|",
            ":--",
            "**",
            "a_b_c",
            "http://a.b/",
            "\\",
            "[ ]",
            "#",
            "######",
            "<script>",
            "```x",
        ]
    ),
)
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map(lambda words: " ".join(" ".join(words).split())).filter(bool)


def node(kind, content=(), **fields):
    return StructureNode(kind, list(content), **fields)


SPANS = st.one_of(
    TEXTS,
    st.builds(lambda kind, text: node(kind, [text]), st.sampled_from([*FORMATS, NodeType.CODE_SPAN]), TEXTS),
    st.builds(lambda text: node(NodeType.LINK, [text], url="https://a.example/?q=(1)&amp;x_y*"), TEXTS),
    st.builds(
        lambda outer, inner, first, second: node(outer, [first, " ", node(inner, [second])]),
        st.sampled_from(FORMATS),
        st.sampled_from(FORMATS),
        TEXTS,
        TEXTS,
    ),
)


def _joined(spans, spaces):
    content = []
    for index, span in enumerate(spans):
        if index and (spaces[index % len(spaces)] or (isinstance(span, str) and isinstance(content[-1], str))):
            content.append(" ")
        content.append(span)
    return content


CONTENT = st.builds(_joined, st.lists(SPANS, min_size=1, max_size=4), st.lists(st.booleans(), min_size=1, max_size=4))
PARAGRAPHS = st.builds(lambda content: node(NodeType.PARAGRAPH, content), CONTENT) | st.builds(
    lambda before, after: node(NodeType.PARAGRAPH, [*before, node(NodeType.BREAK), *after]), CONTENT, CONTENT
)
CODES = st.builds(
    lambda lines, language: node(NodeType.CODE, text="\n".join(lines).strip("\n"), language=language),
    st.lists(st.text(st.sampled_from("ab `~\t*#<"), max_size=8), min_size=1, max_size=4),
    st.sampled_from(["", "python", "c++"]),
).filter(lambda code: code.text.strip())
HEADINGS = st.builds(lambda content, level: node(NodeType.HEADING, content, level=level), CONTENT, st.integers(1, 6))
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(CONTENT, min_size=width, max_size=width), min_size=1, max_size=3).map(
        lambda rows: node(
            NodeType.TABLE,
            [
                node(NodeType.ROW, [node(NodeType.CELL, [node(NodeType.PARAGRAPH, cell)], level=1) for cell in row])
                for row in rows
            ],
        )
    )
)


def _list(items, start):
    return node(
        NodeType.LIST, [node(NodeType.ITEM, item, level=start and start + index) for index, item in enumerate(items)]
    )


def _inside(blocks):
    items = st.lists(st.lists(blocks, min_size=1, max_size=3), min_size=1, max_size=3)
    lists = st.builds(_list, items, st.sampled_from([0, 1, 7]))
    return lists | st.builds(lambda content: node(NodeType.QUOTE, content), st.lists(blocks, min_size=1, max_size=2))


BLOCKS = st.recursive(PARAGRAPHS | HEADINGS | CODES | TABLES | st.just(node(NodeType.RULE)), _inside, max_leaves=6)
DOCUMENTS = st.builds(lambda content: node(NodeType.DOCUMENT, content), st.lists(BLOCKS, min_size=1, max_size=4))


@pytest.mark.parametrize("kind", [NodeType.STRONG, NodeType.EMPHASIS, NodeType.DELETED])
def test_a_format_inside_the_same_format_is_written_once(kind):
    inner = node(NodeType.LINK, [node(kind, ["'%+1: a:"])], url="https://a.example/")
    nested = node(NodeType.DOCUMENT, [node(NodeType.PARAGRAPH, ["9", node(kind, ["9 ", node(kind, ["'%+1: a:"])])])])
    plain = node(NodeType.DOCUMENT, [node(NodeType.PARAGRAPH, ["9", node(kind, ["9 '%+1: a:"])])])
    assert to_markdown(nested) == to_markdown(plain)
    linked = node(NodeType.DOCUMENT, [node(NodeType.PARAGRAPH, [node(kind, ["9 ", inner])])])
    assert parsed(to_markdown(linked)) == [block for top in linked.content for block in expected(top)]


@given(DOCUMENTS)
def test_a_parser_reads_the_same_structure(document):
    text = to_markdown(document)
    assert parsed(text) == [block for top in document.content for block in expected(top)], text


@given(DOCUMENTS)
def test_references_read_the_same_structure(document):
    text = to_markdown(document, links="references")
    assert parsed(text) == [block for top in document.content for block in expected(top)], text


@settings.get_profile("kernel")
@given(DOCUMENTS, st.sampled_from([True, False, "references"]), st.booleans())
def test_the_compiled_writer_writes_the_same(document, links, images):
    pure = MarkdownWriter(document, links=links, images=images)
    assert to_markdown(document, links=links, images=images) == pure.write(document.content)


def test_a_link_named_x_is_no_task():
    document = node(
        NodeType.DOCUMENT, [node(NodeType.PARAGRAPH, [node(NodeType.LINK, ["X"], url="https://a.example/")])]
    )
    assert to_markdown(document) == "[X](https://a.example/)\n"
    assert to_markdown(node(NodeType.DOCUMENT, [node(NodeType.PARAGRAPH, ["[x] done"])])) == "\\[x] done\n"


def test_a_list_inside_an_item_that_begins_with_another_number_than_one_stays_a_list():
    inner = _list([[node(NodeType.PARAGRAPH, ["b"])]], 7)
    document = node(NodeType.DOCUMENT, [_list([[node(NodeType.PARAGRAPH, ["a"]), inner]], 0)])
    assert to_markdown(document) == "- a\n\n  7. b\n"


def test_a_backslash_does_not_escape_the_end_of_emphasis():
    bold = node(NodeType.STRONG, ["b\\\u3002"])
    assert (
        to_markdown(node(NodeType.DOCUMENT, [node(NodeType.PARAGRAPH, ["a", bold, "c"])]))
        == "a<strong>b\\\u3002</strong>c\n"
    )


def test_an_empty_document_is_an_empty_text():
    assert to_markdown(node(NodeType.DOCUMENT)) == ""


@pytest.mark.parametrize("links", ["reference", None, 1, 0, ""])
def test_another_value_of_links_is_an_error(links):
    with pytest.raises(OptionError, match="links is"):
        to_markdown(node(NodeType.DOCUMENT), links=links)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (["snake_case and 2 * 3"], "snake_case and 2 \\* 3"),
        (["see [1] and a < b & c"], "see [1] and a < b & c"),
        (["wow!", node(NodeType.LINK, ["x"], url="https://a.example")], "wow\\![x](https://a.example)"),
        ([node(NodeType.STRONG, ["a", node(NodeType.EMPHASIS, ["b"])])], "**a*b***"),
        (["C:\\dir\\"], "C:\\dir\\\\"),
        (["-5 degrees"], "-5 degrees"),
    ],
)
def test_little_is_escaped(content, text):
    written = to_markdown(node(NodeType.DOCUMENT, [node(NodeType.PARAGRAPH, content)]))
    assert parsed(written) == [("paragraph", _signs(content, frozenset()))]
    if "***" not in text:
        assert written == text + "\n"


# What a document is to a parser -----------------------------------------------------------------------------------
# Text is compared by sign with its formats. Punctuation and spaces may leave a format at its edge, so only letters and
# digits have theirs.


def _signs(content, formats):
    signs = []
    for part in content:
        if isinstance(part, str):
            signs += [(sign, formats if sign.isalnum() else frozenset()) for sign in part if not sign.isspace()]
        elif part.type is NodeType.BREAK:
            signs.append(("\n", frozenset()))
        elif part.type is NodeType.LINK:
            signs += _signs(part.content, formats | {("link", part.url)})
        elif part.type is NodeType.CODE_SPAN:
            signs += _signs(part.content, formats | {"code_span"})
        else:
            signs += _signs(part.content, formats | {str(part.type)})
    return signs


def _one_line(content):
    return [part for part in content if isinstance(part, str) or part.type is not NodeType.BREAK]


def _bare(content):
    parts = []
    for part in content:
        parts += _bare(part.content) if not isinstance(part, str) and part.type is NodeType.STRONG else [part]
    return parts


def expected(top):  # noqa: PLR0911 — one line for each type
    if top.type is NodeType.HEADING:
        return [("heading", top.level, _signs(_one_line(_bare(top.content)), frozenset()))]
    if top.type is NodeType.PARAGRAPH:
        return [("paragraph", _signs(top.content, frozenset()))]
    if top.type is NodeType.CODE:
        return [("code", top.language, top.text)]
    if top.type is NodeType.RULE:
        return [("rule",)]
    if top.type is NodeType.QUOTE:
        return [("quote", [block for part in top.content for block in expected(part)])]
    if top.type is NodeType.TABLE:
        return [
            ("table", [[_signs(cell.content[0].content, frozenset()) for cell in row.content] for row in top.content])
        ]
    items = [[block for part in item.content for block in expected(part)] for item in top.content]
    return [("list", top.content[0].level, items)]


def parsed(text):
    return _blocks(iter(PARSER.parse(text)), None)


def _blocks(tokens, end):
    blocks = []
    for token in tokens:
        kind = token.type
        if kind == end:
            break
        if kind == "heading_open":
            blocks.append(("heading", int(token.tag[1]), _inline(next(tokens))))
        elif kind == "paragraph_open":
            blocks.append(("paragraph", _inline(next(tokens))))
        elif kind == "fence":
            blocks.append(("code", token.info, token.content.removesuffix("\n")))
        elif kind == "hr":
            blocks.append(("rule",))
        elif kind == "blockquote_open":
            blocks.append(("quote", _blocks(tokens, "blockquote_close")))
        elif kind in ("bullet_list_open", "ordered_list_open"):
            start = int(token.attrs.get("start", 1)) if kind == "ordered_list_open" else 0
            blocks.append(("list", start, _items(tokens, kind.replace("open", "close"))))
        elif kind == "table_open":
            blocks.append(("table", _rows(tokens)))
        else:
            assert kind in ("heading_close", "paragraph_close"), kind
    return blocks


def _items(tokens, end):
    items = []
    for token in tokens:
        if token.type == end:
            break
        assert token.type == "list_item_open"
        items.append(_blocks(tokens, "list_item_close"))
    return items


def _rows(tokens):
    rows = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_inline(token))
    return rows


TAGS = {"strong": "strong", "em": "emphasis", "del": "deleted", "s": "deleted", "code": "code_span"}


def _inline(token):
    signs, formats = [], []
    for child in token.children:
        own = frozenset(formats)
        if child.type == "text":
            signs += [(sign, own if sign.isalnum() else frozenset()) for sign in child.content if not sign.isspace()]
        elif child.type == "code_inline":
            own |= {"code_span"}
            signs += [(sign, own if sign.isalnum() else frozenset()) for sign in child.content if not sign.isspace()]
        elif child.type in ("hardbreak", "softbreak") or child.content == "<br>":
            signs.append(("\n", frozenset()))
        elif child.type == "link_open":
            formats.append(("link", str(child.attrs["href"])))
        elif child.type == "html_inline":
            tag = child.content.strip("</>")
            _change(formats, TAGS[tag], opens=not child.content.startswith("</"))
        elif child.type.endswith(("_open", "_close")):
            _change(formats, TAGS.get(child.tag), opens=child.type.endswith("_open"))
    return signs


def _change(formats, name, *, opens):
    if opens:
        formats.append(name)
    elif name is None:
        formats.remove(next(entry for entry in formats if isinstance(entry, tuple)))
    else:
        formats.reverse()
        formats.remove(name)
        formats.reverse()


def spans(html, *content):
    return to_markdown(node(NodeType.DOCUMENT, [node(NodeType.PARAGRAPH, content)]), html=html).rstrip("\n")


def test_no_line_ends_with_a_backslash():
    poem = [
        "Roses",
        node(NodeType.BREAK),
        node(NodeType.LINK, ["a", node(NodeType.BREAK), "b"], url="https://a.example/"),
    ]
    assert spans(True, *poem) == "Roses  \n[a  \nb](https://a.example/)"
    dropped = [node(NodeType.BREAK), node(NodeType.IMAGE, url="https://a.example/i"), node(NodeType.BREAK)]
    assert spans(True, "Roses", *dropped, "red") == "Roses  \nred"


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (NodeType.EMPHASIS, NodeType.STRONG, "a _**x** y_ b"),
        (NodeType.STRONG, NodeType.EMPHASIS, "a **_x_ y** b"),
        (NodeType.EMPHASIS, NodeType.DELETED, "a *~~x~~ y* b"),
    ],
)
def test_emphasis_in_emphasis_is_markdown(outer, inner, expected):
    text = spans(True, "a ", node(outer, [node(inner, ["x"]), " y"]), " b")
    assert text == expected
    assert PARSER.render(text).count("<em>") + PARSER.render(text).count("<strong>") + text.count("~~") // 2 == 2


def test_punctuation_beside_a_letter_goes_outside_the_markers():
    assert spans(True, "a", node(NodeType.STRONG, ["(b)"]), "c") == "a(**b**)c"
    assert spans(True, node(NodeType.EMPHASIS, ["\u201cb\u201d"]), "s") == "\u201c*b*\u201ds"


def test_raised_letters_of_ordinals_are_plain_and_of_powers_are_not():
    def raised(text):
        return node(NodeType.SUPERSCRIPT, [text])

    assert spans(True, "the 1", raised("st"), ", x", raised("a"), " Blocks", raised("TM")) == (
        "the 1st, x<sup>a</sup> BlocksTM"
    )
    lowered = node(NodeType.SUBSCRIPT, ["2"])
    assert spans(False, "x", raised("-2"), " H", lowered, "O x", raised("a+b")) == "x\u207b\u00b2 H\u2082O xa+b"


HTML_TAG = {"html_inline", "html_block"}


@given(st.lists(st.one_of(TEXTS, SPANS), min_size=1, max_size=5))
def test_markdown_without_html_has_none(content):
    nodes = [node(NodeType.PARAGRAPH, [" " if part == "" else part for part in content])]
    text = to_markdown(node(NodeType.DOCUMENT, nodes), html=False)
    types = [token.type for top in PARSER.parse(text) for token in [top, *(top.children or ())]]
    assert HTML_TAG.isdisjoint(types)


def test_a_table_without_html_has_spaces_for_line_breaks_and_says_what_pictures_show():
    yes = node(NodeType.IMAGE, url="https://a.example/y.png", text="Yes | sure")
    lines = node(NodeType.PARAGRAPH, ["a", node(NodeType.BREAK), "b"])
    cells = [node(NodeType.CELL, [lines]), node(NodeType.CELL, [node(NodeType.PARAGRAPH, [yes])])]
    table = node(NodeType.TABLE, [node(NodeType.ROW, cells)])
    document = node(NodeType.DOCUMENT, [table])
    assert to_markdown(document) == "| a<br>b | Yes \\| sure |\n| --- | --- |\n"
    assert to_markdown(document, html=False) == "| a b | Yes \\| sure |\n| --- | --- |\n"
    assert "![Yes" in to_markdown(document, images=True)
