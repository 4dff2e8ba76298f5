"""The check of modules that read lxml's trees, at their import: the size of lxml's elements."""

from lxml.includes cimport etreepublic as public


cdef extern from "etree_api.h":
    ctypedef struct LxmlElement "struct LxmlElement":
        pass
    ctypedef struct LxmlDocument "struct LxmlDocument":
        pass


cdef inline str compiled_lxml():
    """Return the version of lxml that the module was compiled with."""
    return (<bytes> public.LXML_VERSION_STRING).decode("ascii")


cdef inline dict compiled_sizes():
    """Return the sizes of lxml's structures that the module was compiled with, by class name."""
    return {"_Element": sizeof(LxmlElement), "_Document": sizeof(LxmlDocument)}
