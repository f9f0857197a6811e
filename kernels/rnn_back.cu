// Steps of recurrent networks back. Products of all steps at once are those of dot.cu.
//
// Entry points, MODE being relu, tanh, lstm or gru, whose blocks have rows and units along x and a direction
// along z: rnn_back_MODE_DTYPE(net, number, parameters, back, lengths) and rnn_back_carry_DTYPE(net, number,
// parameters, back, to, req, lengths); and rnn_back_history_DTYPE(net, outputs, first_states, lengths, old), a
// thread for each element. `lengths` are those of rnn.cu. Arrays have no gaps.
#include "grid.cuh"
#include "recurrent.cuh"
#include "special.cuh"

namespace fm {

/// What steps back read and write: gradients, and what forward kept.
template <class R> struct Back {
    /// Gradients that weights multiply, `(direction, step, row, depth)`; null where there are none yet.
    const R *grads;
    /// Those of the states after the step, or null; then those before it.
    const R *states_from;
    R *states;
    const R *cells_from;
    R *cells;
    /// That of the outputs, or null.
    const R *outputs_grad;
    /// What forward kept, the outputs, and the states at the beginning.
    const R *kept, *outputs, *first_states, *first_cells;
    /// Get the gradients of sums of inputs, of a GRU those of sums of states, and of projected outputs.
    R *sums, *gates, *projected;
    /// Where weights are among the parameters, their depth, and the number of the step whose gradients they
    /// multiply.
    int64 weights, depth, number;
};

/// The gradient of a unit of the states that steps began with: by weights, by itself and by that of the output.
/// Every thread of a block comes here.
template <class R>
__device__ __forceinline__ R arriving(
    const Net &net, const R *parameters, const Back<R> &back, int64 units, int64 t,
    const int64 *lengths) {
    const int64 d = blockIdx.z;
    R sum[1] = {0};
    if (back.grads != nullptr) {
        const int64 from = (d * net.steps + net.step(d, back.number)) * net.batch * back.depth;
        const R *const weights = parameters + back.weights + d * net.weights_step;
        const GateWeights<R> turned = {weights, 0, 1, units};
        gate_products(back.grads + from, turned, net.batch, units, back.depth, sum);
    }
    const Cell own = own_cell(units);
    if (own.row >= net.batch || own.unit >= units) {
        return 0;
    }
    if (back.states_from != nullptr) {
        sum[0] += back.states_from[(d * net.batch + own.row) * units + own.unit];
    }
    if (back.outputs_grad != nullptr && t < net.length(lengths, own.row)) {
        sum[0] += back.outputs_grad[net.place(t, own.row, d, own.unit)];
    }
    return sum[0];
}

/// What a step began with: an element of the outputs, or of the first states.
template <class R>
__device__ __forceinline__ R old_state(
    const Net &net, const R *outputs, const R *first_states, int64 d, int64 t, const Cell &own,
    int64 length) {
    if (t == (d == 0 ? 0 : length - 1)) {
        return first_states[(d * net.batch + own.row) * net.out + own.unit];
    }
    return outputs[net.place(d == 0 ? t - 1 : t + 1, own.row, d, own.unit)];
}

/// The gradients of a cell's sums from that of its output and, of an LSTM, of its state, which become those of
/// what it began with. `x` are the values of the gates; `slopes` get those of the sums, of a GRU also that of
/// what its reset gate multiplies.
template <int MODE, class R>
__device__ __forceinline__ void cell_back(
    const Net &net, const R (&x)[gates_of<MODE>], R more, R old, R &grad, R &of_cell, R (&slopes)[4]) {
    const R g = grad;
    grad = 0;
    if constexpr (MODE == Relu) {
        slopes[0] = g * (x[0] > 0 ? (R)1 : x[0] <= 0 ? (R)0 : x[0]);
    } else if constexpr (MODE == Tanh) {
        slopes[0] = g * ((R)1 - x[0] * x[0]);
    } else if constexpr (MODE == Lstm) {
        const R bent = hyperbolic_tangent(more), free = x[1] * old + x[0] * x[2];
        R c = of_cell + g * x[3] * ((R)1 - bent * bent);
        if (net.clipped != Free && net.clip(free) != free) {
            c = 0;
        }
        slopes[0] = c * x[2] * x[0] * ((R)1 - x[0]);
        slopes[1] = c * old * x[1] * ((R)1 - x[1]);
        slopes[2] = c * x[0] * ((R)1 - x[2] * x[2]);
        slopes[3] = g * bent * x[3] * ((R)1 - x[3]);
        of_cell = c * x[1];
    } else {
        slopes[2] = g * ((R)1 - x[1]) * ((R)1 - x[2] * x[2]);
        slopes[1] = g * (old - x[2]) * x[1] * ((R)1 - x[1]);
        slopes[0] = slopes[2] * more * x[0] * ((R)1 - x[0]);
        slopes[3] = slopes[2] * x[0];
        grad = g * x[1];
    }
}

template <int MODE, class R>
__device__ __forceinline__ void back_step(
    const Net &net, int64 number, const R *parameters, const Back<R> &back, const int64 *lengths) {
    constexpr int G = gates_of<MODE>;
    const int64 d = blockIdx.z, t = net.step(d, number), n = net.hidden, wide = G * n;
    R grad = arriving(net, parameters, back, n, t, lengths);
    const Cell own = own_cell(n);
    if (own.row >= net.batch || own.unit >= n) {
        return;
    }
    const int64 length = net.length(lengths, own.row), line = t * net.batch + own.row;
    const int64 state = (d * net.batch + own.row) * n + own.unit;
    const bool lives = t < length;
    R slopes[4] = {}, of_cell = 0;
    if (MODE == Lstm && back.cells_from != nullptr) {
        of_cell = back.cells_from[state];
    }
    if (lives) {
        const R *const kept = back.kept + net.kept + d * net.kept_step;
        R x[G], more = 0, old = 0;
#pragma unroll
        for (int g = 0; g < G; ++g) {
            x[g] = kept[line * wide + g * n + own.unit];
        }
        if (MODE == Lstm) {
            const int64 before = d == 0 ? line - net.batch : line + net.batch;
            const bool first = t == (d == 0 ? 0 : length - 1);
            more = kept[net.more + line * n + own.unit];
            old = first ? back.first_cells[state] : kept[net.more + before * n + own.unit];
        } else if (MODE == Gru) {
            more = kept[net.more + line * n + own.unit];
            old = old_state(net, back.outputs, back.first_states, d, t, own, length);
        }
        cell_back<MODE>(net, x, more, old, grad, of_cell, slopes);
    }
    const int64 at = (d * net.steps * net.batch + line) * wide + own.unit;
#pragma unroll
    for (int g = 0; g < G; ++g) {
        back.sums[at + g * n] = slopes[g];
        if (MODE == Gru) {
            back.gates[at + g * n] = slopes[g == 2 ? 3 : g];
        }
    }
    if (MODE == Lstm) {
        back.cells[state] = of_cell;
    }
    if (!net.projects) {
        back.states[state] = grad;
    }
}

/// The gradients of the states that a step began with, for `to`. With a projection those of its results;
/// of rows whose sequence has ended they go on to the states.
template <class R>
__device__ __forceinline__ void carry(
    const Net &net, int64 number, const R *parameters, const Back<R> &back, R *to, int req,
    const int64 *lengths) {
    const int64 d = blockIdx.z, t = net.step(d, number);
    const R grad = arriving(net, parameters, back, net.out, t, lengths);
    const Cell own = own_cell(net.out);
    if (own.row >= net.batch || own.unit >= net.out || req == Null) {
        return;
    }
    const bool goes_on = back.projected == nullptr || t >= net.length(lengths, own.row);
    put(to[(d * net.batch + own.row) * net.out + own.unit], goes_on ? grad : (R)0, req == Add);
    if (back.projected != nullptr) {
        const int64 line = (d * net.steps + t) * net.batch + own.row;
        back.projected[line * net.out + own.unit] = goes_on ? (R)0 : grad;
    }
}

/// The states that all steps began with, `(direction, step, row, unit)`; 0 where a sequence has ended.
template <class R>
__device__ __forceinline__ void
history(const Net &net, const R *outputs, const R *first_states, const int64 *lengths, R *old) {
    const int64 total = net.directions * net.steps * net.batch * net.out;
    each(total, [&](int64 i) {
        const Split unit = split(i, net.out), row = split(unit.row, net.batch);
        const Split at = split(row.row, net.steps);
        const int64 length = net.length(lengths, row.at);
        const Cell own = {row.at, unit.at};
        const bool lives = at.at < length;
        old[i] = lives ? old_state(net, outputs, first_states, at.row, at.at, own, length) : (R)0;
    });
}

} // namespace fm

