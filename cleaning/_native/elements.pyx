# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The elements of a page that may state something, found by walks over the parser's tree in C."""

from functools import lru_cache

from libc.string cimport memset, strcmp, strncmp, strstr

from lxml.includes.etreepublic cimport _Document, _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE, XML_ELEMENT_NODE, XML_TEXT_NODE, XML_XINCLUDE_END, XML_XINCLUDE_START, xmlAttr, xmlNode,
)

from cleaning._native.fit cimport compiled_lxml, compiled_sizes
from cleaning._native.memory cimport prefetch
from cleaning._native.nodes cimport find_attribute, is_plain, is_text, value_in

from cleaning._native import check_reading, check_structures
from cleaning.metadata.elements import (
    AUTHOR_MARK, COMMONS_MARK, FoundElements, JSON_LD_MARK, LARGE_PAGE_ELEMENTS, LICENSE_MARK, MAX_ABOVE,
    MAX_AUTHOR_LINKS, MAX_BELOW, MAX_FIRST, MAX_FOUND, MAX_LICENSE_LINKS, NEAR, NearTexts, PROFILE_START, READ_TAGS,
    is_profile, pure_find_classed, pure_find_elements, pure_find_starts, pure_find_texts,
)

import_lxml__etree()

check_structures(compiled_sizes(), compiled_lxml())

cdef enum:
    TAGS_MAX = 8
    PARTS_MAX = 256

# The bytes live as long as the module, and with them the pointers.
cdef tuple _TAG_BYTES = tuple(tag.encode("ascii") for tag in READ_TAGS)
cdef int _TAGS = len(_TAG_BYTES)
cdef const char* _tags[TAGS_MAX]
if _TAGS > TAGS_MAX:
    raise ImportError(f"the module is compiled for {TAGS_MAX} tags; there are {_TAGS}")
for _number, _tag in enumerate(_TAG_BYTES):
    _tags[_number] = _tag
cdef int _SCRIPT = READ_TAGS.index("script"), _TIME = READ_TAGS.index("time"), _ABBR = READ_TAGS.index("abbr")
cdef bytes _JSON_LD_BYTES = JSON_LD_MARK.encode(), _AUTHOR_BYTES = AUTHOR_MARK.encode()
cdef bytes _PROFILE_BYTES = PROFILE_START.encode()
cdef const char* _JSON_LD = _JSON_LD_BYTES
cdef const char* _AUTHOR = _AUTHOR_BYTES
cdef const char* _PROFILE = _PROFILE_BYTES
cdef bytes _LICENSE_BYTES = LICENSE_MARK.encode(), _COMMONS_BYTES = COMMONS_MARK.encode()
cdef const char* _LICENSE = _LICENSE_BYTES
cdef const char* _COMMONS = _COMMONS_BYTES
cdef Py_ssize_t _MAX_AUTHOR_LINKS = MAX_AUTHOR_LINKS, _MAX_LICENSE_LINKS = MAX_LICENSE_LINKS
cdef Py_ssize_t _MAX_ABOVE = MAX_ABOVE, _MAX_BELOW = MAX_BELOW, _MAX_FIRST = MAX_FIRST, _NEAR = NEAR


def find_elements(_Element root not None):
    """Return the elements of a page that may state something."""
    cdef _Document document = root._doc
    cdef xmlNode* top = root._c_node
    cdef xmlNode* node = top
    cdef list types = [], properties = [], authors = [], licenses = []
    cdef list lists = [[] for _ in READ_TAGS]
    cdef Py_ssize_t elements = 0
    cdef int tag
    lists[_ABBR] = lists[_TIME]
    while node != NULL:
        prefetch(node.children)  # most of the pass waits for memory
        prefetch(node.next)
        if node.type == XML_ELEMENT_NODE:
            if node.ns == NULL:
                tag = _read_tag(node)
                if tag >= 0:
                    (<list> lists[tag]).append(elementFactory(document, node))
                elif node.name[0] == c"a" and node.name[1] == 0:
                    if len(authors) < _MAX_AUTHOR_LINKS and _is_author_link(node):
                        authors.append(elementFactory(document, node))
                    if len(licenses) < _MAX_LICENSE_LINKS and _is_license_link(node):
                        licenses.append(elementFactory(document, node))
            if node != top:
                elements += 1
                _add_items(document, node, types, properties)
        node = _next(node, top)
    if elements >= LARGE_PAGE_ELEMENTS:
        del types[MAX_FOUND:], properties[MAX_FOUND:]
    return FoundElements(dict(zip(READ_TAGS, lists)), types, properties, authors, licenses)


