# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The first pass over a page's tree: it cuts the texts as the walk over leaves does, and so knows which are kept."""

from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from libc.stdint cimport int32_t
from libc.string cimport memset

from lxml.includes cimport etreepublic as public
from lxml.includes.etreepublic cimport _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport XML_ELEMENT_NODE, xmlNode

from cleaning._native.fit cimport compiled_lxml, compiled_sizes
from cleaning._native.memory cimport grown, prefetch
from cleaning._native.nodes cimport (
    after, decoded, following, is_element_like, is_text, may_be_ornament, value_of,
)

from cleaning._native import check_structures
from cleaning.leaves import BLOCK_TAGS, HEADING_LEVELS, MAX_PATH_LEVELS, NEVER_CONTENT, is_ornament
from cleaning.structure.elements import _INERT as INERT, LINE_TAGS, NOT_CODE
from cleaning.structure.formulas import _FORMULA_TAGS as FORMULA_TAGS
from cleaning.structure.inline import is_blank
from cleaning.structure.reader import CONTAINERS, FORMATS, STATED, TABLE_PARTS

import_lxml__etree()

check_structures(compiled_sizes(), compiled_lxml())

cdef int _MAX_PATH_LEVELS = MAX_PATH_LEVELS
cdef int _HEADING_LEVELS = HEADING_LEVELS

# The properties of a tag name are looked up once. The number of stored names is bounded: hostile pages invent names.
cdef dict _known_tags = {}
cdef int _MAX_KNOWN_TAGS = 1_000


cdef Tag _look_up(str name):
    cdef Tag tag = _known_tags.get(name)
    if tag is not None:
        return tag
    tag = Tag.__new__(Tag)
    tag.name = name
    tag.container = CONTAINERS.get(name)
    tag.part = TABLE_PARTS.get(name)
    tag.format = FORMATS.get(name)
    tag.base = name == "base"
    tag.block = name in BLOCK_TAGS
    tag.br = name == "br"
    tag.image = name == "img"
    tag.inert = name in INERT
    tag.line = name in LINE_TAGS
    tag.link = name == "a"
    tag.never = name in NEVER_CONTENT
    tag.noscript = name == "noscript"
    tag.not_code = name in NOT_CODE
    tag.pre = name == "pre"
    tag.stated = name in STATED
    tag.table = name == "table"
    tag.item = name == "li"
    tag.formula = name in FORMULA_TAGS
    if len(_known_tags) < _MAX_KNOWN_TAGS:
        _known_tags[name] = tag
    return tag


cdef bint _is_solid(const unsigned char* content) except -1:
    """Return True for a text with more than white space and control characters."""
    cdef const unsigned char* cursor = content
    while cursor[0]:
        if cursor[0] >= 0x80:
            return not is_blank(decoded(cursor))
        if cursor[0] > 0x20 and cursor[0] != 0x7F:
            return True
        cursor += 1
    return False


