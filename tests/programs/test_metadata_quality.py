"""The verdicts of tests/research/metadata_quality.py, and its page."""

from collections import Counter

import corpus
import metadata_quality
import pytest
from metadata_quality import FIELDS, directories, judge, names


@pytest.mark.parametrize(
    ("field", "answer", "expected", "verdict"),
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
def test_answer_is_judged(field, answer, expected, verdict):
    assert judge(field, answer, expected) == verdict


def test_page_has_a_row_for_each_field_and_tool():
    count = Counter({"right": 3, "wrong": 2, "missing": 1, "invented": 4})
    page = metadata_quality.page({"wcxb-dev": {"title": {"ours": count}}}, "", "python x.py")
    assert "| title | ours | 6 | 3 | 2 | 1 | 4 |" in page


# Where another library has more right answers.
BEHIND = {("dates-dev", "published")}


def test_ours_has_more_right_answers_than_the_others_but_for_what_is_said():
    page = (corpus.ROOT / "docs" / "metadata.md").read_text("utf-8")
    right = {}
    for section in page.split("\n## ")[1:]:
        for line in section.splitlines():
            cells = [cell.strip() for cell in line.strip("| ").split("|")]
            if cells[0] in FIELDS:
                row = right.setdefault((section.split("\n")[0], cells[0]), {})
                row[cells[1]] = int(cells[3])
    assert {name for name, _ in right} == set(metadata_quality.SETS)
    assert {row for row, counts in right.items() if max(counts, key=counts.get) != "ours"} == BEHIND