def find_classed(root, heading, tuple parts):
    """Return the elements near the heading, or the first ones, with a class or id that contains one of the texts."""
    cdef _Test test = _prepare(IN_CLASS, parts)
    if heading is None:
        return _search_first(root, 0, _MAX_FIRST, test)
    return _search_above(heading, test) + _search_below(heading, 0, _MAX_BELOW, test)


def find_texts(root, heading, tuple parts):
    """Return the elements near the heading, or the first ones, with a text that contains one of the parts."""
    return _find_near(root, heading, _Test(IN_TEXT, parts))


def find_starts(root, heading, tuple starts):
    """Return the elements near the heading, or the first ones, with a text that begins with one of the starts."""
    return _find_near(root, heading, _prepare(AT_START, starts))


cdef object _find_near(root, heading, _Test test):
    if heading is None:
        return NearTexts([], _search_first(root, 0, _NEAR, test), _search_first(root, _NEAR, _MAX_FIRST, test))
    below = _search_below(heading, 0, _NEAR, test), _search_below(heading, _NEAR, _MAX_BELOW, test)
    return NearTexts(_search_above(heading, test), *below)


cdef enum Place:
    IN_CLASS
    IN_TEXT
    AT_START


cdef class _Test:
    """The searched parts of an element's class or id, and the parts or beginnings of its text or tail (in UTF-8)."""

    cdef Place place
    cdef tuple parts
    cdef const char* bytes[PARTS_MAX]
    cdef Py_ssize_t sizes[PARTS_MAX]
    # The parts that begin with a byte are those from one number to the next.
    cdef Py_ssize_t numbers[257]

    def __cinit__(self, Place place, tuple parts):
        cdef Py_ssize_t index, byte, count = len(parts)
        self.place = place
        self.parts = tuple(sorted([part.encode() for part in parts]))
        if count > PARTS_MAX:
            raise ValueError(f"a search takes {PARTS_MAX} parts; there are {count}")
        memset(self.numbers, 0, sizeof(self.numbers))
        for index in range(count):
            self.bytes[index] = <const char*> <bytes> self.parts[index]
            self.sizes[index] = len(<bytes> self.parts[index])
            self.numbers[<unsigned char> self.bytes[index][0] + 1] += 1
        for byte in range(256):
            self.numbers[byte + 1] += self.numbers[byte]

    cdef bint holds(self, xmlNode* node) except -1:
        if self.place == IN_CLASS:
            return self._in_attribute(node, b"class") or self._in_attribute(node, b"id")
        return self._in_text(node.children) or self._in_text(node.next)

    cdef bint _in_attribute(self, xmlNode* node, const char* name) except -1:
        cdef xmlAttr* attribute = find_attribute(node, name)
        if attribute == NULL or attribute.children == NULL:
            return False
        if is_plain(attribute):
            return self._fits(<const char*> attribute.children.content)
        value = value_in(node, attribute).encode("utf-8", "surrogatepass")
        return self._fits(<bytes> value)

    cdef bint _in_text(self, xmlNode* node) except -1:
        """Return True if the text that begins at a node fits: in lxml, one text of several nodes."""
        cdef const char* first = NULL
        cdef bytes text = None
        while node != NULL and node.type in (
            XML_TEXT_NODE, XML_CDATA_SECTION_NODE, XML_XINCLUDE_START, XML_XINCLUDE_END
        ):
            if is_text(node):
                if first == NULL:
                    first = <const char*> node.content
                else:
                    text = (<bytes> first if text is None else text) + <bytes> <const char*> node.content
            node = node.next
        if text is not None:
            first = text
        return first != NULL and self._fits(first)

    cdef bint _fits(self, const char* text) noexcept:
        if self.place == AT_START:
            while text[0] in (c" ", c"\t", c"\r", c"\n"):
                text += 1
            return self._begins(text)
        while text[0] != 0:
            if self._begins(text):
                return True
            text += 1
        return False

    cdef inline bint _begins(self, const char* text) noexcept:
        """Return True if a text begins with one of the parts."""
        cdef Py_ssize_t index
        for index in range(self.numbers[<unsigned char> text[0]], self.numbers[<unsigned char> text[0] + 1]):
            if strncmp(text, self.bytes[index], self.sizes[index]) == 0:
                return True
        return False


# The constant searches: one for dates, titles and authors each, and the starts of bylines.
@lru_cache(8)
def _prepare(place, parts):
    return _Test(place, parts)


cdef list _search_first(_Element root, Py_ssize_t first, Py_ssize_t last, _Test test):
    body = root.find("body")
    cdef _Element start = root if body is None else body
    return _search(start._doc, start._c_node, start._c_node, first, last, test)


