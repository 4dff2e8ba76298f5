"""One word flips no page: text lost when a word of the table of hints is put where it means nothing, on saved pages."""

import corpus
import flips
import pytest

from cleaning import parse

PAGES = 220
MOST_LOST = 0.01  # of the words, on average
MOST_OF_A_PAGE = 0.5


@pytest.fixture(scope="module")
def measured():
    if not corpus.DATA.is_dir():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no data at {corpus.DATA}")
    return flips.measure(PAGES, flips.shipped_text)


def test_enough_pages_are_flipped(measured):
    assert len({flip.page for flip in measured}) >= 200


@pytest.mark.parametrize("place", flips.PLACES)
def test_word_takes_hardly_any_text(place, measured):
    losses = [flip.loss for flip in measured if flip.place == place]
    assert sum(losses) / len(losses) <= MOST_LOST


def test_no_page_loses_half_by_a_word(measured):
    assert [flip for flip in measured if flip.loss > MOST_OF_A_PAGE] == []


def test_word_stands_where_the_place_says():
    source = "<main><h1>a</h1>" + "".join(f"<p>{number}</p>" for number in range(6)) + "</main><p>z</p>"
    drawn = flips.random.Random(1)
    root = parse(source).root
    paragraphs = root.xpath("//main/p")
    assert [element.tag for element in flips._places("wrapper", paragraphs, drawn)] == ["main"]
    (section,) = flips._places("section", paragraphs, drawn)
    assert (section.tag, len(section)) == ("section", 2)
    assert flips._places("paragraphs", paragraphs, drawn) == paragraphs
    flips._mark(paragraphs[0], "label", "comment")
    flips._mark(paragraphs[1], "class", "comment")
    assert flips.html.tostring(paragraphs[0], encoding="unicode") == '<p><span class="comment">Note: </span>0</p>'
    assert paragraphs[1].get("class") == "comment"
