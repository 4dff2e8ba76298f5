# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""A bound on the attributes of a page's tags, in C. It builds no tree, so it takes linear time."""

from libc.string cimport memchr

cdef enum:
    # Tags inside the quoted values of other tags are read several times.
    MOST_READS = 16


def bound_attributes(bytes body):
    """Return a number that the sum of the squares of the tags' attributes does not exceed; None if finding it takes long.

    Each `<` before a letter counts as the beginning of a tag, in scripts, comments and quoted values too: the bound
    does not depend on which of them a parser takes for a tag.
    """
    cdef const unsigned char* at = body
    cdef const unsigned char* end = at + len(body)
    cdef const unsigned char* stop
    cdef Py_ssize_t most = MOST_READS * len(body), read = 0
    cdef long long squares = 0, count
    while True:
        at = <const unsigned char*> memchr(at, b"<", end - at)
        if at == NULL or at + 1 >= end:
            return squares
        at += 1
        if b"a" <= (at[0] | 32) <= b"z":
            stop = _end_of_tag(at, end, &count)
            squares += count * count
            read += stop - at
            if read > most:
                return None


cdef inline bint _is_space(unsigned char byte) noexcept nogil:
    return byte == b" " or byte == b"\n" or byte == b"\t" or byte == b"\r" or byte == b"\f"


cdef const unsigned char* _end_of_tag(
    const unsigned char* at, const unsigned char* end, long long* count
) noexcept nogil:
    """Return the end of the tag whose name begins at `at`, and set the number of its attributes, equal ones included."""
    count[0] = 0
    while at < end and not _is_space(at[0]) and at[0] != b"/" and at[0] != b">":
        at += 1
    while True:
        while at < end and (_is_space(at[0]) or at[0] == b"/"):
            at += 1
        if at >= end or at[0] == b">":
            return at
        count[0] += 1
        at += 1  # a name may begin with `=`
        while at < end and not _is_space(at[0]) and at[0] != b"/" and at[0] != b">" and at[0] != b"=":
            at += 1
        at = _after_value(at, end)


cdef const unsigned char* _after_value(const unsigned char* at, const unsigned char* end) noexcept nogil:
    """Return the end of the value of the attribute whose name ends at `at`; `at` for an attribute without a value."""
    cdef const unsigned char* value = at
    while value < end and _is_space(value[0]):
        value += 1
    if value >= end or value[0] != b"=":
        return at
    value += 1
    while value < end and _is_space(value[0]):
        value += 1
    if value < end and (value[0] == b'"' or value[0] == b"'"):
        at = <const unsigned char*> memchr(value + 1, value[0], end - value - 1)
        return end if at == NULL else at + 1
    while value < end and not _is_space(value[0]) and value[0] != b">":
        value += 1
    return value
