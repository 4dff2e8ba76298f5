# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""`cleaning.classifier.lexicon` and `cleaning.classifier.signals` in C: the same words, looked up where they stand.

No text is cut into strings: words lie side by side in one buffer, where a pair or a run of them is one piece, too. A
word is found by a hash and then compared, so that none is taken for another.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_KIND, PyUnicode_READ
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc
from libc.string cimport memcmp, memcpy, memset

import os

import numpy

from cleaning import scan, terms
from cleaning.classifier import signals, facts, lexicon

cdef int _SHORTEST = lexicon._SHORTEST
cdef int _LONGEST = lexicon._LONGEST
cdef int _MOST = lexicon._MOST
cdef int _MOST_TEXT_WORDS = lexicon._MOST_TEXT_WORDS
cdef int _MOST_CHARS = lexicon._MOST_CHARS
cdef int _FEW = lexicon._FEW
cdef int _RUN = facts.RUN
cdef int _BODY_CHARS = evidence.BODY_CHARS
cdef int _MOST_SUMMARY_CHARS = evidence.MOST_SUMMARY_CHARS

include "_growing.pxi"
include "_characters.pxi"
include "_tokens.pxi"
include "_table.pxi"


cdef list _pair(str word):
    """Return the words of a pair, or the one word."""
    return [word] if word.startswith("<") else word.split("_")


cdef class Words:
    """The known words and their scores, to be asked about all elements or texts of a page."""

    cdef _Table of_elements, of_inline, of_texts, of_any

    def __cinit__(self, scores):
        cdef str word
        self.of_elements, self.of_inline, self.of_texts, self.of_any = _Table(), _Table(), _Table(), _Table()
        for word, score in scores.items():
            # No word of an element begins so: a tag has its brackets, and the rest is letters.
            if word.startswith("i:"):
                self.of_inline.score(_pair(word[2:]), c"_", score)
            elif word.startswith("t:"):
                self.of_texts.score([word[2:]], c"_", score)
            elif word.startswith("w:"):
                self.of_any.score([word[2:]], c"_", score)
            else:
                self.of_elements.score(_pair(word), c"_", score)

    def elements(self, list tags, list signs):
        """Return least, greatest and mean score of each element's words (3 x m)."""
        cdef _Tokens tokens = _Tokens()
        cdef Py_ssize_t at, before
        cdef dict places = {}
        found = numpy.zeros((3, len(tags)))
        cdef double[:, ::1] rows = found
        for at in range(len(tags)):
            before = places.setdefault((tags[at], signs[at]), at)  # elements of a page are much alike
            if before != at:
                rows[0, at], rows[1, at], rows[2, at] = rows[0, before], rows[1, before], rows[2, before]
                continue
            tokens.clear()
            tokens.add_tag(<str?> tags[at])
            tokens.add_signs(<str?> signs[at])
            self._ask(self.of_elements, tokens, True, rows, at)
        return found

    def inlines(self, list signs):
        """Return the same of the inline elements around each text (3 x n)."""
        cdef _Tokens tokens = _Tokens()
        cdef Py_ssize_t at, before
        cdef dict places = {}
        found = numpy.zeros((3, len(signs)))
        cdef double[:, ::1] rows = found
        for at in range(len(signs)):
            if signs[at]:
                before = places.setdefault(signs[at], at)
                if before != at:
                    rows[0, at], rows[1, at], rows[2, at] = rows[0, before], rows[1, before], rows[2, before]
                    continue
                tokens.clear()
                tokens.add_tag("")
                tokens.add_signs(<str?> signs[at])
                self._ask(self.of_inline, tokens, True, rows, at)
        return found

    def texts(self, list texts):
        """Return the same of the words of each text that is short (3 x n)."""
        cdef _Tokens tokens = _Tokens()
        cdef Py_ssize_t at
        found = numpy.zeros((3, len(texts)))
        cdef double[:, ::1] rows = found
        for at in range(len(texts)):
            if len(<str?> texts[at]) <= _MOST_TEXT_WORDS * _LONGEST:
                tokens.clear()
                tokens.add_text(<str> texts[at], _MOST_TEXT_WORDS + 1)
                if tokens.count <= _MOST_TEXT_WORDS:
                    tokens.number()
                    self._ask(self.of_texts, tokens, False, rows, at)
        return found

    def sums(self, list texts):
        """Return sum, number, least, greatest and mean of the three least scores of each text's words (5 x n)."""
        cdef _Tokens tokens = _Tokens()
        cdef Py_ssize_t at
        found = numpy.zeros((5, len(texts)))
        cdef double[:, ::1] rows = found
        for at in range(len(texts)):
            tokens.clear()
            tokens.add_text((<str?> texts[at])[:_MOST_CHARS], -1)
            tokens.number()
            self._sum_up(tokens, rows, at)
        return found

    cdef int _sum_up(self, _Tokens tokens, double[:, ::1] rows, Py_ssize_t place) except -1:
        cdef double[3] few  # _FEW of them, ascending
        cdef double score, greatest = -INFINITY, total = 0.0
        cdef Py_ssize_t at, number, free, kept = 0, count = 0
        self.of_any.serial += 1
        for at in range(tokens.count):
            number = self.of_any.find(tokens, at, at)
            if not self.of_any.meet(number):
                continue
            score = self.of_any.entries[number].score
            total, greatest, count = total + score, max(greatest, score), count + 1
            free = kept if kept < _FEW else _FEW - 1
            if kept < _FEW or score < few[free]:
                while free > 0 and few[free - 1] > score:
                    few[free] = few[free - 1]
                    free -= 1
                few[free] = score
                kept = min(kept + 1, _FEW)
        if count:
            rows[0, place], rows[1, place], rows[2, place], rows[3, place] = total, count, few[0], greatest
            for at in range(kept):
                rows[4, place] += few[at]
            rows[4, place] /= kept
        return 0

    cdef int _ask(self, _Table table, _Tokens tokens, bint pairs, double[:, ::1] rows, Py_ssize_t place) except -1:
        """Look all words up; of those after the first, a tag, the pairs of neighbours, too."""
        cdef Sums sums = Sums(INFINITY, -INFINITY, 0.0, 0)
        cdef Py_ssize_t at
        table.serial += 1
        for at in range(tokens.count):
            table.add_up(tokens, at, at, &sums)
            if pairs and at > 1:
                table.add_up(tokens, at - 1, at, &sums)
        if sums.count:
            rows[0, place], rows[1, place], rows[2, place] = sums.least, sums.greatest, sums.sum / sums.count
        return 0


