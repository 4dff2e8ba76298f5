# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""`fill` of `cleaning.classifier.features` and `cleaning.classifier.features` in C: the same numbers, block by block."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.string cimport memcpy

import numpy

from cleaning.blocks import Kind
from cleaning.classifier import features, counted, features
from cleaning.leaf_table import Column

cdef tuple _KINDS = tuple(Kind)
cdef int[10] _STEPS = context.STEPS
cdef int[3] _REACHES = context.REACHES
cdef int[3] _WINDOWS = features.WINDOWS
cdef int _FAR = features.FAR, _NEAR = features.NEAR_LEVELS, _AROUND = len(features.AROUND_CODES)
cdef int _LEVELS = counted.LEVELS, _CHAIN = counted.CHAIN
cdef int _COLUMNS = features.OF_BLOCKS, _CONTEXT = len(context.NAMES) - context.OF_PAGE
cdef int WORDS = Count.WORDS, CHARS = Count.CHARS, LINK_CHARS = Count.LINK_CHARS, LINKS = Count.LINKS
cdef int PAUSES = Count.PAUSES, ENDS = Count.ENDS, QUOTES = Count.QUOTES, SIGNS = Count.SIGNS, UPPER = Count.UPPER
cdef int DIGITS = Count.DIGITS, BOLD_CHARS = Count.BOLD_CHARS, PIECES = Count.PIECES, FIRST = Count.FIRST
cdef int LAST = Count.LAST

include "_columns.pxi"

cdef enum:
    OF_ELEMENT = 8  # columns
    OF_GROUP = 6


def fill_features(rows, seen, str title, signs):
    """Fill the first columns of rows (n x F, float32), as `cleaning.classifier.features.pure_fill_first_stage` does."""
    cdef _Tree tree = _Tree(seen)
    cdef _Features found = _Features(tree, seen, signs)
    cdef float[:, ::1] table = rows
    cdef Py_ssize_t at
    cdef float* to
    if len(table) != tree.size or table.shape[1] < _COLUMNS:
        raise ValueError(f"the table is {len(table)} x {table.shape[1]}, not {tree.size} x {_COLUMNS}")
    for at in range(tree.size):
        to = found.text(at, seen.scan.blocks[at], title, &table[at, 0])
        to = found.place(at, to)
        to = found.elements(at, to)
        to = found.alike(at, to)
        to = found.around(at, to)
        to = found.windows(at, to)
        found.lexicon(at, to)


def fill_context(rows, seen, scores, weights):
    """Fill the first columns of rows (n x F, float32), as `cleaning.classifier.features.pure_fill_neighbours` does."""
    cdef _Tree tree = _Tree(seen)
    cdef float[:, ::1] table = rows
    cdef double[::1] score = scores, sums = _running(weights, tree.size)
    cdef double[::1] chars = _running(seen.chars, tree.size)
    cdef double[::1] alike = _mean(seen.looks.alike, weights, seen.chars)
    cdef double[::1] same_path = _mean(seen.looks.same_path, weights, seen.chars)
    cdef Py_ssize_t at, other, first = 0, last = tree.size, begin, end
    cdef int32_t number
    cdef int level
    cdef double total = sums[tree.size] + context.TINY, inside
    cdef float* to
    if not len(table) == len(score) == tree.size or table.shape[1] < _CONTEXT:
        raise ValueError(f"the table is {len(table)} x {table.shape[1]}, not {tree.size} x {_CONTEXT}")
    sure = numpy.flatnonzero(scores > context.SURE)
    if len(sure):
        first, last = sure[0], sure[len(sure) - 1]
    for at in range(tree.size):
        to = &table[at, 0]
        to[0] = <float> score[at]
        to += 1
        for level in range(10):
            other = at + _STEPS[level]
            to[level] = <float> score[other] if 0 <= other < tree.size else 0
        to += 10
        for level in range(3):
            begin, end = max(0, at - _REACHES[level]), min(tree.size, at + _REACHES[level] + 1)
            to[level] = <float> ((sums[end] - sums[begin]) / (chars[end] - chars[begin]))
        to += 3
        number = tree.node[at]
        for level in range(_LEVELS):
            begin, end = tree.first[number], tree.last[number]
            inside = sums[end] - sums[begin]
            to[0] = <float> (inside / max(1.0, chars[end] - chars[begin]))
            to[1] = <float> (inside / total)
            to += 2
            number = max(tree.parent[number], 0)
        to[0], to[1] = <float> alike[at], <float> same_path[at]
        to[2], to[3] = <float> (sums[at] / total), <float> (1 - sums[at + 1] / total)
        to[4], to[5] = <float> (at - first), <float> (last - at)


