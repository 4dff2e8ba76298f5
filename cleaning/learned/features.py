"""What the classifier sees of a page: one row of features for each block, counted by numpy from the scan's columns.

A feature is a share or a count that says the same in every language; the words of a page speak through the lexicon
alone. `GROUPS` names the columns in their order; the model file holds the names that it was trained with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning.blocks import Kind
from cleaning.compiled import compiled_rows
from cleaning.learned.counted import LEVELS, Counted, running
from cleaning.learned.evidence import FEWEST_CHARS, compare
from cleaning.learned.facts import TYPE_FAMILIES
from cleaning.scan import Count

if TYPE_CHECKING:
    from cleaning.learned.facts import Facts
    from cleaning.learned.lexicon import Lexicon
    from cleaning.scan import Scan

FAR = 99  # blocks
WINDOWS = (3, 8, 20)
NEAR_LEVELS = 4

_TAGS = (
    "p li td th h1 h2 h3 h4 h5 h6 div section article pre blockquote dd dt figcaption figure button label body header "
    "footer nav aside main form tr caption summary legend ul ol dl table tbody thead details fieldset address"
).split()
TAG_CODES = {tag: code for code, tag in enumerate(_TAGS)}
_AROUND = "nav header footer aside article main form ul ol section figure table".split()
AROUND_CODES = {tag: code for code, tag in enumerate(_AROUND)}
_KIND_CODES = {id(kind): code for code, kind in enumerate(Kind)}  # an enum's own hash is slow

_OF_ELEMENT = "chars links leaves prose prose_share mean siblings ends".split()
_OF_GROUP = "chars links prose leaves mean ends".split()
_OF_SIGN = "least greatest mean".split()

GROUPS: dict[str, list[str]] = {
    "text": (
        "words link_share chars links pauses ends pauses_a_word ends_a_word quotes signs upper digits chars_a_word "
        "bold pieces first last kind priority repeated title tag parent_tag"
    ).split(),
    "place": (
        "depth place chars_before after_h1 blocks_after_h1 since_prose until_prose since_first until_last since_heading"
    ).split(),
    "elements": [
        *(f"{name}_{level}" for level in range(LEVELS) for name in _OF_ELEMENT),
        *(f"{name}_{level}" for level in range(NEAR_LEVELS) for name in ("headings", "index", "rest")),
    ],
    "alike": [f"{group}_{name}" for group in ("alike", "same_path") for name in _OF_GROUP],
    "around": [f"in_{tag}" for tag in _AROUND],
    "windows": [f"{name}_within_{reach}" for reach in WINDOWS for name in ("mean", "links", "prose")],
    "lexicon": [
        *(f"{name}_sign_{level}" for level in range(NEAR_LEVELS) for name in _OF_SIGN),
        *"least_sign greatest_sign sum_of_signs least_level least_inline mean_inline least_text mean_text".split(),
    ],
    "evidence": "body_share summary_share body_covered body_words".split(),
    "page": (
        "blocks log_chars page_links prose_blocks page_prose page_mean headings cells items code duplicates h1s "
        "articles mains tables page_digits page_ends largest_prose"
    ).split(),
    "address": "path_parts slug_chars slug_hyphens path_digits query".split(),
    "types": [f"type_{family}" for family in TYPE_FAMILIES],
}
NAMES = [name for names in GROUPS.values() for name in names]
OF_BLOCKS = NAMES.index("body_share")  # columns, the first ones, that the scan alone tells
PAGE_NAMES = [name for group in ("page", "address", "types") for name in GROUPS[group]]


class Signs(NamedTuple):
    """The scores of words: of a page's m elements (3 x m), of the inline elements of its n blocks, of their texts.

    Each is three rows: the least, the greatest and the mean score.
    """

    elements: np.ndarray
    inlines: np.ndarray
    texts: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The rows of a page's blocks (n x len(NAMES), float32), and the sums that they were made of."""

    rows: np.ndarray
    counted: Counted

    @property
    def page(self) -> np.ndarray:
        """The features of the page as a whole, those of PAGE_NAMES."""
        return self.rows[0, -len(PAGE_NAMES) :]