cdef class FirstPass:

    def __cinit__(self, page, list blocks, kept, bint skip_noscript):
        self.page, self.blocks, self.kept, self._skip_noscript = page, blocks, kept, skip_noscript
        self._tags = []
        self.depth = -1

    def __dealloc__(self):
        PyMem_Free(self.passed_elements)
        PyMem_Free(self.kept_before)
        PyMem_Free(self.same)
        PyMem_Free(self.frames)

    cdef Tag tag_of(self, xmlNode* element):
        cdef size_t place = (<size_t> element.name >> 3) % CACHED_TAGS
        if element.ns == NULL and self._cached_names[place] == <const void*> element.name:
            return <Tag> self._cached_tags[place]
        cdef Tag tag = _look_up(public.namespacedName(element))
        self._tags.append(tag)
        if element.ns == NULL:
            self._cached_names[place] = <const void*> element.name
            self._cached_tags[place] = <PyObject*> tag
        return tag

    cdef bint is_skipped(self, Tag tag) noexcept:
        return tag.never and (self._skip_noscript or not tag.noscript)

    cdef bint is_ornament(self, xmlNode* child) except -1:
        return may_be_ornament(child, _HEADING_LEVELS) and is_ornament(
            elementFactory((<_Element> self.page.root)._doc, child)
        )

    cdef Frame* push(self, xmlNode* element, int32_t index, bint block) except NULL:
        self.frames = <Frame*> grown(self.frames, &self._frame_capacity, self.depth + 2, sizeof(Frame))
        self.depth += 1
        cdef Frame* frame = &self.frames[self.depth]
        memset(frame, 0, sizeof(Frame))
        frame.element, frame.index, frame.follows, frame.block = element, index, index + 1, block
        frame.owner = self.depth if block else self.frames[self.depth - 1].owner
        return frame

    cdef bint find_texts(self, _Element start) except -1:
        """Number the texts of the page; return False if there are others than marks, or elements nest too deep."""
        cdef Frame* frame
        cdef xmlNode* child
        cdef Tag tag
        cdef const unsigned char[:] marked = self.kept
        cdef int32_t number
        self.kept_before = <int32_t*> grown(
            self.kept_before, &self._kept_capacity, len(self.blocks) + 1, sizeof(int32_t)
        )
        self.same = <int32_t*> grown(self.same, &self._same_capacity, len(self.blocks) + 1, sizeof(int32_t))
        self.kept_before[0] = 0
        for number in range(<int32_t> len(self.blocks)):
            self.kept_before[number + 1] = self.kept_before[number] + marked[number]
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
                tag = self.tag_of(child)
                if self.is_skipped(tag) or self.is_ornament(child):
                    self._add(frame.index)
                    frame.next = self._pass_text(child.next)
                else:
                    if tag.block or tag.br:
                        self._end_text()
                    self._enter(child, frame.index, tag.block)
                    if tag.base and self._base == NULL and value_of(child, b"href") and not self._is_inert(child):
                        self._base = child
                    if self.depth > _MAX_PATH_LEVELS:
                        self.deep = True
                        return False
                    self.frames[self.depth].next = self._pass_text(child.children)
        return self._texts == len(self.blocks)

    cdef int32_t _add(self, int32_t parent) except -1:
        self.passed_elements = <PassedElement*> grown(
            self.passed_elements, &self._element_capacity, self._count + 1, sizeof(PassedElement)
        )
        cdef PassedElement* passed = &self.passed_elements[self._count]
        memset(passed, 0, sizeof(PassedElement))
        passed.parent, passed.size, passed.own = parent, 1, -1
        self._count += 1
        return self._count - 1

    cdef int _enter(self, xmlNode* element, int32_t parent, bint block) except -1:
        cdef int32_t index = self._add(parent)
        self.push(element, index, block)
        self.passed_elements[index].first = self._texts
        return 0

    cdef int _leave(self) except -1:
        cdef Frame* frame = &self.frames[self.depth]
        cdef PassedElement* passed = &self.passed_elements[frame.index]
        if frame.block:
            self._end_text()
        passed.last = self._texts
        passed.size = self._count - frame.index
        self.depth -= 1
        if self.depth >= 0:
            self.frames[self.depth].next = self._pass_text(frame.element.next)
        return 0

    cdef xmlNode* _pass_text(self, xmlNode* node) except? NULL:
        while node != NULL and not is_element_like(node):
            prefetch(node.next)  # most of the pass waits for memory
            if not self.solid and is_text(node):
                self.solid = _is_solid(node.content)
            node = node.next
        if node != NULL:
            prefetch(node.children)
            prefetch(node.next)
        return node

    cdef int _end_text(self) except -1:
        cdef int32_t index
        cdef PassedElement* owner
        if not self.solid:
            return 0
        self.solid = False
        if self._texts < len(self.blocks):
            index = self.frames[self.frames[self.depth].owner].index
            owner = &self.passed_elements[index]
            # Own texts are chained: each one has the number of the next.
            self.same[self._texts] = -1
            if owner.own < 0:
                owner.own = owner.last = self._texts
            else:
                self.same[owner.last] = self._texts
                owner.last = self._texts
            if self.kept_before[self._texts + 1] > self.kept_before[self._texts]:
                owner.kept = True
                while index >= 0 and not self.passed_elements[index].holds_kept:
                    self.passed_elements[index].holds_kept = True
                    index = self.passed_elements[index].parent
        self._texts += 1
        return 0

    cdef bint _is_inert(self, xmlNode* node) except -1:
        """Return True inside an element that `base_address` does not look into."""
        cdef xmlNode* root = (<_Element> self.page.root)._c_node
        while node != root:
            node = node.parent
            if self.tag_of(node).inert:
                return True
        return False

    cdef str base_address(self, xmlNode* start):
        """Return the address that a page states as its base: the first pass has seen those at `start`."""
        cdef xmlNode* root = (<_Element> self.page.root)._c_node
        cdef xmlNode* node = root
        cdef Tag tag
        while node != NULL:
            if node == start and self._base != NULL:
                return value_of(self._base, b"href")
            tag = self.tag_of(node)
            if tag.base and (address := value_of(node, b"href")):
                return address
            node = after(node, root) if node == start or tag.inert else following(node, root)
        return None
