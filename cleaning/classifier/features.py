"""The features of a page's blocks: one row a block for the first stage, and the columns that the second stage adds.

A feature is a share or a count that means the same in every language; words count only by their scores in the
lexicon. The model file holds the names of the columns that it was trained with.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cleaning._native import load_compiled
from cleaning.blocks import Kind
from cleaning.classifier.hints import HINT_REASONS, count_alike, read_page_hints, spread_hints
from cleaning.classifier.signals import COMPARED_MIN_CHARS, TYPE_FAMILIES, measure_overlap
from cleaning.leaf_table import Column

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from cleaning.classifier.hints import PageHints
    from cleaning.classifier.lexicon import Lexicon
    from cleaning.classifier.signals import PageSignals
    from cleaning.leaf_table import LeafTable

ELEMENT_LEVELS = 7  # elements around a block with features of their contents, the innermost first
CHAIN_LEVELS = 14  # elements around a block with features of their tags and words
NEAR_LEVELS = 4
_PROSE_MIN_CHARS = 80  # a text with more characters outside links is prose
FAR_BLOCKS = 99
WINDOW_REACHES = (3, 8, 20)
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
        *"least_sign greatest_sign sum_of_signs least_level least_prose".split(),
        *"least_inline mean_inline least_text mean_text".split(),
    ],
    "evidence": "body_share summary_share body_covered body_words".split(),
    "hints": [
        *(f"hint_{reason}" for reason in HINT_REASONS),
        *"hint_level hint_reason hint_prose reason_prose inline_hint inline_prose".split(),
        *"hinted_prose hint_entries reason_entries hints_alike least_sign_beside".split(),
    ],
    "page": (
        "blocks log_chars page_links prose_blocks page_prose page_mean headings cells items code duplicates h1s "
        "articles mains tables page_digits page_ends largest_prose"
    ).split(),
    "address": "path_parts slug_chars slug_hyphens path_digits query".split(),
    "types": [f"type_{family}" for family in TYPE_FAMILIES],
}
FIRST_STAGE_NAMES = [name for names in FEATURE_GROUPS.values() for name in names]
BLOCK_COLUMNS = FIRST_STAGE_NAMES.index("body_share")  # number of the first columns, which need the leaf table alone
HINT_COLUMNS = BLOCK_COLUMNS + len(FEATURE_GROUPS["evidence"])  # number of the columns before the hints
PAGE_FEATURE_NAMES = [name for group in ("page", "address", "types") for name in FEATURE_GROUPS[group]]
PAGE_COLUMNS = slice(len(FIRST_STAGE_NAMES) - len(PAGE_FEATURE_NAMES), len(FIRST_STAGE_NAMES))
NEIGHBOUR_STEPS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
NEIGHBOUR_REACHES = (3, 8, 25)
SURE_SCORE, _LIKELY_SCORE = 0.8, 0.5
TINY_CHARS = 1e-6  # avoids division by 0: all scores of a page can be 0
SHAPE_LEVELS = 6  # elements around a block that are compared with others of their shape, the innermost first
_SHAPE_COLUMNS = "shape_scores shape_greatest shape_count shape_index shape_prose".split()
NEIGHBOUR_NAMES = [
    "score",
    *(f"score_{step:+d}" for step in NEIGHBOUR_STEPS),
    *(f"scores_within_{reach}" for reach in NEIGHBOUR_REACHES),
    *(f"{name}_{level}" for level in range(ELEMENT_LEVELS) for name in ("scores", "part_of_scores")),
    *"scores_alike scores_same_path before after since_sure until_sure".split(),
    *(f"{name}_{level}" for level in range(SHAPE_LEVELS) for name in _SHAPE_COLUMNS),
    *"page_scores page_likely page_greatest page_kept".split(),
]
PAGE_SCORE_COLUMNS = 4  # number of the last columns, which are equal for all blocks
_DIGITS = re.compile("[0-9]+")
_VOCABULARY_LEVELS = 4  # elements around a block, the innermost first
VOCABULARY_NAMES = [
    "mean_word",
    "least_word",
    "greatest_word",
    "least_words",
    *(f"mean_word_{level}" for level in range(_VOCABULARY_LEVELS)),
]


@dataclass(frozen=True, slots=True, eq=False)
class FirstStage:
    """The first stage's features of a page's blocks (n x len(FIRST_STAGE_NAMES), float32), and what is behind them.

    `rows` may have more columns, which are not filled. `word_sums` are the scores of the texts' words
    (`Lexicon.texts`, 5 x n).
    """

    rows: np.ndarray
    totals: PageTotals
    word_sums: np.ndarray
    hints: PageHints

    @property
    def page(self) -> np.ndarray:
        """The features of the page as a whole (PAGE_FEATURE_NAMES)."""
        return self.rows[0, PAGE_COLUMNS]


def read_first_stage(table: LeafTable, signals: PageSignals, lexicon: Lexicon, *, more: int = 0) -> FirstStage:
    """Return the first stage's features of a page with blocks; the rows have room for `more` columns."""
    totals = PageTotals(table)
    module = load_compiled("features")
    rows = np.empty((totals.size, len(FIRST_STAGE_NAMES) + more), np.float32)
    of_texts, word_sums = lexicon.texts(totals.texts)
    words = LexiconScores(
        lexicon.elements(table.tags, table.node_tokens), lexicon.inlines(table.inline_tokens), of_texts
    )
    fill = pure_fill_first_stage if module is None else module.fill_first_stage
    fill(rows, totals, signals.title, words)
    for index, column in enumerate(_overlap_columns(totals, signals), BLOCK_COLUMNS):
        rows[:, index] = column
    hints = read_page_hints(table)
    fill_hints = pure_fill_hints if module is None else module.fill_hints
    fill_hints(rows, totals, hints)
    rows[:, PAGE_COLUMNS.start - 1] = _beside_prose(totals, rows)
    rows[:, PAGE_COLUMNS] = np.array(_page_columns(totals) + _address_columns(signals) + signals.families, np.float64)
    return FirstStage(rows, totals, word_sums, hints)


