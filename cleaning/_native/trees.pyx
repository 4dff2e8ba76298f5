# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The sums of boosted trees in C; several rows go through a tree side by side."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport int32_t

import numpy

cdef enum:
    TILE = 48  # rows that go through all trees before the next ones: they stay in the processor's cache
    TOGETHER = 12  # rows, so that the processor loads the nodes of all of them at once


cdef struct Node:
    float threshold
    int32_t feature
    int32_t to[2]


cdef class Forest:
    """The nodes of the trees, in a compact array. Raises ValueError if a node or root leads outside it."""

    # First the nodes that ask, each before those that it leads to; then the leaves, which lead to themselves.
    cdef Node* nodes
    cdef Node* folded  # the same without the questions that all rows of a call answer alike
    cdef int32_t* ends  # the node that each one leads to by such questions; itself if it asks another one
    cdef double[::1] values  # of the leaves
    cdef int32_t[::1] roots
    cdef Py_ssize_t outputs, features, asking

    def __cinit__(self, feature, threshold, left, right, value, roots, Py_ssize_t outputs):
        cdef int32_t[::1] lefts = numpy.array(left, numpy.int32), rights = numpy.array(right, numpy.int32)
        cdef int32_t[::1] tested = numpy.array(feature, numpy.int32), starts = numpy.array(roots, numpy.int32)
        cdef double[::1] thresholds = numpy.array(threshold, numpy.float64), added = numpy.array(value, numpy.float64)
        cdef Py_ssize_t number, size = len(tested)
        if not size == len(lefts) == len(rights) == len(thresholds) == len(added) or outputs < 1:
            raise ValueError("the columns of the trees differ in length")
        for number in range(size):
            if not (0 <= lefts[number] < size and 0 <= rights[number] < size):
                raise ValueError(f"node {number} of the trees leads outside their {size} nodes")
            if (lefts[number] != number or rights[number] != number) and tested[number] < 0:
                raise ValueError(f"node {number} of the trees asks for feature {tested[number]}")
        cdef list asking = [], leaves = []
        for number in starts:
            if not 0 <= number < size:
                raise ValueError(f"the root {number} is outside the {size} nodes of the trees")
        _sort_nodes(starts, lefts, rights, asking, leaves)
        self.outputs, self.asking = outputs, len(asking)
        cdef int32_t[::1] places = numpy.zeros(size, numpy.int32)
        cdef Py_ssize_t place
        for place, number in enumerate(asking + leaves):
            places[number] = place
        self._allocate(len(asking) + len(leaves))
        for place, number in enumerate(asking):
            self.nodes[place].threshold, self.nodes[place].feature = _rounded_down(thresholds[number]), tested[number]
            self.nodes[place].to[0], self.nodes[place].to[1] = places[lefts[number]], places[rights[number]]
            self.features = max(self.features, tested[number] + 1)
        self.roots = numpy.array([places[number] for number in starts], numpy.int32)
        self.values = numpy.array([added[number] for number in leaves], numpy.float64)

    cdef int _allocate(self, Py_ssize_t size) except -1:
        """Make room for the nodes, each a leaf at first."""
        cdef Py_ssize_t number
        self.nodes = <Node*> PyMem_Malloc(max(size, 1) * sizeof(Node))
        self.folded = <Node*> PyMem_Malloc(max(size, 1) * sizeof(Node))
        self.ends = <int32_t*> PyMem_Malloc(max(size, 1) * sizeof(int32_t))
        if self.nodes == NULL or self.folded == NULL or self.ends == NULL:
            raise MemoryError
        for number in range(size):
            self.nodes[number].threshold, self.nodes[number].feature = 0, 0
            self.nodes[number].to[0] = self.nodes[number].to[1] = self.ends[number] = number
            self.folded[number] = self.nodes[number]
        return 0

    def __dealloc__(self):
        PyMem_Free(self.nodes)
        PyMem_Free(self.folded)
        PyMem_Free(self.ends)

    def sums(self, rows, indexes=None):
        """Return the sums of the trees (n x outputs, float64) for n rows of features (float32).

        With `indexes` (n), only these of the rows count.
        """
        cdef const float[:, ::1] table = numpy.ascontiguousarray(rows, numpy.float32)
        cdef const Py_ssize_t[::1] chosen = numpy.arange(len(rows)) if indexes is None else indexes
        cdef Py_ssize_t row, size = len(chosen)
        totals = numpy.zeros((size, self.outputs))
        if not size or not len(self.roots):
            return totals
        if table.shape[1] < max(self.features, 1):
            raise ValueError(f"the trees ask for {self.features} features; the rows have {table.shape[1]}")
        cdef const float** starts = <const float**> PyMem_Malloc(size * sizeof(float*))
        if starts == NULL:
            raise MemoryError
        try:
            for row in range(size):
                if not 0 <= chosen[row] < table.shape[0]:
                    raise IndexError(f"row {chosen[row]} of {table.shape[0]}")
                starts[row] = &table[chosen[row], 0]
            self._fold(starts, size)
            self._add_trees(starts, size, totals)
        finally:
            PyMem_Free(starts)
        return totals

    cdef int _add_trees(self, const float** rows, Py_ssize_t size, double[:, ::1] sums) except -1:
        cdef Py_ssize_t tree, row, begin, end, output
        cdef int32_t root
        for begin in range(0, size, TILE):
            end = min(begin + TILE, size)
            for tree in range(len(self.roots)):
                output, root = tree % self.outputs, self.ends[self.roots[tree]]
                row = begin
                while row + TOGETHER <= end:
                    self._add_some(rows + row, root, &sums[row, output])
                    row += TOGETHER
                while row < end:
                    sums[row, output] += self._one(rows[row], root)
                    row += 1
        return 0

    cdef int _fold(self, const float** rows, Py_ssize_t size) except -1:
        """Answer the questions about features that are equal in all rows: many tell of the page as a whole."""
        cdef Py_ssize_t row, number
        cdef Node node
        cdef unsigned char[::1] differ = numpy.zeros(max(self.features, 1), numpy.uint8)
        for row in range(1, size):
            _add_differences(rows[0], rows[row], self.features, &differ[0])
        for number in range(self.asking - 1, -1, -1):
            node = self.nodes[number]
            if differ[node.feature] or size == 1:
                self.folded[number].threshold, self.folded[number].feature = node.threshold, node.feature
                self.folded[number].to[0], self.folded[number].to[1] = self.ends[node.to[0]], self.ends[node.to[1]]
                self.ends[number] = number
            else:
                self.ends[number] = self.ends[node.to[rows[0][node.feature] > node.threshold]]
        return 0

    cdef void _add_some(self, const float** rows, int32_t root, double* sums) noexcept nogil:
        cdef int32_t reached[TOGETHER]
        cdef const Node* node
        cdef int32_t first = root
        cdef int number
        for number in range(TOGETHER):
            reached[number] = root
        # A row at a leaf stays there until all have reached one, so the processor has few branches to predict.
        while first < self.asking:
            first = self.asking
            for number in range(TOGETHER):
                node = &self.folded[reached[number]]
                reached[number] = node.to[rows[number][node.feature] > node.threshold]
                first = min(first, reached[number])
        for number in range(TOGETHER):
            sums[number * self.outputs] += self.values[reached[number] - self.asking]

    cdef double _one(self, const float* row, int32_t root) noexcept nogil:
        cdef int32_t number = root
        while number < self.asking:
            number = self.folded[number].to[row[self.folded[number].feature] > self.folded[number].threshold]
        return self.values[number - self.asking]


