"""Nodes: the order in which they are walked, their plain text, and their way between processes."""

import msgspec
from structures import markdown

from cleaning.structure.nodes import NodeType, StructureNode, plain_text


def node(kind, *content, **fields):
    return StructureNode(kind, list(content), **fields)


def test_nodes_are_walked_in_reading_order():
    inner = node(NodeType.PARAGRAPH, "one")
    items = node(NodeType.LIST, node(NodeType.ITEM, inner), node(NodeType.ITEM, "two"))
    walked = [part.type for part in node(NodeType.DOCUMENT, items, node(NodeType.RULE)).walk()]
    assert walked == [
        NodeType.DOCUMENT,
        NodeType.LIST,
        NodeType.ITEM,
        NodeType.PARAGRAPH,
        NodeType.ITEM,
        NodeType.RULE,
    ]


def test_plain_text_has_formulas_and_no_images():
    content = [
        "See ",
        node(NodeType.STRONG, node(NodeType.LINK, "this", url="https://a.example/")),
        node(NodeType.BREAK),
        node(NodeType.FORMULA_SPAN, text="x^2"),
        node(NodeType.IMAGE, text="a boat", url="https://a.example/boat.png"),
        node(NodeType.FOOTNOTE_MARK, text="1"),
    ]
    assert plain_text(content) == "See this\nx^21"
    assert plain_text([]) == ""


def test_a_document_is_the_same_after_its_way_through_bytes(read):
    document = read("<h2>Head</h2><table><tr><th>a<td colspan=2>b</table><p>See <a href=/b>this</a></p>")
    copy = msgspec.msgpack.decode(msgspec.msgpack.encode(document), type=StructureNode)
    assert copy == document
    assert markdown(copy) == markdown(document)
