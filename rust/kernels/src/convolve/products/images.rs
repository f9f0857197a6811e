//! Gradients of the data of planes that windows reach far beyond, where most of what is multiplied would be the
//! border's zeros. Images lie side by side here, as in Krizhevsky's cuda-convnet (2012), so that each position
//! sums the products of those taps alone that reach it.

use crate::blocks::blockwise;
use crate::blocks::raw::Target;
use crate::convolve::apply::Apply;
use crate::convolve::direct::{Direct, Taps, Tile};
use crate::convolve::finish::Finish;
use crate::convolve::geometry::{Geometry, volume};
use crate::copy::transpose::transpose;
use crate::linalg::tile::tile_rows;
use crate::par;
use std::ops::Range;
use std::sync::OnceLock;

/// Numbers of the widest vector.
const VECTOR: usize = 16;
/// Multiplications of the ordinary way for ten of this one, at least, that this one pays for.
const PAYS: usize = 13;
/// Most pairs of a position and a tap that are written down.
const PAIRS: usize = 1 << 16;
/// Images that are turned back together.
const TOGETHER: usize = 16;
/// Positions of the head that a task turns.
const TURNED: usize = 4;

/// Neighbouring positions of the head that neighbouring taps read, the last tap first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reach {
    head: usize,
    tap: usize,
    len: usize,
}

/// The gradient of one group of planes.
pub(super) struct Images {
    g: Geometry,
    taps: usize,
    /// Positions of a plane that is filled, and of one that is read.
    plane: usize,
    head: usize,
    /// What reaches each position. Known when first needed: it takes memory.
    reached: OnceLock<Vec<Vec<Reach>>>,
}

/// The places of the head along an axis that reach one of the data, in order, each with its tap.
fn along(g: &Geometry, i: usize, position: usize) -> impl Iterator<Item = (usize, usize)> {
    let [kernel, stride, dilate, head] = [g.kernel, g.stride, g.dilate, g.output].map(|x| x[i]);
    let at = position + g.pad[i];
    (0..kernel).rev().filter_map(move |tap| {
        let from = at.checked_sub(tap * dilate)?;
        let place = from / stride;
        (from.is_multiple_of(stride) && place < head).then_some((place, tap))
    })
}

/// What reaches a position: the positions of the head, in order, with the number of the tap from the last one.
fn reaches(g: &Geometry, position: [usize; 3]) -> Vec<Reach> {
    let [zs, ys, xs] = [0, 1, 2].map(|i| along(g, i, position[i]).collect::<Vec<_>>());
    let mut all: Vec<Reach> = Vec::new();
    let place = |[z, y, x]: [usize; 3], [_, high, wide]: [usize; 3]| (z * high + y) * wide + x;
    for &(z, tz) in &zs {
        for &(y, ty) in &ys {
            for &(x, tx) in &xs {
                let head = place([z, y, x], g.output);
                let tap = volume(&g.kernel) - 1 - place([tz, ty, tx], g.kernel);
                match all.last_mut() {
                    Some(r) if r.head + r.len == head && r.tap + r.len == tap => r.len += 1,
                    _ => all.push(Reach { head, tap, len: 1 }),
                }
            }
        }
    }
    all
}

impl Images {
    /// Where this is much less than what the parts multiply.
    pub(super) fn of(g: &Geometry, parts: &[Apply]) -> Option<Self> {
        let (plane, taps) = (volume(&g.input), volume(&g.kernel));
        if g.groups != 1 || g.batch < VECTOR || plane * taps > PAIRS {
            return None;
        }
        let on = |i: usize| {
            (0..g.input[i])
                .map(|p| along(g, i, p).count())
                .sum::<usize>()
        };
        let pairs = on(0) * on(1) * on(2);
        let this = Images {
            g: g.clone(),
            taps,
            plane,
            head: volume(&g.output),
            reached: OnceLock::new(),
        };
        let ordinary: usize = parts.iter().map(|p| p.grid.len() * p.taps.len()).sum();
        let here = pairs * this.g.filters * this.lanes();
        (ordinary * 10 >= here * PAYS && here > 0).then_some(this)
    }

    fn reached(&self) -> &[Vec<Reach>] {
        let [_, high, wide] = self.g.input;
        let position = |i: usize| [i / wide / high, i / wide % high, i % wide];
        let all = || {
            (0..self.plane)
                .map(|i| reaches(&self.g, position(i)))
                .collect()
        };
        self.reached.get_or_init(all)
    }

