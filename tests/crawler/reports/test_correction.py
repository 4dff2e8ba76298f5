"""Corrections in the terminal: which blocks are named, the dialog, sheets, and what is printed."""

import re

import pytest
import taught_site

from cleaning.errors import AnnotationError
from crawler.errors import CompareError
from crawler.reports.correction import (
    CorrectionDialog,
    correct_by_sheet,
    find_blocks,
    finish,
    mark_blocks,
    print_preview,
    print_taught_sites,
    sheet_of,
)
from crawler.teaching.preview import ChangedText, SitePreview
from crawler.teaching.records import TaughtSite

BODY = taught_site.page_html(1).encode()


@pytest.fixture
def draft():
    return taught_site.draft(1)


@pytest.fixture
def ask(draft):
    """Run the dialog with these lines; return the corrected page."""

    def run(*lines):
        answers = iter(lines)
        return CorrectionDialog(draft, lambda _question: next(answers, None)).run()

    return run


def test_blocks_are_named_by_numbers_and_by_text(draft):
    assert find_blocks(draft, "3") == [3]
    assert find_blocks(draft, " 2-4 6,0 ") == [2, 3, 4, 6, 0]
    assert find_blocks(draft, '"win TWO   nights"') == taught_site.positions(draft, "Win two nights")
    assert len(find_blocks(draft, "ostrand-1")) > 3


@pytest.mark.parametrize("words", ["99", "3-99", "5-4", "no such text", '""', " "])
def test_blocks_that_the_page_does_not_have(draft, words):
    with pytest.raises(AnnotationError, match=r"names no blocks; the page has 0 to \d|no block has the text"):
        find_blocks(draft, words)


def test_a_dialog_marks_blocks_until_the_page_is_done(draft, ask, capsys):
    (offer,) = taught_site.positions(draft, taught_site.offer(1))
    page = ask(f"- {offer}", "+ 0", "= 0", "show", "done")
    assert [position for position, block in enumerate(page.blocks) if block.mark is not None] == [offer]
    assert (page.blocks[offer].mark, page.finished, page.marked) == (False, True, 1)
    printed = capsys.readouterr().out
    assert f"+ {offer} paragraph" in printed
    assert f"-*{offer} paragraph" in printed
    assert "\n= 3-7 12     take back your marks     show         all blocks again\n" in printed


def test_a_dialog_tells_what_is_wrong_and_goes_on(ask, capsys):
    assert ask("+ 99", "nonsense", "", "- Win two nights", "part").finished is False
    printed = capsys.readouterr().out
    assert "'99' names no blocks" in printed
    assert "'nonsense' is no command" in printed


def test_a_dialog_corrects_what_the_page_states(ask, capsys):
    page = ask("title Harbour 1", 'author ""', "part")
    assert {name: corrected.answer for name, corrected in page.fields.items()} == {"title": "Harbour 1", "authors": ""}
    printed = capsys.readouterr().out
    assert "title: Harbour wall of Ostrand-1\nauthor: none\npublished: none\n" in printed
    assert "title: Harbour 1 (corrected)\nauthor: none (corrected)\n" in printed


def test_a_dialog_tells_what_no_answer_can_be(ask, capsys):
    ask("title", "published 1 May", "author Nobody Here", "quit")
    printed = capsys.readouterr().out
    assert 'say which title is right, or title "" if the page has none' in printed
    assert "the day '1 May' is not an ISO date" in printed
    assert "the page states no authors 'Nobody Here'" in printed


def test_a_dialog_that_ends_stores_nothing(ask):
    assert ask("- 2", "quit") is None
    assert ask("- 2") is None
    with pytest.raises(AnnotationError, match="nothing is corrected"):
        ask("part")


def test_an_edited_sheet_is_a_correction(draft):
    sheet = sheet_of(draft, BODY)
    (offer,) = taught_site.positions(draft, taught_site.offer(1))
    edited = re.sub(rf"(?m)^\+ {offer} ", f"- {offer} ", sheet)
    assert edited != sheet
    page = correct_by_sheet(draft, BODY, edited)
    assert page == finish(mark_blocks(draft.page, [offer], mark=False), finished=True)
    assert correct_by_sheet(draft, BODY, sheet).marked == 0


def test_undecided_blocks_of_a_sheet_say_nothing(draft):
    (offer,) = taught_site.positions(draft, taught_site.offer(1))
    edited = re.sub(rf"(?m)^\+ {offer} ", f"? {offer} ", sheet_of(draft, BODY))
    page = correct_by_sheet(draft, BODY, edited)
    assert not page.finished
    assert [block.mark is None for block in page.blocks].count(True) == 1


@pytest.mark.parametrize(
    ("pattern", "replacement", "sentence"),
    [
        (r"(?m)^page \S+", "page 0000000000000000", "when the sheet was written, now"),
        (r"(?m)^\+ (\d+ paragraph \S+) The", r"+ \1 A", "has no such line; only marks may change"),
        (r"(?m)^\+ .*\n", "", "blocks without a line"),
        (r"(?s).*", "", "the sheet has 0 pages"),
    ],
)
def test_a_sheet_of_something_else_is_refused(draft, pattern, replacement, sentence):
    with pytest.raises(AnnotationError, match=sentence):
        correct_by_sheet(draft, BODY, re.sub(pattern, replacement, sheet_of(draft, BODY), count=1))


def test_a_preview_in_words(capsys):
    preview = SitePreview("courier.example", pages=12, unlike=2, changed=9, unread=1, other_methods=3, blocks_dropped=9)
    preview.examples = [ChangedText("https://courier.example/1", "Win\x1b[31m two nights", keep=False)]
    print_preview(preview, taught_site.site_model())
    printed = capsys.readouterr().out
    for words in (
        "learned from 2 corrected pages. On 12 stored pages, 9 would change: 9 blocks dropped",
        "It does not fit 2 pages, which stay as they are.",
        "Not cleaned: 1 page without HTML or too hard to clean, 3 pages of a method that cannot be taught",
        "- Win",
        "drop p.reader-offer",
    ):
        assert words in printed
    assert "\x1b[31m two" not in printed
    with pytest.raises(CompareError, match="none is stored with its HTML"):
        print_preview(SitePreview("courier.example", unread=4), taught_site.site_model())


def test_a_list_of_sites(capsys):
    print_taught_sites([TaughtSite("courier.example", 2, 3, None)])
    printed = capsys.readouterr().out
    assert "courier.example" in printed
    assert "no model" in printed
