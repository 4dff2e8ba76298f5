"""The walk over a tree, leaf by leaf."""

cdef inline bint _is_element_like(xmlNode* node) noexcept:
    return node.type in (XML_ELEMENT_NODE, XML_COMMENT_NODE, XML_ENTITY_REF_NODE, XML_PI_NODE)


cdef object _made(object new, tuple fields, tuple values):
    # The classes are frozen: their own constructors do the same by way of Python, and take five times as long.
    cdef object made = new
    cdef Py_ssize_t at
    for at in range(len(fields)):
        PyObject_GenericSetAttr(made, fields[at], values[at])
    return made


cdef class _Walk:
    """The state of one walk; it keeps its elements in frames of its own, since pages nest thousands of levels deep."""

    cdef list blocks, signs, tags, node_signs, paths
    cdef dict known_tags
    cdef PyObject* cached_tags[CACHED_TAGS]
    cdef const void* cached_names[CACHED_TAGS]
    cdef Ints counts, node, parent, first, last
    cdef _Gathered gathered
    cdef Frame* frames
    cdef Undo* undos
    cdef Py_ssize_t frame_room, undo_room, undo_size, depth, serials, link, tenths, words
    cdef bint skip_noscript

    def __cinit__(self, bint skip_noscript):
        self.skip_noscript = skip_noscript
        self.blocks, self.signs, self.tags, self.node_signs, self.paths = [], [], [], [], []
        self.known_tags = {}
        self.gathered = _Gathered()
        self.link = self.depth = -1

    def __dealloc__(self):
        PyMem_Free(self.counts.items)
        PyMem_Free(self.node.items)
        PyMem_Free(self.parent.items)
        PyMem_Free(self.first.items)
        PyMem_Free(self.last.items)
        PyMem_Free(self.frames)
        PyMem_Free(self.undos)

    cdef object columns(self):
        return scan.Scan(
            self.blocks, _array(&self.counts).reshape(-1, COLUMNS), _array(&self.node), self.signs, self.tags,
            _array(&self.parent), self.node_signs, _array(&self.first), _array(&self.last),
        )

    cdef int run(self, xmlNode* start, str path) except -1:
        cdef Frame* frame
        cdef xmlNode* child
        cdef _Tag tag
        self.paths.append(path)
        self._push(start, self._tag(start), True, _PARAGRAPH)
        self.frames[0].path = 0
        self.frames[0].next = self._text_run(start.children)
        while self.depth >= 0:
            frame = &self.frames[self.depth]
            child = frame.next
            if child == NULL:
                self._close()
            elif child.type != XML_ELEMENT_NODE:
                self._after(child)
            else:
                tag = self._tag(child)
                self._number(tag)
                if tag.never and (self.skip_noscript or not tag.noscript):
                    self._after(child)
                else:
                    self._open(child, tag)
        return self._settle()

    cdef int _after(self, xmlNode* child) except -1:
        cdef xmlNode* then = self._text_run(child.next)
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
            tag = self.known_tags[name] = _tag_of(name)
        if element.ns == NULL:
            self.cached_names[place] = <const void*> element.name
            self.cached_tags[place] = <PyObject*> tag
        return tag

    cdef int _number(self, _Tag tag) except -1:
        """Count the child that the walk has come to among its siblings, as XPath does."""
        cdef Frame* frame = &self.frames[self.depth]
        frame.children += 1
        if tag.serial != frame.serial:
            self.undos = <Undo*> _grown(self.undos, &self.undo_room, self.undo_size + 1, sizeof(Undo))
            self.undos[self.undo_size] = Undo(<PyObject*> tag, tag.serial, tag.count)
            self.undo_size += 1
            tag.serial, tag.count = frame.serial, 0
        tag.count += 1
        return 0

    cdef int _push(self, xmlNode* element, _Tag tag, bint block, object kind) except -1:
        cdef Frame* frame
        cdef Frame* outer
        self.frames = <Frame*> _grown(self.frames, &self.frame_room, self.depth + 2, sizeof(Frame))
        self.depth += 1
        self.serials += 1
        frame = &self.frames[self.depth]
        frame.element, frame.tag, frame.kind, frame.block = element, <PyObject*> tag, <PyObject*> kind, block
        frame.serial, frame.number, frame.path, frame.children = self.serials, -1, -1, 0
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
        if tag.block:
            self._cut()
            self._push(child, tag, True, self._kind(tag, <object> outer.kind, <_Tag> outer.tag))
        else:
            if tag.br:
                self._cut()
            else:
                self.tenths += tag.tenths
                if tag.image and _has_alt(child):
                    self.tenths += _IMAGE_TENTHS
            self._push(child, tag, False, None)
            if tag.link:
                self.frames[self.depth].link = self.link
                self.link = self.depth
        then = self._text_run(child.children)
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
            self._cut()
        elif (<_Tag> frame.tag).link:
            self.link = frame.link
        while self.undo_size > frame.undo:
            self.undo_size -= 1
            undo = &self.undos[self.undo_size]
            (<_Tag> undo.tag).serial, (<_Tag> undo.tag).count = undo.serial, undo.count
        self.depth -= 1
        if self.depth >= 0:
            self._after(frame.element)
        return 0

    cdef xmlNode* _text_run(self, xmlNode* node) except? NULL:
        """Take in the text that begins here; return the element or comment after it."""
        cdef Piece* piece
        while node != NULL:
            if node.type in (XML_TEXT_NODE, XML_CDATA_SECTION_NODE):
                self.gathered.read(<const unsigned char*> node.content)
            elif node.type not in (XML_XINCLUDE_START, XML_XINCLUDE_END):
                break
            node = node.next
        piece = self.gathered.add(self.frames[self.depth].element)
        if piece != NULL:
            piece.bold = (<_Tag> self.frames[self.depth].tag).bold
            piece.linked = self.link >= 0
            if piece.linked and self.frames[self.link].counted != self.gathered.serial:
                self.frames[self.link].counted = self.gathered.serial
                self.gathered.links += 1
        while node != NULL and not _is_element_like(node):
            node = node.next
        return node

    cdef int _cut(self) except -1:
        cdef Py_ssize_t outer = self.frames[self.depth].outer, size
        if self.gathered.count:
            size = self.gathered.tidy(<object> self.frames[outer].kind is _CODE)
            if size:
                self._leaf(outer, size)
            self.gathered.clear()
        self.tenths = 0
        return 0

    cdef int _leaf(self, Py_ssize_t outer, Py_ssize_t size) except -1:
        cdef Frame* frame = &self.frames[outer]
        cdef int32_t row[COLUMNS]
        cdef Py_ssize_t at
        self.gathered.fill(row, size)
        for at in range(COLUMNS):
            _append(&self.counts, row[at])
        _append(&self.node, self._numbered(outer))
        self.last.items[frame.number] = len(self.blocks) + 1
        self.signs.append(self._inline_signs(frame.element))
        self.words += row[0]
        self.blocks.append(
            _made(_new(Block), _BLOCK_FIELDS, (
                len(self.blocks), self._path(outer), <object> frame.kind,
                PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, self.gathered.text, size), row[0], row[1],
                (self.tenths + (<_Tag> frame.tag).tenths) / 10.0,
            ))
        )
        return 0

    cdef int32_t _numbered(self, Py_ssize_t outer) except -1:
        """Return the number of a frame's element among those around leaves; those around it get theirs first."""
        cdef Py_ssize_t at = outer, above = -1
        cdef Frame* frame
        while at >= 0 and self.frames[at].number < 0:
            # On the way up each frame remembers the one that it was reached from.
            self.frames[at].number = -2 - <int32_t> above
            above = at
            at = self.frames[at - 1].outer if at else -1
        cdef int32_t number = self.frames[at].number if at >= 0 else -1
        while above >= 0:
            frame = &self.frames[above]
            above = -2 - frame.number
            _append(&self.parent, number)
            _append(&self.first, len(self.blocks))
            _append(&self.last, len(self.blocks) + 1)
            number = frame.number = len(self.tags)
            self.tags.append((<_Tag> frame.tag).name)
            self.node_signs.append(_signs_of(frame.element))
        return number

    cdef str _path(self, Py_ssize_t wanted):
        cdef Py_ssize_t at = wanted
        cdef Frame* frame
        cdef _Tag tag
        while self.frames[at].path < 0:
            at -= 1
        while at < wanted:
            at += 1
            frame = &self.frames[at]
            if at > _MOST_PATH_LEVELS:
                frame.path = self.frames[at - 1].path
                continue
            tag = <_Tag> frame.tag
            path = <str> self.paths[self.frames[at - 1].path]
            frame.path = len(self.paths)
            self.paths.append(f"{path}/{tag.name}[{frame.place}]" if tag.named else f"{path}/*[{frame.index}]")
        return <str> self.paths[self.frames[wanted].path]

    cdef str _inline_signs(self, xmlNode* around):
        cdef xmlNode* element = self.gathered.first(around)
        cdef list found = []
        while element != around and element != NULL and _is_element_like(element) and len(found) < _MOST_INLINE_LEVELS:
            found.append(f"{self._tag(element).name} {_signs_of(element)}")
            element = element.parent
        return " ".join(found)[:_MOST_SIGN_CHARS] if found else ""

    cdef int _settle(self) except -1:
        """Let each element end where the last one inside it ends."""
        cdef Py_ssize_t number
        cdef int32_t outer
        for number in range(self.last.size - 1, 0, -1):
            outer = self.parent.items[number]
            self.last.items[outer] = max(self.last.items[outer], self.last.items[number])
        return 0
