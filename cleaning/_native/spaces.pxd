"""White space and control characters of texts in UTF-8."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.string cimport memcpy


cdef inline bint has_controls(const unsigned char* at) noexcept:
    """Return True for a text with characters that `without_controls` removes."""
    while True:
        if 0x20 <= at[0] < 0x7F:  # most characters
            at += 1
            continue
        if at[0] < 0x20:
            if at[0] == 0:
                return False
            if at[0] != 9 and at[0] != 10 and at[0] != 13:
                return True
        elif at[0] == 0x7F or (at[0] == 0xC2 and at[1] <= 0x9F):
            return True
        at += 1


cdef inline Py_ssize_t space_width(const unsigned char* at) noexcept:
    """Return how many bytes the white space at a place in UTF-8 takes; 0 if there is none."""
    if at[0] <= 0x20:
        return 1 if at[0] == 0x20 or 9 <= at[0] <= 13 or 0x1C <= at[0] else 0
    if at[0] < 0xC2:
        return 0
    if at[0] == 0xC2:
        return 2 if at[1] == 0x85 or at[1] == 0xA0 else 0
    if at[0] == 0xE1:
        return 3 if at[1] == 0x9A and at[2] == 0x80 else 0
    if at[0] == 0xE2:
        if at[1] == 0x80:
            return 3 if at[2] <= 0x8A or at[2] == 0xA8 or at[2] == 0xA9 or at[2] == 0xAF else 0
        return 3 if at[1] == 0x81 and at[2] == 0x9F else 0
    return 3 if at[0] == 0xE3 and at[1] == 0x80 and at[2] == 0x80 else 0


cdef inline Py_ssize_t _well_spaced(const unsigned char* content, Py_ssize_t size) noexcept:
    """Return how many bytes, up to a white space or the end, are words with single spaces between them."""
    cdef Py_ssize_t at = 0
    while at < size:
        if (content[at] <= 0x20 or content[at] >= 0xC2) and space_width(&content[at]):
            if content[at] != c" " or at == 0 or at + 1 == size or space_width(&content[at + 1]):
                return at
        at += 1
    return at


cdef inline str single_spaced(str text):
    """Return the words of a text with single spaces between them, as `" ".join(text.split())` does, without lists."""
    cdef Py_ssize_t size = 0, width, at, length
    cdef const unsigned char* content
    cdef unsigned char* words
    cdef bint space = False
    try:
        content = <const unsigned char*> PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        return " ".join(text.split())
    at = length = _well_spaced(content, size)
    if at == size:  # most texts
        return text
    words = <unsigned char*> PyMem_Malloc(size + 1)
    if words == NULL:
        raise MemoryError
    try:
        memcpy(words, content, at)
        while at < size:
            width = space_width(&content[at])
            if width:
                space = length > 0
                at += width
                continue
            if space:
                words[length] = c" "
                length += 1
                space = False
            words[length] = content[at]
            length += 1
            at += 1
        return PyUnicode_DecodeUTF8(<const char*> words, length, NULL)
    finally:
        PyMem_Free(words)
