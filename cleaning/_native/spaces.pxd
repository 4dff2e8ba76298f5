"""White space and control characters of texts in UTF-8."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.string cimport memcpy


cdef inline bint has_controls(const unsigned char* cursor) noexcept:
    """Return True for a text with characters that `without_controls` removes."""
    while True:
        if 0x20 <= cursor[0] < 0x7F:  # most characters
            cursor += 1
            continue
        if cursor[0] < 0x20:
            if cursor[0] == 0:
                return False
            if cursor[0] != 9 and cursor[0] != 10 and cursor[0] != 13:
                return True
        elif cursor[0] == 0x7F or (cursor[0] == 0xC2 and cursor[1] <= 0x9F):
            return True
        cursor += 1


cdef inline Py_ssize_t space_width(const unsigned char* cursor) noexcept:
    """Return how many bytes the white space at a place in UTF-8 takes; 0 if there is none."""
    if cursor[0] <= 0x20:
        return 1 if cursor[0] == 0x20 or 9 <= cursor[0] <= 13 or 0x1C <= cursor[0] else 0
    if cursor[0] < 0xC2:
        return 0
    if cursor[0] == 0xC2:
        return 2 if cursor[1] == 0x85 or cursor[1] == 0xA0 else 0
    if cursor[0] == 0xE1:
        return 3 if cursor[1] == 0x9A and cursor[2] == 0x80 else 0
    if cursor[0] == 0xE2:
        if cursor[1] == 0x80:
            return 3 if cursor[2] <= 0x8A or cursor[2] == 0xA8 or cursor[2] == 0xA9 or cursor[2] == 0xAF else 0
        return 3 if cursor[1] == 0x81 and cursor[2] == 0x9F else 0
    return 3 if cursor[0] == 0xE3 and cursor[1] == 0x80 and cursor[2] == 0x80 else 0


cdef inline Py_ssize_t _well_spaced(const unsigned char* content, Py_ssize_t size) noexcept:
    """Return how many bytes, up to a white space or the end, are words with single spaces between them."""
    cdef Py_ssize_t index = 0
    while index < size:
        if (content[index] <= 0x20 or content[index] >= 0xC2) and space_width(&content[index]):
            if content[index] != c" " or index == 0 or index + 1 == size or space_width(&content[index + 1]):
                return index
        index += 1
    return index


cdef inline str single_spaced(str text):
    """Return the words of a text with single spaces between them, as `" ".join(text.split())` does, without lists."""
    cdef Py_ssize_t size = 0, width, index, length
    cdef const unsigned char* content
    cdef unsigned char* words
    cdef bint space = False
    try:
        content = <const unsigned char*> PyUnicode_AsUTF8AndSize(text, &size)
    except UnicodeEncodeError:
        return " ".join(text.split())
    index = length = _well_spaced(content, size)
    if index == size:  # most texts
        return text
    words = <unsigned char*> PyMem_Malloc(size + 1)
    if words == NULL:
        raise MemoryError
    try:
        memcpy(words, content, index)
        while index < size:
            width = space_width(&content[index])
            if width:
                space = length > 0
                index += width
                continue
            if space:
                words[length] = c" "
                length += 1
                space = False
            words[length] = content[index]
            length += 1
            index += 1
        return PyUnicode_DecodeUTF8(<const char*> words, length, NULL)
    finally:
        PyMem_Free(words)
