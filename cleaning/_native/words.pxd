"""Tables of characters for the modules of the compiled core."""

from libc.stdint cimport uint16_t, uint32_t

cdef enum:
    SPACE = 1 << 0
    UNWANTED = 1 << 1
    UNSPACED = 1 << 2
    LETTER = 1 << 3
    PAUSE = 1 << 4
    SENTENCE_END = 1 << 5
    QUOTE = 1 << 6
    SYMBOL = 1 << 7
    UPPER = 1 << 8
    DIGIT = 1 << 9
    CLASS_SHIFT = 10  # four bits: the character's class as the leaf table counts it
    KNOWN = 1 << 15

    CHARACTERS = 0x110000

cdef uint16_t* character_flags

cdef uint16_t learn_flags(uint32_t character) except 0


cdef inline uint16_t flags_of(uint32_t character) except 0:
    """Return the flags of a character; they are looked up once."""
    cdef uint16_t known = character_flags[character]
    return known if known else learn_flags(character)


cdef inline bint may_be_invisible(uint32_t character) noexcept:
    """Return True for a character that `terms.visible` may remove."""
    if character < 0x200B:
        return character == 0xAD or character == 0x34F or character == 0x61C
    if character < 0xE000:
        return character <= 0x206F and (character <= 0x200F or 0x202A <= character <= 0x202E or character >= 0x2060)
    if character <= 0xFFFF:
        return character <= 0xF8FF or character == 0xFEFF or 0xFFF9 <= character <= 0xFFFC
    return 0xE0000 <= character <= 0xE007F or character >= 0xF0000
