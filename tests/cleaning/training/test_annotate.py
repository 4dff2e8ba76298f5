"""`python -m cleaning.training annotate` and `agreement`: sheets out and in, the dialog, mistakes."""

import io
import sys
from dataclasses import replace

import processes
import pytest
import small_data

from cleaning.teaching import correct
from cleaning.teaching.corrections import write_corrections
from cleaning.teaching.draft import draft_correction
from cleaning.training.__main__ import main
from cleaning.training.annotations import read_annotations
from cleaning.training.pool import read_pool

LONG = "The harbour council met on Monday to speak about the new bridge, and many people came to hear its plans. " * 3
BODIES = {name: f"<h1>Page {name}</h1><article><p>{name} {LONG}</p></article>" for name in ("a_1", "a_2", "b_1")}


@pytest.fixture
def pool(tmp_path):
    return small_data.write_pool(tmp_path / "pool", BODIES | {"empty": ""})


@pytest.fixture
def annotate(pool, tmp_path):
    """Return the command on the pool, with a folder of annotations of its own."""

    def run(*arguments, command="annotate"):
        return main([command, str(pool), "--annotations", str(tmp_path / "kept"), *map(str, arguments)])

    return run


def kept(tmp_path):
    annotations = read_annotations(tmp_path / "kept")
    return {(page.reader, page.id): "".join(text.mark for text in page.texts) for page in annotations}


def test_sheet_goes_out_and_comes_in(annotate, tmp_path, capsys):
    sheet = tmp_path / "sheet.txt"
    assert annotate("--out", sheet) == 0
    assert f"{sheet}: 3 pages, 6 blocks\n" in capsys.readouterr().err
    sheet.write_text(sheet.read_text("utf-8").replace("h 0 heading 2/0 Page a_2", "? 0 heading 2/0 Page a_2"), "utf-8")
    assert annotate("--in", sheet, "--reader", "reader-01") == 0
    assert capsys.readouterr().err == f"{tmp_path / 'kept' / 'reader-01.tsv'}: 3 pages, 5 blocks decided, 1 undecided\n"
    assert kept(tmp_path) == {("reader-01", "a_1"): "h+", ("reader-01", "a_2"): "?+", ("reader-01", "b_1"): "h+"}


def test_stored_decisions_are_shown_again_and_replaced_with_consent(annotate, tmp_path, capsys):
    sheet = tmp_path / "sheet.txt"
    annotate("--out", sheet, "--pages", "a_1")
    sheet.write_text(sheet.read_text("utf-8").replace("\nh 0", "\n- 0"), "utf-8")
    assert annotate("--in", sheet, "--reader", "reader-01") == 0
    annotate("--out", sheet, "--pages", "a_1", "--reader", "reader-01")
    text = sheet.read_text("utf-8")
    assert "\n- 0 heading" in text
    sheet.write_text(text.replace("\n- 0", "\n+ 0"), "utf-8")
    capsys.readouterr()
    assert annotate("--in", sheet, "--reader", "reader-01") == 1
    assert "reader-01 decided the page pool/a_1 otherwise" in capsys.readouterr().err
    assert annotate("--in", sheet, "--reader", "reader-01", "--replace") == 0
    assert kept(tmp_path) == {("reader-01", "a_1"): "++"}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--pages", "a_*"], ["a_1", "a_2"]),
        (["--pages", "a_1", "--pages", "b_*"], ["a_1", "b_1"]),
        (["--part", "1/2"], ["a_1"]),
        (["--part", "2/2"], ["a_2", "b_1"]),
        (["--type", "article"], ["a_1", "a_2", "b_1"]),
    ],
)
def test_options_choose_pages(options, named, annotate, tmp_path):
    sheet = tmp_path / "sheet.txt"
    assert annotate("--out", sheet, *options) == 0
    lines = sheet.read_text("utf-8").splitlines()
    assert [line.split()[2] for line in lines if line.startswith("page ")] == [f"pool/{name}" for name in named]


def test_pages_without_text_are_counted(annotate, tmp_path, capsys):
    assert annotate("--out", tmp_path / "sheet.txt", "--pages", "empty") == 1
    assert "1 pages have no text or look like another type" in capsys.readouterr().err


def test_sheet_with_a_mistake_stores_nothing(annotate, tmp_path, capsys):
    sheet = tmp_path / "sheet.txt"
    annotate("--out", sheet)
    sheet.write_text(sheet.read_text("utf-8").replace("\nh 0", "\nx 0", 1), "utf-8")
    capsys.readouterr()
    assert annotate("--in", sheet, "--reader", "reader-01") == 1
    assert capsys.readouterr().err == f"{sheet}, line 4: 'x' is not a valid Mark\n"
    assert kept(tmp_path) == {}


