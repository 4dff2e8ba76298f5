"""Stored decisions: by the digests of texts, inherited by other cuts of a page, and checked when they are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cleaning.blocks import PageType
from cleaning.errors import AnnotationError
from cleaning.training.annotations import (
    CONVENTION,
    Convention,
    Mark,
    PageAnnotation,
    decide_texts,
    inherit_marks,
    main_marks,
    merge_marks,
    read_annotations,
    read_file,
    write_annotations,
)

FIRST = "The harbour council met on Monday to speak about the new bridge."
SECOND = "Nobody in the town had seen the plans before that evening in March."
MENU = "Subscribe now and read every story that we publish about boats."
TEXTS = ["Home", FIRST, "Share", SECOND, MENU, "Share"]
MARKS = [Mark(mark) for mark in "-+-+--"]


def marks(texts, decided=(TEXTS, MARKS)):
    return "".join(inherit_marks(texts, decide_texts(*decided)))


def annotation(letters="-+-+--", name="1", reader="reader-01", digest="0123456789abcdef"):
    decided = decide_texts(TEXTS, [Mark(letter) for letter in letters])
    return PageAnnotation(reader, digest, "pool", name, PageType.ARTICLE, CONVENTION, decided)


def test_same_blocks_have_the_same_marks():
    assert marks(TEXTS) == "-+-+--"


def test_white_space_does_not_count():
    assert marks([f" {text.replace(' ', chr(10))} " for text in TEXTS]) == "-+-+--"


def test_parts_of_a_decided_text_inherit_its_mark():
    assert marks(["Home", *FIRST.split(" on "), "Share", SECOND, MENU, "Share"]) == "-??-+--"
    assert marks(["Home", FIRST[:30], FIRST[30:], "Share", SECOND, MENU, "Share"]) == "-++-+--"


def test_union_of_decided_texts_inherits_the_mark_that_they_share():
    assert marks(["Home", FIRST, "Share", SECOND, f"{MENU} Share"]) == "-+-+-"


def test_union_of_texts_with_different_marks_is_undecided():
    assert marks(["Home", f"{FIRST} Share", SECOND, MENU, "Share"]) == "-?+--"


def test_new_text_is_undecided_and_harms_no_other():
    assert marks(["Home", FIRST, "A text that was never read.", "Share", SECOND, MENU, "Share"]) == "-+?-+--"


def test_lost_text_harms_no_other():
    assert marks(["Home", FIRST, "Share", SECOND, "Share"]) == "-+-+-"


def test_repeated_texts_are_told_apart_by_their_occurrence():
    assert marks(["Share", FIRST, "Share"], (["Share", FIRST, "Share"], [Mark.MAIN, Mark.MAIN, Mark.OTHER])) == "++-"


def test_repeated_text_whose_copies_changed_is_undecided_unless_its_neighbours_tell():
    decided = ([FIRST, "Share", SECOND, "Share"], [Mark.MAIN, Mark.MAIN, Mark.MAIN, Mark.OTHER])
    assert marks([FIRST, "Share", SECOND], decided) == "+++"
    assert marks([MENU, "Share", FIRST, SECOND], decided) == "??++"


def test_short_text_is_not_taken_for_a_part_of_another():
    assert marks([f"Home {FIRST} Share"], (["Share"], [Mark.MAIN])) == "?"


@given(
    st.lists(st.tuples(st.text("ab c", min_size=1).filter(str.strip), st.sampled_from("+-h?")), max_size=12), st.data()
)
def test_no_text_has_a_mark_that_none_of_its_characters_had(decided, data):
    texts, given_marks = [text for text, _ in decided], [Mark(mark) for _, mark in decided]
    assert inherit_marks(texts, decide_texts(texts, given_marks)) == given_marks
    whole = "".join(texts)
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=4)))
    cut = [
        part for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True) if (part := whole[start:end]).strip()
    ]
    assert set(inherit_marks(cut, decide_texts(texts, given_marks))) <= {*given_marks, Mark.UNDECIDED}


def test_readers_who_differ_decide_nothing():
    marks_by_reader = [[Mark(letter) for letter in letters] for letters in ("+-?h?", "+++h?")]
    assert "".join(merge_marks(marks_by_reader)) == "+?+h?"


def test_conventions_differ_in_captions_and_headlines():
    assert main_marks(Convention.NEWS, PageType.FORUM) == {Mark.MAIN, Mark.STANDFIRST}
    assert main_marks(Convention.MIXED, PageType.ARTICLE) == {Mark.MAIN, Mark.STANDFIRST, Mark.CAPTION}
    assert main_marks(Convention.MIXED, PageType.FORUM) == set(Mark) - {Mark.OTHER, Mark.UNDECIDED}


def test_what_is_written_is_read_again_sorted_and_without_text(tmp_path):
    write_annotations([annotation(name="2")], "reader-01", tmp_path)
    write_annotations([annotation("++++++", name="1")], "reader-01", tmp_path)
    write_annotations([annotation("------", name="1", reader="reader-02")], "reader-02", tmp_path)
    annotations = read_annotations(tmp_path)
    assert [(page.id, page.reader) for page in annotations] == [
        ("1", "reader-01"),
        ("1", "reader-02"),
        ("2", "reader-01"),
    ]
    assert annotations[2] == annotation(name="2")
    stored = (tmp_path / "reader-01.tsv").read_text("utf-8")
    assert stored.startswith("page\t0123456789abcdef\tpool\t1\tarticle\t1\n+\t")
    assert not any(word in stored for text in TEXTS for word in text.split())


def test_nothing_stored_is_no_annotation(tmp_path):
    assert read_annotations(tmp_path / "none") == read_file(tmp_path / "reader-01.tsv") == []


def test_other_decisions_need_consent(tmp_path):
    write_annotations([annotation()], "reader-01", tmp_path)
    write_annotations([annotation()], "reader-01", tmp_path)
    with pytest.raises(AnnotationError, match="reader-01 decided the page pool/1 otherwise"):
        write_annotations([annotation("++++++")], "reader-01", tmp_path)
    write_annotations([annotation("++++++")], "reader-01", tmp_path, replace=True)
    assert read_annotations(tmp_path) == [annotation("++++++")]


PAGE = "page\t0123456789abcdef\tpool\t1\tarticle\t1\n"
TEXT = "+\t9d6cdc2eb34a\t1\t2\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT, "line 1: a decision stands before the first page"),
        (PAGE + TEXT + TEXT, "line 3: occurrence 1 of the text 9d6cdc2eb34a is decided twice on the page 1"),
        (PAGE + TEXT + TEXT.replace("+", "-"), "decided as \\+ and as - on the page 1"),
        (PAGE + PAGE, "reader-01 decided the page pool/1 twice"),
        (PAGE.replace("\t1\n", "\t9\n"), "the page pool/1 follows convention 9; the newest is 1"),
        (PAGE.replace("article", "novel"), "'novel' is not a valid PageType"),
        (PAGE + TEXT.replace("+", "x"), "'x' is not a valid Mark"),
        (PAGE + "+\t9d6c\n", "a decision has a mark, a digest"),
        ("page\tx\n", "the line of a page has 6 fields, this one 2"),
    ],
)
def test_broken_file_is_named_with_its_line(content, message, tmp_path):
    (tmp_path / "reader-01.tsv").write_text(content, "utf-8")
    with pytest.raises(AnnotationError, match=message):
        read_annotations(tmp_path)


def test_file_is_named_after_its_reader(tmp_path):
    (tmp_path / "Reader 1.tsv").write_text(PAGE, "utf-8")
    with pytest.raises(AnnotationError, match="is named after its reader"):
        read_annotations(tmp_path)


def test_annotations_of_the_project_can_be_read():
    assert all(annotation.texts for annotation in read_annotations())
