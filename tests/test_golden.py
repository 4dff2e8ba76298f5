"""Golden pages: what a careful reader wants of twenty kinds of page, against what `clean` gives.

The reader wants the headline and all of the text under it, with subheadings, lists, tables and code; not bylines,
dates, prices, kickers, tags, share buttons, teasers of other pages, or the comments below an article (in a forum they
are the text). The list `kept` is complete and in reading order; no kept block may contain a text of `dropped`.

    pytest tests/test_golden.py --regenerate    rewrites the lists `kept`; review the diff
"""

import difflib
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cleaning import CleanPage, clean

GOLDEN = Path(__file__).parent / "golden"
FIELDS = ("title", "author", "published", "language")


@dataclass(frozen=True)
class Golden:
    """A golden page: what is expected of it, from which file, and what was found."""

    file: Path
    expected: dict = field(repr=False)
    found: CleanPage = field(repr=False)

    @property
    def kept(self):
        return [block.text for block in self.found.kept]


@pytest.fixture(params=sorted(GOLDEN.iterdir()), ids=lambda folder: folder.name)
def golden(request):
    file = request.param / "expected.json"
    expected = json.loads(file.read_text("utf-8"))
    return Golden(file, expected, clean((request.param / "page.html").read_bytes(), expected["url"]))


def test_metadata_is_what_the_page_states(golden):
    assert {name: getattr(golden.found, name) for name in FIELDS} == {name: golden.expected[name] for name in FIELDS}


def test_kept_blocks_are_those_a_reader_wants(golden, request):
    if request.config.getoption("--regenerate"):
        rewrite(golden)
    elif golden.kept != golden.expected["kept"]:
        pytest.fail(difference(golden), pytrace=False)


def test_template_texts_are_not_kept(golden):
    assert [text for text in golden.expected["dropped"] if any(text in kept for kept in golden.kept)] == []


def test_expected_texts_are_blocks_of_the_page(golden):
    texts = [decision.block.text for decision in golden.found.decisions]
    assert [text for text in golden.expected["kept"] if text not in texts] == []
    assert [text for text in golden.expected["dropped"] if not any(text in block for block in texts)] == []


def difference(golden):
    """Return the expected blocks with the missing (-), and why they were dropped, and the surplus ones (+)."""
    wanted, kept = golden.expected["kept"], golden.kept
    dropped = {decision.block.text: decision for decision in golden.found.decisions if not decision.kept}
    lines = [f"{golden.file.parent.name}: the kept blocks differ (- missing, + surplus)"]
    for line in difflib.ndiff(wanted, kept):
        if not line.startswith("?"):
            decision = dropped.get(line[2:]) if line.startswith("-") else None
            lines.append(line + (f"  [{decision.reason}, score {decision.score:.2f}]" if decision else ""))
    return "\n".join(lines)


def rewrite(golden):
    expected = golden.expected | {"kept": golden.kept}
    golden.file.write_text(json.dumps(expected, ensure_ascii=False, indent=2) + "\n", "utf-8")
