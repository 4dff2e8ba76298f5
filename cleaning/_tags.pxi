"""Tags, and the elements that the walk is inside."""

# A walk counts in its tags; what they are is looked up once, for so many names: hostile pages invent more.
cdef dict _known_tags = {}
cdef int _MOST_KNOWN_TAGS = 1_000


cdef class _Tag:
    """What the pure walk asks of a tag's name."""

    cdef str name
    cdef object kind
    cdef bint block, br, link, image, bold, never, noscript, kind_ends, own_kind_only, named
    cdef int tenths
    # How many siblings with this name the walk has passed, inside the element of which serial.
    cdef Py_ssize_t serial, count

    cdef _Tag copy(self):
        cdef _Tag tag = _Tag.__new__(_Tag)
        tag.name, tag.kind, tag.tenths, tag.named = self.name, self.kind, self.tenths, self.named
        tag.block, tag.br, tag.link, tag.image, tag.bold = self.block, self.br, self.link, self.image, self.bold
        tag.never, tag.noscript = self.never, self.noscript
        tag.kind_ends, tag.own_kind_only = self.kind_ends, self.own_kind_only
        return tag


cdef _Tag _tag_of(str name):
    """Return a tag that has counted nothing."""
    cdef _Tag tag = _known_tags.get(name)
    if tag is None:
        tag = _look_up(name)
        if len(_known_tags) < _MOST_KNOWN_TAGS:
            _known_tags[name] = tag
    return tag.copy()


cdef _Tag _look_up(str name):
    cdef _Tag tag = _Tag.__new__(_Tag)
    tag.name = name
    tag.kind = features._KINDS.get(name)
    tag.block = name in features.BLOCK_TAGS
    tag.br = name == "br"
    tag.link = name == "a"
    tag.image = name == "img"
    tag.bold = name in scan._BOLD
    tag.never = name in NEVER_CONTENT
    tag.noscript = name == "noscript"
    tag.kind_ends = name in features._KIND_ENDS
    tag.own_kind_only = name in features._OWN_KIND_ONLY
    tag.named = name.isalnum() or paths._NAME.fullmatch(name) is not None
    tag.tenths = features.PRIORITY_TENTHS.get(name, 0)
    return tag


cdef struct Frame:
    xmlNode* element
    xmlNode* next
    PyObject* tag
    PyObject* kind
    bint block
    Py_ssize_t outer        # the frame of the innermost block-level element, itself where it is one
    Py_ssize_t serial       # of all elements that were entered
    int32_t number          # of a block-level element around a leaf; -1 before there is one
    int32_t path            # -1 before it is known
    int32_t place           # among the siblings of its name
    int32_t index           # among all
    int32_t children        # that the walk has passed
    Py_ssize_t undo         # where its entries in the list of counters begin
    Py_ssize_t link         # the frame of the link that was open before this one
    Py_ssize_t counted      # the serial of the last text that has counted this link


cdef struct Undo:
    PyObject* tag
    Py_ssize_t serial
    Py_ssize_t count
