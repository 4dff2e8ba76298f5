"""The features of a page's blocks: one row a block for the first stage, and the columns that the second stage adds.

A feature is a share or a count that means the same in every language; the words of a page speak through the lexicon
alone. The model file holds the names of the columns that it was trained with.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cleaning._native import load_compiled
from cleaning.blocks import Kind
from cleaning.classifier.signals import COMPARED_MIN_CHARS, TYPE_FAMILIES, measure_overlap
from cleaning.leaf_table import Column

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from cleaning.classifier.lexicon import Lexicon
    from cleaning.classifier.signals import PageSignals
    from cleaning.leaf_table import LeafTable


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityGroups:
    """What is alike in a scan of n blocks and m elements.

    `depth` (m, int32) tells how many elements are around each one, `siblings` (m, int32) how many elements with its tag
    and first sign its parent has, itself among them. `alike` (n, int32) has the same number for blocks where tags and
    signs of the element and of the one around it are the same, `same_path` (n, int32) where the tags of all elements
    around are; the numbers run from 0 in the order of the blocks.
    """

    depth: np.ndarray
    siblings: np.ndarray
    alike: np.ndarray
    same_path: np.ndarray


def group_similar(scan: LeafTable) -> SimilarityGroups:
    """Return the looks of a scan that has blocks."""
    module = load_compiled("features")
    if module is None:
        return pure_group_similar(scan)
    found: SimilarityGroups = module.group_similar(scan)
    return found


def pure_group_similar(scan: LeafTable) -> SimilarityGroups:
    """Return what `read_looks` does, counted by Python."""
    parents = scan.parent.tolist()
    depths: list[int] = []
    paths: list[int] = []
    known: dict[tuple[int, str], int] = {}
    for parent, tag in zip(parents, scan.tags, strict=True):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        paths.append(known.setdefault((paths[parent] if parent >= 0 else -1, tag), len(known)))
    first_signs = (signs.partition(" ")[0] for signs in scan.node_signs)
    keys = list(zip(parents, scan.tags, first_signs, strict=True))
    times = Counter(keys)
    looks = _numbered(zip(scan.tags, scan.node_signs, strict=True))
    pairs = [(looks[max(parent, 0)], look) for parent, look in zip(parents, looks, strict=True)]
    numbers = scan.node.tolist()
    return SimilarityGroups(
        np.array(depths, np.int32),
        np.array([times[key] for key in keys], np.int32),
        np.array(_numbered(pairs[number] for number in numbers), np.int32),
        np.array(_numbered(paths[number] for number in numbers), np.int32),
    )


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    known: dict[Any, int] = {}
    return [known.setdefault(key, len(known)) for key in keys]


ELEMENT_LEVELS = 7  # elements around a block whose contents are looked at, the innermost first
CHAIN_LEVELS = 14  # those whose tags and words are
_PROSE_MIN_CHARS = 80  # outside links: a text of more is prose


class PageSums:
    """The sums over a scan that has blocks, of its n blocks or m elements; the dearer ones are made at first use."""

    def __init__(self, scan: LeafTable) -> None:
        self.scan = scan
        self.size = len(scan.blocks)
        counts = scan.counts.T.astype(np.float64)
        self.words, self.chars, self.links = counts[Column.WORDS], counts[Column.CHARS], counts[Column.LINK_CHARS]
        self.ends = counts[Column.ENDS]
        self.counts = counts
        self.unlinked = self.chars - self.links
        self.prose = self.unlinked > _PROSE_MIN_CHARS
        self.prose_chars = np.where(self.prose, self.unlinked, 0.0)
        self.all_chars = self.chars.sum()
        self.all_prose = max(1.0, self.prose_chars.sum())
        self.places = np.arange(self.size)
        self.parent = np.maximum(scan.parent, 0)
        self.texts = [block.text for block in scan.blocks]

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the blocks' values inside each element."""
        sums = running_sums(values)
        found: np.ndarray = sums[self.scan.last] - sums[self.scan.first]
        return found

    @cached_property
    def chain(self) -> np.ndarray:
        """The numbers of the elements around each block (CHAIN x n), innermost first; the outermost repeats."""
        levels = [self.scan.node]
        for _ in range(CHAIN_LEVELS - 1):
            levels.append(self.parent[levels[-1]])
        return np.stack(levels)

    @cached_property
    def looks(self) -> SimilarityGroups:
        """Which elements and blocks look alike, and how deep they are."""
        return group_similar(self.scan)

    @cached_property
    def real(self) -> np.ndarray:
        """Which entries of `chain` are no repetitions of the outermost element."""
        real: np.ndarray = np.arange(CHAIN_LEVELS)[:, None] <= self.looks.depth[self.scan.node]
        return real

    @cached_property
    def kinds(self) -> list[Kind]:
        return [block.kind for block in self.scan.blocks]

    @cached_property
    def headings(self) -> np.ndarray:
        return np.array([kind is Kind.HEADING for kind in self.kinds])

    @cached_property
    def first_h1(self) -> int:
        """The first block directly in an h1; -1 where there is none."""
        h1s = {number for number, tag in enumerate(self.scan.tags) if tag == "h1"}
        return next((place for place, number in enumerate(self.scan.node.tolist()) if number in h1s), -1) if h1s else -1

    @cached_property
    def repeated(self) -> np.ndarray:
        """How often each block's text stands on the page."""
        times = Counter(self.texts)
        return np.array([times[text] for text in self.texts], np.float64)


