# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The reading of a page's structure in C: the same walk as in `cleaning/structure/reader.py`, without paths.

A first pass (`first_pass.pyx`) knows which elements hold kept texts. The second pass, here, goes into these only.
What single elements say is read by the pure modules; nothing is defined twice.
"""

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t
from libc.string cimport strcmp

from lxml.includes.etreepublic cimport _Document, _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport XML_ELEMENT_NODE, xmlAttr, xmlNode

from cleaning._native.build cimport Builder
from cleaning._native.first_pass cimport FirstPass, Frame, PassedElement, Tag
from cleaning._native.fit cimport compiled_lxml, compiled_sizes
from cleaning._native.nodes cimport (
    decoded, find_attribute, following, is_element_like, is_plain, is_text, is_textless, names_formula, unseen_level_of,
    value_in, value_of,
)
from cleaning._native.spaces cimport has_controls, single_spaced

from cleaning._native import check_reading, check_structures
from cleaning.blocks import Page
from cleaning.input.visibility import unseen_level
from cleaning.leaves import body_of, walk
from cleaning.structure.elements import code_language, is_data_table, joined_code, names_gutter, span_of
from cleaning.structure.formulas import (
    _MAYBE as MAYBE_FORMULA, _TEX_SCRIPT as TEX_SCRIPT, formula_node, formula_of, holds_formula, is_preview,
)
from cleaning.structure.inline import is_blank, visible_segments, without_controls
from cleaning.structure.marks import TextMarks
from cleaning.structure.nodes import NodeType, StructureNode
from cleaning.structure.quotes import MAYBE_QUOTING
from cleaning.structure.reader import (
    MAX_FORMATS, MAX_FORMULA_LEVELS, MIN_KEPT_CELLS, TEXTLESS, ElementReader, in_code, item_number, pure_read_structure,
    shown_segments, shows_text, stated_format, with_format,
)
from cleaning.terms import MAYBE_INVISIBLE

import_lxml__etree()

check_structures(compiled_sizes(), compiled_lxml())

cdef int _MAX_FORMATS = MAX_FORMATS
cdef object _HEADING = NodeType.HEADING
cdef object _ITEM = NodeType.ITEM
cdef object _TABLE = NodeType.TABLE
cdef object _CELL = NodeType.CELL
cdef object _FOOTNOTE = NodeType.FOOTNOTE
cdef object _RULE = NodeType.RULE
cdef object _QUOTE = NodeType.QUOTE
cdef int _MAX_FORMULA_LEVELS = MAX_FORMULA_LEVELS


def find_candidates(_Element start not None):
    """Return the elements that may be quotes, as `cleaning.structure.quotes` does."""
    cdef list candidates = []
    cdef xmlNode* top = start._c_node
    cdef xmlNode* node = following(top, top)
    cdef xmlAttr* names
    while node != NULL:
        names = find_attribute(node, b"class")
        if node.ns == NULL and strcmp(<const char*> node.name, b"blockquote") == 0:
            candidates.append(elementFactory(start._doc, node))
        elif names != NULL and names.children != NULL:
            if is_plain(names):
                if _may_be_quoting(names.children.content):
                    candidates.append(elementFactory(start._doc, node))
            elif MAYBE_QUOTING.search(value_in(node, names)):
                candidates.append(elementFactory(start._doc, node))
        node = following(node, top)
    return candidates


cdef bint _may_be_quoting(const unsigned char* cursor) noexcept:
    cdef unsigned char sign
    while cursor[0]:
        sign = cursor[0] | 0x20
        if sign == c"u" and (cursor[1] | 0x20) == c"o" and (cursor[2] | 0x20) == c"t":
            return True
        if sign == c"i" and (cursor[1] | 0x20) == c"t" and (cursor[2] | 0x20) == c"a" and (cursor[3] | 0x20) == c"t":
            return True
        cursor += 1
    return False


if MAYBE_QUOTING.pattern != "[uU][oO][tT]|[iI][tT][aA][tT]":
    raise ImportError(f"the module is compiled for other classes of quotes than {MAYBE_QUOTING.pattern}")


def read_structure(page, marks):
    """Return the document of a page's kept texts; None if the marks belong to other texts."""
    start = body_of(page.root)
    cdef _Reading reading
    for skip_noscript in (True, False):
        reading = _Reading(page, marks.blocks, marks.kept, skip_noscript)
        reading.heads = marks.quote_heads
        reading.quotes = {
            <size_t> (<_Element> element)._c_node: is_quote for element, is_quote in marks.quotes.elements.items()
        }
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
            text = single_spaced(part)
            return [text] if text else []
    spaced = _spaced(segments)
    return _nested(spaced, 0, len(spaced), 0)


