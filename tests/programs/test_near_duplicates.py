"""The edits that tests/research/near_duplicates plants, and floors under what fingerprints find of them."""

import importlib
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "research" / "near_duplicates"
TEXT = "The ferry left the harbour at dawn. Forty passengers slept below. Nobody had seen the captain since Monday."


@pytest.fixture
def part(monkeypatch):
    """Import a file of the program, which is run by path."""
    monkeypatch.syspath_prepend(PROGRAM)
    return importlib.import_module


@pytest.fixture
def editor(part):
    edits = part("edits")
    other = "Rain fell on the market square all morning. Vendors covered their stalls with blue plastic sheets."
    return edits.Editor("English", [edits.Paragraph("p", "English", other, 16)])


def test_every_edit_changes_the_text(editor):
    for name, edit in editor.edits().items():
        before, after = edit(TEXT)
        assert before != after, name


def test_a_share_of_words_is_replaced_and_one_at_least(editor):
    for share, replaced in ((0.01, 1), (0.1, 2), (0.5, 9)):
        before, after = editor.share(share)(TEXT)
        pairs = zip(before.split(), after.split(), strict=True)
        assert sum(old != other for old, other in pairs) == replaced


def test_a_single_sentence_cannot_be_reordered(editor):
    assert editor.reorder("Only one.") is None
    assert editor.reorder("One. Two. Three.") == ("One. Two. Three.", "Two. Three. One.")


def test_minhash_estimates_jaccard(part):
    marks = part("marks")
    first, other = (marks.Marks.of(" ".join(f"w{n}" for n in range(start, start + 300))) for start in (0, 100))
    assert marks.jaccard(first, other) == 0.5
    assert (first.minima == other.minima).mean() == pytest.approx(0.5, abs=0.13)


def test_equal_texts_are_duplicates_by_every_method(part):
    marks = part("marks")
    assert all(marks.verdicts(marks.Marks.of(TEXT), marks.Marks.of(TEXT.upper())).values())


@pytest.mark.slow
def test_fingerprints_find_late_edits_and_no_different_texts(part):
    edits = part("edits")
    measure = part("measure")
    if not edits.DATA.exists():
        pytest.skip(f"BLOCKSIEVE_DATA: there is no data at {edits.DATA}")
    texts = [
        paragraph for paragraph in edits.paragraphs() if paragraph.language == "English" and 50 <= paragraph.words < 100
    ][:150]
    recall = measure.recall(texts, texts)
    assert recall["last word"]["found"]["modified"] > 0.9
    assert recall["1 % of words"]["found"]["symmetric"] > 0.5
    assert measure.false_positives(texts)["any"]["modified"] == 0