cdef class Hints:
    """What tags and words say of elements: the table of `cleaning.classifier.decide`, to be asked about all elements of a page."""

    cdef _Table known
    cdef list hints

    def __cinit__(self, table):
        cdef str word
        self.known, self.hints = _Table(), []
        for word, hint in table.items():
            self.known.score([word] if word.startswith("<") else word.split("-"), c"-", hint.most)
            self.hints.append(hint)

    def read(self, list tags, list signs):
        """Return for each element what `read_hint` does."""
        cdef _Tokens tokens = _Tokens()
        cdef dict known = {}
        cdef list found = []
        cdef str text
        for tag, text in zip(tags, signs):
            key = (tag, text)
            if key not in known:
                tokens.clear()
                tokens.add_tag(<str?> tag)
                tokens.add_small_letters(text.lower())
                known[key] = self._surest(tokens)
            found.append(known[key])
        return found

    cdef object _surest(self, _Tokens tokens):
        """Return the first hint of the surest: of the tag, the words, and then their pairs."""
        cdef Py_ssize_t at, best = -1
        for at in range(tokens.count):
            best = self._surer(best, self.known.find(tokens, at, at))
        for at in range(2, tokens.count):
            best = self._surer(best, self.known.find(tokens, at - 1, at))
        return self.hints[best] if best >= 0 else None

    cdef Py_ssize_t _surer(self, Py_ssize_t best, Py_ssize_t other) noexcept:
        if other < 0 or best >= 0 and self.known.entries[best].score >= self.known.entries[other].score:
            return best
        return other


def compare(list texts, stated):
    """Return what `cleaning.classifier.signals.measure_overlap` does, of texts of a page and what it states of itself."""
    cdef _Tokens tokens = _Tokens()
    cdef _Table body = _Table(), seen = _Table()
    cdef list summaries = [_known(words) for words in stated.summaries]
    cdef Py_ssize_t at, size
    cdef bint in_body, in_summaries
    found = numpy.zeros((2, len(texts)))
    found[0] = -1.0
    cdef double[:, ::1] rows = found
    for run in stated.body:
        tokens.clear()
        for word in run:
            tokens.add_word(<str?> word, c" ")
        body.add(tokens, 0, tokens.count - 1)
    for at in range(len(texts)):
        size = len(<str?> texts[at])
        in_body = body.size and size >= _BODY_CHARS
        in_summaries = bool(summaries) and size <= _MOST_SUMMARY_CHARS
        if in_body or in_summaries:
            tokens.clear()
            tokens.add_text(<str> texts[at], -1)
        if in_body and tokens.count >= _RUN:
            rows[0, at] = _share(tokens, body)
        if in_summaries:
            rows[1, at] = _likeness(tokens, seen, summaries)
    return found


cdef _Table _known(words):
    cdef _Table table = _Table()
    cdef _Tokens tokens = _Tokens()
    for word in words:
        tokens.clear()
        tokens.add_word(<str?> word, c" ")
        table.add(tokens, 0, 0)
    return table


cdef double _share(_Tokens tokens, _Table body) except -1:
    """Return how many of the runs are in the body."""
    cdef Py_ssize_t at, found = 0, runs = tokens.count - _RUN + 1
    for at in range(runs):
        found += body.find(tokens, at, at + _RUN - 1) >= 0
    return <double> found / <double> runs


cdef double _likeness(_Tokens tokens, _Table seen, list summaries) except -1:
    """Return the greatest share of words that the text and a summary have in common, of all their words."""
    cdef Py_ssize_t at, both
    cdef double most = 0.0
    cdef _Table one
    seen.clear()
    for at in range(tokens.count):
        seen.add(tokens, at, at)
    for one in summaries:
        both = 0
        one.serial += 1
        for at in range(tokens.count):
            both += one.meet(one.find(tokens, at, at))
        most = max(most, <double> both / <double> max(1, seen.size + one.size - both))
    return most
