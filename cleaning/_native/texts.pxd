"""Texts to characters and back, by the calls of Python's stable interface where the build is limited to it."""

from libc.stdint cimport uint32_t


cdef extern from *:
    """
    #ifdef Py_LIMITED_API
    static PyObject* blocksieve_make_text(const uint32_t* characters, Py_ssize_t size) {
        const uint16_t one = 1;
        int order = *(const char*) &one ? -1 : 1;
        return PyUnicode_DecodeUTF32((const char*) characters, 4 * size, "surrogatepass", &order);
    }
    #else
    static PyObject* blocksieve_make_text(const uint32_t* characters, Py_ssize_t size) {
        return PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, characters, size);
    }
    #endif
    """
    str make_text "blocksieve_make_text" (const uint32_t* characters, Py_ssize_t size)
    const uint32_t* _copy "PyUnicode_AsUCS4" (object text, uint32_t* to, Py_ssize_t size, int with_nul) except NULL


cdef inline int copy_text(str text, uint32_t* to, Py_ssize_t size) except -1:
    """Copy a text of `size` characters to an array with room for them."""
    _copy(text, to, size, 0)
    return 0
