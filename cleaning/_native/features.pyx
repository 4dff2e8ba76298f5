# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The features of blocks in C: similarity groups, and the rows of both stages. The numbers are those of pure Python."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from cleaning._native.texts cimport copy_text, make_text

import os

import numpy

from cleaning.blocks import Kind
from cleaning.classifier.features import (
    AROUND_CODES, BLOCK_COLUMNS, CHAIN_LEVELS, ELEMENT_LEVELS, FAR_BLOCKS, HINT_COLUMNS, NEAR_LEVELS, NEIGHBOUR_NAMES,
    NEIGHBOUR_REACHES, NEIGHBOUR_STEPS, PAGE_SCORE_COLUMNS, SHAPE_LEVELS, SURE_SCORE, SimilarityGroups, TAG_CODES,
    TINY_CHARS, WINDOW_REACHES, without_digits,
)
from cleaning.classifier.hints import HINT_REASONS
from cleaning.leaf_table import Column

cdef object _DOUBLE = numpy.dtype(numpy.float64)
cdef tuple _KINDS = tuple(Kind)
cdef int[10] _STEPS = NEIGHBOUR_STEPS
cdef int[3] _REACHES = NEIGHBOUR_REACHES
cdef int[3] _WINDOWS = WINDOW_REACHES
cdef int _FAR = FAR_BLOCKS, _NEAR = NEAR_LEVELS, _AROUND = len(AROUND_CODES)
cdef int _SHAPES = SHAPE_LEVELS, _LEVELS = ELEMENT_LEVELS, _CHAIN = CHAIN_LEVELS
cdef int _REASONS = len(HINT_REASONS), _HINT_COLUMNS = HINT_COLUMNS
cdef int _FIRST_STAGE_COLUMNS = BLOCK_COLUMNS, _NEIGHBOUR_COLUMNS = len(NEIGHBOUR_NAMES) - PAGE_SCORE_COLUMNS
cdef int WORDS = Column.WORDS, CHARS = Column.CHARS, LINK_CHARS = Column.LINK_CHARS, LINKS = Column.LINKS
cdef int PAUSES = Column.PAUSES, ENDS = Column.ENDS, QUOTES = Column.QUOTES, SYMBOLS = Column.SYMBOLS
cdef int UPPER = Column.UPPER, DIGITS = Column.DIGITS, BOLD_CHARS = Column.BOLD_CHARS, PIECES = Column.PIECES
cdef int FIRST = Column.FIRST, LAST = Column.LAST

# Random, so that nobody can write a page of elements that all hash to one slot.
cdef uint64_t _FACTOR = int.from_bytes(os.urandom(8), "little") | 1

cdef enum:
    ELEMENT_FEATURES = 8
    GROUP_FEATURES = 6
    SHAPE_FEATURES = 5
    HINT_FEATURES = 10
    _MOST_LETTERS = 1_000  # of tokens that are read without a copy in Python


def fill_first_stage(rows, page, str title, scores):
    """Fill the columns of the blocks in the first stage's rows (n x F, float32)."""
    cdef _BlockTree tree = _BlockTree(page)
    cdef _FirstStage filler = _FirstStage(tree, page, scores)
    cdef float[:, ::1] table = rows
    cdef Py_ssize_t index
    cdef float* to
    if len(table) != tree.size or table.shape[1] < _FIRST_STAGE_COLUMNS:
        raise ValueError(f"the table is {len(table)} x {table.shape[1]}, not {tree.size} x {_FIRST_STAGE_COLUMNS}")
    for index in range(tree.size):
        to = filler.fill_text(index, page.table.blocks[index], title, &table[index, 0])
        to = filler.fill_place(index, to)
        to = filler.fill_elements(index, to)
        to = filler.fill_groups(index, to)
        to = filler.fill_around(index, to)
        to = filler.fill_windows(index, to)
        filler.fill_lexicon(index, to)


