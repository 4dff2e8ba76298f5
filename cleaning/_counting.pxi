"""Texts as characters: read, counted and tidied."""

cdef const unsigned char* _read_character(const unsigned char* content, uint32_t* character) noexcept:
    """Read one character of UTF-8 text that ends with a NUL; return where the next one begins."""
    cdef uint32_t first = content[0]
    cdef int more = 0 if first < 0x80 else 1 if 0xC0 <= first < 0xE0 else 2 if first < 0xF0 else 3
    cdef int at
    character[0] = first if more == 0 else first & (0x3F >> more)
    for at in range(1, more + 1):
        if content[at] & 0xC0 != 0x80:  # the NUL, too
            character[0] = REPLACEMENT
            return content + 1
        character[0] = character[0] << 6 | (content[at] & 0x3F)
    if character[0] >= MOST_CHARACTERS:
        character[0] = REPLACEMENT
    return content + 1 + more


cdef Py_ssize_t _words(const Py_UCS4* text, Py_ssize_t size) except -1:
    """`terms.count_words`, of a text with or without other characters than ASCII."""
    cdef Py_ssize_t at = 0, start, words = 0
    cdef uint16_t kind
    while at < size:
        kind = _class(text[at])
        if kind & UNSPACED:
            start = at
            while at < size and _class(text[at]) & UNSPACED:
                at += 1
            words += (at - start + 1) // 2
        elif kind & LETTER:
            words += 1
            while at < size and _class(text[at]) & LETTER:
                at += 1
            if at + 1 < size and text[at] == c"'" and _class(text[at + 1]) & LETTER:
                at += 1
                while at < size and _class(text[at]) & LETTER:
                    at += 1
        else:
            at += 1
    return words


cdef Py_ssize_t _normalise(
    const Py_UCS4* raw, Py_ssize_t size, Py_UCS4* target, Py_ssize_t written, bint* pending
) except -1:
    """`terms.normalise`, into `target` where there is one; `pending`: white space was met since the last character."""
    cdef Py_ssize_t at
    cdef uint16_t kind
    cdef bint space = pending[0] if pending != NULL else False
    for at in range(size):
        kind = _class(raw[at])
        if kind & UNWANTED:
            continue
        if kind & SPACE:
            space = written > 0
            continue
        if space:
            if target != NULL:
                target[written] = c" "
            written += 1
            space = False
        if target != NULL:
            target[written] = raw[at]
        written += 1
    if pending != NULL:
        pending[0] = space
    return written


cdef int _count(const Py_UCS4* text, Py_ssize_t size, int32_t* row) except -1:
    """Fill in the counts of a text's characters."""
    cdef Py_ssize_t at
    cdef uint16_t kind
    cdef int32_t pauses = 0, ends = 0, quotes = 0, signs = 0, upper = 0, digits = 0
    for at in range(size):
        kind = _class(text[at])
        pauses += (kind & PAUSE) != 0
        ends += (kind & END) != 0
        quotes += (kind & QUOTE) != 0
        signs += (kind & SIGN) != 0
        upper += (kind & UPPER) != 0
        digits += (kind & DIGIT) != 0
    row[5], row[6], row[7], row[8], row[9], row[10] = pauses, ends, quotes, signs, upper, digits
    row[13] = (_class(text[0]) & ~KNOWN) >> CODE_SHIFT
    row[14] = (_class(text[size - 1]) & ~KNOWN) >> CODE_SHIFT
    return 0
