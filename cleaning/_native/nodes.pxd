"""lxml's tree read in C: nodes in reading order, attributes, texts."""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport strchr, strcmp, strlen, strncmp, strstr

from lxml.includes cimport etreepublic as public
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE, XML_COMMENT_NODE, XML_ELEMENT_NODE, XML_ENTITY_REF_NODE, XML_PI_NODE, XML_TEXT_NODE,
    xmlAttr, xmlNode,
)


cdef inline bint is_element_like(xmlNode* node) noexcept:
    return node.type in (XML_ELEMENT_NODE, XML_COMMENT_NODE, XML_ENTITY_REF_NODE, XML_PI_NODE)


cdef inline bint is_text(xmlNode* node) noexcept:
    return (node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE) and node.content != NULL


cdef inline object decoded(const unsigned char* content):
    return PyUnicode_DecodeUTF8(<const char*> content, strlen(<const char*> content), NULL)


cdef inline xmlAttr* find_attribute(xmlNode* node, const char* name) noexcept:
    cdef xmlAttr* attribute = node.properties
    while attribute != NULL:
        if attribute.ns == NULL and strcmp(<const char*> attribute.name, name) == 0:
            return attribute
        attribute = attribute.next
    return NULL


cdef inline bint is_plain(xmlAttr* attribute) noexcept:
    """Return True for an attribute whose value is one text without references; it must have a value."""
    cdef xmlNode* value = attribute.children
    return value.type == XML_TEXT_NODE and value.next == NULL and value.content != NULL


cdef inline str value_in(xmlNode* node, xmlAttr* attribute):
    """Return the value of a node's attribute."""
    if attribute.children == NULL:
        return ""
    return decoded(attribute.children.content) if is_plain(attribute) else public.attributeValue(node, attribute)


cdef inline bint may_be_unseen(xmlNode* node) noexcept:
    """Return False for most elements that a browser shows, as `cleaning.input.visibility` does.

    The class may have more than the parts that are searched for there.
    """
    cdef xmlAttr* attribute = node.properties
    cdef const char* name
    while attribute != NULL:
        if attribute.ns == NULL:
            name = <const char*> attribute.name
            if strcmp(name, b"hidden") == 0 or strcmp(name, b"aria-hidden") == 0:
                return True
            if strcmp(name, b"style") == 0 and attribute.children != NULL:
                if not is_plain(attribute) or hides(attribute.children.content):
                    return True
            if strcmp(name, b"class") == 0 and attribute.children != NULL:
                if not is_plain(attribute) or names_unseen(attribute.children.content):
                    return True
        attribute = attribute.next
    return False


cdef inline bint hides(const unsigned char* cursor) noexcept:
    """Return True for a style in which UNSEEN_STYLE may find something: `none`, `hidden`, or other letters for them."""
    while cursor[0]:
        if cursor[0] > 0x7F:
            return True
        if cursor[0] | 0x20 == c"n" and cursor[1] | 0x20 == c"o" and cursor[2] | 0x20 == c"n":
            return True
        if cursor[0] | 0x20 == c"h" and cursor[1] | 0x20 == c"i" and cursor[2] | 0x20 == c"d":
            return True
        cursor += 1
    return False


cdef inline bint names_unseen(const unsigned char* cursor) noexcept:
    """Return True for a class with one of `visibility._UNSEEN_PARTS`: each has three of these letters in a row."""
    cdef unsigned char first, second, third
    while cursor[0] and cursor[1]:
        first, second, third = cursor[0] | 0x20, cursor[1] | 0x20, cursor[2] | 0x20
        if first == c"s" and second == c"r" and (third == c"o" or cursor[2] == c"-" or cursor[2] == c"_"):
            return True
        if first == c"h" and second == c"i" and third == c"d":  # hidden
            return True
        if first == c"e" and second == c"a" and third == c"d" and (
            (cursor[3] | 0x20) == c"e" and cursor[-1] | 0x20 == c"r"
        ):
            return True  # reader
        if first == c"v" and second == c"i" and third == c"s":  # invisible
            return True
        if first == c"s" and second == c"s" and third == c"i":  # assistive
            return True
        if first == c"f" and second == c"f" and third == c"s":  # offscreen
            return True
        cursor += 1
    return False


cdef inline int unseen_level_of(xmlNode* node, str tag, object level) except -1:
    """Return the level of an inline element; `level` is the function of `cleaning.input.visibility`."""
    if not may_be_unseen(node):
        return 0
    cdef dict attributes = {}
    cdef xmlAttr* attribute = node.properties
    while attribute != NULL:
        if attribute.ns == NULL:
            attributes[decoded(attribute.name)] = value_in(node, attribute)
        attribute = attribute.next
    return level(tag, attributes)


