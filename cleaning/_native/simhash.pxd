"""The modified simhash of a sequence of terms: pair sums and bits. cleaning/fingerprint.py defines both."""

from libc.stdint cimport int32_t, uint64_t

cdef enum:
    BITS = 64
    MAX_TERMS = 16384  # cleaning/fingerprint.py sums the pairs of a longer sequence in a time that grows less

cdef struct Sequence:
    int32_t size
    int32_t unique
    double* shares       # by position: the frequency and pair sums that it adds to its term
    double* counted      # by position: see `add_pair_sums`
    double* weights      # by number of the term
    uint64_t* hashes     # by number of the term
    int32_t* numbers     # of the term at each position
    int32_t* following   # the next position of the same term; `size` if there is none
    int32_t* preceding   # the previous position of the same term; -1 if there is none
    int32_t* latest      # by number of the term: its last position so far


cdef inline size_t sequence_bytes(Py_ssize_t size) noexcept:
    """Return the bytes that the arrays of a sequence take."""
    return size * (4 * sizeof(double) + 4 * sizeof(int32_t))


cdef inline void place_arrays(Sequence* its, int32_t size, void* memory) noexcept:
    """Place the arrays of a sequence with this number of terms in the memory."""
    its.size, its.unique = size, 0
    its.shares = <double*> memory
    its.counted = its.shares + size
    its.weights = its.counted + size
    its.hashes = <uint64_t*> (its.weights + size)
    its.numbers = <int32_t*> (its.hashes + size)
    its.following = its.numbers + size
    its.preceding = its.following + size
    its.latest = its.preceding + size


cdef inline double _product(const double* some, const double* others, int32_t size) noexcept:
    """Return the sum of the products of two arrays. A processor adds the four sums side by side."""
    cdef double[4] sums
    cdef int32_t at = 0, lane
    for lane in range(4):
        sums[lane] = 0.0
    while at + 3 < size:
        for lane in range(4):
            sums[lane] += some[at + lane] * others[at + lane]
        at += 4
    while at < size:
        sums[0] += some[at] * others[at]
        at += 1
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef inline void add_pair_sums(Sequence* its, const double* inverse_gaps, bint symmetric) noexcept:
    """Add 1/(y - x) to the share of x for each counted pair (x, y), and to that of y if `symmetric`.

    `counted` is 1 for each y whose term does not occur between x and y, and 0 for the others.
    """
    cdef int32_t x, y, following
    for y in range(its.size):
        its.counted[y] = 1.0 if its.preceding[y] < 0 else 0.0
    for x in range(its.size):
        following = its.following[x]
        its.shares[x] += _product(&its.counted[x + 1], &inverse_gaps[1], following - x - 1)
        if symmetric:
            for y in range(x + 1, following):
                its.shares[y] += its.counted[y] * inverse_gaps[y - x]
        if following < its.size:
            its.counted[following] = 1.0


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