def read_features(scan: Scan, facts: Facts, lexicon: Lexicon) -> Features:
    """Return the features of a page that has blocks."""
    counted, module = Counted(scan), compiled_rows()
    rows = np.empty((counted.size, len(NAMES)), np.float32)
    signs = Signs(
        lexicon.elements(scan.tags, scan.node_signs), lexicon.inlines(scan.signs), lexicon.texts(counted.texts)
    )
    fill = pure_fill if module is None else module.fill_features
    fill(rows, counted, facts.title, signs)
    evidence = _evidence(counted, facts)
    for place, column in enumerate(evidence, OF_BLOCKS):
        rows[:, place] = column
    rows[:, OF_BLOCKS + len(evidence) :] = np.array(_page(counted) + _address(facts) + facts.families, np.float64)
    return Features(rows, counted)


def pure_fill(rows: np.ndarray, counted: Counted, title: str, signs: Signs) -> None:
    """Fill the first OF_BLOCKS columns of rows (n x F, float32)."""
    columns = [
        *_text(counted, title),
        *_place(counted),
        *_elements(counted),
        *_in_elements(counted),
        *_alike(counted, counted.looks.alike),
        *_alike(counted, counted.looks.same_path),
        *_around(counted),
        *_windows(counted),
        *_lexicon(counted, signs),
    ]
    for place, column in enumerate(columns):
        rows[:, place] = column


def _text(counted: Counted, title: str) -> list[np.ndarray]:
    scan, chars, words = counted.scan, counted.chars, np.maximum(1, counted.words)
    counts = counted.counts
    codes = np.array([TAG_CODES.get(tag, len(_TAGS)) for tag in scan.tags])
    titles = [len(text) / len(title) if text in title else 0.0 for text in counted.texts]
    return [
        counted.words,
        counted.links / chars,
        chars,
        counts[Count.LINKS],
        counts[Count.PAUSES],
        counted.ends,
        counts[Count.PAUSES] / words,
        counted.ends / words,
        counts[Count.QUOTES] / words,
        *(counts[[Count.SIGNS, Count.UPPER, Count.DIGITS]] / chars),
        chars / words,
        counts[Count.BOLD_CHARS] / chars,
        *counts[[Count.PIECES, Count.FIRST, Count.LAST]],
        np.array([_KIND_CODES[id(kind)] for kind in counted.kinds]),
        np.array([block.priority for block in scan.blocks], np.float64),
        counted.repeated,
        np.array(titles),
        codes[scan.node],
        codes[counted.parent[scan.node]],
    ]


def _place(counted: Counted) -> list[np.ndarray]:
    places, size, h1 = counted.places, counted.size, counted.first_h1
    prose = np.flatnonzero(counted.prose)
    first, last = (prose[0], prose[-1]) if len(prose) else (0, size)
    return [
        counted.looks.depth[counted.scan.node],
        places / size,
        running(counted.chars)[:-1] / counted.all_chars,
        (places - h1) / size if h1 >= 0 else np.full(size, -2.0),
        np.clip(places - h1, -50, 200) if h1 >= 0 else np.full(size, -FAR),
        _since(counted.prose),
        _since(counted.prose[::-1])[::-1],
        places - first,
        last - places,
        _since(counted.headings),
    ]


def _since(marked: np.ndarray) -> np.ndarray:
    """Return how many blocks back the nearest marked one is, at most FAR; 0 for a marked one."""
    places = np.arange(len(marked))
    latest = np.maximum.accumulate(np.where(marked, places, -FAR))
    nearest: np.ndarray = np.minimum(places - latest, FAR)
    return nearest


def _elements(counted: Counted) -> list[np.ndarray]:
    chars = np.maximum(1, counted.inside(counted.chars))
    leaves = counted.scan.last - counted.scan.first
    prose = counted.inside(counted.prose_chars)
    of_element = [
        chars / counted.all_chars,
        counted.inside(counted.links) / chars,
        leaves,
        prose / counted.all_prose,
        prose / chars,
        chars / leaves,
        counted.looks.siblings,
        counted.inside(counted.ends) / leaves,
    ]
    seen = np.stack(of_element)[:, counted.chain[:LEVELS]]
    return list(seen.transpose(1, 0, 2).reshape(-1, counted.size))


