// Steps of recurrent networks. Products of all steps at once are those of dot.cu.
//
// Entry points, MODE being relu, tanh, lstm or gru, whose blocks have rows and units along x and a direction
// along z: rnn_step_MODE_DTYPE(net, number, sums, parameters, states, lengths) and
// rnn_project_DTYPE(net, number, parameters, states, lengths); and rnn_drop_DTYPE(outputs, factors,
// factors_req, at, count, first, coin, tossed, stream), a thread for each output. `lengths` are int64, or
// null for all steps; -1 is one that was refused. Arrays have no gaps.
#include "grid.cuh"
#include "random.cuh"
#include "recurrent.cuh"
#include "special.cuh"

namespace fm {

/// Where states are, and results go to. Where nothing is kept or seen, the requests say so.
template <class R> struct States {
    /// Of both directions, before the step and after it; `cells` may be those before.
    const R *old;
    R *fresh;
    const R *old_cells;
    R *cells, *unprojected;
    R *kept, *seen, *outputs;
    int kept_req, seen_req;
};

/// What a cell gives: values of gates, the output, and a further number: the cell state of an LSTM, or what a
/// GRU's reset gate multiplies.
template <int MODE, class R>
__device__ __forceinline__ R
cell_of(const Net &net, R (&x)[gates_of<MODE>], R inner, R old, R &more) {
    if constexpr (MODE == Relu) {
        return x[0] = x[0] <= 0 ? (R)0 : x[0];
    } else if constexpr (MODE == Tanh) {
        return x[0] = hyperbolic_tangent(x[0]);
    } else if constexpr (MODE == Lstm) {
        x[0] = sigmoid(x[0]);
        x[1] = sigmoid(x[1]);
        x[2] = hyperbolic_tangent(x[2]);
        x[3] = sigmoid(x[3]);
        more = net.clip(x[0] * x[2] + x[1] * more);
        return x[3] * hyperbolic_tangent(more);
    } else {
        x[0] = sigmoid(x[0]);
        x[1] = sigmoid(x[1]);
        more = x[2];
        x[2] = hyperbolic_tangent(inner + x[0] * more);
        return ((R)1 - x[1]) * x[2] + x[1] * old;
    }
}

/// Puts the output of a step where it belongs; a row past the end of its sequence gives 0, and keeps its state.
template <class R>
__device__ __forceinline__ void
finish(const Net &net, const States<R> &to, int64 d, int64 t, const Cell &own, R h, bool lives) {
    const int64 state = (d * net.batch + own.row) * net.out + own.unit;
    const int64 at = net.place(t, own.row, d, own.unit);
    const R y = lives ? h : (R)0;
    to.fresh[state] = lives ? h : to.old[state];
    if (to.outputs != nullptr) {
        to.outputs[at] = y;
    }
    if (to.seen_req != Null) {
        put(to.seen[net.seen + at], y, to.seen_req == Add);
    }
}

template <int MODE, class R>
__device__ __forceinline__ void step(
    const Net &net, int64 number, const R *sums, const R *parameters, const States<R> &to,
    const int64 *lengths) {
    constexpr int G = gates_of<MODE>;
    const int64 d = blockIdx.z, t = net.step(d, number), n = net.hidden, wide = G * n;
    const R *const weights = parameters + net.weights + d * net.weights_step;
    R x[G], inner = 0, more = 0;
    const R *const old = to.old + d * net.batch * net.out;
    gate_products(old, GateWeights<R>{weights, n * net.out, net.out, 1}, net.batch, n, net.out, x);
    const Cell own = own_cell(n);
    if (own.row >= net.batch || own.unit >= n) {
        return;
    }
    const int64 line = t * net.batch + own.row;
    const R *const sum = sums + (d * net.steps * net.batch + line) * wide + own.unit;
    const R *const bias = parameters + net.biases + d * 2 * wide + own.unit;
#pragma unroll
    for (int g = 0; g < G; ++g) {
        const R input = sum[g * n] + bias[g * n], other = bias[wide + g * n];
        if (MODE == Gru && g == 2) {
            inner = input;
            x[g] += other;
        } else {
            x[g] += input + other;
        }
    }
    const int64 state = (d * net.batch + own.row) * n + own.unit;
    const R before = MODE == Lstm ? to.old_cells[state] : (R)0;
    more = before;
    const R h = cell_of<MODE>(net, x, inner, MODE == Gru ? to.old[state] : (R)0, more);
    const bool lives = t < net.length(lengths, own.row), adds = to.kept_req == Add;
    if (MODE == Lstm) {
        to.cells[state] = lives ? more : before;
    }
    R *const kept = to.kept + net.kept + d * net.kept_step;
    const int64 at = line * n + own.unit;
    if (to.kept_req != Null) {
#pragma unroll
        for (int g = 0; g < G; ++g) {
            put(kept[line * wide + g * n + own.unit], x[g], adds);
        }
        if (MODE == Lstm || MODE == Gru) {
            put(kept[net.more + at], more, adds);
        }
        if (net.projects) {
            put(kept[net.unprojected + at], h, adds);
        }
    }
    if (net.projects) {
        to.unprojected[state] = h;
    } else {
        finish(net, to, d, t, own, h, lives);
    }
}

template <class R>
__device__ __forceinline__ void
project(const Net &net, int64 number, const R *parameters, const States<R> &to, const int64 *lengths) {
    const int64 d = blockIdx.z, t = net.step(d, number), n = net.hidden;
    const R *const weights = parameters + net.projection + d * net.weights_step;
    R x[1];
    const R *const from = to.unprojected + d * net.batch * n;
    gate_products(from, GateWeights<R>{weights, 0, n, 1}, net.batch, net.out, n, x);
    const Cell own = own_cell(net.out);
    if (own.row < net.batch && own.unit < net.out) {
        finish(net, to, d, t, own, x[0], t < net.length(lengths, own.row));
    }
}

/// Factors of a layer's outputs, and their products.
template <class R>
__device__ __forceinline__ void drop(
    R *outputs, R *factors, int req, int64 at, int64 count, int64 first, const Coin &coin, int tossed,
    const Stream &stream) {
    each(count, [&](int64 i) {
        const Word word = (Word)(first + i);
        const R factor = tossed ? toss<R>(coin, block_of(stream, word / 4).at[word % 4]) : (R)1;
        outputs[i] *= factor;
        if (req != Null) {
            put(factors[at + i], factor, req == Add);
        }
    });
}

} // namespace fm

