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


cdef inline void place_arrays(Sequence* sequence, int32_t size, void* memory) noexcept:
    """Place the arrays of a sequence with this number of terms in the memory."""
    sequence.size, sequence.unique = size, 0
    sequence.shares = <double*> memory
    sequence.counted = sequence.shares + size
    sequence.weights = sequence.counted + size
    sequence.hashes = <uint64_t*> (sequence.weights + size)
    sequence.numbers = <int32_t*> (sequence.hashes + size)
    sequence.following = sequence.numbers + size
    sequence.preceding = sequence.following + size
    sequence.latest = sequence.preceding + size


cdef inline double _product(const double* values, const double* others, int32_t size) noexcept:
    """Return the sum of the products of two arrays. A processor adds the four sums side by side."""
    cdef double[4] sums
    cdef int32_t index = 0, lane
    for lane in range(4):
        sums[lane] = 0.0
    while index + 3 < size:
        for lane in range(4):
            sums[lane] += values[index + lane] * others[index + lane]
        index += 4
    while index < size:
        sums[0] += values[index] * others[index]
        index += 1
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef inline void add_pair_sums(Sequence* sequence, const double* inverse_gaps, bint symmetric) noexcept:
    """Add 1/(y - x) to the share of x for each counted pair (x, y), and to that of y if `symmetric`.

    `counted` is 1 for each y whose term does not occur between x and y, and 0 for the others.
    """
    cdef int32_t x, y, following
    for y in range(sequence.size):
        sequence.counted[y] = 1.0 if sequence.preceding[y] < 0 else 0.0
    for x in range(sequence.size):
        following = sequence.following[x]
        sequence.shares[x] += _product(&sequence.counted[x + 1], &inverse_gaps[1], following - x - 1)
        if symmetric:
            for y in range(x + 1, following):
                sequence.shares[y] += sequence.counted[y] * inverse_gaps[y - x]
        if following < sequence.size:
            sequence.counted[following] = 1.0


cdef inline uint64_t weighted_bits(Sequence* sequence, double tie) noexcept:
    """Return the bits that more than half the weight of all terms has."""
    cdef double[BITS] sums
    cdef double total = 0.0
    cdef uint64_t bits = 0
    cdef int32_t index, number, bit
    for number in range(sequence.unique):
        sequence.weights[number] = 0.0
    for index in range(sequence.size):
        sequence.weights[sequence.numbers[index]] += sequence.shares[index]
    for bit in range(BITS):
        sums[bit] = 0.0
    for number in range(sequence.unique):
        total += sequence.weights[number]
        for bit in range(BITS):
            sums[bit] += sequence.weights[number] * <double> (sequence.hashes[number] >> bit & 1)
    for bit in range(BITS):
        if sums[bit] > total * (0.5 + tie):
            bits |= <uint64_t> 1 << bit
    return bits