cdef class _Features:
    """What the columns of a page are made of."""

    cdef _Tree tree
    cdef const int32_t[:, ::1] counts
    cdef const int32_t[::1] depth, alike_number, path_number
    cdef double[::1] chars, links, prose, headings, repeated
    cdef double[:, ::1] of_element, of_inline, of_text
    cdef float[:, ::1] inside, of_alike, of_path
    cdef int32_t[::1] tag_codes, around_codes, since_prose, until_prose, since_heading
    cdef double all_chars, all_prose
    cdef Py_ssize_t h1, first, last

    def __cinit__(self, _Tree tree, seen, signs):
        cdef Py_ssize_t size = tree.size
        scan, looks = seen.scan, seen.looks
        self.tree, self.counts, self.repeated = tree, scan.counts, seen.repeated
        self.depth, self.alike_number, self.path_number = looks.depth, looks.alike, looks.same_path
        self.chars, self.links = _running(seen.chars, size), _running(seen.links, size)
        self.prose, self.headings = _running(seen.prose_chars, size), _running(seen.headings, size)
        self.of_element, self.of_inline, self.of_text = map(numpy.ascontiguousarray, signs)
        self.all_chars, self.all_prose, self.h1 = seen.all_chars, seen.all_prose, seen.first_h1
        self.tag_codes = _codes(scan.tags, features.TAG_CODES)
        self.around_codes = _codes(scan.tags, features.AROUND_CODES)
        self.since_prose, self.until_prose = _since(seen.prose, 1), _since(seen.prose, -1)
        self.since_heading = _since(seen.headings, 1)
        prose = numpy.flatnonzero(seen.prose)
        self.first, self.last = (prose[0], prose[len(prose) - 1]) if len(prose) else (0, size)
        lengths = len(self.counts), len(self.repeated), len(self.alike_number), len(self.path_number)
        if not set(lengths) == {size} == {self.of_inline.shape[1], self.of_text.shape[1]}:
            raise ValueError("the columns of the blocks are not of one length")
        if not len(tree.parent) == len(self.depth) == len(looks.siblings) == self.of_element.shape[1]:
            raise ValueError("the columns of the elements are not of one length")
        if not 3 == len(self.of_element) == len(self.of_inline) == len(self.of_text):
            raise ValueError("a sign has three scores")
        if self.counts.shape[1] != len(Count):
            raise ValueError(f"a block has {len(Count)} counts")
        self._fill_elements(_running(seen.ends, size), looks.siblings)
        self.of_alike, self.of_path = self._groups(self.alike_number), self._groups(self.path_number)

    cdef void _fill_elements(self, double[::1] ends, const int32_t[::1] siblings):
        cdef Py_ssize_t at, first, last, size = len(siblings)
        cdef double chars, leaves, prose
        self.inside = numpy.empty((size, OF_ELEMENT), numpy.float32)
        for at in range(size):
            first, last = self.tree.first[at], self.tree.last[at]
            chars, leaves = max(1.0, self.chars[last] - self.chars[first]), last - first
            prose = self.prose[last] - self.prose[first]
            self.inside[at, 0] = <float> (chars / self.all_chars)
            self.inside[at, 1] = <float> ((self.links[last] - self.links[first]) / chars)
            self.inside[at, 2] = <float> leaves
            self.inside[at, 3] = <float> (prose / self.all_prose)
            self.inside[at, 4] = <float> (prose / chars)
            self.inside[at, 5] = <float> (chars / leaves)
            self.inside[at, 6] = <float> siblings[at]
            self.inside[at, 7] = <float> ((ends[last] - ends[first]) / leaves)

    cdef float[:, ::1] _groups(self, const int32_t[::1] numbers):
        cdef Py_ssize_t at, size = 0
        cdef int32_t number
        for at in range(len(numbers)):
            if numbers[at] < 0:
                raise ValueError(f"the group of block {at} is {numbers[at]}")
            size = max(size, numbers[at] + 1)
        cdef double[:, ::1] sums = numpy.zeros((size, 5))
        for at in range(len(numbers)):
            number = numbers[at]
            sums[number, 0] += self.counts[at, CHARS]
            sums[number, 1] += self.counts[at, LINK_CHARS]
            sums[number, 2] += self.prose[at + 1] - self.prose[at]
            sums[number, 3] += 1
            sums[number, 4] += self.counts[at, ENDS]
        cdef float[:, ::1] found = numpy.empty((size, OF_GROUP), numpy.float32)
        for at in range(size):
            found[at, 0] = <float> (sums[at, 0] / self.all_chars)
            found[at, 1] = <float> (sums[at, 1] / max(1.0, sums[at, 0]))
            found[at, 2] = <float> (sums[at, 2] / self.all_prose)
            found[at, 3] = <float> sums[at, 3]
            found[at, 4] = <float> (sums[at, 0] / sums[at, 3])
            found[at, 5] = <float> (sums[at, 4] / sums[at, 3])
        return found

    cdef float* text(self, Py_ssize_t at, block, str title, float* to) except NULL:
        cdef const int32_t* counts = &self.counts[at, 0]
        cdef double words = max(1, counts[WORDS]), chars = counts[CHARS]
        cdef str text = block.text
        cdef Py_ssize_t kind = 0
        while block.kind is not _KINDS[kind]:
            kind += 1
        to[0], to[1], to[2] = counts[WORDS], <float> (counts[LINK_CHARS] / chars), counts[CHARS]
        to[3], to[4], to[5] = counts[LINKS], counts[PAUSES], counts[ENDS]
        to[6], to[7] = <float> (counts[PAUSES] / words), <float> (counts[ENDS] / words)
        to[8], to[9] = <float> (counts[QUOTES] / words), <float> (counts[SIGNS] / chars)
        to[10], to[11] = <float> (counts[UPPER] / chars), <float> (counts[DIGITS] / chars)
        to[12], to[13] = <float> (chars / words), <float> (counts[BOLD_CHARS] / chars)
        to[14], to[15], to[16] = counts[PIECES], counts[FIRST], counts[LAST]
        to[17], to[18], to[19] = kind, <float> <double> block.priority, <float> self.repeated[at]
        to[20] = <float> (<double> len(text) / len(title)) if len(text) <= len(title) and text in title else 0
        to[21] = self.tag_codes[self.tree.node[at]]
        to[22] = self.tag_codes[max(self.tree.parent[self.tree.node[at]], 0)]
        return to + 23

    cdef float* place(self, Py_ssize_t at, float* to) noexcept:
        cdef double size = self.tree.size
        to[0], to[1] = self.depth[self.tree.node[at]], <float> (at / size)
        to[2] = <float> (self.chars[at] / self.all_chars)
        to[3] = <float> ((at - self.h1) / size) if self.h1 >= 0 else -2
        to[4] = <float> max(-50, min(at - self.h1, 200)) if self.h1 >= 0 else -_FAR
        to[5], to[6] = self.since_prose[at], self.until_prose[at]
        to[7], to[8], to[9] = at - self.first, self.last - at, self.since_heading[at]
        return to + 10

    cdef float* elements(self, Py_ssize_t at, float* to) noexcept:
        cdef int32_t number = self.tree.node[at], first, last
        cdef int level
        cdef float* near = to + _LEVELS * OF_ELEMENT
        for level in range(_LEVELS):
            memcpy(to, &self.inside[number, 0], OF_ELEMENT * sizeof(float))
            to += OF_ELEMENT
            if level < _NEAR:
                first, last = self.tree.first[number], self.tree.last[number]
                near[0], near[1], near[2] = <float> (self.headings[last] - self.headings[first]), at - first, last - at
                near += 3
            number = max(self.tree.parent[number], 0)
        return near

    cdef float* alike(self, Py_ssize_t at, float* to) noexcept:
        memcpy(to, &self.of_alike[self.alike_number[at], 0], OF_GROUP * sizeof(float))
        memcpy(to + OF_GROUP, &self.of_path[self.path_number[at], 0], OF_GROUP * sizeof(float))
        return to + 2 * OF_GROUP

    cdef float* around(self, Py_ssize_t at, float* to) noexcept:
        cdef int32_t number = self.tree.node[at]
        cdef int level, code
        for code in range(_AROUND):
            to[code] = 0
        for level in range(_CHAIN):
            code = self.around_codes[number]
            if code < _AROUND and to[code] == 0:
                to[code] = level + 1
            number = max(self.tree.parent[number], 0)
        return to + _AROUND

    cdef float* windows(self, Py_ssize_t at, float* to) noexcept:
        cdef Py_ssize_t first, last
        cdef double chars
        cdef int each
        for each in range(3):
            first, last = max(0, at - _WINDOWS[each]), min(self.tree.size, at + _WINDOWS[each] + 1)
            chars = self.chars[last] - self.chars[first]
            to[0] = <float> (chars / <double> (last - first))
            to[1] = <float> ((self.links[last] - self.links[first]) / max(1.0, chars))
            to[2] = <float> ((self.prose[last] - self.prose[first]) / self.all_prose)
            to += 3
        return to

    cdef void lexicon(self, Py_ssize_t at, float* to) noexcept:
        cdef int32_t number = self.tree.node[at], depth = self.depth[number]
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
                    least, least_level = self.of_element[0, number], level
            number = max(self.tree.parent[number], 0)
        to[0], to[1], to[2], to[3] = <float> least, <float> greatest, <float> total, least_level
        to[4], to[5] = <float> self.of_inline[0, at], <float> self.of_inline[2, at]
        to[6], to[7] = <float> self.of_text[0, at], <float> self.of_text[2, at]
