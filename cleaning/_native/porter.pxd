"""The Porter stemmer of 1980, on the small ASCII letters of a word: what NLTK calls ORIGINAL_ALGORITHM.

A step edits the end of the word and the number of its letters. It returns True if it found a suffix, or the new number.
No step makes the word longer than it was at the start. Digits, `_` and `'` count as consonants.

M. F. Porter, *An algorithm for suffix stripping*, Program 14 (3), 1980, 130-137.
"""

from libc.string cimport memcmp, memcpy, strlen


cdef inline bint _is_vowel(const char* letters, Py_ssize_t index, bint after_vowel) noexcept:
    """Return True if a letter is a vowel; y is one after a consonant."""
    cdef char letter = letters[index]
    if letter == c"y":
        return index > 0 and not after_vowel
    return letter == c"a" or letter == c"e" or letter == c"i" or letter == c"o" or letter == c"u"


cdef inline Py_ssize_t _measure(const char* letters, Py_ssize_t size) noexcept:
    """Return how often a consonant follows a vowel: m in [C](VC){m}[V]."""
    cdef Py_ssize_t index, count = 0
    cdef bint vowel = False, before
    for index in range(size):
        before = vowel
        vowel = _is_vowel(letters, index, before)
        count += before and not vowel
    return count


cdef inline bint _has_vowel(const char* letters, Py_ssize_t size) noexcept:
    """Return True for *v*."""
    cdef Py_ssize_t index
    for index in range(size):
        if _is_vowel(letters, index, False):  # no letter before this one is a vowel
            return True
    return False


cdef inline bint _ends_cvc(const char* letters, Py_ssize_t size) noexcept:
    """Return True for *o: the last three letters are consonant, vowel, consonant, and the last is not w, x or y."""
    cdef Py_ssize_t index
    cdef bint first = False, second = False, last = False
    if size < 3 or letters[size - 1] == c"w" or letters[size - 1] == c"x" or letters[size - 1] == c"y":
        return False
    for index in range(size):
        first, second, last = second, last, _is_vowel(letters, index, last)
    return not first and second and not last


cdef inline bint _ends(const char* letters, Py_ssize_t size, const char* suffix) noexcept:
    cdef Py_ssize_t length = <Py_ssize_t> strlen(suffix)
    return size >= length and memcmp(letters + size - length, suffix, length) == 0


cdef inline char _last(const char* letters, Py_ssize_t size) noexcept:
    """Return the last letter; NUL if there is none. It decides which suffixes of a step are looked for."""
    return letters[size - 1] if size else 0


cdef inline bint _apply(
    char* letters, Py_ssize_t* size, const char* suffix, const char* replacement, Py_ssize_t min_measure
) noexcept:
    """Return True if the word ends in the suffix. The suffix is replaced if the measure before it is large enough."""
    cdef Py_ssize_t rest = size[0] - <Py_ssize_t> strlen(suffix), length = <Py_ssize_t> strlen(replacement)
    if not _ends(letters, size[0], suffix):
        return False
    if min_measure == 0 or _measure(letters, rest) >= min_measure:
        memcpy(letters + rest, replacement, length)
        size[0] = rest + length
    return True


cdef inline bint _step_1a(char* letters, Py_ssize_t* size) noexcept:
    """Remove plurals."""
    cdef char last = _last(letters, size[0])
    return (
        last == c"s" and (
            _apply(letters, size, b"sses", b"ss", 0) or _apply(letters, size, b"ies", b"i", 0)
            or _apply(letters, size, b"ss", b"ss", 0) or _apply(letters, size, b"s", b"", 0)
        )
    )


cdef inline Py_ssize_t _step_1b(char* letters, Py_ssize_t size) noexcept:
    """Remove -ed and -ing, and mend the end of the verb."""
    cdef char last = _last(letters, size)
    if last != c"d" and last != c"g":
        return size
    if _apply(letters, &size, b"eed", b"ee", 1):
        return size
    if _ends(letters, size, b"ed") and _has_vowel(letters, size - 2):
        size -= 2
    elif _ends(letters, size, b"ing") and _has_vowel(letters, size - 3):
        size -= 3
    else:
        return size
    if (
        _apply(letters, &size, b"at", b"ate", 0) or _apply(letters, &size, b"bl", b"ble", 0)
        or _apply(letters, &size, b"iz", b"ize", 0)
    ):
        return size
    last = letters[size - 1]
    if size >= 2 and last == letters[size - 2] and _ends_in_consonant(letters, size):
        return size if last == c"l" or last == c"s" or last == c"z" else size - 1
    if _measure(letters, size) == 1 and _ends_cvc(letters, size):
        letters[size] = c"e"
        size += 1
    return size


cdef inline bint _ends_in_consonant(const char* letters, Py_ssize_t size) noexcept:
    cdef Py_ssize_t index
    cdef bint vowel = False
    for index in range(size):
        vowel = _is_vowel(letters, index, vowel)
    return not vowel


cdef inline Py_ssize_t _step_1c(char* letters, Py_ssize_t size) noexcept:
    """Turn a last y into i if there is a vowel before it."""
    if _last(letters, size) == c"y" and _has_vowel(letters, size - 1):
        letters[size - 1] = c"i"
    return size