def fill_hints(rows, page, hints):
    """Fill the columns of the hints in the first stage's rows (n x F, float32)."""
    cdef _BlockTree tree = _BlockTree(page)
    cdef _HintsAround around = _HintsAround(tree, hints.elements)
    cdef float[:, ::1] table = rows
    cdef double[::1] shares = numpy.ascontiguousarray(page.prose_chars / page.all_prose)
    cdef double[::1] sums = _sums_before(shares, tree.size)
    cdef int32_t[::1] inlines = numpy.zeros(tree.size, numpy.int32)
    cdef const int32_t[:] labelled = hints.inlines.numbers, levels = hints.inlines.levels
    cdef double[::1] of_reasons = numpy.zeros(_REASONS)
    cdef double inline_prose = 0, hinted_prose = 0
    cdef Py_ssize_t place
    cdef int32_t surest
    cdef int code, reason
    cdef const unsigned char* around_block
    cdef float* to
    if len(table) != tree.size or table.shape[1] < _HINT_COLUMNS + _REASONS + HINT_FEATURES:
        raise ValueError(f"the table is {len(table)} x {table.shape[1]}, for {tree.size} blocks")
    for place in range(len(labelled)):
        if not 0 <= labelled[place] < tree.size:
            raise ValueError(f"block {labelled[place]} of {tree.size} has a hint")
        inlines[labelled[place]] = levels[place]
    for place in range(tree.size):
        around_block = &around.levels[tree.node[place], 0]
        for code in range(_REASONS):
            if around_block[code]:
                of_reasons[code] += shares[place]
        if inlines[place]:
            inline_prose += shares[place]
        if around_block[_surest_reason(around_block)] > 1:
            hinted_prose += shares[place]
    for place in range(tree.size):
        around_block = &around.levels[tree.node[place], 0]
        surest = around.surest[tree.node[place]]
        reason = _surest_reason(around_block)
        to = &table[place, _HINT_COLUMNS]
        for code in range(_REASONS):
            to[code] = around_block[code]
        to += _REASONS
        to[0], to[1], to[2], to[3], to[8] = around_block[reason], -1, 0, 0, 0
        to[4], to[5], to[6], to[7], to[9] = inlines[place], <float> inline_prose, <float> hinted_prose, 0, 0
        if surest >= 0:
            to[1], to[2] = reason, <float> (sums[tree.last[surest]] - sums[tree.first[surest]])
            to[3], to[7] = <float> of_reasons[reason], around.own_entries[surest]
            to[8], to[9] = around.entries[tree.node[place], reason], around.alike[surest]


cdef inline int _surest_reason(const unsigned char* levels) noexcept:
    """Return the first reason with the greatest level."""
    cdef int code, best = 0
    for code in range(1, _REASONS):
        if levels[code] > levels[best]:
            best = code
    return best


cdef class _HintsAround:
    """The hints of each element and of the elements around it, as `spread_hints` and `count_alike` return them."""

    cdef unsigned char[:, ::1] levels, entries
    cdef int32_t[::1] surest, own_entries, alike

    def __cinit__(self, _BlockTree tree, hints):
        cdef const int32_t[:] numbers = hints.numbers, codes = hints.codes, levels = hints.levels
        cdef const int32_t[:] entries = hints.entries
        cdef Py_ssize_t number, hint = 0, size = len(tree.parent), count = len(numbers)
        cdef int32_t outer, code, best
        cdef int32_t[::1] own_levels = numpy.zeros(size, numpy.int32)
        if not count == len(codes) == len(levels) == len(entries):
            raise ValueError("the columns of the hints differ in length")
        for hint in range(count):
            if not (0 <= numbers[hint] < size and (not hint or numbers[hint - 1] < numbers[hint])):
                raise ValueError(f"hint {hint} is of element {numbers[hint]} of {size}")
            if not (0 <= codes[hint] < _REASONS and 0 < levels[hint] < 256 and 0 < entries[hint]):
                raise ValueError(f"hint {hint} has the reason {codes[hint]}, level {levels[hint]} or no entry")
        self.levels, self.entries = numpy.zeros((2, size, _REASONS), numpy.uint8)
        self.surest = numpy.full(size, -1, numpy.int32)
        self.own_entries, self.alike = numpy.zeros((2, size), numpy.int32)
        hint = 0
        for number in range(size):
            outer = tree.parent[number]
            if outer >= 0:
                memcpy(&self.levels[number, 0], &self.levels[outer, 0], _REASONS)
                memcpy(&self.entries[number, 0], &self.entries[outer, 0], _REASONS)
                self.surest[number] = self.surest[outer]
            if hint < count and numbers[hint] == number:
                code = codes[hint]
                self.levels[number, code] = max(self.levels[number, code], <unsigned char> levels[hint])
                self.entries[number, code] = <unsigned char> min(255, self.entries[number, code] + entries[hint])
                own_levels[number], self.own_entries[number] = levels[hint], entries[hint]
                best = self.surest[number]
                if best < 0 or own_levels[best] < levels[hint]:
                    self.surest[number] = <int32_t> number
                hint += 1
        self._count_alike(tree, numbers, codes)

    cdef int _count_alike(self, _BlockTree tree, const int32_t[:] numbers, const int32_t[:] codes) except -1:
        """Add up the hints inside each element, by reason, from the innermost elements outwards."""
        cdef int32_t[:, ::1] inside = numpy.zeros((len(tree.parent), _REASONS), numpy.int32)
        cdef Py_ssize_t number, hint = len(numbers) - 1
        cdef int32_t outer
        cdef int code
        for number in range(len(tree.parent) - 1, -1, -1):
            outer = tree.parent[number]
            if hint >= 0 and numbers[hint] == number:
                self.alike[number] = inside[number, codes[hint]]
                inside[number, codes[hint]] += 1
                hint -= 1
            if outer >= 0:
                for code in range(_REASONS):
                    inside[outer, code] += inside[number, code]
        return 0


