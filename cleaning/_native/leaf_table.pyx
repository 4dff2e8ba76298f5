# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The leaf table of a page in C, read straight from the parser's tree: the same columns as in pure Python.

The tables and patterns of the pure modules say what is a block, a word or a mark; nothing is defined twice. The module
is not linked with libxml2: it reads nodes by their public structure and uses lxml's C interface for the rest.
"""

from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject, PyObject_GenericSetAttr
from libc.stdint cimport int32_t, uint16_t, uint32_t
from libc.string cimport strcmp, strlen

from lxml.includes cimport etreepublic as public
from lxml.includes.etreepublic cimport _Document, _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE, XML_ELEMENT_NODE, XML_TEXT_NODE, XML_XINCLUDE_END, XML_XINCLUDE_START, xmlAttr, xmlNode,
)

from cleaning._native.fit cimport compiled_lxml, compiled_sizes
from cleaning._native.memory cimport grown, prefetch
from cleaning._native.nodes cimport (
    find_attribute, is_element_like, may_be_ornament, unseen_level_of, value_in,
)
from cleaning._native.texts cimport copy_text, make_text
from cleaning._native.words cimport (
    CHARACTERS, CLASS_SHIFT, DIGIT, KNOWN, LETTER, PAUSE, QUOTE, SENTENCE_END, SPACE, SYMBOL, UNSPACED, UNWANTED, UPPER,
    flags_of, may_be_invisible,
)

import numpy

from cleaning._native import check_reading, check_structures
from cleaning.blocks import Block, Decision, Kind
from cleaning.input.visibility import UNSEEN_STYLE, shown_texts, unseen_level
from cleaning.leaf_table import (
    Column, LeafTable, _BOLD as BOLD_TAGS, _MAX_INLINE_LEVELS as MAX_INLINE_LEVELS, _MAX_TOKEN_CHARS as MAX_TOKEN_CHARS,
    _TOKEN_ATTRIBUTES as TOKEN_ATTRIBUTES, build_leaf_table, widen_ideographs,
)
from cleaning.leaves import (
    BLOCK_TAGS, HEADING_LEVELS, IMAGE_TENTHS, MAX_PATH_LEVELS, NEVER_CONTENT, ORNAMENT_CLASS, PRIORITY_TENTHS,
    _ANCHOR_CLASS as ANCHOR_CLASS, _KINDS as KINDS, _KIND_ENDS as KIND_ENDS, _LISTINGS_CLASS as LISTINGS_CLASS,
    _OWN_KIND_ONLY as OWN_KIND_ONLY, _PATH_NAME as PATH_NAME, _SHELL_WORDS as SHELL_WORDS, body_of, is_ornament, walk,
)
from cleaning.terms import tidy_code, visible_parts

import_lxml__etree()

check_structures(compiled_sizes(), compiled_lxml())

cdef enum:
    COLUMNS = 15
    CACHED_TAGS = 256
    TOKEN_ATTRIBUTES_MAX = 16
    REPLACEMENT = 0xFFFD

if COLUMNS != len(Column):
    raise ImportError(f"the module is compiled for {COLUMNS} columns; the leaf table has {len(Column)}")

cdef int _MAX_TOKEN_CHARS = MAX_TOKEN_CHARS
cdef int _MAX_INLINE_LEVELS = MAX_INLINE_LEVELS
cdef int _MAX_PATH_LEVELS = MAX_PATH_LEVELS
cdef int _IMAGE_TENTHS = IMAGE_TENTHS
cdef int _HEADING_LEVELS = HEADING_LEVELS

# cleaning/_native/nodes.pxd knows these.
if ORNAMENT_CLASS.pattern != (
    "anchor|permalink|headerlink|hash-link|editsection|material-|mat-icon|md-icon|google-symbols|gutter|lineno|linenum"
    "|line-num|ln-num"
):
    raise ImportError(f"the module is compiled for other classes of ornaments than {ORNAMENT_CLASS.pattern}")
if ANCHOR_CLASS.pattern != "anchor|permalink|headerlink|hash-link" or "code-group" not in LISTINGS_CLASS.pattern:
    raise ImportError(f"the module is compiled for other classes than {ANCHOR_CLASS.pattern}, {LISTINGS_CLASS.pattern}")
if UNSEEN_STYLE.pattern != r"display\s*:\s*none|visibility\s*:\s*hidden":
    raise ImportError(f"the module is compiled for other styles than {UNSEEN_STYLE.pattern}")
cdef object _PARAGRAPH = Kind.PARAGRAPH
cdef object _CODE = Kind.CODE
cdef tuple _BLOCK_FIELDS = tuple(Block.__dataclass_fields__)
cdef tuple _DECISION_FIELDS = tuple(Decision.__dataclass_fields__)
cdef object _new = object.__new__


def read_leaf_table(root):
    """Return the leaf table of a page."""
    start = body_of(root)
    cdef _Walk scripted = _walk(start, True), unscripted
    if scripted.words >= SHELL_WORDS:
        return scripted.table()
    unscripted = _walk(start, False)
    min_words = max(SHELL_WORDS, 2 * scripted.words)
    return (unscripted if unscripted.words >= min_words else scripted).table()


def make_decisions(list blocks, list scores, list reasons):
    """Return the decision on each block."""
    return [
        _frozen(_new(Decision), _DECISION_FIELDS, (block, score, reason))
        for block, score, reason in zip(blocks, scores, reasons, strict=True)
    ]


cdef extern from "Python.h":
    void PyObject_GC_UnTrack(void*)


cdef object _frozen(object new, tuple fields, tuple values):
    """Set the fields of a frozen dataclass: five times as fast as its constructor, which sets them through Python.

    The garbage collector need not visit the hundreds of instances of a page: the values are texts, numbers, members of
    enums and other such instances, so none can lead back to the instance.
    """
    cdef object instance = new
    cdef Py_ssize_t index
    for index in range(len(fields)):
        PyObject_GenericSetAttr(instance, fields[index], values[index])
    PyObject_GC_UnTrack(<PyObject*> instance)
    return instance


# The properties of a tag name are looked up once. The number of stored names is bounded: hostile pages invent names.
cdef dict _known_tags = {}
cdef int _MAX_KNOWN_TAGS = 1_000


cdef class _Tag:
    """The properties of a tag name, and a counter of the walk."""

    cdef str name
    cdef object kind
    cdef bint block, br, link, image, bold, never, noscript, kind_ends, own_kind_only, named
    cdef int tenths
    # `count` siblings with this name were passed inside the element with this serial.
    cdef Py_ssize_t serial, count

    cdef _Tag copy(self):
        cdef _Tag tag = _Tag.__new__(_Tag)
        tag.name, tag.kind, tag.tenths, tag.named = self.name, self.kind, self.tenths, self.named
        tag.block, tag.br, tag.link, tag.image, tag.bold = self.block, self.br, self.link, self.image, self.bold
        tag.never, tag.noscript = self.never, self.noscript
        tag.kind_ends, tag.own_kind_only = self.kind_ends, self.own_kind_only
        return tag


cdef _Tag _new_tag(str name):
    """Return a tag whose counter is 0."""
    cdef _Tag tag = _known_tags.get(name)
    if tag is None:
        tag = _look_up(name)
        if len(_known_tags) < _MAX_KNOWN_TAGS:
            _known_tags[name] = tag
    return tag.copy()


cdef _Tag _look_up(str name):
    cdef _Tag tag = _Tag.__new__(_Tag)
    tag.name = name
    tag.kind = KINDS.get(name)
    tag.block = name in BLOCK_TAGS
    tag.br = name == "br"
    tag.link = name == "a"
    tag.image = name == "img"
    tag.bold = name in BOLD_TAGS
    tag.never = name in NEVER_CONTENT
    tag.noscript = name == "noscript"
    tag.kind_ends = name in KIND_ENDS
    tag.own_kind_only = name in OWN_KIND_ONLY
    tag.named = name.isalnum() or PATH_NAME.fullmatch(name) is not None
    tag.tenths = PRIORITY_TENTHS.get(name, 0)
    return tag


cdef struct Frame:  # an element that the walk is inside
    xmlNode* element
    xmlNode* next
    PyObject* tag
    PyObject* kind
    bint block
    Py_ssize_t outer        # the frame of the innermost block-level element: this one, if it is block-level
    Py_ssize_t serial       # counts all elements that the walk has entered
    int32_t number          # the element's row in the table; -1 before it has one
    int32_t path            # an index of `_Walk.paths`; -1 before the path is known
    int32_t place           # its number among the siblings with its name
    int32_t index           # its number among all siblings
    int32_t children        # the number of children that the walk has passed
    int level               # of the outermost inline element around its texts that is not shown
    Py_ssize_t undo         # where its entries in `_Walk.undos` begin
    Py_ssize_t link         # a link's frame: the frame of the link around it; -1 if there is none
    Py_ssize_t counted      # the serial of the last leaf that has counted this link


cdef struct Undo:  # a tag's counter as it was before an element changed it
    PyObject* tag
    Py_ssize_t serial
    Py_ssize_t count


# The order of these names is the order of the tokens.
cdef tuple _TOKEN_NAMES = tuple(name.encode("ascii") for name in TOKEN_ATTRIBUTES)
cdef int _TOKEN_COUNT = len(_TOKEN_NAMES)
cdef const char* _token_names[TOKEN_ATTRIBUTES_MAX]
if _TOKEN_COUNT > TOKEN_ATTRIBUTES_MAX:
    raise ImportError(f"the module is compiled for {TOKEN_ATTRIBUTES_MAX} attributes; there are {_TOKEN_COUNT}")
for _number, _token_name in enumerate(_TOKEN_NAMES):
    _token_names[_number] = _token_name


cdef str _attribute_tokens(xmlNode* element):
    """Return the words of the attributes that say what an element is for; "" if it has none of them."""
    cdef xmlAttr* attribute = element.properties
    cdef xmlAttr* attributes[TOKEN_ATTRIBUTES_MAX]
    cdef xmlAttr* style = NULL
    cdef bint hidden = False
    cdef int index, count = 0
    cdef const char* name
    cdef list words
    if attribute == NULL:
        return ""
    for index in range(_TOKEN_COUNT):
        attributes[index] = NULL
    while attribute != NULL:
        if attribute.ns == NULL:
            name = <const char*> attribute.name
            if strcmp(name, b"style") == 0:
                style = attribute
            elif strcmp(name, b"hidden") == 0:
                hidden = True
            elif strcmp(name, b"aria-hidden") == 0:
                hidden = hidden or value_in(element, attribute) == "true"
            else:
                for index in range(_TOKEN_COUNT):
                    if name[0] == _token_names[index][0] and strcmp(name, _token_names[index]) == 0:
                        attributes[index] = attribute
                        count += 1
                        break
        attribute = attribute.next
    if count == 0 and not hidden and style == NULL:
        return ""
    words = [value_in(element, attributes[index]) for index in range(_TOKEN_COUNT) if attributes[index] != NULL]
    if hidden:
        words.append("-hidden")
    if style != NULL and UNSEEN_STYLE.search(value_in(element, style)[:_MAX_TOKEN_CHARS]):
        words.append("-unseen")
    return (<str> words[0] if len(words) == 1 else " ".join(words))[:_MAX_TOKEN_CHARS]


cdef bint _has_alt(xmlNode* element) except -1:
    cdef xmlAttr* alt = find_attribute(element, b"alt")
    return alt != NULL and bool(value_in(element, alt).strip())


cdef const unsigned char* _read_character(const unsigned char* content, uint32_t* character) noexcept:
    """Read one character of a NUL-terminated UTF-8 text; return the start of the next one."""
    cdef uint32_t first = content[0]
    cdef int more = 0 if first < 0x80 else 1 if 0xC0 <= first < 0xE0 else 2 if first < 0xF0 else 3
    cdef int index
    character[0] = first if more == 0 else first & (0x3F >> more)
    for index in range(1, more + 1):
        if content[index] & 0xC0 != 0x80:  # also true of the NUL
            character[0] = REPLACEMENT
            return content + 1
        character[0] = character[0] << 6 | (content[index] & 0x3F)
    if character[0] >= CHARACTERS:
        character[0] = REPLACEMENT
    return content + 1 + more


cdef Py_ssize_t _count_words(const Py_UCS4* text, Py_ssize_t size) except -1:
    """Return the number of words, as `terms.count_words` does."""
    cdef Py_ssize_t index = 0, start, words = 0
    cdef uint16_t kind
    while index < size:
        kind = flags_of(text[index])
        if kind & UNSPACED:
            start = index
            while index < size and flags_of(text[index]) & UNSPACED:
                index += 1
            words += (index - start + 1) // 2
        elif kind & LETTER:
            words += 1
            while index < size and flags_of(text[index]) & LETTER:
                index += 1
            if index + 1 < size and text[index] == c"'" and flags_of(text[index + 1]) & LETTER:
                index += 1
                while index < size and flags_of(text[index]) & LETTER:
                    index += 1
        else:
            index += 1
    return words


cdef Py_ssize_t _normalise(
    const Py_UCS4* raw, Py_ssize_t size, Py_UCS4* target, Py_ssize_t written, bint* pending
) except -1:
    """Append a text, made as by `terms.on_one_line`, to `target`; return the length that is reached.

    If `target` is NULL, only the length counts. `pending` carries from one piece of the text to the next whether white
    space follows the last character.
    """
    cdef Py_ssize_t index
    cdef uint16_t kind
    cdef bint space = pending[0] if pending != NULL else False
    for index in range(size):
        kind = flags_of(raw[index])
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
            target[written] = raw[index]
        written += 1
    if pending != NULL:
        pending[0] = space
    return written


cdef int _count_characters(const Py_UCS4* text, Py_ssize_t size, int32_t* row) except -1:
    """Fill the columns of a row that count characters."""
    cdef Py_ssize_t index
    cdef uint16_t kind
    cdef int32_t pauses = 0, ends = 0, quotes = 0, symbols = 0, upper = 0, digits = 0
    for index in range(size):
        kind = flags_of(text[index])
        pauses += (kind & PAUSE) != 0
        ends += (kind & SENTENCE_END) != 0
        quotes += (kind & QUOTE) != 0
        symbols += (kind & SYMBOL) != 0
        upper += (kind & UPPER) != 0
        digits += (kind & DIGIT) != 0
    row[5], row[6], row[7], row[8], row[9], row[10] = pauses, ends, quotes, symbols, upper, digits
    row[13] = (flags_of(text[0]) & ~KNOWN) >> CLASS_SHIFT
    row[14] = (flags_of(text[size - 1]) & ~KNOWN) >> CLASS_SHIFT
    return 0


cdef struct Ints:
    int32_t* items
    Py_ssize_t size
    Py_ssize_t capacity


cdef inline int _append(Ints* ints, Py_ssize_t value) except -1:
    ints.items = <int32_t*> grown(ints.items, &ints.capacity, ints.size + 1, sizeof(int32_t))
    ints.items[ints.size] = <int32_t> value
    ints.size += 1
    return 0


cdef object _array(Ints* ints):
    content = bytearray((<char*> ints.items)[: ints.size * sizeof(int32_t)]) if ints.size else bytearray()
    return numpy.frombuffer(content, numpy.int32)


cdef struct Piece:
    Py_ssize_t start
    Py_ssize_t end
    xmlNode* element
    bint linked
    bint bold
    bint blank
    int level


cdef class _LeafText:
    """The text nodes since the last block boundary, without leading nodes of white space."""

    cdef Piece* pieces
    cdef Py_UCS4* raw   # the characters of all pieces
    cdef Py_UCS4* text  # the block's text
    cdef Py_ssize_t piece_capacity, raw_capacity, text_capacity
    cdef Py_ssize_t count, size, start, links, serial
    cdef bint unseen  # some pieces are not shown
    cdef bint invisible  # some characters may be

    def __dealloc__(self):
        PyMem_Free(self.pieces)
        PyMem_Free(self.raw)
        PyMem_Free(self.text)

    cdef void clear(self) noexcept:
        self.count = self.size = self.start = self.links = 0
        self.invisible = self.unseen = False
        self.serial += 1

    cdef int read(self, const unsigned char* content) except -1:
        """Append a text node's characters; `add` makes a piece of them."""
        cdef uint32_t character
        if content == NULL:
            return 0
        self.raw = <Py_UCS4*> grown(
            self.raw, &self.raw_capacity, self.size + <Py_ssize_t> strlen(<const char*> content), sizeof(Py_UCS4)
        )
        while content[0]:
            if content[0] < 0x80:
                self.raw[self.size] = content[0]
                content += 1
            else:
                content = _read_character(content, &character)
                self.raw[self.size] = character
                self.invisible = self.invisible or may_be_invisible(character)
            self.size += 1
        return 0

    cdef Piece* add(self, xmlNode* element, int level) except? NULL:
        """Return a new piece of the characters since the last one; NULL if there are none."""
        cdef Py_ssize_t index = self.start
        cdef Piece* piece
        while index < self.size and flags_of(self.raw[index]) & SPACE:
            index += 1
        if index == self.size and self.count == 0:
            self.size = self.start
        if self.size == self.start:
            return NULL
        self.pieces = <Piece*> grown(self.pieces, &self.piece_capacity, self.count + 1, sizeof(Piece))
        piece = &self.pieces[self.count]
        piece.start, piece.end, piece.element, piece.blank = self.start, self.size, element, index == self.size
        piece.linked = piece.bold = False
        piece.level = level
        self.unseen = self.unseen or level != 0
        self.count += 1
        self.start = self.size
        return piece

    cdef list texts(self):
        cdef Py_ssize_t index
        return [
            make_text(
                <const uint32_t*> self.raw + self.pieces[index].start, self.pieces[index].end - self.pieces[index].start
            )
            for index in range(self.count)
        ]

    cdef int leave_out(self) except -1:
        """Leave what a reader sees; a piece may become empty."""
        cdef Py_ssize_t index
        return self._put(shown_texts(self.texts(), [self.pieces[index].level for index in range(self.count)]))

    cdef int drop_invisible(self) except -1:
        """Leave of each piece what is visible; a piece may become empty."""
        return self._put(visible_parts(self.texts()))

    cdef int _put(self, list texts) except -1:
        """Replace the texts of the pieces by others that are not longer."""
        cdef Py_ssize_t index, place, size = 0
        cdef Piece* piece
        cdef str text
        for index, text in enumerate(texts):
            piece = &self.pieces[index]
            copy_text(text, <uint32_t*> self.raw + size, len(text))  # never longer than before
            piece.start, piece.end, piece.blank = size, size + len(text), True
            size = piece.end
            for place in range(piece.start, piece.end):
                piece.blank = piece.blank and flags_of(self.raw[place]) & SPACE
        self.size = self.start = size
        return 0

    cdef Py_ssize_t tidy(self, bint code) except -1:
        """Make the block's text of the pieces; return its length."""
        cdef str tidied
        self.text = <Py_UCS4*> grown(self.text, &self.text_capacity, self.size, sizeof(Py_UCS4))
        if not code:
            return _normalise(self.raw, self.size, self.text, 0, NULL)
        tidied = tidy_code(make_text(<const uint32_t*> self.raw, self.size))
        copy_text(tidied, <uint32_t*> self.text, len(tidied))  # never longer than the pieces
        return len(tidied)

    cdef int fill(self, int32_t* row, Py_ssize_t size) except -1:
        """Fill a row of counts for the block's text, which has `size` characters."""
        cdef Py_ssize_t index, length, words = _count_words(self.text, size), link_words = 0, linked = 0, bold = 0
        cdef bint link_space = False, bold_space = False
        cdef Piece* piece
        for index in range(self.count):
            piece = &self.pieces[index]
            length = piece.end - piece.start
            if piece.linked:
                link_words += _count_words(self.raw + piece.start, length)
                linked = _normalise(self.raw + piece.start, length, NULL, linked, &link_space)
            if piece.bold:
                bold = _normalise(self.raw + piece.start, length, NULL, bold, &bold_space)
        row[0], row[1], row[2], row[3], row[4] = words, min(words, link_words), size, min(size, linked), self.links
        row[11], row[12] = bold, self.count
        return _count_characters(self.text, size, row)

    cdef xmlNode* first(self, xmlNode* otherwise) noexcept:
        """Return the element of the first piece that is not white space; `otherwise` if there is none."""
        cdef Py_ssize_t index = 0
        while index < self.count and self.pieces[index].blank:
            index += 1
        return self.pieces[index].element if index < self.count else otherwise


