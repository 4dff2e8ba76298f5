"""Memory that grows."""

cdef void* _grown(void* items, Py_ssize_t* room, Py_ssize_t needed, size_t width) except NULL:
    cdef Py_ssize_t wanted
    if items != NULL and needed <= room[0]:
        return items
    wanted = max(needed, 2 * room[0], 64)
    items = PyMem_Realloc(items, wanted * width)
    if items == NULL:
        raise MemoryError
    room[0] = wanted
    return items