def running_sums(values: np.ndarray) -> np.ndarray:
    """Return the sums of the values before each place and after the last: one entry more than there are values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


FAR_BLOCKS = 99  # blocks
WINDOW_REACHES = (3, 8, 20)
NEAR_LEVELS = 4

_TAGS = (
    "p li td th h1 h2 h3 h4 h5 h6 div section article pre blockquote dd dt figcaption figure button label body header "
    "footer nav aside main form tr caption summary legend ul ol dl table tbody thead details fieldset address"
).split()
TAG_CODES = {tag: code for code, tag in enumerate(_TAGS)}
_AROUND_TAGS = "nav header footer aside article main form ul ol section figure table".split()
AROUND_CODES = {tag: code for code, tag in enumerate(_AROUND_TAGS)}
_KIND_CODES = {id(kind): code for code, kind in enumerate(Kind)}  # an enum's own hash is slow

_ELEMENT_NAMES = "chars links leaves prose prose_share mean siblings ends".split()
_GROUP_NAMES = "chars links prose leaves mean ends".split()
_TOKEN_NAMES = "least greatest mean".split()

FEATURE_GROUPS: dict[str, list[str]] = {
    "text": (
        "words link_share chars links pauses ends pauses_a_word ends_a_word quotes signs upper digits chars_a_word "
        "bold pieces first last kind priority repeated title tag parent_tag"
    ).split(),
    "place": (
        "depth place chars_before after_h1 blocks_after_h1 since_prose until_prose since_first until_last since_heading"
    ).split(),
    "elements": [
        *(f"{name}_{level}" for level in range(ELEMENT_LEVELS) for name in _ELEMENT_NAMES),
        *(f"{name}_{level}" for level in range(NEAR_LEVELS) for name in ("headings", "index", "rest")),
    ],
    "alike": [f"{group}_{name}" for group in ("alike", "same_path") for name in _GROUP_NAMES],
    "around": [f"in_{tag}" for tag in _AROUND_TAGS],
    "windows": [f"{name}_within_{reach}" for reach in WINDOW_REACHES for name in ("mean", "links", "prose")],
    "lexicon": [
        *(f"{name}_sign_{level}" for level in range(NEAR_LEVELS) for name in _TOKEN_NAMES),
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
FIRST_STAGE_NAMES = [name for names in FEATURE_GROUPS.values() for name in names]
BLOCK_COLUMNS = FIRST_STAGE_NAMES.index("body_share")  # columns, the first ones, that the scan alone tells
PAGE_FEATURE_NAMES = [name for group in ("page", "address", "types") for name in FEATURE_GROUPS[group]]


class LexiconScores(NamedTuple):
    """The scores of words: of a page's m elements (3 x m), of the inline elements of its n blocks, of their texts.

    Each is three rows: the least, the greatest and the mean score.
    """

    elements: np.ndarray
    inlines: np.ndarray
    texts: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class FirstStage:
    """The rows of a page's blocks (n x len(NAMES), float32), and the sums that they were made of."""

    rows: np.ndarray
    counted: PageSums

    @property
    def page(self) -> np.ndarray:
        """The features of the page as a whole, those of PAGE_NAMES."""
        return self.rows[0, -len(PAGE_FEATURE_NAMES) :]


