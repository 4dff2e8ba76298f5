# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Characters and words in C: the flags of characters, the scores and hints of words, the overlap of texts, terms.

No text is cut into strings. The words of a text lie side by side in one buffer, so a pair or a run of neighbours is one
piece of it, too. A word is found by its hash and then compared, so two words with one hash are never confused.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_AsUTF8String, PyUnicode_DecodeASCII
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc
from libc.string cimport memcmp, memcpy, memset

from cleaning._native.memory cimport grown, prefetch
from cleaning._native.porter cimport stem_letters
from cleaning._native.simhash cimport MAX_TERMS, Sequence, add_pair_sums, place_arrays, sequence_bytes, weighted_bits
from cleaning._native.texts cimport copy_text, make_text

import os
import re
from unicodedata import category

import numpy
from xxhash import xxh64_intdigest

from cleaning.classifier.lexicon import (
    _LEAST_WORDS as LEAST_WORDS, _MAX_ELEMENT_WORDS as MAX_ELEMENT_WORDS, _MAX_TEXT_CHARS as MAX_TEXT_CHARS,
    _MAX_TEXT_WORDS as MAX_TEXT_WORDS, _MAX_WORD_CHARS as MAX_WORD_CHARS, _MIN_WORD_CHARS as MIN_WORD_CHARS,
)
from cleaning.classifier.signals import BODY_MIN_CHARS, MAX_BODY_WORDS, RUN_WORDS, SUMMARY_MAX_CHARS
from cleaning.fingerprint import _TIE as TIE
from cleaning.leaf_table import (
    _PAUSE as PAUSE_PATTERN, _QUOTE as QUOTE_PATTERN, _SENTENCE_END as SENTENCE_END_PATTERN, _SYMBOL as SYMBOL_PATTERN,
    _character_class as class_of_character,
)
from cleaning.terms import (
    _LETTER as LETTER_PATTERN, _UNSPACED_START as UNSPACED_PATTERN, _UNWANTED as UNWANTED_PATTERN, fold,
)

cdef enum:
    LEAST_SCORES = 3

if LEAST_SCORES != LEAST_WORDS:
    raise ImportError(f"the module is compiled for the {LEAST_SCORES} least scores; the lexicon has {LEAST_WORDS}")

MAX_SEQUENCE = MAX_TERMS
cdef int _BODY_MIN_CHARS = BODY_MIN_CHARS
cdef int _MAX_BODY_WORDS = MAX_BODY_WORDS
cdef int _SUMMARY_MAX_CHARS = SUMMARY_MAX_CHARS
cdef int _RUN_WORDS = RUN_WORDS
cdef int _MAX_WORD_CHARS = MAX_WORD_CHARS
cdef int _MAX_ELEMENT_WORDS = MAX_ELEMENT_WORDS
cdef int _MAX_TEXT_CHARS = MAX_TEXT_CHARS
cdef int _MAX_TEXT_WORDS = MAX_TEXT_WORDS
cdef int _MIN_WORD_CHARS = MIN_WORD_CHARS
cdef uint64_t _UPPER_HALF = 0xFFFFFFFF00000000ULL

# Random, so that nobody can write a page of words that share a hash.
cdef uint64_t _SEED = int.from_bytes(os.urandom(8), "little")
cdef uint64_t _FACTOR = int.from_bytes(os.urandom(8), "little") | 1

cdef tuple _PATTERN_FLAGS = (
    (UNWANTED_PATTERN, UNWANTED),
    (UNSPACED_PATTERN, UNSPACED),
    (re.compile(LETTER_PATTERN), LETTER),
    (PAUSE_PATTERN, PAUSE),
    (SENTENCE_END_PATTERN, SENTENCE_END),
    (QUOTE_PATTERN, QUOTE),
    (SYMBOL_PATTERN, SYMBOL),
)

# Two bytes for each character of Unicode. The system provides memory only for the parts that are used.
character_flags = <uint16_t*> calloc(CHARACTERS, sizeof(uint16_t))
if character_flags == NULL:
    raise MemoryError