cdef inline bint _step_2(char* letters, Py_ssize_t* size) noexcept:
    """Shorten double suffixes."""
    cdef char last = _last(letters, size[0])
    return (
        last == c"l" and (
            _apply(letters, size, b"ational", b"ate", 1) or _apply(letters, size, b"tional", b"tion", 1)
        )
        or last == c"i" and (
            _apply(letters, size, b"enci", b"ence", 1) or _apply(letters, size, b"anci", b"ance", 1)
            or _apply(letters, size, b"abli", b"able", 1) or _apply(letters, size, b"alli", b"al", 1)
            or _apply(letters, size, b"entli", b"ent", 1) or _apply(letters, size, b"eli", b"e", 1)
            or _apply(letters, size, b"ousli", b"ous", 1) or _apply(letters, size, b"aliti", b"al", 1)
            or _apply(letters, size, b"iviti", b"ive", 1) or _apply(letters, size, b"biliti", b"ble", 1)
        )
        or last == c"r" and (_apply(letters, size, b"izer", b"ize", 1) or _apply(letters, size, b"ator", b"ate", 1))
        or last == c"n" and (
            _apply(letters, size, b"ization", b"ize", 1) or _apply(letters, size, b"ation", b"ate", 1)
        )
        or last == c"m" and _apply(letters, size, b"alism", b"al", 1)
        or last == c"s" and (
            _apply(letters, size, b"iveness", b"ive", 1) or _apply(letters, size, b"fulness", b"ful", 1)
            or _apply(letters, size, b"ousness", b"ous", 1)
        )
    )


cdef inline bint _step_3(char* letters, Py_ssize_t* size) noexcept:
    """Remove -ful, -ness and the like."""
    cdef char last = _last(letters, size[0])
    return (
        last == c"e" and (
            _apply(letters, size, b"icate", b"ic", 1) or _apply(letters, size, b"ative", b"", 1)
            or _apply(letters, size, b"alize", b"al", 1)
        )
        or last == c"i" and _apply(letters, size, b"iciti", b"ic", 1)
        or last == c"l" and (_apply(letters, size, b"ical", b"ic", 1) or _apply(letters, size, b"ful", b"", 1))
        or last == c"s" and _apply(letters, size, b"ness", b"", 1)
    )


cdef inline bint _step_4(char* letters, Py_ssize_t* size) noexcept:
    """Remove the last suffix of a long word."""
    cdef char last = _last(letters, size[0])
    return (
        last == c"l" and _apply(letters, size, b"al", b"", 2)
        or last == c"e" and (
            _apply(letters, size, b"ance", b"", 2) or _apply(letters, size, b"ence", b"", 2)
            or _apply(letters, size, b"able", b"", 2) or _apply(letters, size, b"ible", b"", 2)
            or _apply(letters, size, b"ate", b"", 2) or _apply(letters, size, b"ive", b"", 2)
            or _apply(letters, size, b"ize", b"", 2)
        )
        or last == c"r" and _apply(letters, size, b"er", b"", 2)
        or last == c"c" and _apply(letters, size, b"ic", b"", 2)
        or last == c"t" and (
            _apply(letters, size, b"ant", b"", 2) or _apply(letters, size, b"ement", b"", 2)
            or _apply(letters, size, b"ment", b"", 2) or _apply(letters, size, b"ent", b"", 2)
        )
        or last == c"n" and _remove_ion(letters, size)
        or last == c"u" and _apply(letters, size, b"ou", b"", 2)
        or last == c"m" and _apply(letters, size, b"ism", b"", 2)
        or last == c"i" and _apply(letters, size, b"iti", b"", 2)
        or last == c"s" and _apply(letters, size, b"ous", b"", 2)
    )


cdef inline bint _remove_ion(char* letters, Py_ssize_t* size) noexcept:
    """Remove -ion after s or t. No other suffix of step 4 ends in it."""
    cdef Py_ssize_t rest = size[0] - 3
    if not _ends(letters, size[0], b"ion"):
        return False
    if _measure(letters, rest) > 1 and (letters[rest - 1] == c"s" or letters[rest - 1] == c"t"):
        size[0] = rest
    return True


cdef inline Py_ssize_t _step_5(char* letters, Py_ssize_t size) noexcept:
    """Remove a last e, and one l of a last ll."""
    cdef Py_ssize_t measure
    if _last(letters, size) == c"e":
        measure = _measure(letters, size - 1)
        if measure > 1 or measure == 1 and not _ends_cvc(letters, size - 1):
            size -= 1
    if _ends(letters, size, b"ll") and _measure(letters, size - 1) > 1:
        size -= 1
    return size


cdef inline Py_ssize_t stem_letters(char* letters, Py_ssize_t size) noexcept:
    """Turn a word into its stem and return the number of letters left."""
    _step_1a(letters, &size)
    size = _step_1c(letters, _step_1b(letters, size))
    _step_2(letters, &size)
    _step_3(letters, &size)
    _step_4(letters, &size)
    return _step_5(letters, size)
