//! The products that a convolution and the gradient of its data consist of.
//!
//! The gradient of the data at position `i` collects the output positions `o` and taps `t` with
//! `o * stride + t * dilate = i + pad`. Positions with the same `i mod stride` use the same taps,
//! and their `o` are neighbours: each such phase is one product.

use super::apply::Apply;
use super::field::{Field, Grid};
use super::geometry::{Geometry, volume};
use super::places::Places;

/// Most filters for which planes are cut into lattices: for more, every other number is gathered as fast.
const CUT_FILTERS: usize = 16;

/// The product of the forward pass. Kernels of one element without padding read what they read, and
/// write, as one long line, where what neighbours read are neighbours.
pub(crate) fn forward(g: &Geometry) -> Apply {
    let cut = g.filters <= CUT_FILTERS;
    let stride = if cut { g.stride } else { [1; 3] };
    let line = g.kernel == [1; 3] && g.pad == [0; 3] && stride == g.stride;
    let flat = |x: [usize; 3], line: bool| if line { [1, 1, volume(&x)] } else { x };
    let (input, output) = (flat(g.input, g.pointwise()), flat(g.output, line));
    let last = |i: usize| (g.output[i].max(1) - 1) * g.stride[i] + (g.kernel[i] - 1) * g.dilate[i];
    let after = |i: usize| (last(i) + 1).saturating_sub(input[i] + g.pad[i]);
    let border = if line {
        [[0; 3]; 2]
    } else {
        [g.pad, std::array::from_fn(after)]
    };
    let field = Field {
        stride,
        lattices: std::array::from_fn(|i| if g.kernel[i] == 1 { 1 } else { stride[i] }),
        ..Field::whole(g.batch * g.groups * g.channels, input, border)
    };
    let (steps, plane) = (field.steps(), field.plane());
    let place = |t: [usize; 3]| field.place(std::array::from_fn(|i| t[i] * g.dilate[i]));
    let within: Vec<usize> = g.positions().map(place).collect();
    let numbers = (0..within.len()).collect();
    let out_plane = volume(&output);
    let filters = g.groups * g.filters;
    Apply {
        field,
        grid: Grid {
            batch: g.batch,
            extents: output,
            source: std::array::from_fn(|i| g.stride[i] / stride[i] * steps[i]),
            source_sample: g.groups * g.channels * plane,
            target: [output[1] * output[2], output[2], 1],
            target_sample: filters * out_plane,
        },
        weights: Places::new(numbers, g.channels, within.len()),
        taps: Places::new(within, g.channels, plane),
        weight_row: g.depth(),
        weight_group: g.filters * g.depth(),
        rows: g.filters,
        groups: g.groups,
        source_group: g.channels * plane,
        target_start: 0,
        target_row: out_plane,
        target_group: g.filters * out_plane,
    }
}

/// Along one axis, for positions `phase, phase + stride, ...`: the taps that reach them, each with
/// the output position that the first of them reads.
fn phase_taps(g: &Geometry, i: usize, phase: usize) -> Vec<(usize, isize)> {
    (0..g.kernel[i])
        .filter_map(|t| {
            let shift = (phase + g.pad[i]) as isize - (t * g.dilate[i]) as isize;
            let stride = g.stride[i] as isize;
            (shift % stride == 0).then_some((t, shift / stride))
        })
        .collect()
}

/// Positions of one phase along axis `i`.
fn phase_len(g: &Geometry, i: usize, phase: usize) -> usize {
    g.input[i].saturating_sub(phase).div_ceil(g.stride[i])
}

/// The products of the gradient of the data, one per phase.
pub(crate) fn backward(g: &Geometry) -> Vec<Apply> {
    if g.pointwise() {
        let flat = Geometry {
            input: [1, 1, volume(&g.input)],
            output: [1, 1, volume(&g.output)],
            ..g.clone()
        };
        return vec![phase(&flat, [0; 3], border(&flat))];
    }
    let field = border(g);
    let [a, b, c] = [0, 1, 2].map(|i| phases(g, i));
    let all = a.iter().flat_map(|&x| {
        let c = &c;
        (b.iter()).flat_map(move |&y| c.iter().map(move |&z| [x, y, z]))
    });
    all.map(|p| phase(g, p, field)).collect()
}

/// Phases up to which each is a product, also of nothing where no tap reaches it.
const MANY: usize = 1 << 12;

/// Whether there are positions that no product of the gradient of the data fills, since no tap reaches them.
pub(crate) fn leaves_gaps(g: &Geometry) -> bool {
    let phases = (0..3).map(|i| g.stride[i].min(g.input[i]));
    phases.fold(1, usize::saturating_mul) > MANY
}

/// The phases along axis `i` that have positions, or where that leaves gaps those of them that taps reach.
fn phases(g: &Geometry, i: usize) -> Vec<usize> {
    let end = g.stride[i].min(g.input[i]);
    if !leaves_gaps(g) {
        return (0..end).collect();
    }
    let first = |t: usize| (t * g.dilate[i]) as isize - g.pad[i] as isize;
    let reached = |t| first(t).rem_euclid(g.stride[i] as isize) as usize;
    let mut phases: Vec<_> = (0..g.kernel[i]).map(reached).filter(|&p| p < end).collect();
    phases.sort_unstable();
    phases.dedup();
    phases
}

/// The gradient of the output with a border that serves every phase.
fn border(g: &Geometry) -> Field {
    let planes = g.batch * g.groups * g.filters;
    let mut field = Field::whole(planes, g.output, [[0; 3]; 2]);
    for i in 0..3 {
        for p in phases(g, i) {
            let n = phase_len(g, i, p) as isize;
            for (_, first) in phase_taps(g, i, p) {
                let behind = first + n - g.output[i] as isize;
                field.before[i] = field.before[i].max((-first).max(0) as usize);
                field.after[i] = field.after[i].max(behind.max(0) as usize);
            }
        }
    }
    field
}

fn phase(g: &Geometry, p: [usize; 3], field: Field) -> Apply {
    let (steps, plane) = (field.steps(), field.plane());
    let axes: [Vec<(usize, isize)>; 3] = std::array::from_fn(|i| phase_taps(g, i, p[i]));
    let place = |i: usize, first: isize| (first + field.before[i] as isize) as usize * steps[i];
    let (mut taps, mut weights) = (Vec::new(), Vec::new());
    for &(tz, z) in &axes[0] {
        for &(ty, y) in &axes[1] {
            for &(tx, x) in &axes[2] {
                weights.push((tz * g.kernel[1] + ty) * g.kernel[2] + tx);
                taps.push(place(0, z) + place(1, y) + place(2, x));
            }
        }
    }
    let in_plane = volume(&g.input);
    let target = [g.input[1] * g.input[2], g.input[2], 1];
    Apply {
        field,
        grid: Grid {
            batch: g.batch,
            extents: std::array::from_fn(|i| phase_len(g, i, p[i])),
            source: steps,
            source_sample: g.groups * g.filters * plane,
            target: std::array::from_fn(|i| target[i] * g.stride[i]),
            target_sample: g.groups * g.channels * in_plane,
        },
        taps: Places::new(taps, g.filters, plane),
        weights: Places::new(weights, g.filters, g.depth()),
        weight_row: volume(&g.kernel),
        weight_group: g.filters * g.depth(),
        rows: g.channels,
        groups: g.groups,
        source_group: g.filters * plane,
        target_start: (0..3).map(|i| p[i] * target[i]).sum(),
        target_row: in_plane,
        target_group: g.channels * in_plane,
    }
}