#define FM_BACK_ENTRY(T, NAME, MODE) \
    extern "C" __global__ void __launch_bounds__(fm::CELL_THREADS) rnn_back_##NAME##_##T( \
        const __grid_constant__ fm::Net net, int64 number, const T *parameters, \
        const __grid_constant__ fm::Back<T> back, const int64 *lengths) { \
        fm::back_step<fm::MODE>(net, number, parameters, back, lengths); \
    }
#define FM_RNN_ENTRIES(T, ...) \
    FM_BACK_ENTRY(T, relu, Relu) \
    FM_BACK_ENTRY(T, tanh, Tanh) \
    FM_BACK_ENTRY(T, lstm, Lstm) \
    FM_BACK_ENTRY(T, gru, Gru) \
    extern "C" __global__ void __launch_bounds__(fm::CELL_THREADS) rnn_back_carry_##T( \
        const __grid_constant__ fm::Net net, int64 number, const T *parameters, \
        const __grid_constant__ fm::Back<T> back, T *to, int req, const int64 *lengths) { \
        fm::carry(net, number, parameters, back, to, req, lengths); \
    } \
    extern "C" __global__ void rnn_back_history_##T( \
        const __grid_constant__ fm::Net net, const T *outputs, const T *first_states, \
        const int64 *lengths, T *old) { \
        fm::history(net, outputs, first_states, lengths, old); \
    }
FM_REALS(FM_RNN_ENTRIES, )