cdef list _spaced(segments):
    """Return the segments as (formats, part), with single spaces."""
    cdef list spaced = []
    cdef bint space = False
    cdef str text, words
    cdef tuple formats
    for formats, part in segments:
        if not isinstance(part, str):
            if space and spaced:
                _add_space(spaced, formats)
            spaced.append((formats, part))
            space = False
            continue
        text = <str> part
        words = single_spaced(text)
        if not words:
            space = space or bool(text)
            continue
        if (space or text[0].isspace()) and spaced:
            _add_space(spaced, formats)
        _add_text(spaced, formats, words)
        space = text[len(text) - 1].isspace()
    return spaced


cdef int _add_space(list spaced, tuple formats) except -1:
    cdef tuple before = (<tuple> spaced[len(spaced) - 1])[0]
    cdef Py_ssize_t shared = 0
    while shared < len(before) and shared < len(formats) and before[shared] == formats[shared]:
        shared += 1
    return _add_text(spaced, formats[:shared], " ")


cdef int _add_text(list spaced, tuple formats, str text) except -1:
    cdef tuple last
    if spaced:
        last = <tuple> spaced[len(spaced) - 1]
        if isinstance(last[1], str) and last[0] == formats:
            spaced[len(spaced) - 1] = (formats, <str> last[1] + text)
            return 0
    spaced.append((formats, text))
    return 0


cdef list _nested(list segments, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t level):
    cdef list content = []
    cdef Py_ssize_t end
    cdef tuple formats, other
    while start < stop:
        formats, part = <tuple> segments[start]
        if len(formats) == level:
            if isinstance(part, str) and content and isinstance(content[len(content) - 1], str):
                content[len(content) - 1] = content[len(content) - 1] + part
            else:
                content.append(part)
            start += 1
            continue
        outer = formats[level]
        end = start + 1
        while end < stop:
            other = (<tuple> segments[end])[0]
            if len(other) <= level or other[level] != outer:
                break
            end += 1
        kind, url = <tuple> outer
        content.append(StructureNode(kind, _nested(segments, start, end, level + 1), [], 0, 1, False, url))
        start = end
    return content


cdef class _Attributes:
    """The attributes of an element, without a proxy of it. It is used only while the page is read."""

    cdef xmlNode* node

    def get(self, str name, /):
        return value_of(self.node, PyUnicode_AsUTF8AndSize(name, NULL))


cdef _Attributes _attributes(xmlNode* node):
    cdef _Attributes attributes = _Attributes.__new__(_Attributes)
    attributes.node = node
    return attributes


# cleaning/_native/nodes.pxd knows these.
if MAYBE_FORMULA.pattern != "math|mjx|tex(?!t)":
    raise ImportError(f"the module is compiled for other classes of formulas than {MAYBE_FORMULA.pattern}")
if sorted(TEXTLESS) != ["hr", "img", "math", "mjx-container", "script"]:
    raise ImportError(f"the module is compiled for other elements without text than {TEXTLESS}")
if TEX_SCRIPT.pattern != "math/tex":
    raise ImportError(f"the module is compiled for other scripts with TeX than {TEX_SCRIPT.pattern}")


