# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The reading of a page's structure in C: the same walk as in `cleaning/structure/reader.py`, without paths.

A first pass cuts the texts as the walk over leaves does, and so knows which elements hold kept texts; a second one goes
into these elements only. What single elements say is read by the pure modules; nothing is defined twice.
"""

from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t
from libc.string cimport memset, strcmp, strlen

from lxml.includes cimport etreepublic as public
from lxml.includes.etreepublic cimport _Document, _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE, XML_COMMENT_NODE, XML_ELEMENT_NODE, XML_ENTITY_REF_NODE, XML_PI_NODE, XML_TEXT_NODE,
    XML_XINCLUDE_END, XML_XINCLUDE_START, xmlAttr, xmlNode,
)

from cleaning._native.build cimport Builder
from cleaning._native.fit cimport compiled_lxml, compiled_sizes
from cleaning._native.memory cimport grown

from cleaning._native import check_reading, check_structures
from cleaning.blocks import Page
from cleaning.leaves import BLOCK_TAGS, MAX_PATH_LEVELS, NEVER_CONTENT, body_of, walk
from cleaning.structure.elements import code_language, code_of, is_data_table, is_gutter, span_of
from cleaning.structure.formulas import (
    _FORMULA_TAGS as FORMULA_TAGS, _MAYBE as MAYBE_FORMULA, formula_node, formula_of, holds_formula, is_preview,
)
from cleaning.structure.inline import is_blank, without_controls
from cleaning.structure.marks import TextMarks
from cleaning.structure.nodes import NodeType, StructureNode
from cleaning.structure.reader import (
    CONTAINERS, FORMATS, MAX_FORMATS, MIN_KEPT_CELLS, TABLE_PARTS, ElementReader, in_code, item_number,
    TEXTLESS, pure_read_structure, shows_text, with_format,
)

import_lxml__etree()

check_structures(compiled_sizes(), compiled_lxml())

cdef enum:
    CACHED_TAGS = 256

cdef int _MAX_PATH_LEVELS = MAX_PATH_LEVELS
cdef int _MAX_FORMATS = MAX_FORMATS
cdef object _HEADING = NodeType.HEADING
cdef object _ITEM = NodeType.ITEM
cdef object _TABLE = NodeType.TABLE
cdef object _CELL = NodeType.CELL
cdef object _FOOTNOTE = NodeType.FOOTNOTE


def read_structure(page, list blocks, kept):
    """Return the document of a page's kept texts; None if the marks are not those of the page's texts."""
    start = body_of(page.root)
    cdef _Reading reading
    for skip_noscript in (True, False):
        reading = _Reading(page, blocks, kept, skip_noscript)
        if reading.find_texts(start):
            return reading.run(start)
        if reading.deep:
            return None
    return None


def nest(segments):
    """Return the segments as nested nodes, as `cleaning.structure.inline.nest` does."""
    if len(segments) == 1:
        formats, part = segments[0]
        if not formats and isinstance(part, str):
            text = " ".join((<str> part).split())
            return [text] if text else []
    spaced = _spaced(segments)
    return _nested(spaced, 0, len(spaced), 0)


cdef list _spaced(segments):
    """Return the segments as (formats, part), with single spaces."""
    cdef list found = []
    cdef bint space = False
    cdef str text, words
    cdef tuple formats
    for formats, part in segments:
        if not isinstance(part, str):
            if space and found:
                _add_space(found, formats)
            found.append((formats, part))
            space = False
            continue
        text = <str> part
        words = " ".join(text.split())
        if not words:
            space = space or bool(text)
            continue
        if (space or text[0].isspace()) and found:
            _add_space(found, formats)
        _add_text(found, formats, words)
        space = text[len(text) - 1].isspace()
    return found


cdef int _add_space(list found, tuple formats) except -1:
    cdef tuple before = (<tuple> found[len(found) - 1])[0]
    cdef Py_ssize_t shared = 0
    while shared < len(before) and shared < len(formats) and before[shared] == formats[shared]:
        shared += 1
    return _add_text(found, formats[:shared], " ")


cdef int _add_text(list found, tuple formats, str text) except -1:
    cdef tuple last
    if found:
        last = <tuple> found[len(found) - 1]
        if isinstance(last[1], str) and last[0] == formats:
            found[len(found) - 1] = (formats, <str> last[1] + text)
            return 0
    found.append((formats, text))
    return 0


cdef list _nested(list segments, Py_ssize_t at, Py_ssize_t stop, Py_ssize_t level):
    cdef list content = []
    cdef Py_ssize_t end
    cdef tuple formats, other
    while at < stop:
        formats, part = <tuple> segments[at]
        if len(formats) == level:
            if isinstance(part, str) and content and isinstance(content[len(content) - 1], str):
                content[len(content) - 1] = content[len(content) - 1] + part
            else:
                content.append(part)
            at += 1
            continue
        outer = formats[level]
        end = at + 1
        while end < stop:
            other = (<tuple> segments[end])[0]
            if len(other) <= level or other[level] != outer:
                break
            end += 1
        content.append(StructureNode(outer.type, _nested(segments, at, end, level + 1), url=outer.url))
        at = end
    return content


# The properties of a tag name are looked up once. The number of stored names is bounded: hostile pages invent names.
cdef dict _known_tags = {}
cdef int _MAX_KNOWN_TAGS = 1_000


cdef class _Tag:
    """The properties of a tag name."""

    cdef str name
    cdef object container, part, format
    cdef bint block, br, image, link, never, noscript, pre, table, item, formula, textless


cdef _Tag _look_up(str name):
    cdef _Tag tag = _known_tags.get(name)
    if tag is not None:
        return tag
    tag = _Tag.__new__(_Tag)
    tag.name = name
    tag.container = CONTAINERS.get(name)
    tag.part = TABLE_PARTS.get(name)
    tag.format = FORMATS.get(name)
    tag.block = name in BLOCK_TAGS
    tag.br = name == "br"
    tag.image = name == "img"
    tag.link = name == "a"
    tag.never = name in NEVER_CONTENT
    tag.noscript = name == "noscript"
    tag.pre = name == "pre"
    tag.table = name == "table"
    tag.item = name == "li"
    tag.formula = name in FORMULA_TAGS
    tag.textless = name in TEXTLESS
    if len(_known_tags) < _MAX_KNOWN_TAGS:
        _known_tags[name] = tag
    return tag


cdef struct Found:  # an element of the first pass, in reading order
    int32_t parent
    int32_t size            # the number of elements in it, itself included
    int32_t first           # for block-level elements: the texts inside are first <= number < last
    int32_t last
    int32_t own             # the number of its first own text; -1 if there is none
    bint textless           # it is or holds an element that `_is_textless` names
    bint holds_kept, kept   # it holds a kept text at any level; directly


cdef struct Frame:  # an element that a pass is inside
    xmlNode* element
    xmlNode* next
    int32_t index           # in the elements of the first pass
    int32_t follows         # the index of its next child
    int32_t owner           # the frame of the innermost block-level element: this one, if it is block-level
    int32_t items           # the number of its `li` so far
    int32_t waiting         # for block-level elements: the number of the next own text
    bint block, kept, whole


cdef inline bint _is_element_like(xmlNode* node) noexcept:
    return node.type in (XML_ELEMENT_NODE, XML_COMMENT_NODE, XML_ENTITY_REF_NODE, XML_PI_NODE)


cdef inline bint _is_text(xmlNode* node) noexcept:
    return (node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE) and node.content != NULL


cdef xmlAttr* _attribute(xmlNode* node, const char* name) noexcept:
    cdef xmlAttr* attribute = node.properties
    while attribute != NULL:
        if attribute.ns == NULL and strcmp(<const char*> attribute.name, name) == 0:
            return attribute
        attribute = attribute.next
    return NULL


cdef str _value(xmlNode* node, const char* name):
    cdef xmlAttr* attribute = _attribute(node, name)
    if attribute == NULL:
        return None
    cdef xmlNode* value = attribute.children
    if value == NULL:
        return ""
    if value.type == XML_TEXT_NODE and value.next == NULL and value.content != NULL:
        return PyUnicode_DecodeUTF8(<const char*> value.content, strlen(<const char*> value.content), NULL)
    return public.attributeValue(node, attribute)


if MAYBE_FORMULA.pattern != "math|mjx|tex(?!t)":
    raise ImportError(f"the module is compiled for other classes of formulas than {MAYBE_FORMULA.pattern}")


cdef bint _names_formula(const unsigned char* at) noexcept:
    """Return True for a class in which MAYBE_FORMULA finds something."""
    cdef unsigned char sign
    while at[0]:
        sign = at[0] | 0x20
        if sign == c"t" and (at[1] | 0x20) == c"e" and (at[2] | 0x20) == c"x" and (at[3] | 0x20) != c"t":
            return True
        if sign == c"m":
            if (at[1] | 0x20) == c"a" and (at[2] | 0x20) == c"t" and (at[3] | 0x20) == c"h":
                return True
            if (at[1] | 0x20) == c"j" and (at[2] | 0x20) == c"x":
                return True
        at += 1
    return False


cdef inline object _decoded(const unsigned char* content):
    return PyUnicode_DecodeUTF8(<const char*> content, strlen(<const char*> content), NULL)


cdef bint _has_controls(const unsigned char* at) noexcept:
    """Return True for a text with characters that `without_controls` removes."""
    while at[0]:
        if at[0] < 0x20:
            if at[0] != 9 and at[0] != 10 and at[0] != 13:
                return True
        elif at[0] == 0x7F or (at[0] == 0xC2 and at[1] <= 0x9F):
            return True
        at += 1
    return False


cdef bint _is_solid(const unsigned char* content) except -1:
    """Return True for a text with more than white space and control characters."""
    cdef const unsigned char* at = content
    while at[0]:
        if at[0] >= 0x80:
            return not is_blank(_decoded(at))
        if at[0] > 0x20 and at[0] != 0x7F:
            return True
        at += 1
    return False


# Elements without text that may stand between two texts: those that ElementReader.textless looks for.
cdef const char* _TEXTLESS_NAMES[5]
_TEXTLESS_NAMES[0], _TEXTLESS_NAMES[1], _TEXTLESS_NAMES[2] = b"img", b"hr", b"math"
_TEXTLESS_NAMES[3], _TEXTLESS_NAMES[4] = b"mjx-container", b"script"
if sorted(TEXTLESS) != ["hr", "img", "math", "mjx-container", "script"]:
    raise ImportError(f"the module is compiled for other elements without text than {TEXTLESS}")


cdef bint _has_textless(xmlNode* top) noexcept:
    """Return True if an element is or holds an image, a rule or what may be a formula."""
    cdef xmlNode* node = top
    cdef int at
    while node != NULL:
        for at in range(5):
            if node.name[0] == <unsigned char> _TEXTLESS_NAMES[at][0]:
                if strcmp(<const char*> node.name, _TEXTLESS_NAMES[at]) == 0:
                    return True
        node = _following(node, top)
    return False


cdef str _base_address(xmlNode* top):
    """Return the address that a page states as its base, as `cleaning.structure.elements.base_address` does."""
    cdef xmlNode* node = top
    while node != NULL:
        if node.name[0] == c"b" and node.ns == NULL and strcmp(<const char*> node.name, b"base") == 0:
            address = _value(node, b"href")
            if address:
                return address
        node = _following(node, top)
    return None


cdef xmlNode* _following(xmlNode* node, xmlNode* top) noexcept:
    """Return the next element inside `top` in reading order; NULL after the last one."""
    if node.children != NULL:
        node = node.children
        if node.type == XML_ELEMENT_NODE:
            return node
    while True:
        while node != top and node.next == NULL:
            node = node.parent
        if node == top:
            return NULL
        node = node.next
        if node.type == XML_ELEMENT_NODE:
            return node


cdef class _Reading:
    """The state of one reading. It has its own stack of frames, because pages nest thousands of levels deep."""

    cdef bint deep
    cdef _Document document
    cdef object page, elements
    cdef Builder build
    cdef list blocks, formats, containers, segments
    cdef const unsigned char[:] marked
    cdef PyObject* cached_tags[CACHED_TAGS]
    cdef const void* cached_names[CACHED_TAGS]
    cdef list tags
    cdef Found* found
    cdef int32_t* kept_before
    cdef int32_t* same
    cdef Frame* frames
    cdef Py_ssize_t found_capacity, frame_capacity, kept_capacity, same_capacity
    cdef int32_t count, texts, depth
    cdef bint skip_noscript, solid

    def __cinit__(self, page, list blocks, kept, bint skip_noscript):
        self.page, self.blocks, self.marked, self.skip_noscript = page, blocks, kept, skip_noscript
        self.tags, self.formats, self.containers, self.segments = [], [], [], []
        self.depth = -1

    def __dealloc__(self):
        PyMem_Free(self.found)
        PyMem_Free(self.kept_before)
        PyMem_Free(self.same)
        PyMem_Free(self.frames)

    cdef _Tag _tag(self, xmlNode* element):
        cdef size_t place = (<size_t> element.name >> 3) % CACHED_TAGS
        if element.ns == NULL and self.cached_names[place] == <const void*> element.name:
            return <_Tag> self.cached_tags[place]
        cdef _Tag tag = _look_up(public.namespacedName(element))
        self.tags.append(tag)
        if element.ns == NULL:
            self.cached_names[place] = <const void*> element.name
            self.cached_tags[place] = <PyObject*> tag
        return tag

    cdef inline bint _is_skipped(self, _Tag tag) noexcept:
        return tag.never and (self.skip_noscript or not tag.noscript)

    cdef Frame* _push(self, xmlNode* element, int32_t index, bint block) except NULL:
        self.frames = <Frame*> grown(self.frames, &self.frame_capacity, self.depth + 2, sizeof(Frame))
        self.depth += 1
        cdef Frame* frame = &self.frames[self.depth]
        memset(frame, 0, sizeof(Frame))
        frame.element, frame.index, frame.follows, frame.block = element, index, index + 1, block
        frame.owner = self.depth if block else self.frames[self.depth - 1].owner
        return frame

    # The first pass ---------------------------------------------------------------------------------------------

    cdef bint find_texts(self, _Element start) except -1:
        """Number the texts of the page; return False if there are others than marks, or elements nest too deep."""
        cdef Frame* frame
        cdef xmlNode* child
        cdef _Tag tag
        cdef int32_t number
        self.kept_before = <int32_t*> grown(
            self.kept_before, &self.kept_capacity, len(self.blocks) + 1, sizeof(int32_t)
        )
        self.same = <int32_t*> grown(self.same, &self.same_capacity, len(self.blocks) + 1, sizeof(int32_t))
        self.kept_before[0] = 0
        for number in range(<int32_t> len(self.blocks)):
            self.kept_before[number + 1] = self.kept_before[number] + self.marked[number]
        self._enter(start._c_node, -1, True)
        self.frames[0].next = self._pass_text(start._c_node.children)
        while self.depth >= 0:
            frame = &self.frames[self.depth]
            child = frame.next
            if child == NULL:
                self._leave()
            elif child.type != XML_ELEMENT_NODE:
                frame.next = self._pass_text(child.next)
            else:
                tag = self._tag(child)
                if self._is_skipped(tag):
                    self._add(frame.index)
                    if _has_textless(child):
                        self._note_textless(frame.index)
                    frame.next = self._pass_text(child.next)
                else:
                    if tag.block or tag.br:
                        self._end_text()
                    self._enter(child, frame.index, tag.block)
                    if tag.textless:
                        self._note_textless(self.count - 1)
                    if self.depth > _MAX_PATH_LEVELS:
                        self.deep = True
                        return False
                    self.frames[self.depth].next = self._pass_text(child.children)
        return self.texts == len(self.blocks)

    cdef int32_t _add(self, int32_t parent) except -1:
        self.found = <Found*> grown(self.found, &self.found_capacity, self.count + 1, sizeof(Found))
        cdef Found* found = &self.found[self.count]
        memset(found, 0, sizeof(Found))
        found.parent, found.size, found.own = parent, 1, -1
        self.count += 1
        return self.count - 1

    cdef int _enter(self, xmlNode* element, int32_t parent, bint block) except -1:
        cdef int32_t index = self._add(parent)
        self._push(element, index, block)
        self.found[index].first = self.texts
        return 0

    cdef void _note_textless(self, int32_t at) noexcept:
        while at >= 0 and not self.found[at].textless:
            self.found[at].textless = True
            at = self.found[at].parent

    cdef int _leave(self) except -1:
        cdef Frame* frame = &self.frames[self.depth]
        cdef Found* found = &self.found[frame.index]
        if frame.block:
            self._end_text()
        found.last = self.texts
        found.size = self.count - frame.index
        self.depth -= 1
        if self.depth >= 0:
            self.frames[self.depth].next = self._pass_text(frame.element.next)
        return 0

    cdef xmlNode* _pass_text(self, xmlNode* node) except? NULL:
        while node != NULL and not _is_element_like(node):
            if not self.solid and _is_text(node):
                self.solid = _is_solid(node.content)
            node = node.next
        return node

    cdef int _end_text(self) except -1:
        cdef int32_t at
        cdef Found* owner
        if not self.solid:
            return 0
        self.solid = False
        if self.texts < len(self.blocks):
            at = self.frames[self.frames[self.depth].owner].index
            owner = &self.found[at]
            # Own texts are chained: each one has the number of the next.
            self.same[self.texts] = -1
            if owner.own < 0:
                owner.own = owner.last = self.texts
            else:
                self.same[owner.last] = self.texts
                owner.last = self.texts
            if self.kept_before[self.texts + 1] > self.kept_before[self.texts]:
                owner.kept = True
                while at >= 0 and not self.found[at].holds_kept:
                    self.found[at].holds_kept = True
                    at = self.found[at].parent
        self.texts += 1
        return 0

    # The second pass --------------------------------------------------------------------------------------------

    cdef object run(self, _Element start):
        cdef Frame* frame
        cdef xmlNode* child
        self.document = start._doc
        self.elements = ElementReader(self.page, _base_address((<_Element> self.page.root)._c_node))
        self.build = Builder(self.blocks, self.elements.textless, nest)
        self.solid = False
        self._begin(start._c_node, 0, True, False, (), None)
        self.frames[0].next = self._text(start._c_node.children)
        while self.depth >= 0:
            frame = &self.frames[self.depth]
            child = frame.next
            if child == NULL:
                self._close()
            elif child.type != XML_ELEMENT_NODE:
                child = self._text(child.next)
                self.frames[self.depth].next = child
            elif self._child(child):
                child = self._text(child.children)
                self.frames[self.depth].next = child
            else:
                child = self._text(child.next)
                self.frames[self.depth].next = child
        return self.elements.finished(self.build.finish())

    cdef int _begin(
        self, xmlNode* element, int32_t index, bint block, bint whole, object formats, object container
    ) except -1:
        cdef Frame* frame = self._push(element, index, block)
        if block:
            frame.kept, frame.whole = whole or self.found[index].kept, whole
            frame.waiting = self.found[index].own
        self.formats.append(formats)
        self.containers.append(container)
        return 0

    cdef inline Frame* _owner(self) noexcept:
        return &self.frames[self.frames[self.depth].owner]

    cdef inline object _proxy(self, xmlNode* element):
        return elementFactory(self.document, element)

    cdef bint _child(self, xmlNode* child) except -1:
        """Read an element whole and return False, or begin a frame in which its children are read."""
        cdef Frame* frame = &self.frames[self.depth]
        cdef _Tag tag = self._tag(child)
        cdef int32_t index = frame.follows
        cdef bint inside = self._owner().whole or self.found[index].holds_kept
        frame.follows += self.found[index].size
        if tag.item:
            frame.items += 1
        if tag.br:
            self._cut()
            self.build.line_break()
            return False
        if tag.image:
            self._image(child)
            return False
        if self._may_hold_formula(child, tag) and self._formula(child, tag, index, inside):
            return False
        if self._is_skipped(tag):
            return False
        if not tag.block:
            return self._inline(child, tag, index, inside)
        self._cut()
        if not inside:
            self._hold_textless(child, index)
            return False
        self.build.edge()
        if tag.pre:
            self._code(child, index)
            return False
        return self._block(child, tag, index)

    cdef int _hold_textless(self, xmlNode* child, int32_t index) except -1:
        if self.found[index].textless:
            self.build.hold_textless(self._proxy(child))
        return 0

    cdef bint _may_hold_formula(self, xmlNode* child, _Tag tag) except -1:
        if tag.formula:
            return True
        cdef xmlAttr* names = _attribute(child, b"class")
        if names == NULL or names.children == NULL:
            return False
        if names.children.type == XML_TEXT_NODE and names.children.next == NULL and names.children.content != NULL:
            return _names_formula(names.children.content)
        return MAYBE_FORMULA.search(_value(child, b"class")) is not None

    cdef bint _inline(self, xmlNode* child, _Tag tag, int32_t index, bint inside) except -1:
        cdef tuple formats = <tuple> self.formats[self.depth]
        if not inside and not self._owner().kept:
            self._hold_textless(child, index)
            return False
        if len(formats) < _MAX_FORMATS:
            format = tag.format
            if tag.link:
                format = self.elements.link(self._proxy(child))
            if format is not None and format not in formats and not (formats and in_code(formats)):
                formats = with_format(formats, format)
        self._begin(child, index, False, False, formats, None)
        return True

    cdef bint _block(self, xmlNode* child, _Tag tag, int32_t index) except -1:
        cdef bint whole = self._owner().whole
        container = None
        if tag.table:
            if self._is_table(child, index, whole):
                whole = True
                container = self.build.open(_TABLE)
        elif tag.part is not None:
            container = self._table_part(child, tag)
        elif tag.container is not None:
            container = self._container(child, tag)
        elif _attribute(child, b"id") != NULL and self.elements.is_note(name := _value(child, b"id")):
            container = self.build.open(_FOOTNOTE, text=name)
        formats = self.formats[self.depth]
        self._begin(child, index, True, self._owner().whole, formats, container)
        self.frames[self.depth].whole = whole
        return True

    cdef object _container(self, xmlNode* child, _Tag tag):
        if tag.container is _HEADING:
            return self.build.open(tag.container, level=int(tag.name[1]))
        if tag.container is not _ITEM:
            return self.build.open(tag.container)
        if _attribute(child, b"id") != NULL and self.elements.is_note(name := _value(child, b"id")):
            return self.build.open(_FOOTNOTE, text=name)
        cdef Frame* frame = &self.frames[self.depth]
        if strcmp(<const char*> frame.element.name, b"ol") != 0:
            return self.build.open(tag.container)
        level = item_number(self._proxy(child), self._proxy(frame.element), frame.items)
        return self.build.open(tag.container, level=level)

    cdef bint _is_table(self, xmlNode* child, int32_t index, bint whole) except -1:
        cdef Found* found = &self.found[index]
        if self.build.in_table() or not is_data_table(self._proxy(child)):
            return False
        cdef int32_t kept = self.kept_before[found.last] - self.kept_before[found.first]
        return whole or kept >= MIN_KEPT_CELLS * (found.last - found.first)

    cdef object _table_part(self, xmlNode* child, _Tag tag):
        if not self.build.in_table():
            return None
        if tag.part is not _CELL:
            return self.build.open(tag.part)
        cell = self._proxy(child)
        cdef xmlNode* head = child.parent.parent if child.parent != NULL else NULL
        cdef bint header = tag.name == "th" or (
            head != NULL and head.type == XML_ELEMENT_NODE and strcmp(<const char*> head.name, b"thead") == 0
        )
        return self.build.open(
            tag.part, level=span_of(cell, "colspan"), rows=span_of(cell, "rowspan"), header=header
        )

    cdef int _close(self) except -1:
        cdef Frame* frame = &self.frames[self.depth]
        cdef xmlNode* element = frame.element
        container = self.containers.pop()
        if frame.block:
            self._cut()
            self.build.edge()
            if container is not None:
                self.build.close(container)
        self.formats.pop()
        self.depth -= 1
        if self.depth >= 0:
            element = self._text(element.next)
            self.frames[self.depth].next = element
        return 0

    # Texts ------------------------------------------------------------------------------------------------------

    cdef xmlNode* _text(self, xmlNode* node) except? NULL:
        """Read the text that begins at a node; return the element or comment after it."""
        cdef bint taken = self._owner().kept
        cdef str text = None
        while node != NULL and not _is_element_like(node):
            if taken and _is_text(node):
                part = _decoded(node.content)
                if _has_controls(node.content):
                    part = without_controls(part)
                text = part if text is None else text + part
            node = node.next
        cdef bint solid = False
        if text:
            solid = not text.isspace()
            if solid or self.segments:
                self.segments.append((self.formats[self.depth], text))
                self.solid = self.solid or solid
        return node

    cdef int _cut(self) except -1:
        """End a text. It is added to the document if it is kept."""
        cdef Frame* owner = self._owner()
        cdef list segments = self.segments
        cdef int32_t number
        if not segments:
            return 0
        self.segments = []
        if not self.solid:
            self.build.hold([part for _, part in segments if not isinstance(part, str)])
            return 0
        self.solid = False
        number = owner.waiting
        if number >= 0:
            owner.waiting = self.same[number]
        if owner.whole or (number >= 0 and self.kept_before[number + 1] > self.kept_before[number]):
            for _, part in segments:
                if isinstance(part, str) and ("$" in part or "\\" in part):
                    segments = self.elements.with_formulas(segments)
                    break
            self.build.add_text(segments, number)
        else:
            self.build.edge()
        return 0

    # Elements that are read whole -------------------------------------------------------------------------------

    cdef list _kept_inside(self, int32_t index):
        """Return the numbers of the kept texts in a block-level element."""
        cdef Found* found = &self.found[index]
        cdef int32_t number
        if not found.holds_kept:
            return []
        return [
            number for number in range(found.first, found.last)
            if self.kept_before[number + 1] > self.kept_before[number]
        ]

    cdef int _code(self, xmlNode* child, int32_t index) except -1:
        element = self._proxy(child)
        if is_gutter(element):
            return 0
        code = code_of(element)
        if code:
            node = StructureNode(NodeType.CODE, text=code, language=code_language(element))
            self.build.add_code(node, self._kept_inside(index))
        return 0

    cdef int _image(self, xmlNode* child) except -1:
        node = self.elements.image(self._proxy(child))
        if node is None:
            return 0
        if self._owner().kept:
            self.segments.append((self.formats[self.depth], node))
        else:
            self.build.hold([node])
        return 0

    cdef bint _formula(self, xmlNode* child, _Tag tag, int32_t index, bint inside) except -1:
        """Read an element that shows a formula; return False for any other element."""
        element = self._proxy(child)
        if is_preview(element):
            self.solid = self.solid or (self._owner().kept and shows_text(element))
            return True
        if not holds_formula(element):
            return False
        formula = formula_of(element)
        if formula is None:
            return self._is_skipped(tag)
        node = formula_node(formula)
        if tag.block:
            self._cut()
            self.build.edge()
            self.build.add_formula(node, self._kept_inside(index) if inside else [])
        elif self._owner().kept:
            self.segments.append((self.formats[self.depth], node))
            self.solid = self.solid or shows_text(element)
        else:
            self.build.hold([node])
        return True


def _read_with(reader, root):
    blocks = [leaf.block for leaf in walk(root)]
    return reader(Page(root, "https://example.org/"), blocks, b"\1" * len(blocks))


check_reading(
    lambda root: _read_with(read_structure, root),
    lambda root: _read_with(lambda page, blocks, kept: pure_read_structure(page, TextMarks(blocks, kept)), root),
)
