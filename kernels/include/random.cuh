// Counter-based random numbers, those of the CPU (docs/random.md): Philox4x32-10 of Salmon, Moraes,
// Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once
#include "number.cuh"

namespace fm {

/// The random numbers of one run of one operator.
struct Stream {
    Word seed;
    /// The number of the run since seeding.
    Word run;
};

/// Four random words.
struct Block {
    unsigned at[4];
};

__device__ __forceinline__ Block block_of(const Stream &stream, Word index) {
    unsigned c0 = (unsigned)index, c1 = (unsigned)(index >> 32);
    unsigned c2 = (unsigned)stream.run, c3 = (unsigned)(stream.run >> 32);
    unsigned k0 = (unsigned)stream.seed, k1 = (unsigned)(stream.seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const Word a = (Word)c0 * 0xD2511F53u, b = (Word)c2 * 0xCD9E8D57u;
        c0 = (unsigned)(b >> 32) ^ c1 ^ k0;
        c2 = (unsigned)(a >> 32) ^ c3 ^ k1;
        c1 = (unsigned)b;
        c3 = (unsigned)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

/// A fraction of some bits in [0, 1).
__device__ __forceinline__ float32 fraction(unsigned word, int bits) {
    return over((float32)(word >> (32 - bits)), (float32)(1u << bits));
}

/// A fraction of 53 bits in [0, 1).
__device__ __forceinline__ float64 fraction_53(unsigned high, unsigned low) {
    return (float64)((Word)high << 21 | low >> 11) / (float64)(1ull << 53);
}

/// Bits of a uniform number.
template <class T> constexpr int fraction_bits = 24;
template <> constexpr int fraction_bits<float16> = 11;
template <> constexpr int fraction_bits<bfloat16> = 8;

/// How many elements the four words of a block make.
template <class T> constexpr int of_block = sizeof(T) == 8 ? 2 : 4;

/// The fraction that an element of a block is made of.
template <class T> __device__ __forceinline__ Compute<T> fraction_of(const Block &words, int k) {
    if constexpr (sizeof(T) == 8) {
        return fraction_53(words.at[2 * k], words.at[2 * k + 1]);
    } else {
        return fraction(words.at[k], fraction_bits<T>);
    }
}

/// 32 bits in (0, 1], whose logarithm is finite.
__device__ __forceinline__ float32 positive(unsigned word) {
    return (float32)(((float64)word + 1.0) / 4294967296.0);
}

/// Which elements stay: those whose word is below the threshold, multiplied by the factor.
struct Coin {
    Word threshold;
    float64 factor;
};

template <class R> __device__ __forceinline__ R toss(const Coin &coin, unsigned word) {
    return word < coin.threshold ? (R)coin.factor : (R)0;
}

} // namespace fm