cdef list _search_below(_Element heading, Py_ssize_t first, Py_ssize_t last, _Test test):
    return _search(heading._doc, _next(heading._c_node, NULL), NULL, first, last, test)


cdef list _search(
    _Document document, xmlNode* node, xmlNode* top, Py_ssize_t first, Py_ssize_t last, _Test test
):
    """Return the elements that pass the test, of the elements number `first` to `last` counted from a node on."""
    cdef list elements = []
    cdef Py_ssize_t number = 0
    while node != NULL and number < last:
        if node.type == XML_ELEMENT_NODE:
            if number >= first and test.holds(node):
                elements.append(elementFactory(document, node))
            number += 1
        node = _next(node, top)
    return elements


cdef list _search_above(_Element heading, _Test test):
    cdef list elements = []
    cdef Py_ssize_t most = _MAX_ABOVE
    cdef xmlNode* node = _previous(heading._c_node)
    while node != NULL and most > 0:
        if node.type == XML_ELEMENT_NODE:
            most -= 1
            if test.holds(node):
                elements.append(elementFactory(heading._doc, node))
        node = _previous(node)
    return elements[::-1]


cdef inline xmlNode* _previous(xmlNode* node) noexcept:
    """Return the node before this one, in reading order; NULL before the outermost element."""
    if node.prev == NULL:
        return NULL if node.parent == NULL or node.parent.type != XML_ELEMENT_NODE else node.parent
    node = node.prev
    while node.type == XML_ELEMENT_NODE and node.last != NULL:
        node = node.last
    return node


cdef inline xmlNode* _next(xmlNode* node, xmlNode* top) noexcept:
    """Return the node after this one, in reading order; NULL after the last one below `top`, or of the document."""
    if node.type == XML_ELEMENT_NODE and node.children != NULL:
        return node.children
    while node != top and node.next == NULL:
        node = node.parent
    return NULL if node == top else node.next


cdef int _read_tag(xmlNode* node) except -2:
    """Return the number of the element's tag in READ_TAGS, -1 for an element that is not read."""
    cdef const char* name = <const char*> node.name
    cdef xmlAttr* attribute
    cdef int index
    for index in range(_TAGS):
        if name[0] == _tags[index][0] and strcmp(name, _tags[index]) == 0:
            if index == _SCRIPT and not _contains(node, find_attribute(node, b"type"), _JSON_LD):
                return -1
            return index
    return -1


cdef bint _is_author_link(xmlNode* link) except -1:
    cdef xmlAttr* address = find_attribute(link, b"href")
    if _contains(link, find_attribute(link, b"rel"), _AUTHOR):
        return True
    return _contains(link, address, _PROFILE) and is_profile(value_in(link, address))


cdef bint _is_license_link(xmlNode* link) except -1:
    if _contains(link, find_attribute(link, b"rel"), _LICENSE):
        return True
    return _contains(link, find_attribute(link, b"href"), _COMMONS)


cdef int _add_items(_Document document, xmlNode* node, list types, list properties) except -1:
    cdef xmlAttr* attribute = node.properties
    while attribute != NULL:
        if attribute.ns == NULL and attribute.name[0] == c"i":
            if strcmp(<const char*> attribute.name, b"itemprop") == 0:
                properties.append((value_in(node, attribute), elementFactory(document, node)))
            elif strcmp(<const char*> attribute.name, b"itemtype") == 0:
                types.append(value_in(node, attribute))
        attribute = attribute.next
    return 0


cdef bint _contains(xmlNode* node, xmlAttr* attribute, const char* part) except -1:
    """Return True if an attribute's value contains a text; False for NULL."""
    if attribute == NULL or attribute.children == NULL:
        return False
    if is_plain(attribute):
        return strstr(<const char*> attribute.children.content, part) != NULL
    return part.decode("ascii") in value_in(node, attribute)


check_reading(find_elements, pure_find_elements)
for _heading in (".//b", ".//none"):
    check_reading(
        lambda root: find_classed(root, root.find(_heading), ("w", "q")),
        lambda root: pure_find_classed(root, root.find(_heading), ("w", "q")),
    )
    check_reading(
        lambda root: find_texts(root, root.find(_heading), ("e", "\u4e00")),
        lambda root: pure_find_texts(root, root.find(_heading), ("e", "\u4e00")),
    )
    check_reading(
        lambda root: find_starts(root, root.find(_heading), ("t", "\u4e00")),
        lambda root: pure_find_starts(root, root.find(_heading), ("t", "\u4e00")),
    )