def read_neighbours(totals: PageTotals, scores: np.ndarray) -> np.ndarray:
    """Return the first stage's scores around each block (n x len(NEIGHBOUR_NAMES), float32).

    `scores` (n, 0 to 1) are the blocks' own scores by the first stage.
    """
    weights, module = scores * totals.chars, load_compiled("features")
    rows = np.empty((totals.size, len(NEIGHBOUR_NAMES)), np.float32)
    fill = pure_fill_neighbours if module is None else module.fill_neighbours
    fill(rows, totals, scores, weights)
    rows[:, -PAGE_SCORE_COLUMNS:] = [
        (np.cumsum(weights)[-1] + TINY_CHARS) / totals.all_chars,
        np.count_nonzero(scores > _LIKELY_SCORE) / totals.size,
        scores.max(),
        np.log1p(totals.words[scores > _LIKELY_SCORE].sum()),
    ]
    return rows


def read_vocabulary(stage: FirstStage) -> np.ndarray:
    """Return the scores of each block's words (n x len(VOCABULARY_NAMES), float32); 0 without known words."""
    totals, (sums, counts, *others) = stage.totals, stage.word_sums
    rows = np.empty((totals.size, len(VOCABULARY_NAMES)), np.float32)
    means, around = totals.inside(sums) / np.maximum(1, totals.inside(counts)), totals.table.node
    for index, column in enumerate((sums / np.maximum(1, counts), *others)):
        rows[:, index] = column
    for index in range(rows.shape[1] - _VOCABULARY_LEVELS, rows.shape[1]):
        rows[:, index] = means[around]
        around = totals.parent[around]
    return rows


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityGroups:
    """Groups of similar blocks (n) and elements (m) of a page.

    `depth` (m, int32) is the number of elements around an element. `siblings` (m, int32) is the number of its parent's
    children with the same tag and first token, itself included. `shape` (m, int32) numbers the elements by their tag
    and their tokens without digits: the posts of a thread have one shape, the teasers below an article another. `alike`
    (n, int32) numbers the blocks by the tags and tokens of their element and its parent; `same_path` (n, int32) by the
    tags of all elements around them. The numbers start at 0, in the order of the elements or blocks.
    """

    depth: np.ndarray
    siblings: np.ndarray
    shape: np.ndarray
    alike: np.ndarray
    same_path: np.ndarray


