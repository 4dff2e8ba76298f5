"""The verdicts of tests/research/metadata_quality.py, and its page."""

from collections import Counter

import corpus
import metadata_quality
import pytest
from metadata_quality import FIELDS, directories, judge, names


@pytest.mark.parametrize(
    ("field", "answer", "wanted", "verdict"),
    [
        ("title", "A Day Out!", "a day out", "right"),
        ("title", "A day", "A day out", "wrong"),
        ("title", None, "A day out", "missing"),
        ("author", names("Bo Ek; Ann Lee"), names("Ann Lee and Bo Ek"), "right"),
        ("author", names("Ann Lee"), names("Ann Lee, Bo Ek"), "wrong"),
        ("author", names("Ann Lee"), names(None), "invented"),
        ("author", names(None), names(None), None),
        ("published", "2024-05-03", "2024-05-03", "right"),
        ("published", "2024-05-03", None, "invented"),
        ("section", "Münchner Umland", frozenset({"muenchner"}), "wrong"),
        ("section", "Landkreis München", directories("https://e.org/landkreis-muenchen/1.html"), "right"),
        ("section", "Sport", directories("https://e.org/article/2024/1.html"), None),
    ],
)
def test_answer_is_judged(field, answer, wanted, verdict):
    assert judge(field, answer, wanted) == verdict


def test_page_has_a_row_for_each_field_and_tool():
    count = Counter({"right": 3, "wrong": 2, "missing": 1, "invented": 4})
    page = metadata_quality.page({"wcxb-dev": {"title": {"ours": count}}}, "", "python x.py")
    assert "| title | ours | 6 | 3 | 2 | 1 | 4 |" in page


def test_ours_has_more_right_answers_than_the_others_in_each_row_of_the_page():
    page = (corpus.ROOT / "docs" / "metadata.md").read_text("utf-8")
    right = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if cells[0] in FIELDS:
            right.setdefault((cells[0], cells[2]), {})[cells[1]] = int(cells[3])
    assert len(right) == 6  # four fields of one data set, two of the other
    assert all(max(of, key=of.get) == "ours" for of in right.values())
