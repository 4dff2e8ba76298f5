"""The visible pieces of a text: pieces of a visible block that no browser shows are left out.

A block that is hidden as a whole stays a block: answers that open in place, and pages that a script shows later, are
hidden too.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from cleaning.input.class_names import class_test
from cleaning.terms import count_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lxml.html import HtmlElement

SHOWN, HIDDEN, _MUTED = range(3)
"""The levels of an inline element: a browser shows it; it does not; it does, but screen readers leave it out."""

UNSEEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# Each of the words below has one of these parts, in small letters: few classes have, and only those are looked at.
_UNSEEN_PARTS = re.compile("sr-|sr_|sronly|hidden|reader|invisible|assistive|offscreen", re.IGNORECASE | re.ASCII)
_names_unseen = class_test(_UNSEEN_PARTS)
HIDING_ATTRIBUTES = frozenset({"hidden", "style", "aria-hidden"})
_READERS_ONLY = re.compile(
    r"(?<![a-z0-9:-])(?:[a-z]{1,12}[-_]{1,2})?(?:sr[-_]?only|visually[-_]?hidden|hidden[-_]visually|"
    r"screen[-_]?reader(?:s|[-_]?text|[-_]?only)?|element[-_]invisible|assistive[-_]text|a11y[-_]hidden|a[-_]offscreen)"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)
_READERS_TOO = re.compile(r"not-sr-only")
# A hidden piece that a click opens in place is part of its text.
_OPENS = re.compile(r"more|full|expand|collaps|toggl|trunc|reveal|spoiler|answer|remain|rest\b|continu", re.IGNORECASE)
# A formula is hidden from screen readers because they get it in another form.
_FORMULA = re.compile(r"katex|mjx|math|ltx_", re.IGNORECASE)
_MAX_NAME_CHARS = 1_000
# A longer piece is a text of its own: what follows "Read more", or all of a page that a script shows later.
_MAX_LABEL_WORDS = 25
_MAX_CAPITAL_CHARS = 3
_WORD_CHARACTER = re.compile(r"[^\W_]")


def unseen_level(tag: str, attributes: Mapping[str, str]) -> int:
    """Return the level of an inline element by its tag and attributes."""
    hidden = attributes.get("hidden")
    style = attributes.get("style")
    is_muted = attributes.get("aria-hidden") == "true"
    classes = attributes.get("class", "")[:_MAX_NAME_CHARS]
    is_unseen = (hidden is not None and hidden.lower() != "until-found") or (
        style is not None and UNSEEN_STYLE.search(style[:_MAX_NAME_CHARS]) is not None
    )
    for_readers = classes and _READERS_ONLY.search(classes) and not _READERS_TOO.search(classes)
    if not (is_unseen or for_readers or is_muted):
        return SHOWN
    names = f"{tag} {classes} {attributes.get('id', '')[:_MAX_NAME_CHARS]}"
    if _FORMULA.search(names):
        return SHOWN
    if is_unseen:
        return SHOWN if _OPENS.search(names) else HIDDEN
    return HIDDEN if for_readers else _MUTED


def may_be_unseen(element: HtmlElement) -> bool:
    """Return False for most elements of level SHOWN."""
    names = element.keys()
    return not HIDING_ATTRIBUTES.isdisjoint(names) or ("class" in names and _names_unseen(element.get("class", "")))


def shown_texts(texts: Sequence[str], levels: Sequence[int]) -> list[str]:
    """Return the text nodes of a block as a reader sees them; what is left out becomes white space.

    White space counts only where two words would be glued. Nothing is left out of a block without other words, and no
    piece that is a text of its own. A piece for screen readers beside one for all others repeats it: the latter stays.
    """
    if not any(level == SHOWN and _WORD_CHARACTER.search(text) for text, level in zip(texts, levels, strict=True)):
        return list(texts)
    runs = [list(run) for _, run in groupby(range(len(texts)), key=lambda index: levels[index])]
    left_out: set[int] = set()
    for number, run in enumerate(runs):
        around = [levels[runs[other][0]] for other in (number - 1, number + 1) if 0 <= other < len(runs)]
        after = "".join(texts[index] for index in runs[number + 1]) if number + 1 < len(runs) else ""
        if _is_left_out("".join(texts[index] for index in run), levels[run[0]], around, after):
            left_out.update(run)
    return _with_gaps(texts, left_out)


def _is_left_out(text: str, level: int, around: Sequence[int], after: str) -> bool:
    if level == SHOWN or count_words(text) > _MAX_LABEL_WORDS:
        return False
    if level == HIDDEN or not _WORD_CHARACTER.search(text):
        return True
    is_capital = len(text.strip()) <= _MAX_CAPITAL_CHARS and text[-1:].isalnum() and after[:1].isalnum()
    return HIDDEN not in around and not is_capital


def _with_gaps(texts: Sequence[str], left_out: set[int]) -> list[str]:
    following = [""] * len(texts)  # the first character that is shown after each text
    for index in range(len(texts) - 2, -1, -1):
        after = index + 1
        following[index] = following[after] if after in left_out or not texts[after] else texts[after][0]
    visible: list[str] = []
    before = ""
    for index, text in enumerate(texts):
        if index not in left_out:
            visible.append(text)
            before = text[-1:] or before
        elif before.isalnum() and following[index].isalnum():
            visible.append(" ")
            before = " "
        else:
            visible.append("")
    return visible