cdef uint16_t learn_flags(uint32_t character) except 0:
    """Store and return the flags of a character, as the patterns of the pure modules give them."""
    cdef str text = chr(character)
    cdef int flags = KNOWN | class_of_character(text) << CLASS_SHIFT
    cdef int flag
    if text.isspace():
        flags |= SPACE
    if text.isupper():
        flags |= UPPER
    if text.isdigit():
        flags |= DIGIT
    for pattern, flag in _PATTERN_FLAGS:
        if pattern.match(text):
            flags |= flag
    character_flags[character] = flags
    return flags


# Characters that other characters do not change: `fold` makes one character of each, wherever it stands. Accents and
# the parts of Hangul syllables join others.
_JOINS = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")

cdef enum:
    FOLDED_CHARACTERS = 0x10000
    NOT_ALONE = 0xFFFFFFFF

cdef uint32_t* folded_characters = <uint32_t*> calloc(FOLDED_CHARACTERS, sizeof(uint32_t))
if folded_characters == NULL:
    raise MemoryError


cdef uint32_t learn_fold(uint32_t character) except 0:
    """Store and return what `fold` makes of a character that stands alone; NOT_ALONE if others change the result."""
    cdef str text = chr(character), folded = fold(text)
    cdef bint joins = any(category(letter)[0] == "M" or _JOINS.match(letter) for letter in text + folded)
    cdef uint32_t alone = NOT_ALONE if joins or len(folded) != 1 or folded == "\0" else ord(folded)
    folded_characters[character] = alone
    return alone


cdef struct Word:
    Py_ssize_t start
    Py_ssize_t end
    uint64_t hash


