// Element types under their NumPy names, so that entry points can be named by pasting tokens, and
// the lists of types that tables expand over. No header of the CUDA toolkit is needed: halves are
// bits that hardware instructions convert.
#pragma once

typedef float float32;
typedef double float64;
typedef unsigned char uint8;
typedef signed char int8;
typedef int int32;
typedef long long int64;

/// An IEEE half, computed in float32.
struct float16 {
    unsigned short bits;
};

/// The upper half of a float32, computed in float32.
struct bfloat16 {
    unsigned short bits;
};

// A dispatcher that wants one element type soon defines FM_ONLY as its code in `.params` files;
// every row then makes the entry point of that type alone (the one to cast to), in a tenth of the
// time.
#ifndef FM_ONLY
#define FM_ONLY -1
#endif
#if FM_ONLY == -1 || FM_ONLY == 0
#define FM_IF_float32(...) __VA_ARGS__
#else
#define FM_IF_float32(...)
#endif
#if FM_ONLY == -1 || FM_ONLY == 1
#define FM_IF_float64(...) __VA_ARGS__
#else
#define FM_IF_float64(...)
#endif
#if FM_ONLY == -1 || FM_ONLY == 2
#define FM_IF_float16(...) __VA_ARGS__
#else
#define FM_IF_float16(...)
#endif
#if FM_ONLY == -1 || FM_ONLY == 3
#define FM_IF_uint8(...) __VA_ARGS__
#else
#define FM_IF_uint8(...)
#endif
#if FM_ONLY == -1 || FM_ONLY == 4
#define FM_IF_int32(...) __VA_ARGS__
#else
#define FM_IF_int32(...)
#endif
#if FM_ONLY == -1 || FM_ONLY == 5
#define FM_IF_int8(...) __VA_ARGS__
#else
#define FM_IF_int8(...)
#endif
#if FM_ONLY == -1 || FM_ONLY == 6
#define FM_IF_int64(...) __VA_ARGS__
#else
#define FM_IF_int64(...)
#endif
#if FM_ONLY == -1 || FM_ONLY == 7
#define FM_IF_bool(...) __VA_ARGS__
#else
#define FM_IF_bool(...)
#endif
#if FM_ONLY == -1 || FM_ONLY == 12
#define FM_IF_bfloat16(...) __VA_ARGS__
#else
#define FM_IF_bfloat16(...)
#endif

// Expand ROW(type, ...) for groups of types. `bool` is one byte, 0 or 1.
#define FM_REALS(ROW, ...) \
    FM_IF_float32(ROW(float32, __VA_ARGS__)) \
    FM_IF_float64(ROW(float64, __VA_ARGS__))
#define FM_FLOATS(ROW, ...) \
    FM_REALS(ROW, __VA_ARGS__) \
    FM_IF_float16(ROW(float16, __VA_ARGS__)) \
    FM_IF_bfloat16(ROW(bfloat16, __VA_ARGS__))
#define FM_INTEGERS(ROW, ...) \
    FM_IF_uint8(ROW(uint8, __VA_ARGS__)) \
    FM_IF_int8(ROW(int8, __VA_ARGS__)) \
    FM_IF_int32(ROW(int32, __VA_ARGS__)) \
    FM_IF_int64(ROW(int64, __VA_ARGS__))
#define FM_NUMBERS(ROW, ...) FM_FLOATS(ROW, __VA_ARGS__) FM_INTEGERS(ROW, __VA_ARGS__)
#define FM_ALL(ROW, ...) FM_NUMBERS(ROW, __VA_ARGS__) FM_IF_bool(ROW(bool, __VA_ARGS__))

namespace fm {

template <class T> struct Type {
    typedef T Compute;
    static constexpr bool integer = true;
};
template <> struct Type<float32> {
    typedef float32 Compute;
    static constexpr bool integer = false;
};
template <> struct Type<float64> {
    typedef float64 Compute;
    static constexpr bool integer = false;
};
template <> struct Type<float16> {
    typedef float32 Compute;
    static constexpr bool integer = false;
};
template <> struct Type<bfloat16> {
    typedef float32 Compute;
    static constexpr bool integer = false;
};

/// The type that arithmetic on T is done in: halves in float32, everything else in itself.
template <class T> using Compute = typename Type<T>::Compute;

/// The type that functions of real numbers of T are computed in: integers in float64.
template <bool integer, class T> struct RealOf {
    typedef Compute<T> Is;
};
template <class T> struct RealOf<true, T> {
    typedef float64 Is;
};
template <class T> using Real = typename RealOf<Type<T>::integer, T>::Is;

/// The type that elements of T are reduced in: integers and bools in int64.
template <bool integer, class T> struct WideOf {
    typedef Compute<T> Is;
};
template <class T> struct WideOf<true, T> {
    typedef int64 Is;
};
template <class T> using Wide = typename WideOf<Type<T>::integer, T>::Is;

} // namespace fm
