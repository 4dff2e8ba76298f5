"""Words side by side, with one character between two."""

# Secrets: else a page could be made of words that share a hash.
cdef uint64_t _SEED = int.from_bytes(os.urandom(8), "little")
cdef uint64_t _FACTOR = int.from_bytes(os.urandom(8), "little") | 1


cdef struct Token:
    Py_ssize_t start
    Py_ssize_t end
    uint64_t hash


cdef class _Tokens:
    """Words of a text or of signs; a run of neighbours is one piece of `letters`, with the character between them."""

    cdef uint32_t* letters
    cdef Token* words
    cdef Py_ssize_t letter_room, word_room, count, size

    def __dealloc__(self):
        PyMem_Free(self.letters)
        PyMem_Free(self.words)

    cdef void clear(self) noexcept:
        self.count = self.size = 0

    cdef int _room(self, Py_ssize_t more) except -1:
        """Make room for so many characters."""
        self.letters = <uint32_t*> _grown(self.letters, &self.letter_room, self.size + more, sizeof(uint32_t))
        return 0

    cdef int _end(self, Py_ssize_t start, uint32_t between) except -1:
        """Make a word of the characters from `start` on."""
        self.words = <Token*> _grown(self.words, &self.word_room, self.count + 1, sizeof(Token))
        self.words[self.count] = Token(start, self.size, _hash(self.letters + start, self.size - start))
        self.letters[self.size] = between
        self.size += 1
        self.count += 1
        return 0

    cdef int add_word(self, str word, uint32_t between) except -1:
        cdef Py_ssize_t start = self.size
        cdef uint32_t letter
        self._room(len(word) + 1)
        for letter in word:
            self.letters[self.size] = letter
            self.size += 1
        return self._end(start, between)

    cdef int add_tag(self, str tag) except -1:
        cdef Py_ssize_t start = self.size
        cdef uint32_t letter
        self._room(len(tag) + 3)
        self.letters[self.size] = c"<"
        self.size += 1
        for letter in tag:
            self.letters[self.size] = letter
            self.size += 1
        self.letters[self.size] = c">"
        self.size += 1
        return self._end(start, c" ")

    cdef int add_signs(self, str signs) except -1:
        """Add the first words of `lexicon._WORD`, in small letters: `articleBody` has two, `HTMLVideo` too."""
        cdef int kind = PyUnicode_KIND(signs)
        cdef void* data = PyUnicode_DATA(signs)
        cdef Py_ssize_t at = 0, size = len(signs), end, most = self.count + _MOST
        self._room(2 * size + 1)
        while at < size and self.count < most:
            end = at
            while end < size and _is_capital(PyUnicode_READ(kind, data, end)):
                end += 1
            if end < size and _is_small(PyUnicode_READ(kind, data, end)):
                if end - at > 1:
                    end -= 1  # the last capital begins the next word
                else:
                    while end < size and _is_small(PyUnicode_READ(kind, data, end)):
                        end += 1
            if _SHORTEST <= end - at <= _LONGEST:
                self._add_letters(kind, data, at, end, c"_")
            at = max(end, at + 1)
        return 0

    cdef int add_small_letters(self, str signs) except -1:
        """Add each run of small ASCII letters."""
        cdef int kind = PyUnicode_KIND(signs)
        cdef void* data = PyUnicode_DATA(signs)
        cdef Py_ssize_t at = 0, size = len(signs), end
        self._room(2 * size + 1)
        while at < size:
            end = at
            while end < size and _is_small(PyUnicode_READ(kind, data, end)):
                end += 1
            if end > at:
                self._add_letters(kind, data, at, end, c"-")
            at = end + 1
        return 0

    cdef int _add_letters(self, int kind, void* data, Py_ssize_t at, Py_ssize_t end, uint32_t between) except -1:
        """Add a word for which there is room; ASCII capitals as small letters."""
        cdef Py_ssize_t start = self.size
        cdef uint32_t letter
        while at < end:
            letter = <uint32_t> PyUnicode_READ(kind, data, at)
            self.letters[self.size] = letter | 0x20 if _is_capital(letter) else letter
            self.size += 1
            at += 1
        return self._end(start, between)

    cdef int add_text(self, str text, Py_ssize_t most) except -1:
        """Add the words of `terms.tokenise`; no more than `most`, if that is not below 0."""
        cdef str folded = text if text.isascii() else terms.fold(text)
        cdef int kind = PyUnicode_KIND(folded)
        cdef void* data = PyUnicode_DATA(folded)
        cdef Py_ssize_t at = 0, end, size = len(folded)
        cdef uint16_t found
        self._room(3 * size + 1)  # as many pairs of characters as there are characters, and what is between them
        while at < size and self.count != most:
            found = _class(PyUnicode_READ(kind, data, at))
            end = at + 1
            if found & UNSPACED:
                while end < size and _class(PyUnicode_READ(kind, data, end)) & UNSPACED:
                    end += 1
                self._add_letters(kind, data, at, min(at + 2, end), c" ")
                while at + 2 < end and self.count != most:
                    at += 1
                    self._add_letters(kind, data, at, at + 2, c" ")
            elif found & LETTER:
                end = _letters_end(kind, data, end, size)
                if end + 1 < size and PyUnicode_READ(kind, data, end) == c"'":
                    if _class(PyUnicode_READ(kind, data, end + 1)) & LETTER:
                        end = _letters_end(kind, data, end + 2, size)
                self._add_letters(kind, data, at, end, c" ")
            at = end
        return 0

    cdef int number(self) except -1:
        """Make each word of digits a 0."""
        cdef Py_ssize_t at, letter
        cdef Token* word
        for at in range(self.count):
            word = &self.words[at]
            letter = word.start
            while letter < word.end and _class(self.letters[letter]) & DIGIT:
                letter += 1
            if letter == word.end:
                self.letters[word.start] = c"0"
                word.end = word.start + 1
                word.hash = _hash(self.letters + word.start, 1)
        return 0


cdef inline bint _is_capital(uint32_t letter) noexcept:
    return c"A" <= letter <= c"Z"


cdef inline bint _is_small(uint32_t letter) noexcept:
    return c"a" <= letter <= c"z"


cdef Py_ssize_t _letters_end(int kind, void* data, Py_ssize_t at, Py_ssize_t size) except -1:
    while at < size and _class(PyUnicode_READ(kind, data, at)) & LETTER:
        at += 1
    return at


cdef inline uint64_t _mixed(uint64_t hash, uint64_t more) noexcept:
    hash = (hash ^ more) * _FACTOR
    return hash ^ hash >> 32


cdef inline uint64_t _hash(const uint32_t* letters, Py_ssize_t size) noexcept:
    """Return a hash as Fowler, Noll and Vo's, two characters at a time."""
    cdef uint64_t hash = _SEED
    cdef Py_ssize_t at
    for at in range(0, size - 1, 2):
        hash = _mixed(hash, <uint64_t> letters[at] << 32 | letters[at + 1])
    return _mixed(hash, letters[size - 1]) if size % 2 else hash