cdef class _WordBuffer:
    """The words of a text or of attributes. `letters` holds one after the other, with a separator after each."""

    cdef uint32_t* letters
    cdef Word* words
    cdef uint32_t* text  # the characters of the text that is being read
    cdef Py_ssize_t letter_capacity, word_capacity, text_capacity, count, size

    def __dealloc__(self):
        PyMem_Free(self.letters)
        PyMem_Free(self.words)
        PyMem_Free(self.text)

    cdef void clear(self) noexcept:
        self.count = self.size = 0

    cdef int _reserve(self, Py_ssize_t more) except -1:
        """Make room for more characters."""
        self.letters = <uint32_t*> grown(self.letters, &self.letter_capacity, self.size + more, sizeof(uint32_t))
        return 0

    cdef int _end_word(self, Py_ssize_t start, uint32_t separator) except -1:
        """Make a word of the last characters, from `start` on."""
        self.words = <Word*> grown(self.words, &self.word_capacity, self.count + 1, sizeof(Word))
        self.words[self.count] = Word(start, self.size, _hash(self.letters + start, self.size - start))
        self.letters[self.size] = separator
        self.size += 1
        self.count += 1
        return 0

    cdef int add_word(self, str word, uint32_t separator) except -1:
        cdef Py_ssize_t start = self.size
        cdef uint32_t letter
        self._reserve(len(word) + 1)
        for letter in word:
            self.letters[self.size] = letter
            self.size += 1
        return self._end_word(start, separator)

    cdef int add_tag(self, str tag) except -1:
        cdef Py_ssize_t start = self.size
        cdef uint32_t letter
        self._reserve(len(tag) + 3)
        self.letters[self.size] = c"<"
        self.size += 1
        for letter in tag:
            self.letters[self.size] = letter
            self.size += 1
        self.letters[self.size] = c">"
        self.size += 1
        return self._end_word(start, c" ")

    cdef Py_ssize_t _read(self, str text) except -1:
        """Copy a text to `text`; return its length."""
        cdef Py_ssize_t size = len(text)
        self.text = <uint32_t*> grown(self.text, &self.text_capacity, size, sizeof(uint32_t))
        copy_text(text, self.text, size)
        return size

    cdef int add_attribute_words(self, str attributes) except -1:
        """Add the first words of the attributes, in small letters; `articleBody` and `HTMLVideo` have two each."""
        cdef Py_ssize_t index = 0, size = self._read(attributes), end, max_count = self.count + _MAX_ELEMENT_WORDS
        cdef const uint32_t* text = self.text
        self._reserve(2 * size + 1)
        while index < size and self.count < max_count:
            end = index
            while end < size and _is_capital(text[end]):
                end += 1
            if end < size and _is_small(text[end]):
                if end - index > 1:
                    end -= 1  # the last capital begins the next word
                else:
                    while end < size and _is_small(text[end]):
                        end += 1
            if _MIN_WORD_CHARS <= end - index <= _MAX_WORD_CHARS:
                self._add_letters(index, end, c"_")
            index = max(end, index + 1)
        return 0

    cdef int add_letter_runs(self, str attributes) except -1:
        """Add each run of ASCII letters, in small letters."""
        cdef Py_ssize_t index = 0, size = self._read(attributes if attributes.isascii() else attributes.lower()), end
        self._reserve(2 * size + 1)
        while index < size:
            end = index
            while end < size and _is_small(self.text[end] | 0x20) and self.text[end] < 0x80:
                end += 1
            if end > index:
                self._add_letters(index, end, c"-")
            index = end + 1
        return 0

    cdef int _add_letters(self, Py_ssize_t index, Py_ssize_t end, uint32_t separator) except -1:
        """Add a word of `text`, ASCII capitals as small letters. There must be room for it."""
        cdef Py_ssize_t start = self.size
        cdef uint32_t letter
        while index < end:
            letter = self.text[index]
            self.letters[self.size] = letter | 0x20 if _is_capital(letter) else letter
            self.size += 1
            index += 1
        return self._end_word(start, separator)

    cdef int add_text(self, str text, Py_ssize_t max_words) except -1:
        """Add the first `max_words` words that `terms.tokenise` finds; all of them if it is below 0."""
        cdef Py_ssize_t index = 0, end, size = self._read(text)
        cdef uint16_t flags
        if not text.isascii() and not self._fold(size):
            size = self._read(fold(text))
        self._reserve(3 * size + 1)  # at most one pair for each character, and its separator
        while index < size and self.count != max_words:
            flags = flags_of(self.text[index])
            end = index + 1
            if flags & UNSPACED:
                while end < size and flags_of(self.text[end]) & UNSPACED:
                    end += 1
                self._add_letters(index, min(index + 2, end), c" ")
                while index + 2 < end and self.count != max_words:
                    index += 1
                    self._add_letters(index, index + 2, c" ")
            elif flags & LETTER:
                end = _letters_end(self.text, end, size)
                if end + 1 < size and self.text[end] == c"'":
                    if flags_of(self.text[end + 1]) & LETTER:
                        end = _letters_end(self.text, end + 2, size)
                self._add_letters(index, end, c" ")
            index = end
        return 0

    cdef bint _fold(self, Py_ssize_t size) except -1:
        """Replace each character of `text` by what `fold` makes of it; return False if that is not possible."""
        cdef Py_ssize_t index
        cdef uint32_t character, folded
        for index in range(size):
            character = self.text[index]
            if character >= FOLDED_CHARACTERS:
                return False
            folded = folded_characters[character]
            if not folded:
                folded = learn_fold(character)
            if folded == NOT_ALONE:
                return False
            self.text[index] = folded
        return True

    cdef int replace_numbers(self) except -1:
        """Replace each word of digits by 0."""
        cdef Py_ssize_t index, letter
        cdef Word* word
        for index in range(self.count):
            word = &self.words[index]
            letter = word.start
            while letter < word.end and flags_of(self.letters[letter]) & DIGIT:
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


cdef Py_ssize_t _letters_end(const uint32_t* text, Py_ssize_t index, Py_ssize_t size) except -1:
    while index < size and flags_of(text[index]) & LETTER:
        index += 1
    return index


cdef inline uint64_t _mix(uint64_t hash, uint64_t more) noexcept:
    hash = (hash ^ more) * _FACTOR
    return hash ^ hash >> 32


cdef inline uint64_t _hash(const uint32_t* letters, Py_ssize_t size) noexcept:
    """Return a hash in the manner of Fowler, Noll and Vo, of two characters at a time."""
    cdef uint64_t hash = _SEED
    cdef Py_ssize_t index
    for index in range(0, size - 1, 2):
        hash = _mix(hash, <uint64_t> letters[index] << 32 | letters[index + 1])
    return _mix(hash, letters[size - 1]) if size % 2 else hash


cdef struct Entry:
    uint64_t hash
    Py_ssize_t start
    Py_ssize_t size
    Py_ssize_t met  # the table's serial when the word was met last
    double score


cdef struct Sums:
    double least
    double greatest
    double sum
    Py_ssize_t count


