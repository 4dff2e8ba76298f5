# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The elements of a page that may state something, found in one pass over the parser's tree in C."""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport strcmp, strlen, strstr

from lxml.includes cimport etreepublic as public
from lxml.includes.etreepublic cimport _Document, _Element, elementFactory, import_lxml__etree
from lxml.includes.tree cimport XML_ELEMENT_NODE, XML_TEXT_NODE, xmlAttr, xmlNode

from cleaning._native.fit cimport compiled_lxml, compiled_sizes

from cleaning._native import check_reading, check_structures
from cleaning.metadata.elements import (
    AUTHOR_MARK, FoundElements, JSON_LD_MARK, LARGE_PAGE_ELEMENTS, MAX_AUTHOR_LINKS, MAX_FOUND, PROFILE_START, READ_TAGS,
    is_profile, pure_find_elements,
)

import_lxml__etree()

check_structures(compiled_sizes(), compiled_lxml())

cdef enum:
    TAGS_MAX = 8

# The bytes live as long as the module, and with them the pointers.
cdef tuple _TAG_BYTES = tuple(tag.encode("ascii") for tag in READ_TAGS)
cdef int _TAGS = len(_TAG_BYTES)
cdef const char* _tags[TAGS_MAX]
if _TAGS > TAGS_MAX:
    raise ImportError(f"the module is compiled for {TAGS_MAX} tags; there are {_TAGS}")
for _number, _tag in enumerate(_TAG_BYTES):
    _tags[_number] = _tag
cdef bytes _JSON_LD_BYTES = JSON_LD_MARK.encode(), _AUTHOR_BYTES = AUTHOR_MARK.encode()
cdef bytes _PROFILE_BYTES = PROFILE_START.encode()
cdef const char* _JSON_LD = _JSON_LD_BYTES
cdef const char* _AUTHOR = _AUTHOR_BYTES
cdef const char* _PROFILE = _PROFILE_BYTES
cdef Py_ssize_t _MAX_AUTHOR_LINKS = MAX_AUTHOR_LINKS


def find_elements(_Element root):
    """Return the elements of a page that may state something."""
    cdef _Document document = root._doc
    cdef xmlNode* top = root._c_node
    cdef xmlNode* node = top
    cdef list read = [], types = [], properties = [], authors = []
    cdef Py_ssize_t elements = 0
    while node != NULL:
        if node.type == XML_ELEMENT_NODE:
            if node.ns == NULL:
                if _is_read(node):
                    read.append(elementFactory(document, node))
                elif node.name[0] == c"a" and node.name[1] == 0 and len(authors) < _MAX_AUTHOR_LINKS:
                    if _is_author_link(node):
                        authors.append(elementFactory(document, node))
            if node != top:
                elements += 1
                _add_items(document, node, types, properties)
        node = _next(node, top)
    if elements >= LARGE_PAGE_ELEMENTS:
        del types[MAX_FOUND:], properties[MAX_FOUND:]
    return FoundElements(read, types, properties, authors)


cdef inline xmlNode* _next(xmlNode* node, xmlNode* top) noexcept:
    """Return the node after this one, in reading order; NULL after the last one below `top`."""
    if node.type == XML_ELEMENT_NODE and node.children != NULL:
        return node.children
    while node != top and node.next == NULL:
        node = node.parent
    return NULL if node == top else node.next


cdef bint _is_read(xmlNode* node) except -1:
    cdef const char* name = <const char*> node.name
    cdef xmlAttr* attribute
    cdef int at
    for at in range(_TAGS):
        if name[0] == _tags[at][0] and strcmp(name, _tags[at]) == 0:
            return strcmp(name, b"script") != 0 or _contains(node, _attribute(node, b"type"), _JSON_LD)
    return False


cdef bint _is_author_link(xmlNode* link) except -1:
    cdef xmlAttr* address = _attribute(link, b"href")
    if _contains(link, _attribute(link, b"rel"), _AUTHOR):
        return True
    return _contains(link, address, _PROFILE) and is_profile(_value(link, address))


cdef int _add_items(_Document document, xmlNode* node, list types, list properties) except -1:
    cdef xmlAttr* attribute = node.properties
    while attribute != NULL:
        if attribute.ns == NULL and attribute.name[0] == c"i":
            if strcmp(<const char*> attribute.name, b"itemprop") == 0:
                properties.append((_value(node, attribute), elementFactory(document, node)))
            elif strcmp(<const char*> attribute.name, b"itemtype") == 0:
                types.append(_value(node, attribute))
        attribute = attribute.next
    return 0


cdef xmlAttr* _attribute(xmlNode* node, const char* name) noexcept:
    cdef xmlAttr* attribute = node.properties
    while attribute != NULL:
        if attribute.ns == NULL and strcmp(<const char*> attribute.name, name) == 0:
            return attribute
        attribute = attribute.next
    return NULL


cdef bint _contains(xmlNode* node, xmlAttr* attribute, const char* part) except -1:
    """Return True if an attribute's value contains a text; False for NULL."""
    if attribute == NULL or attribute.children == NULL:
        return False
    if _is_plain(attribute):
        return strstr(<const char*> attribute.children.content, part) != NULL
    return part.decode("ascii") in _value(node, attribute)


cdef str _value(xmlNode* node, xmlAttr* attribute):
    if attribute.children == NULL:
        return ""
    if _is_plain(attribute):
        content = <const char*> attribute.children.content
        return PyUnicode_DecodeUTF8(content, strlen(content), NULL)
    return public.attributeValue(node, attribute)


cdef inline bint _is_plain(xmlAttr* attribute) noexcept:
    cdef xmlNode* value = attribute.children
    return value.type == XML_TEXT_NODE and value.next == NULL and value.content != NULL


check_reading(find_elements, pure_find_elements)
