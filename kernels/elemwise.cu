// Functions of one tensor, element by element, and conversions.
//
// Entry points: elemwise_NAME_DTYPE(data, out, walk, req); elemwise_clip_DTYPE takes its bounds
// before the walk, and elemwise_Cast_FROM_TO has two types. NAME is the operator's without leading
// underscores. One row below is one operator.
#include "map.cuh"
#include "real.cuh"

// `x` is the element in the type C.
#define FM_ENTRY(T, NAME, LANES, C, ...) \
    extern "C" __global__ void elemwise_##NAME##_##T( \
        const T *data, T *out, const __grid_constant__ fm::Walk<2> walk, int req) { \
        const T *const in[1] = {data}; \
        fm::map<LANES>(out, in, walk, req, [](const T(&at)[1]) { \
            const C x = fm::convert<C>(at[0]); \
            return (C)(__VA_ARGS__); \
        }); \
    }

#define FM_PLAIN_ENTRY(T, NAME, ...) \
    FM_ENTRY(T, NAME, (fm::lanes<T, T>), fm::Compute<T>, __VA_ARGS__)
#define FM_COPY_ENTRY(T, NAME, ...) FM_ENTRY(T, NAME, (fm::lanes<T, T>), T, __VA_ARGS__)

// Functions that every type has in itself.
#define FM_PLAIN(NAME, ...) FM_NUMBERS(FM_PLAIN_ENTRY, NAME, __VA_ARGS__)

FM_ALL(FM_COPY_ENTRY, copy, x)
FM_ALL(FM_PLAIN_ENTRY, logical_not, !fm::truth(x))

FM_PLAIN(negative, fm::opposite(x))
FM_PLAIN(abs, fm::magnitude(x))
FM_PLAIN(sign, fm::sign(x))
FM_PLAIN(square, fm::times(x, x))
// NaN stays, -0 becomes 0.
FM_PLAIN(relu, x <= 0 ? 0 : x)
FM_PLAIN(floor, fm::round_down(x))
FM_PLAIN(ceil, fm::round_up(x))
FM_PLAIN(trunc, fm::round_to_zero(x))
FM_PLAIN(round, fm::round_away(x))
FM_PLAIN(rint, fm::round_half_down(x))

#define FM_CLIP_ENTRY(T, ...) \
    extern "C" __global__ void elemwise_clip_##T( \
        const T *data, T *out, float64 a_min, float64 a_max, \
        const __grid_constant__ fm::Walk<2> walk, int req) { \
        typedef fm::Compute<T> C; \
        const T *const in[1] = {data}; \
        const C low = fm::saturate<C>(a_min), high = fm::saturate<C>(a_max); \
        fm::map<fm::lanes<T, T>>(out, in, walk, req, [=](const T(&at)[1]) { \
            return fm::clip(fm::convert<C>(at[0]), low, high); \
        }); \
    }
FM_NUMBERS(FM_CLIP_ENTRY, )

#define FM_CAST_ENTRY(TO, FROM) \
    extern "C" __global__ void elemwise_Cast_##FROM##_##TO( \
        const FROM *data, TO *out, const __grid_constant__ fm::Walk<2> walk, int req) { \
        const FROM *const in[1] = {data}; \
        fm::map<fm::lanes<TO, FROM>>(out, in, walk, req, [](const FROM(&at)[1]) { \
            return fm::convert<TO>(at[0]); \
        }); \
    }
FM_ALL(FM_CAST_ENTRY, float32)
FM_ALL(FM_CAST_ENTRY, float64)
FM_ALL(FM_CAST_ENTRY, float16)
FM_ALL(FM_CAST_ENTRY, bfloat16)
FM_ALL(FM_CAST_ENTRY, uint8)
FM_ALL(FM_CAST_ENTRY, int8)
FM_ALL(FM_CAST_ENTRY, int32)
FM_ALL(FM_CAST_ENTRY, int64)
FM_ALL(FM_CAST_ENTRY, bool)