cdef class _WordTable:
    """A hash table of words and runs of words, each with a score. A new serial forgets which of them were met."""

    cdef uint32_t* letters
    cdef Entry* entries
    cdef uint64_t* slots  # the upper half of a hash, then the entry's number plus 1; 0 in a free slot
    cdef Py_ssize_t letter_capacity, entry_capacity, slot_capacity, letters_size, size, serial
    cdef uint64_t mask

    def __dealloc__(self):
        PyMem_Free(self.letters)
        PyMem_Free(self.entries)
        PyMem_Free(self.slots)

    cdef void clear(self) noexcept:
        self.size = self.letters_size = 0
        if self.slots != NULL:
            memset(self.slots, 0, (self.mask + 1) * sizeof(uint64_t))

    cdef int add_scored(self, list words, uint32_t separator, double score) except -1:
        """Add a word, or a pair of words with a separator between them, and its score."""
        cdef _WordBuffer buffer = _WordBuffer()
        cdef str part
        for part in words:
            buffer.add_word(part, separator)
        cdef Py_ssize_t number = self.add(buffer, 0, buffer.count - 1)
        self.entries[number].score = score
        return 0

    cdef Py_ssize_t add(self, _WordBuffer buffer, Py_ssize_t first, Py_ssize_t last) except -1:
        """Return the number of a run of words. A new one is added."""
        cdef const uint32_t* word = buffer.letters + buffer.words[first].start
        cdef Py_ssize_t size = buffer.words[last].end - buffer.words[first].start, number
        cdef uint64_t hash = _hash_of(buffer, first, last)
        if 2 * self.size >= <Py_ssize_t> self.mask:
            self._double_slots()
        cdef uint64_t slot = self._slot(word, size, hash)
        if self.slots[slot]:
            return _entry_of(self.slots[slot])
        number = self.size
        self.letters = <uint32_t*> grown(
            self.letters, &self.letter_capacity, self.letters_size + size, sizeof(uint32_t)
        )
        self.entries = <Entry*> grown(self.entries, &self.entry_capacity, number + 1, sizeof(Entry))
        self.entries[number] = Entry(hash, self.letters_size, size, 0, 0.0)
        memcpy(self.letters + self.letters_size, word, size * sizeof(uint32_t))
        self.letters_size += size
        self.size += 1
        self.slots[slot] = hash & _UPPER_HALF | <uint64_t> self.size
        return number

    cdef Py_ssize_t find(self, _WordBuffer buffer, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Return the number of a run of words; -1 if it is not in the table."""
        cdef const uint32_t* word = buffer.letters + buffer.words[first].start
        cdef Py_ssize_t size = buffer.words[last].end - buffer.words[first].start
        if self.slots == NULL:
            return -1
        return _entry_of(self.slots[self._slot(word, size, _hash_of(buffer, first, last))])

    cdef bint meet(self, Py_ssize_t number) noexcept:
        """Return True if an entry is met for the first time in this serial; False also for the number -1."""
        if number < 0 or self.entries[number].met == self.serial:
            return False
        self.entries[number].met = self.serial
        return True

    cdef void add_score(self, _WordBuffer buffer, Py_ssize_t first, Py_ssize_t last, Sums* sums) noexcept:
        """Add the score of a run of words, if it is in the table and met for the first time."""
        cdef Py_ssize_t number = self.find(buffer, first, last)
        cdef double score
        if self.meet(number):
            score = self.entries[number].score
            sums.least, sums.greatest = min(sums.least, score), max(sums.greatest, score)
            sums.sum += score
            sums.count += 1

    cdef void load(self, _WordBuffer buffer) noexcept:
        """Load what `find` reads for each single word: the processor waits for all of it at once."""
        cdef Py_ssize_t index, number
        cdef uint64_t hash
        if self.slots == NULL:
            return
        for index in range(buffer.count):
            prefetch(&self.slots[buffer.words[index].hash & self.mask])
        for index in range(buffer.count):
            number = self._likely_entry(buffer.words[index].hash)
            if number >= 0:
                prefetch(&self.entries[number])
        for index in range(buffer.count):
            number = self._likely_entry(buffer.words[index].hash)
            if number >= 0:
                prefetch(self.letters + self.entries[number].start)

    cdef inline Py_ssize_t _likely_entry(self, uint64_t hash) noexcept:
        cdef uint64_t slot = self.slots[hash & self.mask]
        return _entry_of(slot) if (slot ^ hash) & _UPPER_HALF == 0 else -1

    cdef uint64_t _slot(self, const uint32_t* word, Py_ssize_t size, uint64_t hash) noexcept:
        """Return the slot of a word; the free slot for it if it is not in the table."""
        cdef uint64_t slot = hash & self.mask
        cdef Entry* entry
        while self.slots[slot]:
            if (self.slots[slot] ^ hash) & _UPPER_HALF == 0:
                entry = &self.entries[_entry_of(self.slots[slot])]
                if entry.hash == hash and entry.size == size and memcmp(
                    self.letters + entry.start, word, size * sizeof(uint32_t)
                ) == 0:
                    break
            slot = (slot + 1) & self.mask
        return slot

    cdef int _double_slots(self) except -1:
        """Double the number of slots."""
        cdef Py_ssize_t number, wanted = 2 * (<Py_ssize_t> self.mask + 1) if self.slots != NULL else 256
        cdef uint64_t slot
        self.slots = <uint64_t*> grown(self.slots, &self.slot_capacity, wanted, sizeof(uint64_t))
        self.mask = wanted - 1
        memset(self.slots, 0, wanted * sizeof(uint64_t))
        for number in range(self.size):
            slot = self.entries[number].hash & self.mask
            while self.slots[slot]:
                slot = (slot + 1) & self.mask
            self.slots[slot] = self.entries[number].hash & _UPPER_HALF | <uint64_t> (number + 1)
        return 0


cdef inline uint64_t _hash_of(_WordBuffer buffer, Py_ssize_t first, Py_ssize_t last) noexcept:
    """Return the hash of a run of words. It differs from the hash of one word with `_` in it."""
    cdef uint64_t hash = buffer.words[first].hash
    while first < last:
        first += 1
        hash = _mix(hash, buffer.words[first].hash)
    return hash


cdef inline Py_ssize_t _entry_of(uint64_t slot) noexcept:
    return <Py_ssize_t> (slot & 0xFFFFFFFFULL) - 1


cdef list _split_pair(str word):
    """Return the two words of a pair, or the one word."""
    return [word] if word.startswith("<") else word.split("_")


cdef class ScoredWords:
    """The lexicon's words and their scores. Each method scores all elements or all texts of a page."""

    cdef _WordTable of_elements, of_inline, of_texts, of_any

    def __cinit__(self, scores):
        cdef str word
        self.of_elements, self.of_inline = _WordTable(), _WordTable()
        self.of_texts, self.of_any = _WordTable(), _WordTable()
        for word, score in scores.items():
            # The words of elements have no prefix: they are letters, or a tag in brackets.
            if word.startswith("i:"):
                self.of_inline.add_scored(_split_pair(word[2:]), c"_", score)
            elif word.startswith("t:"):
                self.of_texts.add_scored([word[2:]], c"_", score)
            elif word.startswith("w:"):
                self.of_any.add_scored([word[2:]], c"_", score)
            else:
                self.of_elements.add_scored(_split_pair(word), c"_", score)

    def elements(self, list tags, list attributes):
        """Return the least, greatest and mean score of each element's words (3 x m)."""
        cdef _WordBuffer buffer = _WordBuffer()
        cdef Py_ssize_t index, before
        cdef dict places = {}
        scores = numpy.zeros((3, len(tags)))
        cdef double[:, ::1] rows = scores
        for index in range(len(tags)):
            # Many elements of a page are equal.
            before = places.setdefault((tags[index], attributes[index]) if attributes[index] else tags[index], index)
            if before != index:
                rows[0, index], rows[1, index], rows[2, index] = rows[0, before], rows[1, before], rows[2, before]
                continue
            buffer.clear()
            buffer.add_tag(<str?> tags[index])
            buffer.add_attribute_words(<str?> attributes[index])
            self._score_words(self.of_elements, buffer, True, rows, index)
        return scores

    def inlines(self, list attributes):
        """Return the least, greatest and mean score of the words of inline elements around each text (3 x n)."""
        cdef _WordBuffer buffer = _WordBuffer()
        cdef Py_ssize_t index, before
        cdef dict places = {}
        scores = numpy.zeros((3, len(attributes)))
        cdef double[:, ::1] rows = scores
        for index in range(len(attributes)):
            if attributes[index]:
                before = places.setdefault(attributes[index], index)
                if before != index:
                    rows[0, index], rows[1, index], rows[2, index] = rows[0, before], rows[1, before], rows[2, before]
                    continue
                buffer.clear()
                buffer.add_tag("")
                buffer.add_attribute_words(<str?> attributes[index])
                self._score_words(self.of_inline, buffer, True, rows, index)
        return scores

    def texts(self, list texts):
        """Return the scores of each text's words: of a short text (3 x n), and of any text (5 x n).

        The first are the least, greatest and mean score; 0 for a long text. The others are sum, number, least,
        greatest, and the mean of the three least.
        """
        cdef _WordBuffer buffer = _WordBuffer()
        cdef Py_ssize_t index
        of_short, of_any = numpy.zeros((3, len(texts))), numpy.zeros((5, len(texts)))
        cdef double[:, ::1] short_rows = of_short, any_rows = of_any
        for index in range(len(texts)):
            buffer.clear()
            buffer.add_text((<str?> texts[index])[:_MAX_TEXT_CHARS], -1)
            buffer.replace_numbers()
            if len(<str> texts[index]) <= _MAX_TEXT_WORDS * _MAX_WORD_CHARS and buffer.count <= _MAX_TEXT_WORDS:
                self._score_words(self.of_texts, buffer, False, short_rows, index)
            self._sum_scores(buffer, any_rows, index)
        return of_short, of_any

    cdef int _sum_scores(self, _WordBuffer buffer, double[:, ::1] rows, Py_ssize_t place) except -1:
        cdef double[LEAST_SCORES] least  # ascending
        cdef double score, greatest = -INFINITY, total = 0.0
        cdef Py_ssize_t index, number, free, kept = 0, count = 0
        self.of_any.load(buffer)
        self.of_any.serial += 1
        for index in range(buffer.count):
            number = self.of_any.find(buffer, index, index)
            if not self.of_any.meet(number):
                continue
            score = self.of_any.entries[number].score
            total, greatest, count = total + score, max(greatest, score), count + 1
            free = kept if kept < LEAST_SCORES else LEAST_SCORES - 1
            if kept < LEAST_SCORES or score < least[free]:
                while free > 0 and least[free - 1] > score:
                    least[free] = least[free - 1]
                    free -= 1
                least[free] = score
                kept = min(kept + 1, LEAST_SCORES)
        if count:
            rows[0, place], rows[1, place], rows[2, place], rows[3, place] = total, count, least[0], greatest
            for index in range(kept):
                rows[4, place] += least[index]
            rows[4, place] /= kept
        return 0

    cdef int _score_words(
        self, _WordTable table, _WordBuffer buffer, bint pairs, double[:, ::1] rows, Py_ssize_t place
    ) except -1:
        """Score all words. If `pairs`, the first word is a tag, and the pairs of neighbours after it count, too."""
        cdef Sums sums = Sums(INFINITY, -INFINITY, 0.0, 0)
        cdef Py_ssize_t index
        table.load(buffer)
        table.serial += 1
        for index in range(buffer.count):
            table.add_score(buffer, index, index, &sums)
            if pairs and index > 1:
                table.add_score(buffer, index - 1, index, &sums)
        if sums.count:
            rows[0, place], rows[1, place], rows[2, place] = sums.least, sums.greatest, sums.sum / sums.count
        return 0


cdef class HintWords:
    """The table of hints: the tags and words that say what an element is for."""

    cdef _WordTable known
    cdef int32_t[::1] codes

    def __cinit__(self, table):
        cdef str word
        self.known = _WordTable()
        self.codes = numpy.array([hint.code for hint in table.values()], numpy.int32)
        for word, hint in table.items():
            self.known.add_scored([word] if word.startswith("<") else word.split("-"), c"-", hint.level)

    def read(self, list tags, list attributes):
        """Return the columns of `Hints` (4 x k, int32) for elements, as `read_hint` gives them."""
        cdef _WordBuffer buffer = _WordBuffer()
        cdef dict places = {}
        cdef Py_ssize_t place, before, row, count = 0
        cdef str text
        hints = numpy.empty((4, len(tags)), numpy.int32)
        cdef int32_t[:, ::1] rows = hints
        cdef int32_t[::1] hinted = numpy.empty(len(tags), numpy.int32)  # an element's column of `rows`; -1 for no hint
        for place in range(len(tags)):
            text = attributes[place]
            # Many elements of a page are equal.
            before = places.setdefault((tags[place], text) if text else tags[place], place)
            if before == place:
                buffer.clear()
                buffer.add_tag(<str?> tags[place])
                buffer.add_letter_runs(text)
                hinted[place] = <int32_t> count if self._fill(buffer, rows, count) else -1
            else:
                hinted[place] = hinted[before]
            if hinted[place] < 0:
                continue
            rows[0, count] = <int32_t> place
            for row in range(1, 4):
                rows[row, count] = rows[row, hinted[place]]
            count += 1
        return hints[:, :count]

    cdef bint _fill(self, _WordBuffer buffer, int32_t[:, ::1] rows, Py_ssize_t column) noexcept:
        """Fill a column with the surest hint, and return True; return False if there is none.

        Of equally sure ones, the tag comes first, then the words, then their pairs.
        """
        cdef Py_ssize_t place, best = -1
        cdef int32_t entries = 0
        for place in range(buffer.count):
            best = self._surer(best, self.known.find(buffer, place, place))
        for place in range(2, buffer.count):
            best = self._surer(best, self.known.find(buffer, place - 1, place))
        if best < 0:
            return False
        self.known.serial += 1
        for place in range(buffer.count):
            entries += self._counts(self.known.find(buffer, place, place), best)
            if place > 1:  # the tag makes no pair
                entries += self._counts(self.known.find(buffer, place - 1, place), best)
        rows[1, column], rows[2, column] = self.codes[best], <int32_t> self.known.entries[best].score
        rows[3, column] = entries
        return True

    cdef bint _counts(self, Py_ssize_t entry, Py_ssize_t best) noexcept:
        """Return True for an entry that gives the reason of the best one and is met for the first time."""
        return entry >= 0 and self.codes[entry] == self.codes[best] and self.known.meet(entry)

    cdef Py_ssize_t _surer(self, Py_ssize_t best, Py_ssize_t other) noexcept:
        if other < 0 or best >= 0 and self.known.entries[best].score >= self.known.entries[other].score:
            return best
        return other


def count_tokens(str text, Py_ssize_t most):
    """Return the number of words of a text as `terms.tokenise` finds them, `most` at most."""
    cdef _WordBuffer buffer = _WordBuffer()
    buffer.add_text(text, most)
    return buffer.count


def measure_overlap(list texts, stated):
    """Return how much of each text is in the texts that the page states (2 x n), as the pure version does."""
    cdef _WordBuffer buffer = _WordBuffer()
    cdef _WordTable body = _WordTable(), seen = _WordTable()
    cdef list summaries = [_table_of(words) for words in stated.summaries]
    cdef Py_ssize_t index, size
    cdef bint in_body, in_summaries
    overlap = numpy.zeros((2, len(texts)))
    overlap[0] = -1.0
    cdef double[:, ::1] rows = overlap
    buffer.add_text(<str?> stated.body, _MAX_BODY_WORDS)
    for index in range(_RUN_WORDS - 1, buffer.count):
        body.add(buffer, index - _RUN_WORDS + 1, index)
    for index in range(len(texts)):
        size = len(<str?> texts[index])
        in_body = body.size and size >= _BODY_MIN_CHARS
        in_summaries = bool(summaries) and size <= _SUMMARY_MAX_CHARS
        if in_body or in_summaries:
            buffer.clear()
            buffer.add_text(<str> texts[index], -1)
        if in_body and buffer.count >= _RUN_WORDS:
            rows[0, index] = _run_share(buffer, body)
        if in_summaries:
            rows[1, index] = _similarity(buffer, seen, summaries)
    return overlap


cdef _WordTable _table_of(words):
    cdef _WordTable table = _WordTable()
    cdef _WordBuffer buffer = _WordBuffer()
    for word in words:
        buffer.clear()
        buffer.add_word(<str?> word, c" ")
        table.add(buffer, 0, 0)
    return table


cdef double _run_share(_WordBuffer buffer, _WordTable body) except -1:
    """Return the share of the runs of words that are in the body."""
    cdef Py_ssize_t index, shared = 0, runs = buffer.count - _RUN_WORDS + 1
    for index in range(runs):
        shared += body.find(buffer, index, index + _RUN_WORDS - 1) >= 0
    return <double> shared / <double> runs


cdef double _similarity(_WordBuffer buffer, _WordTable seen, list summaries) except -1:
    """Return the greatest overlap with a summary: common words, as a share of the words of both."""
    cdef Py_ssize_t index, both
    cdef double greatest = 0.0
    cdef _WordTable summary
    seen.clear()
    for index in range(buffer.count):
        seen.add(buffer, index, index)
    for summary in summaries:
        both = 0
        summary.serial += 1
        for index in range(buffer.count):
            both += summary.meet(summary.find(buffer, index, index))
        greatest = max(greatest, <double> both / <double> max(1, seen.size + summary.size - both))
    return greatest


cdef class TermReader:
    """Reads the terms of texts: the words that are not stop words, stemmed if they are ASCII."""

    cdef _WordTable stop
    cdef char* letters
    cdef Py_ssize_t capacity

    def __cinit__(self, stop_words):
        self.stop = _table_of(stop_words)
        self.letters = <char*> grown(NULL, &self.capacity, 64, sizeof(char))

    def __dealloc__(self):
        PyMem_Free(self.letters)

    def terms(self, str text not None):
        """Return the terms of a text in order, as the pure version does."""
        cdef _WordBuffer buffer = _WordBuffer()
        cdef list terms = []
        cdef Py_ssize_t index
        buffer.add_text(text, -1)
        for index in range(buffer.count):
            if self.stop.find(buffer, index, index) < 0:
                terms.append(self._stem(buffer.letters + buffer.words[index].start, buffer.words[index]))
        return terms

    cdef str _stem(self, const uint32_t* word, Word place):
        cdef Py_ssize_t index, size = place.end - place.start
        self.letters = <char*> grown(self.letters, &self.capacity, size, sizeof(char))
        for index in range(size):
            if word[index] > 127:
                return make_text(word, size)
            self.letters[index] = <char> word[index]
        size = stem_letters(self.letters, size)
        return PyUnicode_DecodeASCII(self.letters, size, NULL)


cdef double[MAX_TERMS] _INVERSE_GAPS
cdef int _gap
for _gap in range(1, MAX_TERMS):
    _INVERSE_GAPS[_gap] = 1.0 / _gap


def fingerprint_terms(sequence, str weighting not None):
    """Return the fingerprint of a sequence of at most MAX_SEQUENCE terms, as the pure version does."""
    cdef Sequence arrays
    cdef void* memory
    if len(sequence) > MAX_TERMS:
        raise ValueError(f"the sequence has {len(sequence)} terms; at most {MAX_TERMS} are summed here")
    memory = PyMem_Malloc(sequence_bytes(len(sequence)))
    if memory == NULL:
        raise MemoryError
    try:
        place_arrays(&arrays, len(sequence), memory)
        _read_terms(&arrays, sequence)
        if weighting != "plain":
            add_pair_sums(&arrays, _INVERSE_GAPS, weighting == "symmetric")
        return weighted_bits(&arrays, TIE)
    finally:
        PyMem_Free(memory)


cdef int _read_terms(Sequence* arrays, sequence) except -1:
    cdef dict numbers = {}
    cdef int32_t index, number
    cdef str term
    for index in range(arrays.size):
        term = sequence[index]
        if term is None:
            raise TypeError("a term is None")
        number = numbers.setdefault(term, arrays.unique)
        arrays.numbers[index], arrays.following[index] = number, arrays.size
        arrays.preceding[index], arrays.shares[index] = -1, 1.0
        if number == arrays.unique:
            arrays.hashes[number] = xxh64_intdigest(
                PyUnicode_AsUTF8String(term) if term.isascii() else term.encode(errors="replace")
            )
            arrays.unique += 1
        else:
            arrays.preceding[index] = arrays.latest[number]
            arrays.following[arrays.latest[number]] = index
        arrays.latest[number] = index
    return 0
