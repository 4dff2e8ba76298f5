"""Characters and what they are: learned from the patterns of the pure modules, each when first met."""

cdef enum:
    SPACE = 1 << 0
    UNWANTED = 1 << 1
    UNSPACED = 1 << 2
    LETTER = 1 << 3
    PAUSE = 1 << 4
    END = 1 << 5
    QUOTE = 1 << 6
    SIGN = 1 << 7
    UPPER = 1 << 8
    DIGIT = 1 << 9
    CODE_SHIFT = 10  # four bits: what `scan._class_of` says
    KNOWN = 1 << 15

    MOST_CHARACTERS = 0x110000
    REPLACEMENT = 0xFFFD

cdef object _LETTERS = terms.re.compile(terms._LETTER)

# Two bytes for every character there is; the system gives no memory for the parts that nobody looks at.
cdef uint16_t* _classes = <uint16_t*> calloc(MOST_CHARACTERS, sizeof(uint16_t))
if _classes == NULL:
    raise MemoryError


cdef uint16_t _learn(uint32_t character) except 0:
    cdef str text = chr(character)
    cdef int found = KNOWN | scan._class_of(text) << CODE_SHIFT
    if text.isspace():
        found |= SPACE
    if terms._UNWANTED.match(text):
        found |= UNWANTED
    if terms._UNSPACED_START.match(text):
        found |= UNSPACED
    if _LETTERS.match(text):
        found |= LETTER
    if scan._PAUSE.match(text):
        found |= PAUSE
    if scan._END.match(text):
        found |= END
    if scan._QUOTE.match(text):
        found |= QUOTE
    if scan._SIGN.match(text):
        found |= SIGN
    if text.isupper():
        found |= UPPER
    if text.isdigit():
        found |= DIGIT
    _classes[character] = found
    return found


cdef inline uint16_t _class(uint32_t character) except 0:
    cdef uint16_t known = _classes[character]
    return known if known else _learn(character)