cdef void _add_differences(
    const float* left, const float* right, Py_ssize_t size, unsigned char* differ
) noexcept nogil:
    """Mark the features that differ. The compiler makes this loop compare several of them at once."""
    cdef Py_ssize_t feature
    for feature in range(size):
        differ[feature] |= left[feature] != right[feature]


def _sort_nodes(int32_t[::1] roots, int32_t[::1] lefts, int32_t[::1] rights, list asking, list leaves):
    """Add the numbers of the nodes that ask to `asking`, each before its children, and the others to `leaves`."""
    cdef unsigned char[::1] known = numpy.zeros(len(lefts), numpy.uint8)
    cdef Py_ssize_t number, place
    cdef list level
    for root in roots:
        level = [root]
        while level:
            below = []
            for number in level:
                if known[number]:
                    raise ValueError(f"node {root} is the root of no tree: two of its branches meet")
                known[number] = 1
                if lefts[number] == number and rights[number] == number:
                    leaves.append(number)
                else:
                    asking.append(number)
                    below += (lefts[number], rights[number])
            level = below


cdef float _rounded_down(double threshold) noexcept:
    """Return the greatest float32 up to the threshold: the same float32 features are greater than either."""
    cdef float rounded = <float> threshold
    return nextafterf(rounded, -INFINITY) if rounded > threshold else rounded