cdef inline bint names_ornament(const unsigned char* names, bint anchors) noexcept:
    """Return True for classes in which `leaves.ORNAMENT_CLASS` finds something.

    Without `anchors`, what only `leaves._ANCHOR_CLASS` finds does not count.
    """
    cdef const char* cursor = <const char*> names
    cdef char sign
    while cursor[0]:
        sign = cursor[0]
        if sign == c"a" and anchors:
            if strncmp(cursor, b"anchor", 6) == 0:
                return True
        elif sign == c"l":
            if strncmp(cursor, b"lineno", 6) == 0 or strncmp(cursor, b"linenum", 7) == 0 or (
                strncmp(cursor, b"line-num", 8) == 0
            ):
                return True
            if strncmp(cursor, b"ln-num", 6) == 0:
                return True
        elif sign == c"h" and anchors:
            if strncmp(cursor, b"headerlink", 10) == 0 or strncmp(cursor, b"hash-link", 9) == 0:
                return True
        elif sign == c"m":
            if strncmp(cursor, b"material-", 9) == 0 or strncmp(cursor, b"mat-icon", 8) == 0 or (
                strncmp(cursor, b"md-icon", 7) == 0
            ):
                return True
        elif sign == c"g":
            if strncmp(cursor, b"gutter", 6) == 0 or strncmp(cursor, b"google-symbols", 14) == 0:
                return True
        elif sign == c"p" and anchors:
            if strncmp(cursor, b"permalink", 9) == 0:
                return True
        elif sign == c"e" and strncmp(cursor, b"editsection", 11) == 0:
            return True
        cursor += 1
    return False


cdef inline bint _may_name_ornament(xmlNode* element, bint anchors) noexcept:
    cdef xmlAttr* names = find_attribute(element, b"class")
    if names == NULL or names.children == NULL:
        return False
    if not is_plain(names) or strcmp(<const char*> names.children.content, b"lang") == 0:
        return True
    return names_ornament(names.children.content, anchors)


cdef inline bint _may_be_anchor(xmlNode* link) noexcept:
    """Return False for most links in a heading that do not lead to it."""
    cdef xmlAttr* address = find_attribute(link, b"href")
    if address != NULL and address.children != NULL and (
        not is_plain(address) or strchr(<const char*> address.children.content, c"#") != NULL
    ):
        return True
    return _may_name_ornament(link, True)


cdef inline bint _may_name_listing(xmlNode* label) noexcept:
    """Return False for most labels that are not in a group of listings."""
    cdef xmlNode* group = label.parent.parent if label.parent != NULL else NULL
    if group == NULL or group.type != XML_ELEMENT_NODE:
        return False
    cdef xmlAttr* names = find_attribute(group, b"class")
    if names == NULL or names.children == NULL:
        return False
    return not is_plain(names) or strstr(<const char*> names.children.content, b"code-group") != NULL


cdef inline bint is_in_heading(xmlNode* element, int levels) noexcept:
    cdef const char* name
    while levels > 0 and element.parent != NULL and element.parent.type == XML_ELEMENT_NODE:
        element = element.parent
        name = <const char*> element.name
        if name[0] == c"h" and c"1" <= name[1] <= c"6" and name[2] == 0:
            return True
        levels -= 1
    return False


cdef inline bint may_be_ornament(xmlNode* element, int heading_levels) noexcept:
    """Return False for most elements that are no ornaments; for the others, ask `leaves.is_ornament`."""
    cdef const char* name = <const char*> element.name
    if name[0] == c"a" and name[1] == 0:
        if element.properties != NULL and is_in_heading(element, heading_levels) and _may_be_anchor(element):
            return True
    elif name[0] == c"m" or name[0] == c"v":
        if strcmp(name, b"mat-icon") == 0 or strcmp(name, b"md-icon") == 0 or strcmp(name, b"v-icon") == 0:
            return True
    elif strcmp(name, b"label") == 0:
        return _may_name_listing(element)
    if name[0] == c"i" or name[0] == c"e" or name[0] == c"b" or name[0] == c"a":
        if name[1] != 0 and strcmp(name, b"em") != 0:
            return False
    elif strcmp(name, b"span") != 0 and strcmp(name, b"td") != 0 and (
        strcmp(name, b"div") != 0 and strcmp(name, b"pre") != 0
    ):
        return False
    return element.properties != NULL and _may_name_ornament(element, name[0] == c"s")
