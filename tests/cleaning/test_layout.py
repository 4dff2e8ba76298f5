"""A layout is that of one page, or is refused."""

import pytest
from lxml import html

from cleaning import parse
from cleaning.errors import CleaningError, LayoutError
from cleaning.layout import Box, Layout

BOX = Box(0, 0, 10, 10, 16)


def layout(*tags):
    return Layout(tags, (BOX,) * len(tags))


def test_boxes_are_found_by_element():
    root = parse("<p>x</p><hr>").root
    boxes = tuple(Box(0, top, 10, 10, 16) for top in range(4))
    boxes_by_element = Layout(("html", "body", "p", "hr"), boxes).match(root)
    assert {element.tag: box.top for element, box in boxes_by_element.items()} == {
        "html": 0,
        "body": 1,
        "p": 2,
        "hr": 3,
    }


def test_element_without_a_box_is_left_out():
    root = parse("<p>x</p>").root
    boxes_by_element = Layout(("html", "body", "p"), (BOX, BOX, None)).match(root)
    assert [element.tag for element in boxes_by_element] == ["html", "body"]


def test_comments_are_no_elements():
    root = html.document_fromstring("<body><!-- x --><p>y</p></body>")
    assert len(layout("html", "body", "p").match(root)) == 3


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (("html", "body", "div", "hr"), "element 2 is <p> on the page and <div> in the layout, which has 4"),
        (("html", "body", "p"), "element 3 is <hr> on the page and missing in the layout, which has 3"),
        (("html", "body", "p", "hr", "p"), "element 4 is missing on the page and <p> in the layout, which has 5"),
        ((), "element 0 is <html> on the page and missing in the layout, which has 0 elements to the page's 4"),
    ],
)
def test_layout_of_another_page_is_refused_with_the_first_difference(tags, message):
    with pytest.raises(LayoutError, match=message):
        layout(*tags).match(parse("<p>x</p><hr>").root)


def test_layout_with_too_few_boxes_is_refused():
    with pytest.raises(LayoutError, match="3 tags, but 1 boxes"):
        Layout(("html", "body", "p"), (BOX,)).match(parse("<p>x</p>").root)


def test_wrong_layout_is_an_error_of_cleaning():
    assert issubclass(LayoutError, CleaningError)