def fill_neighbours(rows, page, scores, weights):
    """Fill the columns of the blocks in the second stage's rows (n x F, float32); `scores` are the first stage's."""
    cdef _BlockTree tree = _BlockTree(page)
    cdef float[:, ::1] table = rows
    cdef double[::1] score = scores, sums = _sums_before(weights, tree.size)
    cdef double[::1] chars = _sums_before(page.chars, tree.size)
    cdef double[::1] alike = _group_means(page.groups.alike, weights, page.chars)
    cdef double[::1] same_path = _group_means(page.groups.same_path, weights, page.chars)
    cdef float[:, ::1] shapes = _shape_features(tree, page.groups.shape, sums, chars, page.prose_chars)
    cdef Py_ssize_t index, other, first = 0, last = tree.size, begin, end
    cdef int32_t number
    cdef int level
    cdef double total = sums[tree.size] + TINY_CHARS, inside
    cdef float* to
    if not len(table) == len(score) == tree.size or table.shape[1] < _NEIGHBOUR_COLUMNS:
        raise ValueError(f"the table is {len(table)} x {table.shape[1]}, not {tree.size} x {_NEIGHBOUR_COLUMNS}")
    sure = numpy.flatnonzero(scores > SURE_SCORE)
    if len(sure):
        first, last = sure[0], sure[len(sure) - 1]
    for index in range(tree.size):
        to = &table[index, 0]
        to[0] = <float> score[index]
        to += 1
        for level in range(10):
            other = index + _STEPS[level]
            to[level] = <float> score[other] if 0 <= other < tree.size else 0
        to += 10
        for level in range(3):
            begin, end = max(0, index - _REACHES[level]), min(tree.size, index + _REACHES[level] + 1)
            to[level] = <float> ((sums[end] - sums[begin]) / (chars[end] - chars[begin]))
        to += 3
        number = tree.node[index]
        for level in range(_LEVELS):
            begin, end = tree.first[number], tree.last[number]
            inside = sums[end] - sums[begin]
            to[0] = <float> (inside / max(1.0, chars[end] - chars[begin]))
            to[1] = <float> (inside / total)
            to += 2
            number = max(tree.parent[number], 0)
        to[0], to[1] = <float> alike[index], <float> same_path[index]
        to[2], to[3] = <float> (sums[index] / total), <float> (1 - sums[index + 1] / total)
        to[4], to[5] = <float> (index - first), <float> (last - index)
        to += 6
        number = tree.node[index]
        for level in range(_SHAPES):
            memcpy(to, &shapes[number, 0], SHAPE_FEATURES * sizeof(float))
            to += SHAPE_FEATURES
            number = max(tree.parent[number], 0)


