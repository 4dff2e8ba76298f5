# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""`cleaning.leaf_table` over `cleaning.leaves.walk`, read straight from the parser's tree: the same columns, in C.

What is a block, a word or a mark is not written twice: tags and characters are classed by the tables and patterns of
the pure modules. Nothing is linked: the nodes are read by their public structure, the rest is lxml's C interface.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject, PyObject_GenericSetAttr
from cpython.unicode cimport PyUnicode_4BYTE_KIND, PyUnicode_DecodeUTF8, PyUnicode_FromKindAndData
from libc.stdint cimport int32_t, uint16_t, uint32_t
from libc.stdlib cimport calloc
from libc.string cimport strcmp, strlen

from lxml.includes cimport etreepublic as public
from lxml.includes.etreepublic cimport _Element, import_lxml__etree
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE, XML_COMMENT_NODE, XML_ELEMENT_NODE, XML_ENTITY_REF_NODE, XML_PI_NODE, XML_TEXT_NODE,
    XML_XINCLUDE_END, XML_XINCLUDE_START, xmlAttr, xmlNode,
)

import numpy

from cleaning import features, paths, scan, terms
from cleaning.blocks import Block, Decision, Kind
from cleaning.leaves import NEVER_CONTENT

import_lxml__etree()

BUILT_WITH = public.LXML_VERSION_STRING.decode("ascii")

cdef enum:
    COLUMNS = 15
    CACHED_TAGS = 256

if COLUMNS != len(scan.Count):
    raise ImportError(f"it was compiled for {COLUMNS} columns, and there are {len(scan.Count)}")

cdef int _MOST_SIGN_CHARS = scan._MOST_SIGN_CHARS
cdef int _MOST_INLINE_LEVELS = scan._MOST_INLINE_LEVELS
cdef int _MOST_PATH_LEVELS = paths._MOST_LEVELS
cdef int _IMAGE_TENTHS = features.IMAGE_TENTHS
cdef object _UNSEEN_STYLE = scan._UNSEEN_STYLE
cdef object _PARAGRAPH = Kind.PARAGRAPH
cdef object _CODE = Kind.CODE
cdef tuple _BLOCK_FIELDS = tuple(Block.__dataclass_fields__)
cdef tuple _DECISION_FIELDS = tuple(Decision.__dataclass_fields__)
cdef object _new = object.__new__

include "_characters.pxi"
include "_counting.pxi"
include "_growing.pxi"
include "_gathered.pxi"
include "_signs.pxi"
include "_tags.pxi"
include "_walk.pxi"


def scan_tree(root):
    """Return the columns of a page's leaves, as `scan(walk(root))` does."""
    start = features.body_of(root)
    cdef _Walk scripted = _walk(start, True), unscripted
    if scripted.words >= features._SHELL_WORDS:
        return scripted.columns()
    unscripted = _walk(start, False)
    most = max(features._SHELL_WORDS, 2 * scripted.words)
    return (unscripted if unscripted.words >= most else scripted).columns()


def decisions(list blocks, list scores, list reasons):
    """Return a decision on each block."""
    return [
        _made(_new(Decision), _DECISION_FIELDS, (block, score, reason))
        for block, score, reason in zip(blocks, scores, reasons, strict=True)
    ]


cdef _Walk _walk(_Element start, bint skip_noscript):
    cdef _Walk walk = _Walk(skip_noscript)
    walk.run(start._c_node, start.getroottree().getpath(start))
    return walk
