# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The sums of boosted trees in C; several rows go through a tree side by side."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t

import numpy

cdef enum:
    TOGETHER = 8  # rows, so that the processor loads the nodes of all of them at once


cdef struct Node:
    float threshold
    int32_t feature
    int32_t to[2]


cdef class Forest:
    """The nodes of the trees, in a compact array. Raises ValueError if a node or root leads outside it."""

    cdef Node* nodes
    cdef double[::1] values
    cdef int32_t[::1] roots, depths
    cdef Py_ssize_t outputs, features

    def __cinit__(self, feature, threshold, left, right, value, roots, Py_ssize_t outputs):
        cdef int32_t[::1] lefts = numpy.array(left, numpy.int32), rights = numpy.array(right, numpy.int32)
        cdef int32_t[::1] tested = numpy.array(feature, numpy.int32)
        cdef double[::1] thresholds = numpy.array(threshold, numpy.float64)
        cdef Py_ssize_t at, size = len(tested)
        self.values, self.roots = numpy.array(value, numpy.float64), numpy.array(roots, numpy.int32)
        self.outputs = outputs
        if not size == len(lefts) == len(rights) == len(thresholds) == len(self.values) or outputs < 1:
            raise ValueError("the columns of the trees differ in length")
        self.nodes = <Node*> PyMem_Malloc(max(size, 1) * sizeof(Node))
        if self.nodes == NULL:
            raise MemoryError
        for at in range(size):
            if not (0 <= lefts[at] < size and 0 <= rights[at] < size):
                raise ValueError(f"node {at} of the trees leads outside their {size} nodes")
            self.nodes[at].to[0], self.nodes[at].to[1] = lefts[at], rights[at]
            self.nodes[at].threshold = _rounded_down(thresholds[at])
            self.nodes[at].feature = 0
            if lefts[at] != at or rights[at] != at:
                if tested[at] < 0:
                    raise ValueError(f"node {at} of the trees asks for feature {tested[at]}")
                self.nodes[at].feature = tested[at]
                self.features = max(self.features, tested[at] + 1)
        self.depths = numpy.array([self._depth(root, size) for root in self.roots], numpy.int32)

    def __dealloc__(self):
        PyMem_Free(self.nodes)

    cdef int32_t _depth(self, Py_ssize_t root, Py_ssize_t size) except -1:
        cdef list level = [root], below
        cdef int32_t depth = -1
        cdef Py_ssize_t at, seen = 0
        if not 0 <= root < size:
            raise ValueError(f"the root {root} is outside the {size} nodes of the trees")
        while level:
            depth += 1
            below = []
            for at in level:
                if self.nodes[at].to[0] != at or self.nodes[at].to[1] != at:
                    below += (self.nodes[at].to[0], self.nodes[at].to[1])
            seen += len(level)
            if seen > size:
                raise ValueError(f"node {root} is the root of no tree: two of its branches meet")
            level = below
        return depth

    def sums(self, rows):
        """Return the sums of the trees (n x outputs, float64) for n rows of features (float32)."""
        cdef Py_ssize_t tree, row, size = len(rows), width
        found = numpy.zeros((size, self.outputs))
        if not size or not len(self.roots):
            return found
        cdef const float[:, ::1] table = numpy.ascontiguousarray(rows, numpy.float32)
        cdef double[:, ::1] sums = found
        width = table.shape[1]
        if width < max(self.features, 1):
            raise ValueError(f"the trees ask for {self.features} features; the rows have {width}")
        for tree in range(len(self.roots)):
            for row in range(0, size - TOGETHER + 1, TOGETHER):
                self._add_some(&table[row, 0], width, tree, &sums[row, tree % self.outputs])
            for row in range(size - size % TOGETHER, size):
                sums[row, tree % self.outputs] += self._one(&table[row, 0], tree)
        return found

    cdef void _add_some(self, const float* rows, Py_ssize_t width, Py_ssize_t tree, double* sums) noexcept nogil:
        cdef int32_t at[TOGETHER]
        cdef const Node* node
        cdef int32_t level
        cdef int number
        for number in range(TOGETHER):
            at[number] = self.roots[tree]
        # A leaf leads to itself, so all rows take equally many steps and the processor has no branch to predict.
        for level in range(self.depths[tree]):
            for number in range(TOGETHER):
                node = &self.nodes[at[number]]
                at[number] = node.to[rows[number * width + node.feature] > node.threshold]
        for number in range(TOGETHER):
            sums[number * self.outputs] += self.values[at[number]]

    cdef double _one(self, const float* row, Py_ssize_t tree) noexcept nogil:
        cdef int32_t at = self.roots[tree]
        cdef int32_t level
        for level in range(self.depths[tree]):
            at = self.nodes[at].to[row[self.nodes[at].feature] > self.nodes[at].threshold]
        return self.values[at]


cdef float _rounded_down(double threshold) noexcept:
    """Return the greatest float32 up to the threshold: the same float32 features are greater than either."""
    cdef float rounded = <float> threshold
    return nextafterf(rounded, -INFINITY) if rounded > threshold else rounded