def group_similar(table: LeafTable) -> SimilarityGroups:
    """Return the similarity groups of a table with blocks."""
    module = load_compiled("features")
    if module is None:
        return pure_group_similar(table)
    groups: SimilarityGroups = module.group_similar(table)
    return groups


def pure_group_similar(table: LeafTable) -> SimilarityGroups:
    """Return the same as `group_similar`, in pure Python."""
    parents = table.parent.tolist()
    depths: list[int] = []
    paths: list[int] = []
    known: dict[tuple[int, str], int] = {}
    for parent, tag in zip(parents, table.tags, strict=True):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        paths.append(known.setdefault((paths[parent] if parent >= 0 else -1, tag), len(known)))
    # Many elements of a page are equal: their tokens are read once.
    keys = list(zip(table.tags, table.node_tokens, strict=True))
    exact = _numbered(keys)
    distinct = dict.fromkeys(keys)
    starts = _numbered((tag, tokens.partition(" ")[0]) for tag, tokens in distinct)
    shapes = _numbered((tag, without_digits(tokens)) for tag, tokens in distinct)
    siblings = [(parent, starts[own]) for parent, own in zip(parents, exact, strict=True)]
    times = Counter(siblings)
    numbers = table.node.tolist()
    return SimilarityGroups(
        np.array(depths, np.int32),
        np.array([times[sibling] for sibling in siblings], np.int32),
        np.array(shapes, np.int32)[exact],
        np.array(_numbered((exact[max(parents[number], 0)], exact[number]) for number in numbers), np.int32),
        np.array(_numbered(paths[number] for number in numbers), np.int32),
    )


def without_digits(tokens: str) -> str:
    """Return the tokens without ASCII digits: the numbers of posts and comments."""
    return _DIGITS.sub("", tokens)


def _numbered(keys: Iterable[Hashable]) -> list[int]:
    known: dict[Any, int] = {}
    return [known.setdefault(key, len(known)) for key in keys]