cdef float[:, ::1] _shape_features(
    _BlockTree tree, const int32_t[::1] shapes, double[::1] sums, double[::1] chars, prose_chars
):
    """Return for each element what others of its shape are like, as `_shape_columns` in pure Python."""
    cdef Py_ssize_t index, size = len(shapes), first, last
    cdef double[::1] prose = _sums_before(prose_chars, tree.size)
    cdef double[:, ::1] totals = numpy.zeros((size, 5))  # scores, characters, greatest mean, elements, prose
    cdef double inside, own
    cdef int32_t shape
    cdef float[:, ::1] features = numpy.empty((size, SHAPE_FEATURES), numpy.float32)
    if size != len(tree.parent):
        raise ValueError(f"{size} shapes of {len(tree.parent)} elements")
    for index in range(size):
        shape, first, last = shapes[index], tree.first[index], tree.last[index]
        if not 0 <= shape < size:
            raise ValueError(f"the shape of element {index} is {shape}")
        inside, own = sums[last] - sums[first], max(1.0, chars[last] - chars[first])
        features[index, 3] = <float> totals[shape, 3]
        totals[shape, 0] += inside
        totals[shape, 1] += own
        totals[shape, 2] = max(totals[shape, 2], inside / own)
        totals[shape, 3] += 1
        totals[shape, 4] += prose[last] - prose[first]
    for index in range(size):
        shape, first, last = shapes[index], tree.first[index], tree.last[index]
        inside, own = sums[last] - sums[first], max(1.0, chars[last] - chars[first])
        features[index, 0] = <float> ((totals[shape, 0] - inside) / max(1.0, totals[shape, 1] - own))
        features[index, 1], features[index, 2] = <float> totals[shape, 2], <float> totals[shape, 3]
        features[index, 4] = <float> (totals[shape, 4] / totals[shape, 1])
    return features


def group_similar(table):
    """Return the similarity groups of a page's blocks."""
    cdef Py_ssize_t size = len(table.tags), index
    cdef int32_t parent
    cdef const int32_t[::1] parents = table.parent, nodes = table.node
    if len(parents) != size:
        raise ValueError(f"{len(parents)} parents of {size} elements")
    depth, siblings = numpy.zeros(size, numpy.int32), numpy.empty(size, numpy.int32)
    cdef int32_t[::1] depths = depth, counts = siblings
    cdef int32_t[::1] tags = _text_numbers(table.tags), tokens = _text_numbers(table.node_tokens)
    cdef list different = list(dict.fromkeys(table.node_tokens))
    cdef int32_t[::1] first_tokens = _text_numbers([_first_part(text) for text in different])
    cdef int32_t[::1] bare_tokens = _text_numbers([_without_digits(text) for text in different])
    cdef int32_t[::1] groups = numpy.empty(size, numpy.int32), paths = numpy.empty(size, numpy.int32)
    shape = numpy.empty(size, numpy.int32)
    cdef int32_t[::1] shapes = shape
    cdef _PairNumbers numbers = _PairNumbers(size)
    for index in range(size):
        parent = parents[index]
        if parent >= index:
            raise ValueError(f"element {index} is in element {parent}, which comes later")
        depths[index] = depths[parent] + 1 if parent >= 0 else 0
        paths[index] = numbers.number(paths[parent] if parent >= 0 else -1, tags[index])
    numbers.clear()
    for index in range(size):
        groups[index] = numbers.number(tags[index], first_tokens[tokens[index]])
    numbers.clear()
    for index in range(size):
        groups[index] = numbers.number(parents[index], groups[index])
    cdef int32_t[::1] times = numpy.zeros(size, numpy.int32)
    for index in range(size):
        times[groups[index]] += 1
    for index in range(size):
        counts[index] = times[groups[index]]
    numbers.clear()
    for index in range(size):
        shapes[index] = numbers.number(tags[index], bare_tokens[tokens[index]])
    numbers.clear()
    for index in range(size):
        groups[index] = numbers.number(tags[index], tokens[index])
    numbers.clear()
    cdef int32_t[::1] pairs = times
    for index in range(size):
        pairs[index] = numbers.number(groups[max(parents[index], 0)], groups[index])
    return SimilarityGroups(depth, siblings, shape, _block_numbers(pairs, nodes), _block_numbers(paths, nodes))