cdef class _Walk:
    """The state of one walk. It has its own stack of frames, because pages nest thousands of levels deep."""

    cdef list blocks, inline_tokens, tags, element_tokens, paths
    cdef dict known_tags
    cdef PyObject* cached_tags[CACHED_TAGS]
    cdef const void* cached_names[CACHED_TAGS]
    cdef Ints counts, node, parent, first, last
    cdef _LeafText leaf
    cdef _Document document
    cdef Frame* frames
    cdef Undo* undos
    cdef Py_ssize_t frame_capacity, undo_capacity, undo_size, depth, serials, link, tenths, words
    cdef bint skip_noscript

    def __cinit__(self, bint skip_noscript):
        self.skip_noscript = skip_noscript
        self.blocks, self.inline_tokens, self.tags, self.element_tokens, self.paths = [], [], [], [], []
        self.known_tags = {}
        self.leaf = _LeafText()
        self.link = self.depth = -1

    def __dealloc__(self):
        PyMem_Free(self.counts.items)
        PyMem_Free(self.node.items)
        PyMem_Free(self.parent.items)
        PyMem_Free(self.first.items)
        PyMem_Free(self.last.items)
        PyMem_Free(self.frames)
        PyMem_Free(self.undos)

    cdef object table(self):
        counts = widen_ideographs(_array(&self.counts).reshape(-1, COLUMNS), self.blocks)
        return LeafTable(
            self.blocks, counts, _array(&self.node), self.inline_tokens, self.tags, _array(&self.parent),
            self.element_tokens, _array(&self.first), _array(&self.last),
        )

    cdef int run(self, xmlNode* start, str path) except -1:
        cdef Frame* frame
        cdef xmlNode* child
        cdef _Tag tag
        self.paths.append(path)
        self._push(start, self._tag(start), True, _PARAGRAPH)
        self.frames[0].path = 0
        self.frames[0].next = self._read_text(start.children)
        while self.depth >= 0:
            frame = &self.frames[self.depth]
            child = frame.next
            if child == NULL:
                self._close()
                continue
            prefetch(child.children)
            prefetch(child.next)
            if child.type != XML_ELEMENT_NODE:
                self._move_past(child)
            else:
                tag = self._tag(child)
                self._count_child(tag)
                if (tag.never and (self.skip_noscript or not tag.noscript)) or self._is_ornament(child):
                    self._move_past(child)
                else:
                    self._open(child, tag)
        return self._extend_outer_elements()

    cdef bint _is_ornament(self, xmlNode* child) except -1:
        return may_be_ornament(child, _HEADING_LEVELS) and is_ornament(elementFactory(self.document, child))

    cdef int _move_past(self, xmlNode* child) except -1:
        cdef xmlNode* then = self._read_text(child.next)
        self.frames[self.depth].next = then
        return 0

    cdef _Tag _tag(self, xmlNode* element):
        cdef size_t place = (<size_t> element.name >> 3) % CACHED_TAGS
        cdef _Tag tag
        if element.ns == NULL and self.cached_names[place] == <const void*> element.name:
            return <_Tag> self.cached_tags[place]
        cdef str name = public.namespacedName(element)
        tag = self.known_tags.get(name)
        if tag is None:
            tag = self.known_tags[name] = _new_tag(name)
        if element.ns == NULL:
            self.cached_names[place] = <const void*> element.name
            self.cached_tags[place] = <PyObject*> tag
        return tag

    cdef int _count_child(self, _Tag tag) except -1:
        """Count the current child among its siblings, as XPath does."""
        cdef Frame* frame = &self.frames[self.depth]
        frame.children += 1
        if tag.serial != frame.serial:
            self.undos = <Undo*> grown(self.undos, &self.undo_capacity, self.undo_size + 1, sizeof(Undo))
            self.undos[self.undo_size] = Undo(<PyObject*> tag, tag.serial, tag.count)
            self.undo_size += 1
            tag.serial, tag.count = frame.serial, 0
        tag.count += 1
        return 0

    cdef int _push(self, xmlNode* element, _Tag tag, bint block, object kind) except -1:
        cdef Frame* frame
        cdef Frame* outer
        self.frames = <Frame*> grown(self.frames, &self.frame_capacity, self.depth + 2, sizeof(Frame))
        self.depth += 1
        self.serials += 1
        frame = &self.frames[self.depth]
        frame.element, frame.tag, frame.kind, frame.block = element, <PyObject*> tag, <PyObject*> kind, block
        frame.serial, frame.number, frame.path, frame.children, frame.level = self.serials, -1, -1, 0, 0
        frame.undo, frame.link, frame.counted = self.undo_size, -1, -1
        frame.outer = self.depth
        if self.depth:
            outer = &self.frames[self.depth - 1]
            frame.place, frame.index = <int32_t> tag.count, outer.children
            if not block:
                frame.outer = outer.outer
        return 0

    cdef int _open(self, xmlNode* child, _Tag tag) except -1:
        cdef Frame* outer = &self.frames[self.frames[self.depth].outer]
        cdef xmlNode* then
        cdef int level = self.frames[self.depth].level
        if tag.block:
            self._end_leaf()
            self._push(child, tag, True, self._kind(tag, <object> outer.kind, <_Tag> outer.tag))
        else:
            if tag.br:
                self._end_leaf()
            else:
                self.tenths += tag.tenths
                if tag.image and _has_alt(child):
                    self.tenths += _IMAGE_TENTHS
            self._push(child, tag, False, None)
            if not tag.br:
                self.frames[self.depth].level = level or unseen_level_of(child, tag.name, unseen_level)
            if tag.link:
                self.frames[self.depth].link = self.link
                self.link = self.depth
        then = self._read_text(child.children)
        self.frames[self.depth].next = then
        return 0

    cdef object _kind(self, _Tag tag, object outer_kind, _Tag outer):
        if tag.kind is not None:
            return tag.kind
        return _PARAGRAPH if tag.kind_ends or outer.own_kind_only else outer_kind

    cdef int _close(self) except -1:
        cdef Frame* frame = &self.frames[self.depth]
        cdef Undo* undo
        if frame.block:
            self._end_leaf()
        elif (<_Tag> frame.tag).link:
            self.link = frame.link
        while self.undo_size > frame.undo:
            self.undo_size -= 1
            undo = &self.undos[self.undo_size]
            (<_Tag> undo.tag).serial, (<_Tag> undo.tag).count = undo.serial, undo.count
        self.depth -= 1
        if self.depth >= 0:
            self._move_past(frame.element)
        return 0

    cdef xmlNode* _read_text(self, xmlNode* node) except? NULL:
        """Read the text that begins at a node; return the element or comment after it."""
        cdef Piece* piece
        while node != NULL:
            if node.type in (XML_TEXT_NODE, XML_CDATA_SECTION_NODE):
                self.leaf.read(<const unsigned char*> node.content)
            elif node.type not in (XML_XINCLUDE_START, XML_XINCLUDE_END):
                break
            node = node.next
        piece = self.leaf.add(self.frames[self.depth].element, self.frames[self.depth].level)
        if piece != NULL:
            piece.bold = (<_Tag> self.frames[self.depth].tag).bold
            piece.linked = self.link >= 0
            if piece.linked and self.frames[self.link].counted != self.leaf.serial:
                self.frames[self.link].counted = self.leaf.serial
                self.leaf.links += 1
        while node != NULL and not is_element_like(node):
            node = node.next
        return node

    cdef int _end_leaf(self) except -1:
        cdef Py_ssize_t outer = self.frames[self.depth].outer, size
        if self.leaf.count:
            if self.leaf.unseen and <object> self.frames[outer].kind is not _CODE:
                self.leaf.leave_out()
            if self.leaf.invisible:
                self.leaf.drop_invisible()
            size = self.leaf.tidy(<object> self.frames[outer].kind is _CODE)
            if size:
                self._add_leaf(outer, size)
            self.leaf.clear()
        self.tenths = 0
        return 0

    cdef int _add_leaf(self, Py_ssize_t outer, Py_ssize_t size) except -1:
        cdef Frame* frame = &self.frames[outer]
        cdef int32_t row[COLUMNS]
        cdef Py_ssize_t index
        self.leaf.fill(row, size)
        for index in range(COLUMNS):
            _append(&self.counts, row[index])
        _append(&self.node, self._element_number(outer))
        self.last.items[frame.number] = len(self.blocks) + 1
        self.inline_tokens.append(self._tokens_around(frame.element))
        self.words += row[0]
        self.blocks.append(
            _frozen(_new(Block), _BLOCK_FIELDS, (
                len(self.blocks), self._path(outer), <object> frame.kind,
                make_text(<const uint32_t*> self.leaf.text, size), row[0], row[1],
                (self.tenths + (<_Tag> frame.tag).tenths) / 10.0,
            ))
        )
        return 0

    cdef int32_t _element_number(self, Py_ssize_t outer) except -1:
        """Return the row of a frame's element. Elements around it get their rows before it."""
        cdef Py_ssize_t depth = outer, inner = -1
        cdef Frame* frame
        while depth >= 0 and self.frames[depth].number < 0:
            # On the way up, each frame stores the frame below it in its own number.
            self.frames[depth].number = -2 - <int32_t> inner
            inner = depth
            depth = self.frames[depth - 1].outer if depth else -1
        cdef int32_t number = self.frames[depth].number if depth >= 0 else -1
        while inner >= 0:
            frame = &self.frames[inner]
            inner = -2 - frame.number
            _append(&self.parent, number)
            _append(&self.first, len(self.blocks))
            _append(&self.last, len(self.blocks) + 1)
            number = frame.number = len(self.tags)
            self.tags.append((<_Tag> frame.tag).name)
            self.element_tokens.append(_attribute_tokens(frame.element))
        return number

    cdef str _path(self, Py_ssize_t wanted):
        cdef Py_ssize_t depth = wanted
        cdef Frame* frame
        cdef _Tag tag
        while self.frames[depth].path < 0:
            depth -= 1
        while depth < wanted:
            depth += 1
            frame = &self.frames[depth]
            if depth > _MAX_PATH_LEVELS:
                frame.path = self.frames[depth - 1].path
                continue
            tag = <_Tag> frame.tag
            path = <str> self.paths[self.frames[depth - 1].path]
            frame.path = len(self.paths)
            self.paths.append(f"{path}/{tag.name}[{frame.place}]" if tag.named else f"{path}/*[{frame.index}]")
        return <str> self.paths[self.frames[wanted].path]

    cdef str _tokens_around(self, xmlNode* around):
        cdef xmlNode* element = self.leaf.first(around)
        cdef list tokens = []
        while element != around and element != NULL and is_element_like(element) and len(tokens) < _MAX_INLINE_LEVELS:
            tokens.append(f"{self._tag(element).name} {_attribute_tokens(element)}")
            element = element.parent
        return " ".join(tokens)[:_MAX_TOKEN_CHARS] if tokens else ""

    cdef int _extend_outer_elements(self) except -1:
        """Set the last leaf of each element to the last leaf of the elements inside it."""
        cdef Py_ssize_t number
        cdef int32_t outer
        for number in range(self.last.size - 1, 0, -1):
            outer = self.parent.items[number]
            self.last.items[outer] = max(self.last.items[outer], self.last.items[number])
        return 0


cdef _Walk _walk(_Element start, bint skip_noscript):
    cdef _Walk walk = _Walk(skip_noscript)
    walk.document = start._doc
    walk.run(start._c_node, start.getroottree().getpath(start))
    return walk


check_reading(read_leaf_table, lambda root: build_leaf_table(walk(root)))
