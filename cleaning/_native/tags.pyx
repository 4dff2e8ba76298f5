# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Passes over the bytes of a page in C, before it has a tree: its encoding, its end and the attributes of its tags."""

from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcmp, memcpy

cdef enum:
    # Tags inside the quoted values of other tags are read several times.
    MOST_READS = 16

cdef uint64_t _NOT_ASCII = 0x8080808080808080ULL


def has_replacement(bytes body):
    """Return True if the character U+FFFD is in this UTF-8; None for bytes that are not valid UTF-8."""
    cdef const unsigned char* cursor = body
    cdef const unsigned char* end = cursor + len(body)
    cdef uint64_t chunk
    cdef bint replaced = False
    while cursor < end:
        while end - cursor >= 8:
            memcpy(&chunk, cursor, 8)
            if chunk & _NOT_ASCII:
                break
            cursor += 8
        while cursor < end and cursor[0] < 0x80:
            cursor += 1
        if cursor < end:
            replaced |= cursor[0] == 0xEF and end - cursor > 2 and cursor[1] == 0xBF and cursor[2] == 0xBD
            cursor = _after_character(cursor, end)
            if cursor == NULL:
                return None
    return replaced


cdef inline const unsigned char* _after_character(const unsigned char* cursor, const unsigned char* end) noexcept nogil:
    """Return the end of the character of several bytes that begins at `cursor`; NULL if it is not valid."""
    cdef unsigned char first = cursor[0]
    # The second byte tells overlong forms, surrogates and numbers beyond Unicode from valid characters.
    cdef unsigned char least = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
    cdef unsigned char greatest = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
    cdef Py_ssize_t size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if first < 0xC2 or first > 0xF4 or end - cursor < size or not least <= cursor[1] <= greatest:
        return NULL
    if size > 2 and cursor[2] & 0xC0 != 0x80 or size > 3 and cursor[3] & 0xC0 != 0x80:
        return NULL
    return cursor + size


def scan_tags(bytes body):
    """Return what `parse._TagScan` says of a body: a bound of squares, the first end, and whether there are templates.

    Each `<` before a letter counts as the beginning of a tag, in scripts, comments and quoted values too: the bound
    does not depend on which of them a parser takes for a tag. It is None if finding it takes long.
    """
    cdef const unsigned char* start = body
    cdef const unsigned char* end = start + len(body)
    cdef const unsigned char* cursor = start
    cdef const unsigned char* stop
    cdef Py_ssize_t most = MOST_READS * len(body), read = 0, first_end = -1
    cdef long long squares = 0, count
    cdef bint has_templates = False
    while True:
        cursor = <const unsigned char*> memchr(cursor, b"<", end - cursor)
        if cursor == NULL or cursor + 1 >= end:
            return None if read > most else squares, first_end, has_templates
        cursor += 1
        if b"a" <= (cursor[0] | 32) <= b"z":
            has_templates = has_templates or _is_template(cursor, end)
            if read <= most:
                stop = _end_of_tag(cursor, end, &count)
                squares += count * count
                read += stop - cursor
        elif cursor[0] == b"/" and first_end < 0 and _is_end(cursor + 1, end):
            first_end = cursor - 1 - start


cdef inline bint _is_end(const unsigned char* name, const unsigned char* end) noexcept nogil:
    """Return True for the name of `body` or `html`, in small letters or capitals, or for a longer name."""
    return end - name >= 4 and (
        memcmp(name, b"body", 4) == 0 or memcmp(name, b"html", 4) == 0
        or memcmp(name, b"BODY", 4) == 0 or memcmp(name, b"HTML", 4) == 0
    )


cdef inline bint _is_template(const unsigned char* name, const unsigned char* end) noexcept nogil:
    cdef const unsigned char* wanted = b"template"
    cdef Py_ssize_t index
    if end - name < 8:
        return False
    for index in range(8):
        if name[index] | 32 != wanted[index]:
            return False
    return True


cdef inline bint _is_space(unsigned char byte) noexcept nogil:
    return byte == b" " or byte == b"\n" or byte == b"\t" or byte == b"\r" or byte == b"\f"


cdef const unsigned char* _end_of_tag(
    const unsigned char* cursor, const unsigned char* end, long long* count
) noexcept nogil:
    """Return the end of the tag whose name begins at `cursor`; set the number of its attributes, equal ones included.
    """
    count[0] = 0
    while cursor < end and not _is_space(cursor[0]) and cursor[0] != b"/" and cursor[0] != b">":
        cursor += 1
    while True:
        while cursor < end and (_is_space(cursor[0]) or cursor[0] == b"/"):
            cursor += 1
        if cursor >= end or cursor[0] == b">":
            return cursor
        count[0] += 1
        cursor += 1  # a name may begin with `=`
        while cursor < end and not _is_space(cursor[0]) and (
            cursor[0] != b"/" and cursor[0] != b">" and cursor[0] != b"="
        ):
            cursor += 1
        cursor = _after_value(cursor, end)


cdef const unsigned char* _after_value(const unsigned char* cursor, const unsigned char* end) noexcept nogil:
    """Return the end of the value of the attribute whose name ends at `cursor`: `cursor` itself without a value."""
    cdef const unsigned char* value = cursor
    while value < end and _is_space(value[0]):
        value += 1
    if value >= end or value[0] != b"=":
        return cursor
    value += 1
    while value < end and _is_space(value[0]):
        value += 1
    if value < end and (value[0] == b'"' or value[0] == b"'"):
        cursor = <const unsigned char*> memchr(value + 1, value[0], end - value - 1)
        return end if cursor == NULL else cursor + 1
    while value < end and not _is_space(value[0]) and value[0] != b">":
        value += 1
    return value