cdef str _first_part(str text):
    cdef Py_ssize_t index
    for index in range(len(text)):
        if text[index] == c" ":
            return text[:index]
    return text


cdef str _without_digits(str text):
    """Return what `without_digits` does."""
    cdef uint32_t[_MOST_LETTERS] letters
    cdef Py_ssize_t index, kept = 0, size = len(text)
    if size > _MOST_LETTERS:
        return without_digits(text)
    copy_text(text, letters, size)
    for index in range(size):
        letters[kept] = letters[index]
        kept += not c"0" <= letters[index] <= c"9"
    return text if kept == size else make_text(letters, kept)


cdef class _FirstStage:
    """The columns and sums of a page from which the rows of the first stage are filled."""

    cdef _BlockTree tree
    cdef const int32_t[:, ::1] counts
    cdef const int32_t[::1] depth, alike_number, path_number
    cdef double[::1] chars, links, prose, headings, repeated
    cdef double[:, ::1] of_element, of_inline, of_text
    cdef float[:, ::1] inside, of_alike, of_path
    cdef int32_t[::1] tag_codes, around_codes, since_prose, until_prose, since_heading
    cdef double all_chars, all_prose
    cdef Py_ssize_t h1, first, last

    def __cinit__(self, _BlockTree tree, page, scores):
        cdef Py_ssize_t size = tree.size
        table, groups = page.table, page.groups
        self.tree, self.counts, self.repeated = tree, table.counts, page.repeated
        self.depth, self.alike_number, self.path_number = groups.depth, groups.alike, groups.same_path
        self.chars, self.links = _sums_before(page.chars, size), _sums_before(page.links, size)
        self.prose, self.headings = _sums_before(page.prose_chars, size), _sums_before(page.headings, size)
        self.of_element, self.of_inline, self.of_text = map(numpy.ascontiguousarray, scores)
        self.all_chars, self.all_prose, self.h1 = page.all_chars, page.all_prose, page.first_h1
        self.tag_codes = _codes(table.tags, TAG_CODES)
        self.around_codes = _codes(table.tags, AROUND_CODES)
        self.since_prose, self.until_prose = _blocks_since(page.prose, 1), _blocks_since(page.prose, -1)
        self.since_heading = _blocks_since(page.headings, 1)
        prose = numpy.flatnonzero(page.prose)
        self.first, self.last = (prose[0], prose[len(prose) - 1]) if len(prose) else (0, size)
        lengths = len(self.counts), len(self.repeated), len(self.alike_number), len(self.path_number)
        if not set(lengths) == {size} == {self.of_inline.shape[1], self.of_text.shape[1]}:
            raise ValueError("the columns of the blocks differ in length")
        if not len(tree.parent) == len(self.depth) == len(groups.siblings) == self.of_element.shape[1]:
            raise ValueError("the columns of the elements differ in length")
        if not 3 == len(self.of_element) == len(self.of_inline) == len(self.of_text):
            raise ValueError("elements, inline elements and texts need three lexicon scores each")
        if self.counts.shape[1] != len(Column):
            raise ValueError(f"a block needs {len(Column)} counts, not {self.counts.shape[1]}")
        self._sum_elements(_sums_before(page.ends, size), groups.siblings)
        self.of_alike, self.of_path = self._sum_groups(self.alike_number), self._sum_groups(self.path_number)

    cdef void _sum_elements(self, double[::1] ends, const int32_t[::1] siblings):
        cdef Py_ssize_t index, first, last, size = len(siblings)
        cdef double chars, leaves, prose
        self.inside = numpy.empty((size, ELEMENT_FEATURES), numpy.float32)
        for index in range(size):
            first, last = self.tree.first[index], self.tree.last[index]
            chars, leaves = max(1.0, self.chars[last] - self.chars[first]), last - first
            prose = self.prose[last] - self.prose[first]
            self.inside[index, 0] = <float> (chars / self.all_chars)
            self.inside[index, 1] = <float> ((self.links[last] - self.links[first]) / chars)
            self.inside[index, 2] = <float> leaves
            self.inside[index, 3] = <float> (prose / self.all_prose)
            self.inside[index, 4] = <float> (prose / chars)
            self.inside[index, 5] = <float> (chars / leaves)
            self.inside[index, 6] = <float> siblings[index]
            self.inside[index, 7] = <float> ((ends[last] - ends[first]) / leaves)

    cdef float[:, ::1] _sum_groups(self, const int32_t[::1] numbers):
        cdef Py_ssize_t index, size = 0
        cdef int32_t number
        for index in range(len(numbers)):
            if numbers[index] < 0:
                raise ValueError(f"the group of block {index} is {numbers[index]}")
            size = max(size, numbers[index] + 1)
        cdef double[:, ::1] sums = numpy.zeros((size, 5))
        for index in range(len(numbers)):
            number = numbers[index]
            sums[number, 0] += self.counts[index, CHARS]
            sums[number, 1] += self.counts[index, LINK_CHARS]
            sums[number, 2] += self.prose[index + 1] - self.prose[index]
            sums[number, 3] += 1
            sums[number, 4] += self.counts[index, ENDS]
        cdef float[:, ::1] features = numpy.empty((size, GROUP_FEATURES), numpy.float32)
        for index in range(size):
            features[index, 0] = <float> (sums[index, 0] / self.all_chars)
            features[index, 1] = <float> (sums[index, 1] / max(1.0, sums[index, 0]))
            features[index, 2] = <float> (sums[index, 2] / self.all_prose)
            features[index, 3] = <float> sums[index, 3]
            features[index, 4] = <float> (sums[index, 0] / sums[index, 3])
            features[index, 5] = <float> (sums[index, 4] / sums[index, 3])
        return features

    cdef float* fill_text(self, Py_ssize_t index, block, str title, float* to) except NULL:
        cdef const int32_t* counts = &self.counts[index, 0]
        cdef double words = max(1, counts[WORDS]), chars = counts[CHARS]
        cdef str text = block.text
        cdef Py_ssize_t kind = 0
        while block.kind is not _KINDS[kind]:
            kind += 1
        to[0], to[1], to[2] = counts[WORDS], <float> (counts[LINK_CHARS] / chars), counts[CHARS]
        to[3], to[4], to[5] = counts[LINKS], counts[PAUSES], counts[ENDS]
        to[6], to[7] = <float> (counts[PAUSES] / words), <float> (counts[ENDS] / words)
        to[8], to[9] = <float> (counts[QUOTES] / words), <float> (counts[SYMBOLS] / chars)
        to[10], to[11] = <float> (counts[UPPER] / chars), <float> (counts[DIGITS] / chars)
        to[12], to[13] = <float> (chars / words), <float> (counts[BOLD_CHARS] / chars)
        to[14], to[15], to[16] = counts[PIECES], counts[FIRST], counts[LAST]
        to[17], to[18], to[19] = kind, <float> <double> block.priority, <float> self.repeated[index]
        to[20] = <float> (<double> len(text) / len(title)) if len(text) <= len(title) and text in title else 0
        to[21] = self.tag_codes[self.tree.node[index]]
        to[22] = self.tag_codes[max(self.tree.parent[self.tree.node[index]], 0)]
        return to + 23

    cdef float* fill_place(self, Py_ssize_t index, float* to) noexcept:
        cdef double size = self.tree.size
        to[0], to[1] = self.depth[self.tree.node[index]], <float> (index / size)
        to[2] = <float> (self.chars[index] / self.all_chars)
        to[3] = <float> ((index - self.h1) / size) if self.h1 >= 0 else -2
        to[4] = <float> max(-50, min(index - self.h1, 200)) if self.h1 >= 0 else -_FAR
        to[5], to[6] = self.since_prose[index], self.until_prose[index]
        to[7], to[8], to[9] = index - self.first, self.last - index, self.since_heading[index]
        return to + 10

    cdef float* fill_elements(self, Py_ssize_t index, float* to) noexcept:
        cdef int32_t number = self.tree.node[index], first, last
        cdef int level
        cdef float* near = to + _LEVELS * ELEMENT_FEATURES
        for level in range(_LEVELS):
            memcpy(to, &self.inside[number, 0], ELEMENT_FEATURES * sizeof(float))
            to += ELEMENT_FEATURES
            if level < _NEAR:
                first, last = self.tree.first[number], self.tree.last[number]
                near[0] = <float> (self.headings[last] - self.headings[first])
                near[1], near[2] = index - first, last - index
                near += 3
            number = max(self.tree.parent[number], 0)
        return near

    cdef float* fill_groups(self, Py_ssize_t index, float* to) noexcept:
        memcpy(to, &self.of_alike[self.alike_number[index], 0], GROUP_FEATURES * sizeof(float))
        memcpy(to + GROUP_FEATURES, &self.of_path[self.path_number[index], 0], GROUP_FEATURES * sizeof(float))
        return to + 2 * GROUP_FEATURES

    cdef float* fill_around(self, Py_ssize_t index, float* to) noexcept:
        cdef int32_t number = self.tree.node[index]
        cdef int level, code
        for code in range(_AROUND):
            to[code] = 0
        for level in range(_CHAIN):
            code = self.around_codes[number]
            if code < _AROUND and to[code] == 0:
                to[code] = level + 1
            number = max(self.tree.parent[number], 0)
        return to + _AROUND

    cdef float* fill_windows(self, Py_ssize_t index, float* to) noexcept:
        cdef Py_ssize_t first, last
        cdef double chars
        cdef int reach
        for reach in range(3):
            first, last = max(0, index - _WINDOWS[reach]), min(self.tree.size, index + _WINDOWS[reach] + 1)
            chars = self.chars[last] - self.chars[first]
            to[0] = <float> (chars / <double> (last - first))
            to[1] = <float> ((self.links[last] - self.links[first]) / max(1.0, chars))
            to[2] = <float> ((self.prose[last] - self.prose[first]) / self.all_prose)
            to += 3
        return to

    cdef void fill_lexicon(self, Py_ssize_t index, float* to) noexcept:
        cdef int32_t number = self.tree.node[index], depth = self.depth[number], least_number = number
        cdef int level, least_level = 0
        cdef double least = INFINITY, greatest = -INFINITY, total = 0
        for level in range(_CHAIN):
            if level < _NEAR:
                to[0], to[1] = <float> self.of_element[0, number], <float> self.of_element[1, number]
                to[2] = <float> self.of_element[2, number]
                to += 3
            greatest = max(greatest, self.of_element[1, number])
            if level <= depth:
                total += self.of_element[2, number]
                if self.of_element[0, number] < least:
                    least, least_level, least_number = self.of_element[0, number], level, number
            number = max(self.tree.parent[number], 0)
        to[0], to[1], to[2], to[3] = <float> least, <float> greatest, <float> total, least_level
        to[4] = self.inside[least_number, 3]
        to[5], to[6] = <float> self.of_inline[0, index], <float> self.of_inline[2, index]
        to[7], to[8] = <float> self.of_text[0, index], <float> self.of_text[2, index]


