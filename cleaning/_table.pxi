"""Words to be found again."""

cdef uint64_t UPPER_HALF = 0xFFFFFFFF00000000ULL


cdef struct Entry:
    uint64_t hash
    Py_ssize_t start
    Py_ssize_t size
    Py_ssize_t met  # the serial in which it was met last
    double score


cdef struct Sums:
    double least
    double greatest
    double sum
    Py_ssize_t count


cdef class _Table:
    """Words by their hashes, each with a score."""

    cdef uint32_t* letters
    cdef Entry* entries
    cdef uint64_t* slots  # the number of an entry, and 1 more, below the upper half of its hash; 0 where there is none
    cdef Py_ssize_t letter_room, entry_room, slot_room, letters_size, size, serial
    cdef uint64_t mask

    def __dealloc__(self):
        PyMem_Free(self.letters)
        PyMem_Free(self.entries)
        PyMem_Free(self.slots)

    cdef void clear(self) noexcept:
        self.size = self.letters_size = 0
        if self.slots != NULL:
            memset(self.slots, 0, (self.mask + 1) * sizeof(uint64_t))

    cdef int score(self, list words, uint32_t between, double score) except -1:
        """Add a word, or a pair of words with a character between them, with its score."""
        cdef _Tokens tokens = _Tokens()
        cdef str part
        for part in words:
            tokens.add_word(part, between)
        cdef Py_ssize_t number = self.add(tokens, 0, tokens.count - 1)
        self.entries[number].score = score
        return 0

    cdef Py_ssize_t add(self, _Tokens tokens, Py_ssize_t first, Py_ssize_t last) except -1:
        """Return the number of a run of words, which is added where it is new."""
        cdef const uint32_t* word = tokens.letters + tokens.words[first].start
        cdef Py_ssize_t size = tokens.words[last].end - tokens.words[first].start, found
        cdef uint64_t hash = _hash_of(tokens, first, last)
        if 2 * self.size >= <Py_ssize_t> self.mask:
            self._spread()
        cdef uint64_t slot = self._slot(word, size, hash)
        if self.slots[slot]:
            return _number(self.slots[slot])
        found = self.size
        self.letters = <uint32_t*> _grown(self.letters, &self.letter_room, self.letters_size + size, sizeof(uint32_t))
        self.entries = <Entry*> _grown(self.entries, &self.entry_room, found + 1, sizeof(Entry))
        self.entries[found] = Entry(hash, self.letters_size, size, 0, 0.0)
        memcpy(self.letters + self.letters_size, word, size * sizeof(uint32_t))
        self.letters_size += size
        self.size += 1
        self.slots[slot] = hash & UPPER_HALF | <uint64_t> self.size
        return found

    cdef Py_ssize_t find(self, _Tokens tokens, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Return the number of a run of words; -1 where it is not known."""
        cdef const uint32_t* word = tokens.letters + tokens.words[first].start
        cdef Py_ssize_t size = tokens.words[last].end - tokens.words[first].start
        if self.slots == NULL:
            return -1
        return _number(self.slots[self._slot(word, size, _hash_of(tokens, first, last))])

    cdef bint meet(self, Py_ssize_t number) noexcept:
        """Tell whether an entry, if it is one, is met for the first time in this serial."""
        if number < 0 or self.entries[number].met == self.serial:
            return False
        self.entries[number].met = self.serial
        return True

    cdef void add_up(self, _Tokens tokens, Py_ssize_t first, Py_ssize_t last, Sums* sums) noexcept:
        """Add the score of a run of words, if it is known and not yet among them."""
        cdef Py_ssize_t number = self.find(tokens, first, last)
        cdef double score
        if self.meet(number):
            score = self.entries[number].score
            sums.least, sums.greatest = min(sums.least, score), max(sums.greatest, score)
            sums.sum += score
            sums.count += 1

    cdef uint64_t _slot(self, const uint32_t* word, Py_ssize_t size, uint64_t hash) noexcept:
        """Return the slot of a word, or the free one where it belongs."""
        cdef uint64_t slot = hash & self.mask
        cdef Entry* entry
        while self.slots[slot]:
            if (self.slots[slot] ^ hash) & UPPER_HALF == 0:
                entry = &self.entries[_number(self.slots[slot])]
                if entry.hash == hash and entry.size == size and memcmp(
                    self.letters + entry.start, word, size * sizeof(uint32_t)
                ) == 0:
                    break
            slot = (slot + 1) & self.mask
        return slot

    cdef int _spread(self) except -1:
        """Have twice as many slots."""
        cdef Py_ssize_t number, wanted = 2 * (<Py_ssize_t> self.mask + 1) if self.slots != NULL else 256
        cdef uint64_t slot
        self.slots = <uint64_t*> _grown(self.slots, &self.slot_room, wanted, sizeof(uint64_t))
        self.mask = wanted - 1
        memset(self.slots, 0, wanted * sizeof(uint64_t))
        for number in range(self.size):
            slot = self.entries[number].hash & self.mask
            while self.slots[slot]:
                slot = (slot + 1) & self.mask
            self.slots[slot] = self.entries[number].hash & UPPER_HALF | <uint64_t> (number + 1)
        return 0


cdef inline uint64_t _hash_of(_Tokens tokens, Py_ssize_t first, Py_ssize_t last) noexcept:
    """Return the hash of a run of words; a pair must be known as two, not as one word with `_` in it."""
    cdef uint64_t hash = tokens.words[first].hash
    while first < last:
        first += 1
        hash = _mixed(hash, tokens.words[first].hash)
    return hash


cdef inline Py_ssize_t _number(uint64_t slot) noexcept:
    return <Py_ssize_t> (slot & 0xFFFFFFFFULL) - 1