def read_first_stage(scan: LeafTable, facts: PageSignals, lexicon: Lexicon) -> FirstStage:
    """Return the features of a page that has blocks."""
    counted, module = PageSums(scan), load_compiled("features")
    rows = np.empty((counted.size, len(FIRST_STAGE_NAMES)), np.float32)
    signs = LexiconScores(
        lexicon.elements(scan.tags, scan.node_signs), lexicon.inlines(scan.signs), lexicon.texts(counted.texts)
    )
    fill = pure_fill_first_stage if module is None else module.fill_first_stage
    fill(rows, counted, facts.title, signs)
    evidence = _overlap_columns(counted, facts)
    for place, column in enumerate(evidence, BLOCK_COLUMNS):
        rows[:, place] = column
    rows[:, BLOCK_COLUMNS + len(evidence) :] = np.array(
        _page_columns(counted) + _address_columns(facts) + facts.families, np.float64
    )
    return FirstStage(rows, counted)


def pure_fill_first_stage(rows: np.ndarray, counted: PageSums, title: str, signs: LexiconScores) -> None:
    """Fill the first OF_BLOCKS columns of rows (n x F, float32)."""
    columns = [
        *_text_columns(counted, title),
        *_place_columns(counted),
        *_element_columns(counted),
        *_place_in_elements(counted),
        *_group_columns(counted, counted.looks.alike),
        *_group_columns(counted, counted.looks.same_path),
        *_around_columns(counted),
        *_window_columns(counted),
        *_lexicon_columns(counted, signs),
    ]
    for place, column in enumerate(columns):
        rows[:, place] = column


def _text_columns(counted: PageSums, title: str) -> list[np.ndarray]:
    scan, chars, words = counted.scan, counted.chars, np.maximum(1, counted.words)
    counts = counted.counts
    codes = np.array([TAG_CODES.get(tag, len(_TAGS)) for tag in scan.tags])
    titles = [len(text) / len(title) if text in title else 0.0 for text in counted.texts]
    return [
        counted.words,
        counted.links / chars,
        chars,
        counts[Column.LINKS],
        counts[Column.PAUSES],
        counted.ends,
        counts[Column.PAUSES] / words,
        counted.ends / words,
        counts[Column.QUOTES] / words,
        *(counts[[Column.SIGNS, Column.UPPER, Column.DIGITS]] / chars),
        chars / words,
        counts[Column.BOLD_CHARS] / chars,
        *counts[[Column.PIECES, Column.FIRST, Column.LAST]],
        np.array([_KIND_CODES[id(kind)] for kind in counted.kinds]),
        np.array([block.priority for block in scan.blocks], np.float64),
        counted.repeated,
        np.array(titles),
        codes[scan.node],
        codes[counted.parent[scan.node]],
    ]


def _place_columns(counted: PageSums) -> list[np.ndarray]:
    places, size, h1 = counted.places, counted.size, counted.first_h1
    prose = np.flatnonzero(counted.prose)
    first, last = (prose[0], prose[-1]) if len(prose) else (0, size)
    return [
        counted.looks.depth[counted.scan.node],
        places / size,
        running_sums(counted.chars)[:-1] / counted.all_chars,
        (places - h1) / size if h1 >= 0 else np.full(size, -2.0),
        np.clip(places - h1, -50, 200) if h1 >= 0 else np.full(size, -FAR_BLOCKS),
        _blocks_since(counted.prose),
        _blocks_since(counted.prose[::-1])[::-1],
        places - first,
        last - places,
        _blocks_since(counted.headings),
    ]