#define FM_STEP_ENTRY(T, NAME, MODE) \
    extern "C" __global__ void __launch_bounds__(fm::CELL_THREADS) rnn_step_##NAME##_##T( \
        const __grid_constant__ fm::Net net, int64 number, const T *sums, const T *parameters, \
        const __grid_constant__ fm::States<T> states, const int64 *lengths) { \
        fm::step<fm::MODE>(net, number, sums, parameters, states, lengths); \
    }
#define FM_RNN_ENTRIES(T, ...) \
    FM_STEP_ENTRY(T, relu, Relu) \
    FM_STEP_ENTRY(T, tanh, Tanh) \
    FM_STEP_ENTRY(T, lstm, Lstm) \
    FM_STEP_ENTRY(T, gru, Gru) \
    extern "C" __global__ void __launch_bounds__(fm::CELL_THREADS) rnn_project_##T( \
        const __grid_constant__ fm::Net net, int64 number, const T *parameters, \
        const __grid_constant__ fm::States<T> states, const int64 *lengths) { \
        fm::project(net, number, parameters, states, lengths); \
    } \
    extern "C" __global__ void rnn_drop_##T( \
        T *outputs, T *factors, int factors_req, int64 at, int64 count, int64 first, \
        const __grid_constant__ fm::Coin coin, int tossed, const __grid_constant__ fm::Stream stream) { \
        fm::drop(outputs, factors, factors_req, at, count, first, coin, tossed, stream); \
    }
FM_REALS(FM_RNN_ENTRIES, )