cdef class _BlockTree:
    """The blocks inside each element. Raises ValueError if a number leads outside the table."""

    cdef Py_ssize_t size
    cdef const int32_t[::1] node, parent, first, last

    def __cinit__(self, page):
        cdef Py_ssize_t index, elements = len(page.table.tags)
        cdef bint is_inside
        self.size = page.size
        self.node, self.parent = page.table.node, page.table.parent
        self.first, self.last = page.table.first, page.table.last
        if not (len(self.parent) == len(self.first) == len(self.last) == elements and len(self.node) == self.size):
            raise ValueError("the columns of the leaf table differ in length")
        for index in range(self.size):
            if not 0 <= self.node[index] < elements:
                raise ValueError(f"block {index} is in element {self.node[index]} of {elements}")
        for index in range(elements):
            is_inside = 0 <= self.first[index] <= self.size and 0 <= self.last[index] <= self.size
            if not (self.parent[index] < index and is_inside):
                raise ValueError(f"element {index} is in element {self.parent[index]}, or has blocks outside the page")


cdef double[::1] _sums_before(values, Py_ssize_t size):
    """Return the sum of the values before each block, and of all values."""
    if len(values) != size:
        raise ValueError(f"{len(values)} values of {size} blocks")
    cdef const double[::1] column = numpy.ascontiguousarray(values, _DOUBLE)
    cdef double[::1] sums = numpy.empty(size + 1)
    cdef double total = 0
    cdef Py_ssize_t index
    for index in range(size):
        sums[index] = total
        total += column[index]
    sums[size] = total
    return sums