def _blocks_since(marked: np.ndarray) -> np.ndarray:
    """Return how many blocks back the nearest marked one is, at most FAR; 0 for a marked one."""
    places = np.arange(len(marked))
    latest = np.maximum.accumulate(np.where(marked, places, -FAR_BLOCKS))
    nearest: np.ndarray = np.minimum(places - latest, FAR_BLOCKS)
    return nearest


def _element_columns(counted: PageSums) -> list[np.ndarray]:
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
    seen = np.stack(of_element)[:, counted.chain[:ELEMENT_LEVELS]]
    return list(seen.transpose(1, 0, 2).reshape(-1, counted.size))


def _place_in_elements(counted: PageSums) -> list[np.ndarray]:
    headings = counted.inside(counted.headings)
    columns = []
    for around in counted.chain[:NEAR_LEVELS]:
        index = counted.places - counted.scan.first[around]
        columns += [headings[around], index, counted.scan.last[around] - counted.places]
    return columns


def _group_columns(counted: PageSums, groups: np.ndarray) -> list[np.ndarray]:
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


def _around_columns(counted: PageSums) -> list[np.ndarray]:
    """How many levels up the nearest element with each tag is, 1 for the block's own; 0 for none."""
    codes = np.array([AROUND_CODES.get(tag, len(_AROUND_TAGS)) for tag in counted.scan.tags])
    levels = np.zeros((len(_AROUND_TAGS) + 1, counted.size))
    for level in reversed(range(len(counted.chain))):
        levels[codes[counted.chain[level]], counted.places] = level + 1
    return list(levels[:-1])


def _window_columns(counted: PageSums) -> list[np.ndarray]:
    sums = running_sums(counted.chars), running_sums(counted.links), running_sums(counted.prose_chars)
    columns = []
    for reach in WINDOW_REACHES:
        first, last = np.maximum(0, counted.places - reach), np.minimum(counted.size, counted.places + reach + 1)
        chars, links, prose = (sum_[last] - sum_[first] for sum_ in sums)
        columns += [chars / (last - first), links / np.maximum(1, chars), prose / counted.all_prose]
    return columns


def _lexicon_columns(counted: PageSums, signs: LexiconScores) -> list[np.ndarray]:
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


def _overlap_columns(counted: PageSums, facts: PageSignals) -> list[np.ndarray]:
    size = counted.size
    shares, summaries = np.full(size, -1.0), np.zeros(size)
    if facts.body or facts.summaries:
        places = np.flatnonzero((counted.chars >= COMPARED_MIN_CHARS) & (counted.links <= counted.unlinked))
        shares[places], summaries[places] = measure_overlap([counted.texts[place] for place in places.tolist()], facts)
    covered = (shares.clip(0) * counted.words).sum() / facts.body_words if facts.body_words else -1.0
    return [shares, summaries, np.full(size, covered), np.full(size, facts.body_words)]


def _page_columns(counted: PageSums) -> list[float]:
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
        counted.counts[Column.DIGITS].sum() / counted.all_chars,
        counted.ends.sum() / size,
        counted.prose_chars.max() / counted.all_prose,
    ]


def _address_columns(facts: PageSignals) -> list[float]:
    parts = [part for part in facts.path.split("/") if part]
    slug = parts[-1] if parts else ""
    return [len(parts), len(slug), slug.count("-"), sum(map(str.isdigit, facts.path)), facts.query]


NEIGHBOUR_STEPS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
NEIGHBOUR_REACHES = (3, 8, 25)
SURE_SCORE, _LIKELY_SCORE = 0.8, 0.5
TINY_CHARS = 1e-6  # characters: a page's scores may all be 0

NEIGHBOUR_NAMES = [
    "score",
    *(f"score_{step:+d}" for step in NEIGHBOUR_STEPS),
    *(f"scores_within_{reach}" for reach in NEIGHBOUR_REACHES),
    *(f"{name}_{level}" for level in range(ELEMENT_LEVELS) for name in ("scores", "part_of_scores")),
    *"scores_alike scores_same_path before after since_sure until_sure".split(),
    *"page_scores page_likely page_greatest page_kept".split(),
]
PAGE_SCORE_COLUMNS = 4  # columns, the last ones


