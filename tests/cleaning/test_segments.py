"""Blocks made of the walk's text nodes: by element, by mark, and in = out."""

from hypothesis import given
from hypothesis import strategies as st

from cleaning import Reason, parse
from cleaning.leaves import walk
from cleaning.segments import regroup, split_leaves
from cleaning.terms import normalise

TAGS = st.sampled_from(["div", "td", "p", "b", "i", "span", "a", "br", "table", "li"])
TREES = st.recursive(
    st.sampled_from(["x", "y z", " ", "Fox, dog."]),
    lambda inner: st.builds(lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", TAGS, st.lists(inner, max_size=4)),
    max_leaves=20,
)


def by_element(page, *tags, nested=True, removed=()):
    root = parse(page).root
    gone = {element: Reason.ADVERTISEMENT for tag in removed for element in root.iter(tag)}
    leaves = regroup(walk(root), root, lambda element: element.tag in tags, nested=nested, removed=gone)
    return [(leaf.block.text, leaf.dropped) for leaf in leaves]


def test_inner_and_outer_blocks_are_separate():
    page = "<table><tr><td>A<p>B</p><div>C</div>D</td></tr></table>"
    assert by_element(page, "td", "div") == [("A B D", None), ("C", None)]


def test_blocks_come_in_the_order_of_their_opening_tags():
    assert by_element("<div><div>C</div>D</div>", "div") == [("D", None), ("C", None)]


def test_blocks_that_do_not_nest_hold_all_inside_them():
    page = "<p>one <b>two</b></p><b>three</b>"
    assert by_element(page, "p", "b", nested=False) == [("one two", None), ("three", None)]


def test_text_outside_any_block_is_dropped_in_its_place():
    texts = by_element("<div>bare<p>para</p>tail</div>", "p", nested=False)
    assert texts == [("bare", Reason.UNBLOCKED), ("para", None), ("tail", Reason.UNBLOCKED)]


def test_element_without_text_is_an_empty_block():
    assert by_element("<p></p><p>x</p>", "p") == [("", Reason.EMPTY), ("x", None)]


def test_text_of_a_removed_element_is_dropped_apart():
    texts = by_element("<div>One <span>buy</span> two</div>", "div", removed=["span"])
    assert texts == [("One two", None), ("buy", Reason.ADVERTISEMENT)]


def test_block_in_a_removed_element_stays_whole():
    page = "<section>One <div>two <b>three</b></div><div></div></section><div>four</div>"
    assert by_element(page, "div", removed=["section"]) == [
        ("One", Reason.ADVERTISEMENT),
        ("two three", Reason.ADVERTISEMENT),
        ("", Reason.EMPTY),
        ("four", None),
    ]


def test_split_cuts_a_leaf_where_the_mark_changes():
    leaves = walk(parse("<p>one <b>two</b> three</p>").root)
    parts = [(part.leaf.block.text, part.mark) for part in split_leaves(leaves, lambda piece: piece.element.tag)]
    assert parts == [("one", "p"), ("two", "b"), ("three", "p")]


def test_priorities_are_those_of_the_block_and_its_own_tags():
    root = parse('<div>x <b>y</b><img alt="z"><div><h1>u</h1></div></div>').root
    leaves = regroup(walk(root), root, lambda element: element.tag == "div", nested=True)
    assert [leaf.block.priority for leaf in leaves] == [0.7, 1.0]


def test_text_nodes_of_a_block_join_to_its_text():
    root = parse("<div>One<p>two</p>th<b>ree</b><div>four</div>five</div>").root
    leaves = regroup(walk(root), root, lambda element: element.tag == "div", nested=True)
    joined = [normalise("".join(piece.text for piece in leaf.pieces)) for leaf in leaves]
    assert joined == [leaf.block.text for leaf in leaves] == ["One two three five", "four"]


def letters(leaves):
    return sorted("".join("".join(leaf.block.text.split()) for leaf in leaves))


@given(TREES)
def test_no_letter_is_lost_or_doubled(page):
    root = parse(page).root
    leaves = walk(root)
    grouped = regroup(leaves, root, lambda element: element.tag in {"div", "td"}, nested=True)
    parts = split_leaves(leaves, lambda piece: piece.element.tag == "b")
    for cut in (grouped, [part.leaf for part in parts]):
        assert letters(cut) == letters(leaves)
        assert [leaf.block.position for leaf in cut] == list(range(len(cut)))
