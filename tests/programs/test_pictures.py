"""The recording of a terminal as an SVG that moves."""

from lxml import etree
from pictures import Line, draw, lines_of

PRINTED = [
    (5.0, "Begin at ~\r\n"),
    (5.1, "\x1b[?25l1 page"),
    (5.3, "\r\x1b[2K1 page"),
    (5.4, "\r\x1b[2K2 pages\r\n\x1b[?25h\r\n\x1b[1mbold\x1b[0m & <plain>\r\n"),
]


def test_a_line_that_is_written_over_ends_when_the_next_begins_and_long_pauses_are_cut():
    lines = [
        Line(line.row, line.text, round(line.begins, 1), line.ends and round(line.ends, 1))
        for line in lines_of(PRINTED)
    ]
    assert lines == [
        Line(0, "$ make demo", 0.0),
        Line(1, "Begin at ~", 1.4),
        Line(2, "1 page", 1.5, 1.8),
        Line(2, "2 pages", 1.8),
        Line(4, "\x1b[1mbold\x1b[0m & <plain>", 1.8),
    ]


def test_colours_of_the_terminal_are_colours_of_the_picture():
    root = etree.fromstring(
        draw([Line(0, "\x1b[32mkept\x1b[0m \x1b[39mplain\x1b[0m \x1b[36mscrapy\x1b[0m", 0.0)]).encode()
    )
    spans = [(span.text, span.get("style")) for span in root.iter("{*}tspan")]
    assert spans == [("kept", "fill:#7ee787"), ("scrapy", "fill:#79c0ff")]


def test_the_picture_is_an_svg_without_scripts_in_which_every_line_stands():
    root = etree.fromstring(draw(lines_of(PRINTED)).encode())
    texts = ["".join(element.itertext()) for element in root.iter("{*}text")]
    assert texts == ["$ make demo", "Begin at ~", "1 page", "2 pages", "bold & <plain>"]
    assert [element.text for element in root.iter("{*}tspan")] == ["bold"]
    assert {etree.QName(element).localname for element in root.iter()} == {
        "svg",
        "title",
        "style",
        "rect",
        "text",
        "tspan",
    }
