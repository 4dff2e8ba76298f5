"""Corrections as values and as lines of a file."""

import json

import pytest
import taught_site

from cleaning.errors import AnnotationError
from cleaning.teaching.corrections import correct, read_corrections, write_corrections


def test_a_file_gives_the_same_pages():
    pages = [taught_site.corrected(1), taught_site.draft(2).page]
    text = write_corrections(pages)
    again = read_corrections(text)
    assert write_corrections(again) == text
    assert [page.url for page in again] == [taught_site.address(1), taught_site.address(2)]
    assert [page.marked for page in again] == [1, 0]
    assert read_corrections("\n") == []


def test_a_file_has_no_text_of_a_page():
    assert "harbour wall" not in write_corrections([taught_site.corrected(1)])


def test_marks_stand_beside_decisions():
    page = taught_site.corrected(1)
    (block,) = [block for block in page.blocks if block.mark is not None]
    assert (block.kept, block.mark, block.right) == (True, False, False)
    assert all(block.right == block.kept for block in page.blocks if block.mark is None)


def test_a_block_that_the_page_does_not_have_is_refused():
    page = taught_site.draft(1).page
    for position in (-1, len(page.blocks)):
        with pytest.raises(AnnotationError, match=f"there is no block {position}; the page has blocks 0 to"):
            correct(page, {position: True})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 9}, "format 9 is unknown"),
        ({"url": 3}, "are texts"),
        ({"finished": "yes"}, "finished is true or false"),
        ({"blocks": [[0]]}, "it is not the record of a corrected page"),
        ({"blocks": [[99, "s", "/p", "d", 1, 0.5, True, None]]}, "it is not the record of a corrected page"),
        ({"blocks": [[0, "s", "/p", 7, 1, 0.5, True, None]]}, "is not one of a corrected page"),
        ({"blocks": [[0, "s", "/p", "d", 1, 0.5, True, "+"]]}, "the mark of a block is '\\+'"),
        ({"blocks": [[0, "s", "/p", "d", 1, 1.5, True, None]]}, "has the score 1.5"),
        ({"blocks": [[0, "s", "/p", "d", -1, 0.5, True, None]]}, "and -1 words"),
    ],
)
def test_a_broken_line_is_named(change, sentence):
    good = taught_site.draft(1).page.to_record()
    text = json.dumps(good) + "\n" + json.dumps(good | change) + "\n"
    with pytest.raises(AnnotationError, match=f"line 2: .*{sentence}"):
        read_corrections(text)


@pytest.mark.parametrize("line", ["no JSON", "[]", "{}"])
def test_another_line_is_no_page(line):
    with pytest.raises(AnnotationError, match="line 1"):
        read_corrections(line)