    /// Images with the rest of the last vector.
    fn lanes(&self) -> usize {
        self.g.batch.next_multiple_of(VECTOR)
    }

    /// The way, for people.
    pub(super) fn choice(&self) -> String {
        let [channels, filters] = [self.g.channels, self.g.filters];
        format!("products of {channels} by {filters}, images side by side")
    }

    /// Scratch numbers: of the head, of weights and of the result.
    pub(super) fn scratch(&self) -> [usize; 3] {
        let lanes = self.lanes();
        [
            self.head * self.g.filters * lanes,
            self.taps * self.g.filters * self.g.channels,
            self.plane * self.g.channels * lanes,
        ]
    }

    /// Fills the target, from the head and the weights.
    pub(super) fn run<T: Direct>(
        &self,
        (head, weights): (&[T], &[T]),
        [turned, packed, result]: [&mut [T]; 3],
        finish: &Finish<'_, T>,
    ) {
        let sizes = self.scratch();
        let (turned, packed) = (&mut turned[..sizes[0]], &mut packed[..sizes[1]]);
        self.turn(head, turned);
        self.pack(weights, packed);
        let reached = self.reached();
        let longest = reached
            .iter()
            .flatten()
            .map(|reach| reach.len)
            .max()
            .unwrap_or(0);
        let steps: Vec<usize> = (0..longest * self.g.filters)
            .map(|i| i * self.lanes())
            .collect();
        let taps: Vec<Taps<'_>> = (0..=longest)
            .map(|len| Taps::new(&steps[..len * self.g.filters]))
            .collect();
        let target = Target::of_slice(&mut result[..sizes[2]]);
        let size = self.g.channels * self.lanes();
        par::for_ranges(self.plane, 1, |positions| {
            for i in positions {
                // SAFETY: each position belongs to one task.
                let to = unsafe { target.slice(i * size..(i + 1) * size) };
                self.position(&reached[i], (turned, packed, &taps), to);
            }
        });
        self.turn_back(&result[..sizes[2]], finish);
    }

    /// Puts images side by side: positions, planes, images.
    fn turn<T: Direct>(&self, head: &[T], turned: &mut [T]) {
        let (lanes, row) = (self.lanes(), self.g.filters * self.head);
        let size = self.g.filters * lanes;
        let turned = Target::of_slice(turned);
        par::for_ranges(self.head, TURNED, |places| {
            // SAFETY: each position belongs to one task.
            let to = unsafe { turned.slice(places.start * size..places.end * size) };
            for f in 0..self.g.filters {
                let from = &head[f * self.head + places.start..];
                let to = &mut to[f * lanes..];
                transpose((from, row), (places.len(), self.g.batch), (to, size));
            }
        });
    }

    /// Orders weights: tiles of planes that are filled; then taps, the last one first; then planes that are
    /// read.
    fn pack<T: Direct>(&self, weights: &[T], packed: &mut [T]) {
        let (c, depth) = (self.g.channels, self.taps * self.g.filters);
        for (first, n) in tile_rows(c, T::tiles().most_rows) {
            let tile = packed[first * depth..][..n * depth].chunks_exact_mut(n);
            for (k, row) in tile.enumerate() {
                let (tap, filter) = (self.taps - 1 - k / self.g.filters, k % self.g.filters);
                let from = &weights[(filter * c + first) * self.taps + tap..];
                row.iter_mut()
                    .zip(from.iter().step_by(self.taps))
                    .for_each(|(o, &w)| *o = w);
            }
        }
    }

