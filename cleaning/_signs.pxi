"""Attributes, and `scan.signs_of`."""

cdef inline str _attribute(xmlNode* element, xmlAttr* attribute):
    cdef xmlNode* value = attribute.children
    if value == NULL:
        return ""
    if value.type == XML_TEXT_NODE and value.next == NULL and value.content != NULL:
        return PyUnicode_DecodeUTF8(<const char*> value.content, strlen(<const char*> value.content), NULL)
    return public.attributeValue(element, attribute)


# The order in which `scan.signs_of` joins them; then those that it only looks at.
cdef tuple _SIGN_NAMES = tuple(name.encode("ascii") for name in scan._SIGN_ATTRIBUTES)
cdef int _SIGNS = len(_SIGN_NAMES)
cdef const char* _sign_names[16]
if _SIGNS > 16:
    raise ImportError(f"it was compiled for 16 attributes, and there are {_SIGNS}")
for _number, _sign_name in enumerate(_SIGN_NAMES):
    _sign_names[_number] = _sign_name


cdef str _signs_of(xmlNode* element):
    """`scan.signs_of` of a node."""
    cdef xmlAttr* attribute = element.properties
    cdef xmlAttr* found[16]
    cdef xmlAttr* style = NULL
    cdef bint hidden = False
    cdef int at, count = 0
    cdef const char* name
    cdef list words
    if attribute == NULL:
        return ""
    for at in range(_SIGNS):
        found[at] = NULL
    while attribute != NULL:
        if attribute.ns == NULL:
            name = <const char*> attribute.name
            if strcmp(name, b"style") == 0:
                style = attribute
            elif strcmp(name, b"hidden") == 0:
                hidden = True
            elif strcmp(name, b"aria-hidden") == 0:
                hidden = hidden or _attribute(element, attribute) == "true"
            else:
                for at in range(_SIGNS):
                    if name[0] == _sign_names[at][0] and strcmp(name, _sign_names[at]) == 0:
                        found[at] = attribute
                        count += 1
                        break
        attribute = attribute.next
    if count == 0 and not hidden and style == NULL:
        return ""
    words = [_attribute(element, found[at]) for at in range(_SIGNS) if found[at] != NULL]
    if hidden:
        words.append("-hidden")
    if style != NULL and _UNSEEN_STYLE.search(_attribute(element, style)[:_MOST_SIGN_CHARS]):
        words.append("-unseen")
    return (<str> words[0] if len(words) == 1 else " ".join(words))[:_MOST_SIGN_CHARS]


cdef bint _has_alt(xmlNode* element) except -1:
    cdef xmlAttr* attribute = element.properties
    while attribute != NULL:
        if attribute.ns == NULL and strcmp(<const char*> attribute.name, b"alt") == 0:
            return bool(_attribute(element, attribute).strip())
        attribute = attribute.next
    return False
