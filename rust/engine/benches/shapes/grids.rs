//! Shapes of Task Bench: steps over a row of points, where a point of a step depends on some points
//! of the step before (Slaughter et al., *Task Bench: A Parameterized Benchmark for Evaluating
//! Parallel Runtime Performance*, SC 2020).

type Sources = Box<dyn Fn(usize, usize, &mut Vec<u32>)>;

/// Points that `spread` and `random_nearest` look at.
const RADIX: usize = 5;

/// Lists the points of the step before that a point of a step depends on.
pub(super) fn rule(name: &str, width: usize) -> Option<Sources> {
    let keep = move |point: isize, vars: &mut Vec<u32>| {
        if (0..width as isize).contains(&point) && !vars.contains(&(point as u32)) {
            vars.push(point as u32);
        }
    };
    let both_sides = move |point: usize, distance: isize, vars: &mut Vec<u32>| {
        for offset in [0, -distance, distance] {
            keep(point as isize + offset, vars);
        }
    };
    Some(match name {
        // Itself and its two neighbours.
        "stencil_1d" => Box::new(move |_, point, vars| both_sides(point, 1, vars)),
        // Itself and two points at a distance that doubles with each step.
        "fft" => Box::new(move |step, point, vars| {
            let rounds = width.ilog2().max(1) as usize;
            both_sides(point, 1 << ((step - 1) % rounds), vars);
        }),
        // Five points spread over the row, moving on with each step.
        "spread" => Box::new(move |step, point, vars| {
            for k in 0..RADIX {
                let shift = if k > 0 { step } else { 0 };
                keep(((point + k * width / RADIX + shift) % width) as isize, vars);
            }
        }),
        // Itself and each of its four nearest with probability one half.
        "random_nearest" => Box::new(move |step, point, vars| {
            keep(point as isize, vars);
            for k in [-2, -1, 1, 2] {
                let near = point as isize + k;
                if coin(step as u64, point as u64, near as u64) {
                    keep(near, vars);
                }
            }
        }),
        _ => return None,
    })
}

/// The same side for the same numbers, by the finalizer of splitmix64.
fn coin(step: u64, point: u64, near: u64) -> bool {
    let mut x = (step << 32) ^ (point << 16) ^ near;
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        x = (x ^ (x >> 30)).wrapping_mul(factor);
    }
    x >> 63 == 1
}