cdef double[::1] _group_means(groups, weights, chars):
    return (numpy.bincount(groups, weights) / numpy.bincount(groups, chars))[groups]


cdef int32_t[::1] _codes(list tags, dict known):
    cdef Py_ssize_t index
    cdef int32_t[::1] codes = numpy.empty(len(tags), numpy.int32)
    cdef int32_t other = <int32_t> len(known)
    for index in range(len(tags)):
        codes[index] = known.get(tags[index], other)
    return codes


cdef int32_t[::1] _blocks_since(marked, int step):
    """Return the distance to the nearest marked block before each block, at most _FAR; after it if `step` is -1."""
    cdef const unsigned char[::1] marks = marked.view(numpy.uint8)
    cdef Py_ssize_t size = len(marks), count
    cdef Py_ssize_t index = 0 if step > 0 else size - 1
    cdef int32_t far = _FAR
    cdef int32_t[::1] distances = numpy.empty(size, numpy.int32)
    for count in range(size):
        far = 0 if marks[index] else min(far + 1, _FAR)
        distances[index] = far
        index += step
    return distances


cdef int32_t[::1] _text_numbers(list texts):
    """Return a number for each text, from 0 on; equal texts have equal numbers."""
    cdef dict known = {}
    cdef Py_ssize_t index
    cdef int32_t[::1] numbers = numpy.empty(len(texts), numpy.int32)
    for index in range(len(texts)):
        numbers[index] = known.setdefault(texts[index], len(known))
    return numbers