    /// The sums of a position: planes, images.
    fn position<T: Direct>(
        &self,
        reached: &[Reach],
        (turned, packed, taps): (&[T], &[T], &[Taps<'_>]),
        to: &mut [T],
    ) {
        if reached.is_empty() {
            return to.fill(T::ZERO);
        }
        let (loops, lanes, filters) = (T::loops(), self.lanes(), self.g.filters);
        let depth = self.taps * filters;
        for (first, n) in tile_rows(self.g.channels, T::tiles().most_rows) {
            let to = &mut to[first * lanes..(first + n) * lanes];
            for image in (0..lanes).step_by(2 * loops.lanes) {
                let at = [image, (image + loops.lanes).min(lanes - loops.lanes)];
                for (i, reach) in reached.iter().enumerate() {
                    let starts = at.map(|at| reach.head * filters * lanes + at);
                    let a = &packed[first * depth + reach.tap * filters * n..];
                    let tile = Tile {
                        c: to.as_mut_ptr(),
                        at,
                        stride: lanes,
                        fresh: i == 0,
                        end: None,
                    };
                    let x = (turned, starts, taps[reach.len]);
                    // SAFETY: both vectors are within the rows, which are ours.
                    unsafe { loops.product(n, x, a, tile) };
                }
            }
        }
    }

    /// Puts planes of images where they belong.
    fn turn_back<T: Direct>(&self, result: &[T], finish: &Finish<'_, T>) {
        let (lanes, size) = (self.lanes(), self.g.channels * self.plane);
        par::for_ranges(self.g.batch.div_ceil(TOGETHER), 1, |some| {
            let mut room = vec![T::ZERO; TOGETHER * size];
            for group in some {
                let images: Range<usize> =
                    group * TOGETHER..self.g.batch.min((group + 1) * TOGETHER);
                for c in 0..self.g.channels {
                    let from = (&result[c * lanes + images.start..], self.g.channels * lanes);
                    let to = (&mut room[c * self.plane..], size);
                    transpose(from, (images.len(), self.plane), to);
                }
                for (image, from) in images.zip(room.chunks_exact(size)) {
                    // SAFETY: each image belongs to one task.
                    let to = unsafe { finish.target.slice(image * size..(image + 1) * size) };
                    blockwise::store(from, to, finish.req);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convolve::plan;

    /// Planes of so many rows and columns, and windows with such steps, gaps and borders along both axes.
    fn geometry(
        batch: usize,
        input: [usize; 2],
        [kernel, stride, dilate, pad]: [usize; 4],
    ) -> Geometry {
        let side = |n: usize| (n + 2 * pad - dilate * (kernel - 1) - 1) / stride + 1;
        Geometry {
            batch,
            groups: 1,
            channels: 3,
            filters: 2,
            input: [1, input[0], input[1]],
            output: [1, side(input[0]), side(input[1])],
            kernel: [1, kernel, kernel],
            stride: [1, stride, stride],
            dilate: [1, dilate, dilate],
            pad: [0, pad, pad],
        }
    }

    #[test]
    fn each_position_is_reached_by_what_reads_it() {
        for window in [
            [3, 1, 1, 1],
            [5, 1, 1, 0],
            [3, 2, 1, 1],
            [2, 3, 1, 0],
            [3, 2, 2, 2],
        ] {
            let g = geometry(16, [8, 7], window);
            let [[_, high, wide], [_, rows, columns]] = [g.output, g.input];
            let [kernel, stride, dilate, pad] = window;
            let mut want = vec![Vec::new(); rows * columns];
            for o in 0..high * wide {
                for tap in 0..kernel * kernel {
                    let y = o / wide * stride + tap / kernel * dilate;
                    let x = o % wide * stride + tap % kernel * dilate;
                    let inside =
                        (pad..pad + rows).contains(&y) && (pad..pad + columns).contains(&x);
                    if inside {
                        let reversed = kernel * kernel - 1 - tap;
                        want[(y - pad) * columns + x - pad].push((o, reversed));
                    }
                }
            }
            for (i, want) in want.iter().enumerate() {
                let found = reaches(&g, [0, i / columns, i % columns]);
                let mut all: Vec<_> = found
                    .iter()
                    .flat_map(|r| (0..r.len).map(|k| (r.head + k, r.tap + k)))
                    .collect();
                all.sort_unstable();
                assert_eq!(all, *want);
            }
        }
    }

    #[test]
    fn images_lie_side_by_side_where_that_is_less_work() {
        let chosen = |batch, input, window| {
            let g = geometry(batch, input, window);
            Images::of(&g, &plan::backward(&g)).is_some()
        };
        // As in LeNet's second layer.
        assert!(chosen(64, [12, 12], [5, 1, 1, 0]));
        assert!(chosen(16, [3, 3], [3, 1, 1, 1]));
        // Few images; little of a border; more pairs than are written down.
        assert!(!chosen(8, [12, 12], [5, 1, 1, 0]));
        assert!(!chosen(64, [28, 28], [3, 1, 1, 1]));
        assert!(!chosen(64, [60, 60], [45, 1, 1, 0]));
    }
}
