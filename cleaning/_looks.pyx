# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""`cleaning.classifier.features` in C: the same numbers, from pairs of numbers in one table."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memset

import os

import numpy

from cleaning.classifier.features import SimilarityGroups

# A secret: else a page could be made of elements that all want the same slot.
cdef uint64_t _FACTOR = int.from_bytes(os.urandom(8), "little") | 1


def read_looks(scan):
    """Return the looks of a scan, as `cleaning.classifier.features.pure_group_similar` does."""
    cdef Py_ssize_t size = len(scan.tags), at
    cdef int32_t parent
    cdef const int32_t[::1] parents = scan.parent, nodes = scan.node
    if len(parents) != size:
        raise ValueError(f"{len(parents)} parents of {size} elements")
    depth, siblings = numpy.zeros(size, numpy.int32), numpy.empty(size, numpy.int32)
    cdef int32_t[::1] depths = depth, counts = siblings
    cdef int32_t[::1] tags = _numbered(scan.tags), signs = _numbered(scan.node_signs)
    cdef int32_t[::1] first_signs = _numbered([text.partition(" ")[0] for text in dict.fromkeys(scan.node_signs)])
    cdef int32_t[::1] looks = numpy.empty(size, numpy.int32), paths = numpy.empty(size, numpy.int32)
    cdef _Numbers numbers = _Numbers(size)
    for at in range(size):
        parent = parents[at]
        if parent >= at:
            raise ValueError(f"element {at} is in element {parent}, which comes later")
        depths[at] = depths[parent] + 1 if parent >= 0 else 0
        paths[at] = numbers.number(paths[parent] if parent >= 0 else -1, tags[at])
    numbers.clear()
    for at in range(size):
        looks[at] = numbers.number(tags[at], first_signs[signs[at]])
    numbers.clear()
    for at in range(size):
        looks[at] = numbers.number(parents[at], looks[at])
    cdef int32_t[::1] times = numpy.zeros(size, numpy.int32)
    for at in range(size):
        times[looks[at]] += 1
    for at in range(size):
        counts[at] = times[looks[at]]
    numbers.clear()
    for at in range(size):
        looks[at] = numbers.number(tags[at], signs[at])
    numbers.clear()
    cdef int32_t[::1] pairs = times
    for at in range(size):
        pairs[at] = numbers.number(looks[max(parents[at], 0)], looks[at])
    return Looks(depth, siblings, _of_blocks(pairs, nodes), _of_blocks(paths, nodes))


cdef int32_t[::1] _numbered(list texts):
    """Return the same number for the same text, from 0 on."""
    cdef dict known = {}
    cdef Py_ssize_t at
    cdef int32_t[::1] found = numpy.empty(len(texts), numpy.int32)
    for at in range(len(texts)):
        found[at] = known.setdefault(texts[at], len(known))
    return found


cdef object _of_blocks(int32_t[::1] numbers, const int32_t[::1] nodes):
    """Return the numbers of the blocks' elements, made anew in the order of the blocks."""
    cdef Py_ssize_t at, count = 0
    cdef int32_t number
    found = numpy.empty(len(nodes), numpy.int32)
    cdef int32_t[::1] column = found, known = numpy.full(len(numbers), -1, numpy.int32)
    for at in range(len(nodes)):
        if not 0 <= nodes[at] < len(numbers):
            raise ValueError(f"block {at} is in element {nodes[at]} of {len(numbers)}")
        number = numbers[nodes[at]]
        if known[number] < 0:
            known[number] = <int32_t> count
            count += 1
        column[at] = known[number]
    return found


cdef class _Numbers:
    """A number for each pair of numbers, in the order in which they come, from 0 on."""

    cdef uint64_t* keys
    cdef int32_t* numbers  # and 1 more; 0 where the slot is free
    cdef Py_ssize_t room
    cdef int32_t count
    cdef int shift

    def __cinit__(self, Py_ssize_t most):
        self.room, self.shift = 16, 60
        while self.room < 2 * most:
            self.room *= 2
            self.shift -= 1
        self.keys = <uint64_t*> PyMem_Malloc(self.room * sizeof(uint64_t))
        self.numbers = <int32_t*> PyMem_Malloc(self.room * sizeof(int32_t))
        if self.keys == NULL or self.numbers == NULL:
            raise MemoryError
        self.clear()

    def __dealloc__(self):
        PyMem_Free(self.keys)
        PyMem_Free(self.numbers)

    cdef void clear(self) noexcept:
        memset(self.numbers, 0, self.room * sizeof(int32_t))
        self.count = 0

    cdef int32_t number(self, int32_t first, int32_t second) noexcept:
        cdef uint64_t key = <uint64_t> <uint32_t> first << 32 | <uint32_t> second
        cdef uint64_t slot = key * _FACTOR >> self.shift
        while self.numbers[slot] and self.keys[slot] != key:
            slot = (slot + 1) & <uint64_t> (self.room - 1)
        if not self.numbers[slot]:
            self.count += 1
            self.keys[slot], self.numbers[slot] = key, self.count
        return self.numbers[slot] - 1