def read_neighbours(counted: PageSums, scores: np.ndarray) -> np.ndarray:
    """Return what surrounds each block (n x len(NAMES), float32); `scores` (n) are the first look's, 0 to 1."""
    weights, module = scores * counted.chars, load_compiled("features")
    rows = np.empty((counted.size, len(NEIGHBOUR_NAMES)), np.float32)
    fill = pure_fill_neighbours if module is None else module.fill_neighbours
    fill(rows, counted, scores, weights)
    rows[:, -PAGE_SCORE_COLUMNS:] = [
        (np.cumsum(weights)[-1] + TINY_CHARS) / counted.all_chars,
        (scores > _LIKELY_SCORE).mean(),
        scores.max(),
        np.log1p(counted.words[scores > _LIKELY_SCORE].sum()),
    ]
    return rows


def pure_fill_neighbours(rows: np.ndarray, counted: PageSums, scores: np.ndarray, weights: np.ndarray) -> None:
    """Fill all columns but the last OF_PAGE of rows (n x F, float32); `weights` are scores x characters."""
    sums, chars = running_sums(weights), running_sums(counted.chars)
    total = sums[-1] + TINY_CHARS
    columns = [
        scores,
        *_neighbour_scores(scores),
        *_scores_within(counted, sums, chars),
        *_element_scores(counted, weights, total),
        *(_group_means(groups, weights, counted.chars) for groups in (counted.looks.alike, counted.looks.same_path)),
        sums[:-1] / total,
        1 - sums[1:] / total,
        *_blocks_from_sure(counted, scores),
    ]
    for place, column in enumerate(columns):
        rows[:, place] = column


def _neighbour_scores(scores: np.ndarray) -> list[np.ndarray]:
    margin = max(NEIGHBOUR_STEPS)
    padded = np.pad(scores, margin)
    return [padded[margin + step : margin + step + len(scores)] for step in NEIGHBOUR_STEPS]


def _scores_within(counted: PageSums, sums: np.ndarray, chars: np.ndarray) -> list[np.ndarray]:
    columns = []
    for reach in NEIGHBOUR_REACHES:
        first, last = np.maximum(0, counted.places - reach), np.minimum(counted.size, counted.places + reach + 1)
        columns.append((sums[last] - sums[first]) / (chars[last] - chars[first]))
    return columns


def _element_scores(counted: PageSums, weights: np.ndarray, total: float) -> list[np.ndarray]:
    inside = counted.inside(weights)
    both = np.stack([inside / np.maximum(1, counted.inside(counted.chars)), inside / total])
    return list(both[:, counted.chain[:ELEMENT_LEVELS]].transpose(1, 0, 2).reshape(-1, counted.size))


def _group_means(groups: np.ndarray, weights: np.ndarray, chars: np.ndarray) -> np.ndarray:
    means: np.ndarray = (np.bincount(groups, weights) / np.bincount(groups, chars))[groups]
    return means


def _blocks_from_sure(counted: PageSums, scores: np.ndarray) -> list[np.ndarray]:
    sure = np.flatnonzero(scores > SURE_SCORE)
    first, last = (sure[0], sure[-1]) if len(sure) else (0, counted.size)
    return [counted.places - first, last - counted.places]


_VOCABULARY_LEVELS = 4  # elements around a block, the innermost first

VOCABULARY_NAMES = [
    "mean_word",
    "least_word",
    "greatest_word",
    "least_words",
    *(f"mean_word_{level}" for level in range(_VOCABULARY_LEVELS)),
]


def read_vocabulary(counted: PageSums, lexicon: Lexicon) -> np.ndarray:
    """Return the scores of each block's words (n x len(NAMES), float32); 0 where none is known."""
    sums, counts, least, greatest, few = lexicon.sums(counted.texts)
    means = counted.inside(sums) / np.maximum(1, counted.inside(counts))
    of_block = [sums / np.maximum(1, counts), least, greatest, few]
    return np.stack([*of_block, *means[counted.chain[:_VOCABULARY_LEVELS]]], axis=1).astype(np.float32)