def _in_elements(counted: Counted) -> list[np.ndarray]:
    headings = counted.inside(counted.headings)
    columns = []
    for around in counted.chain[:NEAR_LEVELS]:
        index = counted.places - counted.scan.first[around]
        columns += [headings[around], index, counted.scan.last[around] - counted.places]
    return columns


def _alike(counted: Counted, groups: np.ndarray) -> list[np.ndarray]:
    leaves = np.bincount(groups)
    chars, links, prose, ends = (
        np.bincount(groups, values) for values in (counted.chars, counted.links, counted.prose_chars, counted.ends)
    )
    of_group = [
        chars / counted.all_chars,
        links / np.maximum(1, chars),
        prose / counted.all_prose,
        leaves,
        chars / leaves,
        ends / leaves,
    ]
    return [values[groups] for values in of_group]


def _around(counted: Counted) -> list[np.ndarray]:
    """How many levels up the nearest element with each tag is, 1 for the block's own; 0 for none."""
    codes = np.array([AROUND_CODES.get(tag, len(_AROUND)) for tag in counted.scan.tags])
    levels = np.zeros((len(_AROUND) + 1, counted.size))
    for level in reversed(range(len(counted.chain))):
        levels[codes[counted.chain[level]], counted.places] = level + 1
    return list(levels[:-1])


def _windows(counted: Counted) -> list[np.ndarray]:
    sums = running(counted.chars), running(counted.links), running(counted.prose_chars)
    columns = []
    for reach in WINDOWS:
        first, last = np.maximum(0, counted.places - reach), np.minimum(counted.size, counted.places + reach + 1)
        chars, links, prose = (sum_[last] - sum_[first] for sum_ in sums)
        columns += [chars / (last - first), links / np.maximum(1, chars), prose / counted.all_prose]
    return columns


def _lexicon(counted: Counted, signs: Signs) -> list[np.ndarray]:
    chain, of_elements = counted.chain, signs.elements
    near = of_elements[:, chain[:NEAR_LEVELS]].transpose(1, 0, 2).reshape(-1, counted.size)
    least = np.where(counted.real, of_elements[0][chain], np.inf)
    return [
        *near,
        least.min(axis=0),
        of_elements[1][chain].max(axis=0),
        sum(np.where(counted.real, of_elements[2][chain], 0)),
        least.argmin(axis=0),
        *signs.inlines[[0, 2]],
        *signs.texts[[0, 2]],
    ]


def _evidence(counted: Counted, facts: Facts) -> list[np.ndarray]:
    size = counted.size
    shares, summaries = np.full(size, -1.0), np.zeros(size)
    if facts.body or facts.summaries:
        places = np.flatnonzero((counted.chars >= FEWEST_CHARS) & (counted.links <= counted.unlinked))
        shares[places], summaries[places] = compare([counted.texts[place] for place in places.tolist()], facts)
    covered = (shares.clip(0) * counted.words).sum() / facts.body_words if facts.body_words else -1.0
    return [shares, summaries, np.full(size, covered), np.full(size, facts.body_words)]


def _page(counted: Counted) -> list[float]:
    tags, kinds, size = counted.scan.tags, counted.kinds, counted.size
    return [
        size,
        float(np.log(counted.all_chars)),
        counted.links.sum() / counted.all_chars,
        counted.prose.sum(),
        counted.prose_chars.sum() / counted.all_chars,
        counted.all_chars / size,
        counted.headings.sum(),
        kinds.count(Kind.TABLE_CELL) / size,
        kinds.count(Kind.LIST_ITEM) / size,
        kinds.count(Kind.CODE),
        (counted.repeated > 1).mean(),
        tags.count("h1"),
        tags.count("article"),
        tags.count("main"),
        tags.count("table"),
        counted.counts[Count.DIGITS].sum() / counted.all_chars,
        counted.ends.sum() / size,
        counted.prose_chars.max() / counted.all_prose,
    ]


def _address(facts: Facts) -> list[float]:
    parts = [part for part in facts.path.split("/") if part]
    slug = parts[-1] if parts else ""
    return [len(parts), len(slug), slug.count("-"), sum(map(str.isdigit, facts.path)), facts.query]
