"""The text since the last block boundary, and lists of numbers that grow."""

cdef struct Ints:
    int32_t* items
    Py_ssize_t size
    Py_ssize_t room


cdef inline int _append(Ints* ints, Py_ssize_t value) except -1:
    # A failure leaves the old items in place, to be freed with the walk.
    ints.items = <int32_t*> _grown(ints.items, &ints.room, ints.size + 1, sizeof(int32_t))
    ints.items[ints.size] = <int32_t> value
    ints.size += 1
    return 0


cdef object _array(Ints* ints):
    found = bytearray((<char*> ints.items)[: ints.size * sizeof(int32_t)]) if ints.size else bytearray()
    return numpy.frombuffer(found, numpy.int32)


cdef struct Piece:
    Py_ssize_t start
    Py_ssize_t end
    xmlNode* element
    bint linked
    bint bold
    bint blank


cdef class _Gathered:
    """The text nodes since the last block boundary; those of white space before any other are left out."""

    cdef Piece* pieces
    cdef Py_UCS4* raw   # all their characters
    cdef Py_UCS4* text  # as the block will have them
    cdef Py_ssize_t piece_room, raw_room, text_room
    cdef Py_ssize_t count, size, start, links, serial

    def __dealloc__(self):
        PyMem_Free(self.pieces)
        PyMem_Free(self.raw)
        PyMem_Free(self.text)

    cdef void clear(self) noexcept:
        self.count = self.size = self.start = self.links = 0
        self.serial += 1

    cdef int read(self, const unsigned char* content) except -1:
        """Take in a text node's characters; `add` makes a piece of what came since the last one."""
        cdef uint32_t character
        if content == NULL:
            return 0
        self.raw = <Py_UCS4*> _grown(
            self.raw, &self.raw_room, self.size + <Py_ssize_t> strlen(<const char*> content), sizeof(Py_UCS4)
        )
        while content[0]:
            if content[0] < 0x80:
                self.raw[self.size] = content[0]
                content += 1
            else:
                content = _read_character(content, &character)
                self.raw[self.size] = character
            self.size += 1
        return 0

    cdef Piece* add(self, xmlNode* element) except? NULL:
        """Return the new piece; NULL where there is none."""
        cdef Py_ssize_t at = self.start
        cdef Piece* piece
        while at < self.size and _class(self.raw[at]) & SPACE:
            at += 1
        if at == self.size and self.count == 0:
            self.size = self.start
        if self.size == self.start:
            return NULL
        self.pieces = <Piece*> _grown(self.pieces, &self.piece_room, self.count + 1, sizeof(Piece))
        piece = &self.pieces[self.count]
        piece.start, piece.end, piece.element, piece.blank = self.start, self.size, element, at == self.size
        piece.linked = piece.bold = False
        self.count += 1
        self.start = self.size
        return piece

    cdef Py_ssize_t tidy(self, bint code) except -1:
        """Make the block's text; return its length."""
        cdef str tidied
        cdef Py_ssize_t size = 0
        cdef Py_UCS4 character
        self.text = <Py_UCS4*> _grown(self.text, &self.text_room, self.size, sizeof(Py_UCS4))
        if not code:
            return _normalise(self.raw, self.size, self.text, 0, NULL)
        tidied = terms.tidy_code(PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, self.raw, self.size))
        for character in tidied:
            self.text[size] = character
            size += 1
        return size

    cdef int fill(self, int32_t* row, Py_ssize_t size) except -1:
        """Fill in the row of `scan.Count`, for a text of this size."""
        cdef Py_ssize_t at, length, words = _words(self.text, size), link_words = 0, linked = 0, bold = 0
        cdef bint link_space = False, bold_space = False
        cdef Piece* piece
        for at in range(self.count):
            piece = &self.pieces[at]
            length = piece.end - piece.start
            if piece.linked:
                link_words += _words(self.raw + piece.start, length)
                linked = _normalise(self.raw + piece.start, length, NULL, linked, &link_space)
            if piece.bold:
                bold = _normalise(self.raw + piece.start, length, NULL, bold, &bold_space)
        row[0], row[1], row[2], row[3], row[4] = words, min(words, link_words), size, min(size, linked), self.links
        row[11], row[12] = bold, self.count
        return _count(self.text, size, row)

    cdef xmlNode* first(self, xmlNode* otherwise) noexcept:
        """Return the element of the first piece that is not white space."""
        cdef Py_ssize_t at = 0
        while at < self.count and self.pieces[at].blank:
            at += 1
        return self.pieces[at].element if at < self.count else otherwise