def test_reader_at_a_terminal_is_asked_for_each_page(pool, tmp_path):
    answers = "- 0\ntype forum\nshow\n\nskip\n+ 0-1\n+ 7\nwhat\nquit\n"
    command = [sys.executable, "-m", "cleaning.training", "annotate", pool, "--reader", "reader-01"]
    finished = processes.run(
        [*map(str, command), "--annotations", str(tmp_path / "kept")], input=answers, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    assert "- 0 heading 2/0 Page a_1\n" in finished.stdout
    assert "there is no block 7; the last one is 1." in finished.stdout
    assert "'what' is no command." in finished.stdout
    (stored,) = read_annotations(tmp_path / "kept")
    assert (stored.id, stored.type, "".join(text.mark for text in stored.texts)) == ("a_1", "forum", "-+")


def test_stored_pages_are_not_asked_for_again(annotate, tmp_path, monkeypatch, capsys):
    for answers, left in (("\n\n", 3), ("\n", 1), ("", 0)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
        assert annotate("--reader", "reader-01") == 0
        output = capsys.readouterr().out
        assert (f"1 of {left}" in output) is (left > 0)
    assert len(kept(tmp_path)) == 3


def test_agreement_of_stored_decisions_is_shown(annotate, tmp_path, capsys):
    sheet = tmp_path / "sheet.txt"
    annotate("--out", sheet)
    annotate("--in", sheet, "--reader", "reader-01")
    annotate("--in", sheet, "--reader", "reader-02")
    assert annotate(command="agreement") == 0
    assert "| reader-01 and reader-02 | 3 | 189 | 100.0% | 1.000 | 100.0% | 1.000 |" in capsys.readouterr().out


def test_unknown_page_among_the_stored_ones_is_an_error(annotate, pool, tmp_path, capsys):
    sheet = tmp_path / "sheet.txt"
    annotate("--out", sheet)
    annotate("--in", sheet, "--reader", "reader-01")
    small_data.write_pool(pool, {"a_1": BODIES["a_1"]})
    assert annotate(command="agreement") == 1
    assert "reader-01 decided the page pool/a_2, which is unknown here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--reader NAME is needed"),
        (["--reader", "Reader 1"], "'Reader 1' is no name of a reader"),
        (["--part", "3/2", "--out", "x"], "'3/2' is no part of the pages"),
        (["--in", "a", "--out", "b"], "not allowed with argument"),
    ],
)
def test_wrong_usage_is_explained(options, message, annotate, capsys):
    with pytest.raises(SystemExit, match="2"):
        annotate(*options)
    assert message in capsys.readouterr().err


def test_folder_without_a_list_of_pages_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["annotate", str(tmp_path), "--out", "x"])
    assert f"{tmp_path} has no list of pages that can be read" in capsys.readouterr().err


@pytest.fixture
def corrections(pool, tmp_path):
    """A file with the corrections of two pages of the pool and of another one."""
    pages = []
    for saved in read_pool(pool):
        draft = draft_correction(saved.parse(saved.read_body()), "anna", "2026-05-01T10:00:00Z")
        if saved.id == "a_1":
            pages.append(replace(correct(draft.page, {1: False}), url=saved.url))
        if saved.id == "b_1":
            pages.append(replace(correct(draft.page, {0: True}), url=saved.url, finished=False))
    pages.append(replace(pages[0], url="https://elsewhere.example/"))
    path = tmp_path / "corrections.jsonl"
    path.write_text(write_corrections(pages), "utf-8")
    return path


def test_corrections_become_annotations_with_consent_that_is_asked_for_once(
    annotate, corrections, tmp_path, capsys, monkeypatch
):
    stored = ("--corrections", corrections, "--reader", "reader-01")
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert annotate(*stored) == 1
    assert "nothing is stored" in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert annotate(*stored) == 0
    told = capsys.readouterr().err
    assert "under its licence, Apache 2.0" in told
    assert "2 pages, 3 blocks decided, 1 undecided; 1 corrected pages are not in" in told
    assert kept(tmp_path) == {("reader-01", "a_1"): "h-", ("reader-01", "b_1"): "+?"}
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert annotate(*stored) == 0
    assert annotate("--corrections", corrections, "--reader", "reader-02", "--agree") == 0
    assert (tmp_path / "kept" / "agreed.txt").read_text() == "reader-01\nreader-02\n"


def test_corrections_that_cannot_be_taken(annotate, corrections, tmp_path, capsys):
    corrections.write_text("{}\n", "utf-8")
    assert annotate("--corrections", corrections, "--reader", "reader-01", "--agree") == 1
    assert "corrections.jsonl, line 1: it is not the record of a corrected page" in capsys.readouterr().err
    corrections.write_text("", "utf-8")
    assert annotate("--corrections", corrections, "--reader", "reader-01", "--agree") == 1
    assert "has no page of" in capsys.readouterr().err