cdef object _block_numbers(int32_t[::1] numbers, const int32_t[::1] nodes):
    """Return the number of each block's element, renumbered from 0 on in the order of the blocks."""
    cdef Py_ssize_t index, count = 0
    cdef int32_t number
    renumbered = numpy.empty(len(nodes), numpy.int32)
    cdef int32_t[::1] column = renumbered, known = numpy.full(len(numbers), -1, numpy.int32)
    for index in range(len(nodes)):
        if not 0 <= nodes[index] < len(numbers):
            raise ValueError(f"block {index} is in element {nodes[index]} of {len(numbers)}")
        number = numbers[nodes[index]]
        if known[number] < 0:
            known[number] = <int32_t> count
            count += 1
        column[index] = known[number]
    return renumbered


cdef class _PairNumbers:
    """A hash table that numbers pairs of numbers from 0 on, in the order of their arrival."""

    cdef uint64_t* keys
    cdef int32_t* numbers  # each plus 1; 0 in a free slot
    cdef Py_ssize_t capacity
    cdef int32_t count
    cdef int shift

    def __cinit__(self, Py_ssize_t max_pairs):
        self.capacity, self.shift = 16, 60
        while self.capacity < 2 * max_pairs:
            self.capacity *= 2
            self.shift -= 1
        self.keys = <uint64_t*> PyMem_Malloc(self.capacity * sizeof(uint64_t))
        self.numbers = <int32_t*> PyMem_Malloc(self.capacity * sizeof(int32_t))
        if self.keys == NULL or self.numbers == NULL:
            raise MemoryError
        self.clear()

    def __dealloc__(self):
        PyMem_Free(self.keys)
        PyMem_Free(self.numbers)

    cdef void clear(self) noexcept:
        memset(self.numbers, 0, self.capacity * sizeof(int32_t))
        self.count = 0

    cdef int32_t number(self, int32_t first, int32_t second) noexcept:
        cdef uint64_t key = <uint64_t> <uint32_t> first << 32 | <uint32_t> second
        cdef uint64_t slot = key * _FACTOR >> self.shift
        while self.numbers[slot] and self.keys[slot] != key:
            slot = (slot + 1) & <uint64_t> (self.capacity - 1)
        if not self.numbers[slot]:
            self.count += 1
            self.keys[slot], self.numbers[slot] = key, self.count
        return self.numbers[slot] - 1
