"""Golden pages: what a careful reader wants of twenty kinds of page, against what `clean` gives.

The reader wants the text with its subheadings, lists, tables and code; not bylines, dates, prices, kickers, tags,
share buttons, teasers of other pages, or the comments below an article (in a forum they are the text). An article's
headline is its title, and no block of the text. The list `kept` is complete and in reading order; no kept block may
contain a text of `dropped`. What `clean` is known to do otherwise stands in `faults`: it is shown, not hidden, and may
not grow unseen.

    pytest tests/test_golden.py --regenerate    rewrites `faults`; review the diff
"""

import difflib
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from cleaning import CleanPage, clean

GOLDEN = Path(__file__).parent / "golden"
FIELDS = ("title", "author", "published", "language")


@dataclass(frozen=True)
class Golden:
    """A golden page: its file, what is expected of it, and the page as it was cleaned."""

    file: Path
    expected: dict = field(repr=False)
    cleaned: CleanPage = field(repr=False)

    @property
    def kept(self):
        return [block.text for block in self.cleaned.kept]


@pytest.fixture(params=sorted(GOLDEN.iterdir()), ids=lambda folder: folder.name)
def golden(request):
    file = request.param / "expected.json"
    expected = json.loads(file.read_text("utf-8"))
    return Golden(file, expected, clean((request.param / "page.html").read_bytes(), expected["url"]))


def test_metadata_is_what_the_page_states(golden):
    expected = {name: golden.expected[name] for name in FIELDS} | golden.expected.get("metadata_faults", {})
    assert {name: getattr(golden.cleaned, name) for name in FIELDS} == expected


def test_kept_blocks_are_those_a_reader_wants(golden, request):
    if request.config.getoption("--regenerate"):
        rewrite(golden)
    elif faults(golden) != golden.expected.get("faults", {}):
        pytest.fail(difference(golden), pytrace=False)


@pytest.mark.parametrize(
    "more", ["?utm_source=rss&utm_medium=feed", "?fbclid=1&sid=k3f9a0b1c2d3e4f5a6#top", ";jsessionid=0A1B2C"]
)
def test_what_tracks_a_reader_decides_nothing(golden, more):
    again = clean(golden.file.with_name("page.html").read_bytes(), golden.expected["url"] + more)
    assert again.decisions == golden.cleaned.decisions
    assert (again.type, again.confidence) == (golden.cleaned.type, golden.cleaned.confidence)


def test_markdown_has_the_kept_texts_below_the_headline(golden):
    text = " ".join(golden.cleaned.text.split())
    markdown_text = read_back(golden.cleaned.to_markdown(links=False))
    if golden.expected.get("faults"):  # Markdown has headings of what is kept by mistake, and quotes of what is lost
        assert [kept for kept in golden.kept if " ".join(kept.split()) not in markdown_text] == []
    else:
        assert markdown_text in (text, f"{golden.cleaned.title} {text}")


def test_template_texts_are_not_kept(golden):
    surplus = golden.expected.get("faults", {}).get("surplus", [])
    kept = [text for text in golden.kept if text not in surplus]
    assert [text for text in golden.expected["dropped"] if any(text in block for block in kept)] == []


def test_expected_texts_are_blocks_of_the_page(golden):
    texts = [decision.block.text for decision in golden.cleaned.decisions]
    assert [text for text in golden.expected["kept"] if text not in texts] == []
    assert [text for text in golden.expected["dropped"] if not any(text in block for block in texts)] == []


def read_back(markdown):
    """Return the text of Markdown, as a parser reads it, with single spaces."""
    pieces = []
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown):
        parts = token.children or ([token] if token.type in ("fence", "code_block") else [])
        pieces += [" " if part.type in ("softbreak", "hardbreak") else part.content for part in parts] + [" "]
    return " ".join("".join(pieces).split())


def difference(golden):
    """Return the expected blocks with the missing (-), and why they were dropped, and the surplus ones (+)."""
    expected, kept = golden.expected["kept"], golden.kept
    dropped = {decision.block.text: decision for decision in golden.cleaned.decisions if not decision.kept}
    lines = [f"{golden.file.parent.name}: the kept blocks differ (- missing, + surplus)"]
    for line in difflib.ndiff(expected, kept):
        if not line.startswith("?"):
            decision = dropped.get(line[2:]) if line.startswith("-") else None
            lines.append(line + (f"  [{decision.reason}, score {decision.score:.2f}]" if decision else ""))
    return "\n".join(lines)


def faults(golden):
    """Return the blocks that are missing and those that are surplus; {} where there are neither."""
    lines = list(difflib.ndiff(golden.expected["kept"], golden.kept))
    texts_by_name = {
        name: [line[2:] for line in lines if line[0] == sign] for name, sign in (("missing", "-"), ("surplus", "+"))
    }
    return {name: texts for name, texts in texts_by_name.items() if texts}


def rewrite(golden):
    expected = {name: value for name, value in golden.expected.items() if name != "faults"}
    if deviations := faults(golden):
        expected["faults"] = deviations
    golden.file.write_text(json.dumps(expected, ensure_ascii=False, indent=2) + "\n", "utf-8")
