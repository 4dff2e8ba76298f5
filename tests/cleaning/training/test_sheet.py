"""Sheets: what a reader sees of a page, and what comes back."""

import pytest
import small_data

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError
from cleaning.training.annotations import Mark
from cleaning.training.pool import read_pool
from cleaning.training.sheet import guess_page, read_sheet, recall, write_sheet

LONG = "The harbour council met on Monday to speak about the new bridge, and many people came to hear its plans. " * 3
MORE = "Nobody in the town had seen the plans before that evening in March, and few had asked for them at all. " * 3
LEAD = "After nine years of work the bridge is open, and the town is of two minds about it."
MENU = "".join(f"<li><a href=/{name}>{name}</a>" for name in "Home News Sport Harbour Letters Markets".split())
STORY = (
    f"<meta name=description content='{LEAD}'><nav><ul>{MENU}</ul></nav>"
    f"<header><h1>The bridge is open</h1><p>{LEAD}</p></header><article><p>{LONG}</p>"
    "<figure><figcaption>The bridge on Monday</figcaption></figure>"
    f"<p>{MORE}</p>"
    "</article><footer><p>All rights reserved, and nothing of this page may be used elsewhere.</p></footer>"
)


@pytest.fixture
def story(tmp_path):
    (page,) = read_pool(small_data.write_pool(tmp_path / "pool", {"story": STORY}))
    return guess_page(page)


def taken(text, page, reader="reader-01"):
    return read_sheet(text, {page.name: page}, reader)


def given_marks(annotation):
    return "".join(text.mark for text in annotation.texts)


def test_guess_has_marks_of_all_kinds(story):
    assert "".join(story.marks) == "------hs+c+-"
    assert story.type is PageType.ARTICLE


def test_sheet_shows_a_page_briefly(story):
    assert write_sheet([story]).splitlines()[1:] == [
        "",
        f"page {story.digest} pool/story type=article file=story.html.gz url=https://story.example/1",
        "- 0-5 0 Home | 1 News | 2 Sport | 3 Harbour | 4 Letters | 5 Markets",
        "h 6 heading 4/0 The bridge is open",
        f"s 7 paragraph 18/0 {LEAD}",
        f"+ 8 paragraph 60/0 {LONG[:100]} … {LONG[:-1][-30:]}",
        "c 9 paragraph 4/0 The bridge on Monday",
        f"+ 10 paragraph 63/0 {MORE[:100]} … {MORE[:-1][-30:]}",
        "- 11 paragraph 12/0 All rights reserved, and nothing of this page may be used elsewhere.",
    ]


def test_sheet_gives_back_the_guess(story):
    (annotation,) = taken(write_sheet([story]), story)
    assert (annotation.page, annotation.set, annotation.id, annotation.reader) == (
        story.digest,
        "pool",
        "story",
        "reader-01",
    )
    assert (annotation.type, annotation.convention, given_marks(annotation)) == (PageType.ARTICLE, 1, "------hs+c+-")
    assert taken("# nothing\n\n", story) == []


def test_reader_changes_marks_and_types(story):
    text = write_sheet([story]).replace("\ns 7", "\n+ 7").replace("type=article", "type=forum")
    text = text.replace("\nh 6 ", "\n+ 3-4\n? 5\n- 6 ")
    (annotation,) = taken(text, story)
    assert (given_marks(annotation), annotation.type) == ("---++?-++c+-", "forum")


def test_stored_decisions_take_the_place_of_the_guess(story):
    (stored,) = taken(write_sheet([story]).replace("\ns 7", "\n? 7").replace("type=article", "type=forum"), story)
    seen = recall(story, stored)
    assert ("".join(seen.marks), seen.type) == ("------h?+c+-", "forum")
    assert taken(write_sheet([seen]), story) == [stored]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pool/story", "pool/other", "line 3: the page pool/other is unknown here"),
        ("type=article", "type=novel", "line 3: 'novel' is not a valid PageType"),
        ("\nh 6", "\nx 6", "line 5: 'x' is not a valid Mark"),
        ("is open\n", "is closed\n", "line 5: the page pool/story has no such line; only marks may change"),
        ("\nh 6 heading", "\nh 66 heading", "has no such line"),
        ("\nh 6", "\n+ 99\nh 6", "has no such line"),
        ("\nh 6", "\n+ 3\n- 3\nh 6", "block 3 is decided as \\+ and as -"),
        ("\ns 7", "\n+ 6\ns 7", "block 6 is decided as h and as \\+"),
        ("\nh 6 heading 4/0 The bridge is open", "", "pool/story has 1 blocks without a line; the first is 6"),
        ("\nh 6", "\nwhat is this\nh 6", "neither the line of a page nor one of its blocks: 'what is this'"),
    ],
)
def test_broken_sheet_is_refused(old, new, message, story):
    text = write_sheet([story])
    assert old in text
    with pytest.raises(AnnotationError, match=message):
        taken(text.replace(old, new, 1), story)


def test_page_in_a_sheet_twice_is_refused(story):
    with pytest.raises(AnnotationError, match="the page pool/story is decided twice"):
        taken(write_sheet([story]) * 2, story)


def test_page_that_changed_is_refused(story, tmp_path):
    text = write_sheet([story])
    (page,) = read_pool(small_data.write_pool(tmp_path / "pool", {"story": f"{STORY}<p>More"}))
    changed = guess_page(page)
    with pytest.raises(AnnotationError, match=f"the page pool/story was {story.digest} when the sheet was written"):
        taken(text, changed)
    (stored,) = taken(text, story)
    with pytest.raises(AnnotationError, match=f"reader-01 decided the page pool/story with digest {story.digest}"):
        recall(changed, stored)


def test_page_without_text_has_no_lines(tmp_path):
    (page,) = read_pool(small_data.write_pool(tmp_path / "pool", {"empty": ""}))
    assert guess_page(page).blocks == ()
    assert set(Mark) == set("?+hsc-")
