# Part of _rows.pyx: the tree of a scan, and columns of sums, codes and distances.

cdef class _Tree:
    """Which blocks lie inside which elements; no number leads outside."""

    cdef Py_ssize_t size
    cdef const int32_t[::1] node, parent, first, last

    def __cinit__(self, seen):
        cdef Py_ssize_t at, elements = len(seen.scan.tags)
        self.size = seen.size
        self.node, self.parent = seen.scan.node, seen.scan.parent
        self.first, self.last = seen.scan.first, seen.scan.last
        if not (len(self.parent) == len(self.first) == len(self.last) == elements and len(self.node) == self.size):
            raise ValueError("the columns of the scan are not of one length")
        for at in range(self.size):
            if not 0 <= self.node[at] < elements:
                raise ValueError(f"block {at} is in element {self.node[at]} of {elements}")
        for at in range(elements):
            if not (self.parent[at] < at and 0 <= self.first[at] <= self.size and 0 <= self.last[at] <= self.size):
                raise ValueError(f"element {at} is in element {self.parent[at]}, or has blocks outside the page")


cdef double[::1] _running(values, Py_ssize_t size):
    """Return the sums before each of so many places and after the last."""
    if len(values) != size:
        raise ValueError(f"{len(values)} values of {size} blocks")
    return counted.running(values)


cdef double[::1] _mean(groups, weights, chars):
    return (numpy.bincount(groups, weights) / numpy.bincount(groups, chars))[groups]


cdef int32_t[::1] _codes(list tags, dict known):
    cdef Py_ssize_t at
    cdef int32_t[::1] codes = numpy.empty(len(tags), numpy.int32)
    cdef int32_t other = <int32_t> len(known)
    for at in range(len(tags)):
        codes[at] = known.get(tags[at], other)
    return codes


cdef int32_t[::1] _since(marked, int step):
    """Return how many blocks back, or on where `step` is -1, the nearest marked one is; at most _FAR."""
    cdef const unsigned char[::1] marks = marked.view(numpy.uint8)
    cdef Py_ssize_t size = len(marks), count
    cdef Py_ssize_t at = 0 if step > 0 else size - 1
    cdef int32_t far = _FAR
    cdef int32_t[::1] found = numpy.empty(size, numpy.int32)
    for count in range(size):
        far = 0 if marks[at] else min(far + 1, _FAR)
        found[at] = far
        at += step
    return found
