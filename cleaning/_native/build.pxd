"""The types of `cleaning/structure/build.py` where it is compiled."""

cdef class Container:
    cdef public object type, level, rows, header, text
    cdef public list content, positions, after


cdef class Builder:
    cdef object _textless, _nest, _paragraph, _heads
    cdef list _blocks, _stack, _held, _spots
    cdef Container _root
    cdef Py_ssize_t _tables, _last, _breaks, _lowest

    cdef bint _goes_on(self, kind, Container outer)
    cpdef close(self, Container container)
    cpdef bint in_table(self)
    cpdef edge(self)
    cpdef line_break(self)
    cpdef add_text(self, segments, Py_ssize_t number)
    cpdef hold(self, nodes)
    cpdef bint holds(self)
    cpdef hold_image(self, element)
    cpdef hold_textless(self, element)
    cdef _hold(self, node)
    cdef _release(self, Py_ssize_t number)
    cdef Container _container_of(self, spot)
    cdef list _found_in(self, held)
    cdef _add_paragraphs(self, Container outer, list content, list position)
    cdef _add_paragraph(self, Container outer, list content, list position)
    cdef _append(self, Container outer, node)
    cdef _append_inline(self, Container outer, node)
    cdef list _finished(self, Container container)
    cdef _node(self, Container container)
