"""C arrays that grow, and memory that is loaded ahead."""

from cpython.mem cimport PyMem_Realloc

cdef extern from *:
    """
    #ifdef __GNUC__
    #define blocksieve_prefetch(place) __builtin_prefetch(place)
    #else
    #define blocksieve_prefetch(place) ((void) (place))
    #endif
    """
    void prefetch "blocksieve_prefetch" (const void* place) noexcept


cdef inline void* grown(void* items, Py_ssize_t* capacity, Py_ssize_t needed, size_t width) except NULL:
    """Return the array with room for `needed` items of `width` bytes; a failure leaves the old array in place."""
    cdef Py_ssize_t wanted
    if items != NULL and needed <= capacity[0]:
        return items
    wanted = max(needed, 2 * capacity[0], 64)
    items = PyMem_Realloc(items, wanted * width)
    if items == NULL:
        raise MemoryError
    capacity[0] = wanted
    return items