class PageTotals:
    """Sums over the n blocks or m elements of a table with blocks; the costly ones are computed at first use."""

    def __init__(self, table: LeafTable) -> None:
        self.table = table
        self.size = len(table.blocks)
        counts = table.counts.T.astype(np.float64, order="C")  # a row for each column
        self.words, self.chars, self.links = counts[Column.WORDS], counts[Column.CHARS], counts[Column.LINK_CHARS]
        self.ends = counts[Column.ENDS]
        self.counts = counts
        self.unlinked = self.chars - self.links
        self.prose = self.unlinked > _PROSE_MIN_CHARS
        self.prose_chars = np.where(self.prose, self.unlinked, 0.0)
        self.all_chars = self.chars.sum()
        self.all_prose = max(1.0, self.prose_chars.sum())
        self.indexes = np.arange(self.size)
        self.parent = np.maximum(table.parent, 0)
        self.texts = [block.text for block in table.blocks]

    def inside(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the blocks' values inside each element."""
        sums = running_sums(values)
        total: np.ndarray = sums[self.table.last] - sums[self.table.first]
        return total

    @cached_property
    def chain(self) -> np.ndarray:
        """The numbers of the elements around each block (CHAIN_LEVELS x n), innermost first; the outermost repeats."""
        levels = [self.table.node]
        for _ in range(CHAIN_LEVELS - 1):
            levels.append(self.parent[levels[-1]])
        return np.stack(levels)

    @cached_property
    def groups(self) -> SimilarityGroups:
        """The groups of similar elements and blocks, and the depth of elements."""
        return group_similar(self.table)

    @cached_property
    def real(self) -> np.ndarray:
        """True for the entries of `chain` that do not repeat the outermost element."""
        real: np.ndarray = np.arange(CHAIN_LEVELS)[:, None] <= self.groups.depth[self.table.node]
        return real

    @cached_property
    def kind_codes(self) -> np.ndarray:
        """The place of each block's kind in `Kind` (n, intp)."""
        return np.array([_KIND_CODES[id(block.kind)] for block in self.table.blocks], np.intp)

    @cached_property
    def headings(self) -> np.ndarray:
        headings: np.ndarray = self.kind_codes == _KIND_CODES[id(Kind.HEADING)]
        return headings

    @cached_property
    def first_h1(self) -> int:
        """The index of the first block directly in an h1; -1 if there is none."""
        h1s = {number for number, tag in enumerate(self.table.tags) if tag == "h1"}
        return (
            next((index for index, number in enumerate(self.table.node.tolist()) if number in h1s), -1) if h1s else -1
        )

    @cached_property
    def repeated(self) -> np.ndarray:
        """The number of blocks on the page with each block's text."""
        times = Counter(self.texts)
        return np.array([times[text] for text in self.texts], np.float64)


def running_sums(values: np.ndarray) -> np.ndarray:
    """Return the sum of the values before each index, and the total: one entry more than there are values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


class LexiconScores(NamedTuple):
    """The word scores of m elements (3 x m), of the inline elements around n texts (3 x n), and of the texts (3 x n).

    The rows are the least, the greatest and the mean score.
    """

    elements: np.ndarray
    inlines: np.ndarray
    texts: np.ndarray


def pure_fill_first_stage(rows: np.ndarray, totals: PageTotals, title: str, words: LexiconScores) -> None:
    """Fill the first BLOCK_COLUMNS columns of rows (n x F, float32), in pure Python."""
    columns = [
        *_text_columns(totals, title),
        *_place_columns(totals),
        *_element_columns(totals),
        *_place_in_elements(totals),
        *_group_columns(totals, totals.groups.alike),
        *_group_columns(totals, totals.groups.same_path),
        *_around_columns(totals),
        *_window_columns(totals),
        *_lexicon_columns(totals, words),
    ]
    for index, column in enumerate(columns):
        rows[:, index] = column


def _text_columns(totals: PageTotals, title: str) -> list[np.ndarray]:
    table, chars, words = totals.table, totals.chars, np.maximum(1, totals.words)
    counts = totals.counts
    codes = np.array([TAG_CODES.get(tag, len(_TAGS)) for tag in table.tags])
    titles = [len(text) / len(title) if text in title else 0.0 for text in totals.texts]
    return [
        totals.words,
        totals.links / chars,
        chars,
        counts[Column.LINKS],
        counts[Column.PAUSES],
        totals.ends,
        counts[Column.PAUSES] / words,
        totals.ends / words,
        counts[Column.QUOTES] / words,
        *(counts[[Column.SYMBOLS, Column.UPPER, Column.DIGITS]] / chars),
        chars / words,
        counts[Column.BOLD_CHARS] / chars,
        *counts[[Column.PIECES, Column.FIRST, Column.LAST]],
        totals.kind_codes,
        np.array([block.priority for block in table.blocks], np.float64),
        totals.repeated,
        np.array(titles),
        codes[table.node],
        codes[totals.parent[table.node]],
    ]


def _place_columns(totals: PageTotals) -> list[np.ndarray]:
    indexes, size, h1 = totals.indexes, totals.size, totals.first_h1
    prose = np.flatnonzero(totals.prose)
    first, last = (prose[0], prose[-1]) if len(prose) else (0, size)
    return [
        totals.groups.depth[totals.table.node],
        indexes / size,
        running_sums(totals.chars)[:-1] / totals.all_chars,
        (indexes - h1) / size if h1 >= 0 else np.full(size, -2.0),
        np.clip(indexes - h1, -50, 200) if h1 >= 0 else np.full(size, -FAR_BLOCKS),
        _blocks_since(totals.prose),
        _blocks_since(totals.prose[::-1])[::-1],
        indexes - first,
        last - indexes,
        _blocks_since(totals.headings),
    ]


def _blocks_since(marked: np.ndarray) -> np.ndarray:
    """Return the number of blocks back to the nearest marked block, at most FAR_BLOCKS; 0 for a marked block."""
    indexes = np.arange(len(marked))
    latest = np.maximum.accumulate(np.where(marked, indexes, -FAR_BLOCKS))
    nearest: np.ndarray = np.minimum(indexes - latest, FAR_BLOCKS)
    return nearest


def _element_columns(totals: PageTotals) -> list[np.ndarray]:
    chars = np.maximum(1, totals.inside(totals.chars))
    leaves = totals.table.last - totals.table.first
    prose = totals.inside(totals.prose_chars)
    of_element = [
        chars / totals.all_chars,
        totals.inside(totals.links) / chars,
        leaves,
        prose / totals.all_prose,
        prose / chars,
        chars / leaves,
        totals.groups.siblings,
        totals.inside(totals.ends) / leaves,
    ]
    seen = np.stack(of_element)[:, totals.chain[:ELEMENT_LEVELS]]
    return list(seen.transpose(1, 0, 2).reshape(-1, totals.size))


def _place_in_elements(totals: PageTotals) -> list[np.ndarray]:
    headings = totals.inside(totals.headings)
    columns = []
    for around in totals.chain[:NEAR_LEVELS]:
        index = totals.indexes - totals.table.first[around]
        columns += [headings[around], index, totals.table.last[around] - totals.indexes]
    return columns


def _group_columns(totals: PageTotals, groups: np.ndarray) -> list[np.ndarray]:
    leaves = np.bincount(groups)
    chars, links, prose, ends = (
        np.bincount(groups, values) for values in (totals.chars, totals.links, totals.prose_chars, totals.ends)
    )
    of_group = [
        chars / totals.all_chars,
        links / np.maximum(1, chars),
        prose / totals.all_prose,
        leaves,
        chars / leaves,
        ends / leaves,
    ]
    return [values[groups] for values in of_group]


def _around_columns(totals: PageTotals) -> list[np.ndarray]:
    """Return the level of the nearest element around with each tag, 1 for the block's own element; 0 for none."""
    codes = np.array([AROUND_CODES.get(tag, len(_AROUND_TAGS)) for tag in totals.table.tags])
    levels = np.zeros((len(_AROUND_TAGS) + 1, totals.size))
    for level in reversed(range(len(totals.chain))):
        levels[codes[totals.chain[level]], totals.indexes] = level + 1
    return list(levels[:-1])


def _window_columns(totals: PageTotals) -> list[np.ndarray]:
    sums = running_sums(totals.chars), running_sums(totals.links), running_sums(totals.prose_chars)
    columns = []
    for reach in WINDOW_REACHES:
        first = np.maximum(0, totals.indexes - reach)
        last = np.minimum(totals.size, totals.indexes + reach + 1)
        chars, links, prose = (sum_[last] - sum_[first] for sum_ in sums)
        columns += [chars / (last - first), links / np.maximum(1, chars), prose / totals.all_prose]
    return columns


def _lexicon_columns(totals: PageTotals, words: LexiconScores) -> list[np.ndarray]:
    chain, of_elements = totals.chain, words.elements
    near = of_elements[:, chain[:NEAR_LEVELS]].transpose(1, 0, 2).reshape(-1, totals.size)
    least = np.where(totals.real, of_elements[0][chain], np.inf)
    levels = least.argmin(axis=0)
    prose = totals.inside(totals.prose_chars) / totals.all_prose
    return [
        *near,
        least.min(axis=0),
        of_elements[1][chain].max(axis=0),
        sum(np.where(totals.real, of_elements[2][chain], 0)),
        levels,
        prose[chain[levels, totals.indexes]],
        *words.inlines[[0, 2]],
        *words.texts[[0, 2]],
    ]


def _overlap_columns(totals: PageTotals, signals: PageSignals) -> list[np.ndarray]:
    size = totals.size
    shares = np.full(size, -1.0)
    summaries = np.zeros(size)
    if signals.body or signals.summaries:
        indexes = np.flatnonzero((totals.chars >= COMPARED_MIN_CHARS) & (totals.links <= totals.unlinked))
        shares[indexes], summaries[indexes] = measure_overlap(
            [totals.texts[index] for index in indexes.tolist()], signals
        )
    covered = (shares.clip(0) * totals.words).sum() / signals.body_words if signals.body_words else -1.0
    return [shares, summaries, np.full(size, covered), np.full(size, signals.body_words)]


def pure_fill_hints(rows: np.ndarray, totals: PageTotals, hints: PageHints) -> None:
    """Fill the columns of the hints around each block, and of the shares of the page's prose with the same hints.

    A hint around most of the prose says little, so the shares are features too. Several entries or elements with the
    same reason are stronger evidence than one word, which may stand there by chance.
    """
    table, size = totals.table, totals.size
    around = spread_hints(table.parent, hints.elements)
    levels, surest = around.levels[table.node], around.surest[table.node]
    level = levels.max(axis=1)
    reason = levels.argmax(axis=1)
    prose = totals.prose_chars / totals.all_prose
    of_reasons = np.cumsum(np.where(levels.T > 0, prose, 0.0), axis=1)[:, -1]
    entries = np.zeros(len(table.tags))
    entries[hints.elements.numbers] = hints.elements.entries
    inlines = np.zeros(size)
    inlines[hints.inlines.numbers] = hints.inlines.levels
    columns = [
        *levels.T,
        level,
        np.where(level, reason, -1),
        np.where(surest >= 0, totals.inside(prose)[surest], 0.0),
        np.where(level, of_reasons[reason], 0.0),
        inlines,
        np.full(size, running_sums(prose[inlines > 0])[-1]),
        np.full(size, running_sums(prose[level > 1])[-1]),
        np.where(surest >= 0, entries[surest], 0),
        np.where(level, around.entries[table.node, reason], 0),
        np.where(surest >= 0, count_alike(table, hints.elements)[surest], 0),
    ]
    for index, column in enumerate(columns, HINT_COLUMNS):
        rows[:, index] = column


def _beside_prose(totals: PageTotals, rows: np.ndarray) -> np.ndarray:
    """Return the least word score around each block, minus the mean of these around the page's prose."""
    least = rows[:, FIRST_STAGE_NAMES.index("least_sign")].astype(np.float64)
    beside: np.ndarray = least - (least * totals.prose_chars).sum() / totals.all_prose
    return beside


def _page_columns(totals: PageTotals) -> list[float]:
    tags, size = Counter(totals.table.tags), totals.size
    kinds = np.bincount(totals.kind_codes, minlength=len(Kind))
    return [
        size,
        float(np.log(totals.all_chars)),
        totals.links.sum() / totals.all_chars,
        totals.prose.sum(),
        totals.prose_chars.sum() / totals.all_chars,
        totals.all_chars / size,
        totals.headings.sum(),
        kinds[_KIND_CODES[id(Kind.TABLE_CELL)]] / size,
        kinds[_KIND_CODES[id(Kind.LIST_ITEM)]] / size,
        kinds[_KIND_CODES[id(Kind.CODE)]],
        np.count_nonzero(totals.repeated > 1) / size,
        *(tags[tag] for tag in ("h1", "article", "main", "table")),
        totals.counts[Column.DIGITS].sum() / totals.all_chars,
        totals.ends.sum() / size,
        totals.prose_chars.max() / totals.all_prose,
    ]


def _address_columns(signals: PageSignals) -> list[float]:
    parts = [part for part in signals.path.split("/") if part]
    slug = parts[-1] if parts else ""
    return [len(parts), len(slug), slug.count("-"), sum(map(str.isdigit, signals.path)), signals.query]


def pure_fill_neighbours(rows: np.ndarray, totals: PageTotals, scores: np.ndarray, weights: np.ndarray) -> None:
    """Fill all columns but the last PAGE_SCORE_COLUMNS (n x F, float32), in Python; `weights` = scores x characters."""
    sums = running_sums(weights)
    chars = running_sums(totals.chars)
    total = sums[-1] + TINY_CHARS
    columns = [
        scores,
        *_neighbour_scores(scores),
        *_scores_within(totals, sums, chars),
        *_element_scores(totals, weights, total),
        *(_group_means(groups, weights, totals.chars) for groups in (totals.groups.alike, totals.groups.same_path)),
        sums[:-1] / total,
        1 - sums[1:] / total,
        *_blocks_from_sure(totals, scores),
        *_shape_columns(totals, weights),
    ]
    for index, column in enumerate(columns):
        rows[:, index] = column


def _neighbour_scores(scores: np.ndarray) -> list[np.ndarray]:
    margin = max(NEIGHBOUR_STEPS)
    padded = np.pad(scores, margin)
    return [padded[margin + step : margin + step + len(scores)] for step in NEIGHBOUR_STEPS]


def _scores_within(totals: PageTotals, sums: np.ndarray, chars: np.ndarray) -> list[np.ndarray]:
    columns = []
    for reach in NEIGHBOUR_REACHES:
        first = np.maximum(0, totals.indexes - reach)
        last = np.minimum(totals.size, totals.indexes + reach + 1)
        columns.append((sums[last] - sums[first]) / (chars[last] - chars[first]))
    return columns


def _element_scores(totals: PageTotals, weights: np.ndarray, total: float) -> list[np.ndarray]:
    inside = totals.inside(weights)
    both = np.stack([inside / np.maximum(1, totals.inside(totals.chars)), inside / total])
    return list(both[:, totals.chain[:ELEMENT_LEVELS]].transpose(1, 0, 2).reshape(-1, totals.size))


def _shape_columns(totals: PageTotals, weights: np.ndarray) -> list[np.ndarray]:
    """Return, by level, how the elements around each block compare with other elements of their shape.

    The columns are the mean score in the others, the greatest mean score in one, the number of elements of this shape,
    the place among them, and the share of prose in all of them.
    """
    shapes = totals.groups.shape
    inside = totals.inside(weights)
    chars = np.maximum(1, totals.inside(totals.chars))
    sums = np.bincount(shapes, inside)
    all_chars = np.bincount(shapes, chars)
    times = np.bincount(shapes)
    greatest = np.zeros(len(times))
    np.maximum.at(greatest, shapes, inside / chars)
    prose = np.bincount(shapes, totals.inside(totals.prose_chars)) / all_chars
    order = np.argsort(shapes, kind="stable")
    places = np.empty(len(shapes), np.int64)
    places[order] = np.arange(len(shapes)) - (np.cumsum(times) - times)[shapes[order]]
    others = (sums[shapes] - inside) / np.maximum(1, all_chars[shapes] - chars)
    of_element = np.stack([others, greatest[shapes], times[shapes], places, prose[shapes]])
    return list(of_element[:, totals.chain[:SHAPE_LEVELS]].transpose(1, 0, 2).reshape(-1, totals.size))


def _group_means(groups: np.ndarray, weights: np.ndarray, chars: np.ndarray) -> np.ndarray:
    means: np.ndarray = (np.bincount(groups, weights) / np.bincount(groups, chars))[groups]
    return means


def _blocks_from_sure(totals: PageTotals, scores: np.ndarray) -> list[np.ndarray]:
    sure = np.flatnonzero(scores > SURE_SCORE)
    first, last = (sure[0], sure[-1]) if len(sure) else (0, totals.size)
    return [totals.indexes - first, last - totals.indexes]