cdef int _end_line(list parts) except -1:
    cdef str last
    if parts:
        last = <str> parts[len(parts) - 1]
        if last[len(last) - 1] != "\n":
            parts.append("\n")
    return 0


cdef class _Reading(FirstPass):
    """The state of one reading: the second pass, over what the first one has found."""

    cdef _Document document
    cdef object elements
    cdef Builder build
    cdef list formats, containers, segments
    cdef dict unseen  # the levels of the segments that are not shown, by their number
    cdef dict quotes  # `Quotes.elements`, by their places in memory
    cdef object heads

    def __cinit__(self):
        self.formats, self.containers, self.segments, self.unseen = [], [], [], {}

    cdef object run(self, _Element start):
        cdef Frame* frame
        cdef xmlNode* child
        self.document = start._doc
        self.elements = ElementReader(self.page, self.base_address(start._c_node))
        self.build = Builder(self.blocks, self.textless, nest, self.heads)
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
        document = self.build.finish()
        self.build = None  # it refers to this reading
        return self.elements.finished(document)

    cdef int _begin(
        self, xmlNode* element, int32_t index, bint block, bint whole, object formats, object container
    ) except -1:
        cdef Frame* frame = self.push(element, index, block)
        if block:
            frame.kept, frame.whole = whole or self.passed_elements[index].kept, whole
            frame.waiting = self.passed_elements[index].own
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
        cdef Tag tag = self.tag_of(child)
        cdef int32_t index = frame.follows
        cdef bint inside = self._owner().whole or self.passed_elements[index].holds_kept
        frame.follows += self.passed_elements[index].size
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
        if self.is_skipped(tag) or self.is_ornament(child):
            return False
        if not tag.block:
            return self._inline(child, tag, index, inside)
        self._cut()
        if not inside:
            self._hold_textless(child)
            return False
        self.build.edge()
        if tag.pre:
            self._code(child, index)
            return False
        return self._block(child, tag, index)

    cdef int _hold_textless(self, xmlNode* child) except -1:
        # Most elements that are held are never searched: the builder gets their place in memory, and no proxies.
        if self.build.holds():
            self.build.hold_textless(<size_t> child)
        return 0

    def textless(self, size_t place):
        """Return the images, formulas and rules of the element at a place in memory, as `ElementReader` does."""
        cdef xmlNode* top = <xmlNode*> place
        cdef xmlNode* node = top
        cdef list nodes = []
        while node != NULL:
            if is_textless(node):
                if self._may_be_in_formula(node, top):
                    return self.elements.textless(self._proxy(top))
                if node.name[0] == c"h":
                    nodes.append(StructureNode(_RULE))
                elif node.name[0] == c"i":
                    image = self.elements.image(_attributes(node))
                    if image is not None:
                        nodes.append(image)
                else:
                    return self.elements.textless(self._proxy(top))
            node = following(node, top)
        return nodes

    cdef bint _may_be_in_formula(self, xmlNode* node, xmlNode* top) except -1:
        """Return False if no element from this one to the top shows a formula."""
        cdef int level = 0
        while node != top and level < _MAX_FORMULA_LEVELS:
            node = node.parent
            if self._may_hold_formula(node, self.tag_of(node)):
                return True
            level += 1
        return False

    cdef bint _may_hold_formula(self, xmlNode* child, Tag tag) except -1:
        if tag.formula:
            return True
        cdef xmlAttr* names = find_attribute(child, b"class")
        if names == NULL or names.children == NULL:
            return False
        if is_plain(names):
            return names_formula(names.children.content)
        return MAYBE_FORMULA.search(value_in(child, names)) is not None

    cdef bint _inline(self, xmlNode* child, Tag tag, int32_t index, bint inside) except -1:
        cdef tuple formats = <tuple> self.formats[self.depth]
        if not inside and not self._owner().kept:
            self._hold_textless(child)
            return False
        if len(formats) < _MAX_FORMATS:
            format = tag.format
            if tag.link:
                format = self._link(child)
            elif tag.stated:
                format = self._stated_format(child, tag)
            if format is not None and not formats:
                formats = (format,)
            elif format is not None and format not in formats and not in_code(formats):
                formats = with_format(formats, format)
        cdef int unseen = self.frames[self.depth].unseen or unseen_level_of(child, tag.name, unseen_level)
        self._begin(child, index, False, False, formats, None)
        self.frames[self.depth].unseen = unseen
        return True

    cdef object _link(self, xmlNode* child):
        cdef str href = value_of(child, b"href")
        if not href:
            return None
        return self.elements.link(self._proxy(child)) if "#" in href else self.elements.link_to(href)

    cdef object _stated_format(self, xmlNode* child, Tag tag):
        cdef str style = value_of(child, b"style")
        if style is None and tag.name == "span":
            return None
        in_heading = self.tag_of(self._owner().element).container is _HEADING
        return stated_format(tag.name, value_of(child, b"class"), style, in_heading=in_heading)

    cdef bint _block(self, xmlNode* child, Tag tag, int32_t index) except -1:
        cdef bint whole = self._owner().whole
        container = None
        is_quote = self.quotes.get(<size_t> child) if self.quotes else None
        if is_quote is not None and not self.build.in_table():
            container = self.build.open(_QUOTE) if is_quote else None
        elif tag.table:
            if self._is_table(child, index, whole):
                whole = True
                container = self.build.open(_TABLE)
        elif tag.part is not None:
            container = self._table_part(child, tag)
        elif tag.container is not None:
            container = self._container(child, tag)
        elif find_attribute(child, b"id") != NULL and self.elements.is_note(name := value_of(child, b"id")):
            container = self.build.open(_FOOTNOTE, text=name)
        formats = self.formats[self.depth]
        self._begin(child, index, True, self._owner().whole, formats, container)
        self.frames[self.depth].whole = whole
        return True

    cdef object _container(self, xmlNode* child, Tag tag):
        if tag.container is _HEADING:
            return self.build.open(tag.container, level=int(tag.name[1]))
        if tag.container is not _ITEM:
            return self.build.open(tag.container)
        if find_attribute(child, b"id") != NULL and self.elements.is_note(name := value_of(child, b"id")):
            return self.build.open(_FOOTNOTE, text=name)
        cdef Frame* frame = &self.frames[self.depth]
        if strcmp(<const char*> frame.element.name, b"ol") != 0:
            return self.build.open(tag.container)
        level = item_number(self._proxy(child), self._proxy(frame.element), frame.items)
        return self.build.open(tag.container, level=level)

    cdef bint _is_table(self, xmlNode* child, int32_t index, bint whole) except -1:
        cdef PassedElement* passed = &self.passed_elements[index]
        if self.build.in_table() or not is_data_table(self._proxy(child)):
            return False
        cdef int32_t kept = self.kept_before[passed.last] - self.kept_before[passed.first]
        return whole or kept >= MIN_KEPT_CELLS * (passed.last - passed.first)

    cdef object _table_part(self, xmlNode* child, Tag tag):
        if not self.build.in_table():
            return None
        if tag.part is not _CELL:
            return self.build.open(tag.part)
        cdef xmlNode* head = child.parent.parent if child.parent != NULL else NULL
        cdef bint header = tag.name == "th" or (
            head != NULL and head.type == XML_ELEMENT_NODE and strcmp(<const char*> head.name, b"thead") == 0
        )
        cdef int columns = 1, rows = 1
        if find_attribute(child, b"colspan") != NULL:
            columns = span_of(self._proxy(child), "colspan")
        if find_attribute(child, b"rowspan") != NULL:
            rows = span_of(self._proxy(child), "rowspan")
        return self.build.open(tag.part, level=columns, rows=rows, header=header)

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
        while node != NULL and not is_element_like(node):
            if taken and is_text(node):
                part = decoded(node.content)
                if has_controls(node.content):
                    part = without_controls(part)
                text = part if text is None else text + part
            node = node.next
        cdef bint solid = False
        if text:
            solid = not text.isspace()
            if solid or self.segments:
                if self.frames[self.depth].unseen:
                    self.unseen[len(self.segments)] = self.frames[self.depth].unseen
                self.segments.append((self.formats[self.depth], text))
                self.solid = self.solid or (solid and (text.isascii() or not is_blank(text)))
        return node

    cdef int _cut(self) except -1:
        """End a text. It is added to the document if it is kept."""
        cdef Frame* owner = self._owner()
        cdef list segments = self.segments
        cdef int32_t number
        if not segments:
            return 0
        self.segments = []
        if self.unseen:
            segments = shown_segments(segments, self.unseen)
            self.unseen = {}
        if not self.solid:
            self.build.hold([part for _, part in segments if not isinstance(part, str)])
            return 0
        self.solid = False
        number = owner.waiting
        if number >= 0:
            owner.waiting = self.same[number]
        if owner.whole or (number >= 0 and self.kept_before[number + 1] > self.kept_before[number]):
            for _, part in segments:
                if isinstance(part, str) and not part.isascii() and MAYBE_INVISIBLE.search(part):
                    segments = visible_segments(segments)
                    break
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
        cdef PassedElement* passed = &self.passed_elements[index]
        cdef int32_t number
        if not passed.holds_kept:
            return []
        return [
            number for number in range(passed.first, passed.last)
            if self.kept_before[number + 1] > self.kept_before[number]
        ]

    cdef int _code(self, xmlNode* child, int32_t index) except -1:
        if self._is_gutter(child):
            return 0
        code = joined_code(self._code_parts(child))
        if code:
            node = StructureNode(NodeType.CODE, text=code, language=code_language(self._proxy(child)))
            self.build.add_code(node, self._kept_inside(index))
        return 0

    cdef bint _is_gutter(self, xmlNode* element) except -1:
        names = value_of(element, b"class")
        return names is not None and names_gutter(names)

    cdef list _code_parts(self, xmlNode* top):
        """Return the texts of code, as `cleaning.structure.elements` does."""
        cdef list parts = []
        cdef xmlNode* node = top.children
        cdef Tag tag
        while node != NULL:
            if node.type == XML_ELEMENT_NODE:
                tag = self.tag_of(node)
                if not tag.not_code and not self._is_gutter(node):
                    if tag.br:
                        parts.append("\n")
                    else:
                        if tag.line:
                            _end_line(parts)
                        if node.children != NULL:
                            node = node.children
                            continue
                        if tag.line:
                            _end_line(parts)
            elif is_text(node) and node.content[0]:
                parts.append(decoded(node.content))
            while node.next == NULL:
                node = node.parent
                if node == top:
                    return parts
                if self.tag_of(node).line:
                    _end_line(parts)
            node = node.next
        return parts

    cdef int _image(self, xmlNode* child) except -1:
        if not self._owner().kept:
            self.build.hold_image(<size_t> child)
            return 0
        node = self.elements.image(_attributes(child), in_table=self.build.in_table())
        if node is not None:
            self.segments.append((self.formats[self.depth], node))
        return 0

    cdef bint _formula(self, xmlNode* child, Tag tag, int32_t index, bint inside) except -1:
        """Read an element that shows a formula; return False for any other element."""
        element = self._proxy(child)
        if is_preview(element):
            self.solid = self.solid or (self._owner().kept and shows_text(element))
            return True
        if not holds_formula(element):
            return False
        formula = formula_of(element)
        if formula is None:
            return self.is_skipped(tag)
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
    return reader(Page(root, "https://example.org/"), TextMarks(blocks, b"\1" * len(blocks)))


check_reading(
    lambda root: _read_with(read_structure, root),
    lambda root: _read_with(pure_read_structure, root),
)
