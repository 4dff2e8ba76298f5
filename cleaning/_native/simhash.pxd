"""The modified simhash of a sequence of terms: pair sums and bits. cleaning/fingerprint.py defines both."""

from libc.stdint cimport int32_t, uint64_t

cdef enum:
    BITS = 64
    MAX_TERMS = 4096  # cleaning/fingerprint.py sums the pairs of a longer sequence in a time that grows less

cdef struct Sequence:
    int32_t size
    int32_t unique
    int32_t[MAX_TERMS] numbers     # of the term at each position
    int32_t[MAX_TERMS] following   # the next position of the same term; `size` if there is none
    int32_t[MAX_TERMS] preceding   # the previous position of the same term; -1 if there is none
    int32_t[MAX_TERMS] latest      # by number of the term: its last position so far
    uint64_t[MAX_TERMS] hashes     # by number of the term
    double[MAX_TERMS] shares       # by position: the frequency and pair sums that it adds to its term
    double[MAX_TERMS] weights      # by number of the term


cdef inline void add_pair_sums(Sequence* its, const double* inverse_gaps, bint symmetric) noexcept:
    """Add 1/(y - x) to the share of x for each counted pair (x, y), and to that of y if `symmetric`."""
    cdef int32_t x, y
    cdef double total
    for x in range(its.size):
        total = 0.0
        for y in range(x + 1, its.following[x]):
            if its.preceding[y] < x:
                total += inverse_gaps[y - x]
                if symmetric:
                    its.shares[y] += inverse_gaps[y - x]
        its.shares[x] += total


cdef inline uint64_t weighted_bits(Sequence* its, double tie) noexcept:
    """Return the bits that more than half the weight of all terms has."""
    cdef double[BITS] sums
    cdef double total = 0.0
    cdef uint64_t found = 0
    cdef int32_t at, number, bit
    for number in range(its.unique):
        its.weights[number] = 0.0
    for at in range(its.size):
        its.weights[its.numbers[at]] += its.shares[at]
    for bit in range(BITS):
        sums[bit] = 0.0
    for number in range(its.unique):
        total += its.weights[number]
        for bit in range(BITS):
            sums[bit] += its.weights[number] * <double> (its.hashes[number] >> bit & 1)
    for bit in range(BITS):
        if sums[bit] > total * (0.5 + tie):
            found |= <uint64_t> 1 << bit
    return found
