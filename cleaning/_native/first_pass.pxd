"""The first pass over a page's tree: which elements hold kept texts. `structure.pyx` makes the second one."""

from cpython.object cimport PyObject
from libc.stdint cimport int32_t

from lxml.includes.etreepublic cimport _Element
from lxml.includes.tree cimport xmlNode


cdef enum:
    CACHED_TAGS = 256


cdef class Tag:
    """The properties of a tag name."""

    cdef str name
    cdef object container, part, format
    cdef bint base, block, br, image, inert, line, link, never, noscript, not_code, pre, stated, table, item, formula


cdef struct PassedElement:  # an element of the first pass, in reading order
    int32_t parent
    int32_t size            # the number of elements in it, itself included
    int32_t first           # for block-level elements: the texts inside are first <= number < last
    int32_t last
    int32_t own             # the number of its first own text; -1 if there is none
    bint holds_kept, kept   # it holds a kept text at any level; directly


cdef struct Frame:  # an element that a pass is inside
    xmlNode* element
    xmlNode* next
    int32_t index           # in the elements of the first pass
    int32_t follows         # the index of its next child
    int32_t owner           # the frame of the innermost block-level element: this one, if it is block-level
    int32_t items           # the number of its `li` so far
    int32_t waiting         # for block-level elements: the number of the next own text
    int unseen              # of the outermost inline element around its texts that is not shown: its level
    bint block, kept, whole


cdef class FirstPass:
    """The results of the first pass, and the stack of frames of both passes: pages nest thousands of levels deep.

    The texts are numbered in reading order. `same` has the number of the next own text of the same element, and
    `kept_before` how many kept texts there are before each one.
    """

    cdef bint deep          # elements nest too deep for paths of their own
    cdef object page, kept
    cdef list blocks
    cdef PassedElement* passed_elements
    cdef int32_t* kept_before
    cdef int32_t* same
    cdef Frame* frames
    cdef int32_t depth
    cdef bint solid

    cdef PyObject* _cached_tags[CACHED_TAGS]
    cdef const void* _cached_names[CACHED_TAGS]
    cdef list _tags
    cdef xmlNode* _base     # the first one with an address
    cdef Py_ssize_t _element_capacity, _frame_capacity, _kept_capacity, _same_capacity
    cdef int32_t _count, _texts
    cdef bint _skip_noscript

    cdef bint find_texts(self, _Element start) except -1
    cdef str base_address(self, xmlNode* start)
    cdef Tag tag_of(self, xmlNode* element)
    cdef bint is_skipped(self, Tag tag) noexcept
    cdef bint is_ornament(self, xmlNode* child) except -1
    cdef Frame* push(self, xmlNode* element, int32_t index, bint block) except NULL
    cdef int32_t _add(self, int32_t parent) except -1
    cdef int _enter(self, xmlNode* element, int32_t parent, bint block) except -1
    cdef int _leave(self) except -1
    cdef xmlNode* _pass_text(self, xmlNode* node) except? NULL
    cdef int _end_text(self) except -1
    cdef bint _is_inert(self, xmlNode* node) except -1
