//! Convolutions that read one plane for each plane of the result, such as depthwise ones. A plane is
//! small: with its border it stays in the cache, cut by the strides into lattices of which neighbours
//! are neighbours in memory, so that rows of the result follow each other as one long line and vectors
//! run over their ends. What stands between rows of the result is computed and left out.

use super::apply::Apply;
use super::field::{Field, Grid};
use super::lines::{AT_ONCE, LANES, Planewise};
use crate::api::Req;
use crate::blocks::raw::{Target, scratch_bytes};
use crate::math::real::Real;
use crate::par;

/// Most taps of a plane.
const TAPS: usize = 64;
/// Most numbers of a plane with its border.
const PLANE: usize = 1 << 16;
/// Multiplications per task, at least.
const TASK: usize = 1 << 18;

/// How the planes of a field lie in scratch memory for a grid: as `high` by `wide` lattices.
#[derive(Clone, Copy)]
struct Lattices {
    stride: [usize; 2],
    high: usize,
    wide: usize,
}

impl Lattices {
    fn new(field: &Field, grid: &Grid) -> Self {
        let [_, high, wide] = field.extents();
        let stride = [grid.source[1] / wide.max(1), grid.source[2]].map(|s| s.max(1));
        Lattices {
            stride,
            high: high.div_ceil(stride[0]),
            wide: wide.div_ceil(stride[1]),
        }
    }

    /// Where row `y` and column `x` of a plane with its border stands.
    fn place(&self, y: usize, x: usize) -> usize {
        let [down, across] = self.stride;
        let lattice = y % down * across + x % across;
        (lattice * self.high + y / down) * self.wide + x / across
    }

    /// Numbers of all lattices.
    fn size(&self) -> usize {
        self.stride[0] * self.stride[1] * self.high * self.wide
    }

    /// Puts a plane without border in place; the border stays as it is.
    fn fill<T: Real>(&self, field: &Field, from: &[T], to: &mut [T]) {
        let [_, _, inner] = field.inner;
        let [_, top, left] = field.before;
        let across = self.stride[1];
        for (y, row) in from.chunks_exact(inner.max(1)).enumerate() {
            if across == 1 {
                let at = self.place(y + top, left);
                to[at..at + inner].copy_from_slice(row);
                continue;
            }
            for x in 0..across.min(inner) {
                let to = &mut to[self.place(y + top, x + left)..];
                to.iter_mut()
                    .zip(row[x..].iter().step_by(across))
                    .for_each(|(to, &x)| *to = x);
            }
        }
    }

    /// Numbers from the first of a grid's results to its last, as they lie in a lattice.
    fn line(&self, grid: &Grid) -> usize {
        let [_, high, wide] = grid.extents;
        (high.max(1) - 1) * self.wide + wide
    }
}

/// Numbers that vectors over a line may touch.
fn whole(line: usize) -> usize {
    line.next_multiple_of(LANES * AT_ONCE)
}

impl Apply {
    /// Whether one plane is read for each plane of the result, and it is small enough.
    pub(crate) fn planewise(&self) -> bool {
        let (plane, [deep, ..]) = (self.field.plane(), self.field.extents());
        let grid = &self.grid;
        deep == 1
            && grid.extents[0] == 1
            && self.rows == 1
            && self.source_group == plane
            && (1..=TAPS).contains(&self.taps.len())
            && plane <= PLANE
            && self.groups > 1
    }

    /// Where taps read in lattices.
    fn reads(&self, lattices: &Lattices) -> Vec<usize> {
        let wide = self.field.extents()[2];
        let place = |t: &usize| lattices.place(t / wide, t % wide);
        self.taps.iter().map(place).collect()
    }

    /// Scratch numbers of one thread: lattices, and a line.
    pub(crate) fn plane_scratch<T: Planewise>(&self) -> usize {
        let (source, line) = self.plane_sizes();
        scratch_bytes::<T>(source + line) / size_of::<T>()
    }

    /// Numbers of the lattices with what vectors read behind them, and of a line.
    fn plane_sizes(&self) -> (usize, usize) {
        let lattices = Lattices::new(&self.field, &self.grid);
        let line = whole(lattices.line(&self.grid));
        (lattices.size() + LANES * AT_ONCE, line)
    }

    /// Planes that are worth a task.
    fn grain(&self) -> usize {
        let [_, high, wide] = self.grid.extents;
        (TASK / (self.taps.len() * high * wide).max(1)).max(1)
    }

    /// The weights of a group, in the order of the taps.
    fn group_weights<'a, T: Real>(
        &self,
        weights: &[T],
        group: usize,
        room: &'a mut [T; TAPS],
    ) -> &'a [T] {
        let from = &weights[group * self.weight_group..];
        let found = room.iter_mut().zip(&self.weights);
        found.for_each(|(to, &w)| *to = from[w]);
        &room[..self.weights.len()]
    }
}

/// Runs products that read the same planes.
pub(crate) fn run<T: Planewise>(
    products: &[Apply],
    (data, weights, bias): (&[T], &[T], Option<&[T]>),
    threads: &mut [T],
    (target, req): (Target<T>, Req),
) {
    let Some(first) = products.first() else {
        return;
    };
    let each = products
        .iter()
        .map(Apply::plane_scratch::<T>)
        .max()
        .unwrap_or(0);
    let (loops, field) = (T::plane_loops(), &first.field);
    let inner = field.inner[1] * field.inner[2];
    let threads = Target::of_slice(threads);
    let lattices = Lattices::new(field, &first.grid);
    let reads: Vec<_> = products.iter().map(|p| p.reads(&lattices)).collect();
    let grain = products.iter().map(Apply::grain).min().unwrap_or(1);
    par::for_each_slot(field.planes.div_ceil(grain), |slot, task| {
        // SAFETY: tasks that run at the same time have different slots.
        let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
        scratch.fill(T::ZERO);
        let mut room = [T::ZERO; TAPS];
        for plane in task * grain..((task + 1) * grain).min(field.planes) {
            let (sample, group) = (plane / first.groups, plane % first.groups);
            let from = &data[plane * inner..(plane + 1) * inner];
            for (product, reads) in products.iter().zip(&reads) {
                let (source, line) = scratch.split_at_mut(each - product.plane_sizes().1);
                if std::ptr::eq(product, first) {
                    lattices.fill(field, from, source);
                }
                let w = product.group_weights(weights, group, &mut room);
                let vectors = lattices.line(&product.grid).div_ceil(loops.lanes);
                // SAFETY: the loops are for this CPU; `plane_sizes` has room for what vectors read from
                // the furthest tap on, and for the line.
                unsafe { (loops.product)(reads, w, source.as_ptr(), line.as_mut_ptr(), vectors) };
                let shift = bias.map_or(T::ZERO, |b| b[group]);
                // SAFETY: planes belong to one task each.
                unsafe {
                    product.put((line, lattices.wide), (sample, group), shift, (target, req))
                };
            }
        }
    });
}

impl Apply {
    /// Writes the rows of a line, which begin `apart`, to their places.
    ///
    /// # Safety
    /// Nobody else uses the places of this sample and group meanwhile.
    unsafe fn put<T: Real>(
        &self,
        (line, apart): (&[T], usize),
        (sample, group): (usize, usize),
        shift: T,
        (target, req): (Target<T>, Req),
    ) {
        let Grid {
            extents: [_, high, wide],
            target: steps,
            ..
        } = self.grid;
        let start =
            self.target_start + group * self.target_group + sample * self.grid.target_sample;
        if wide == 0 {
            return;
        }
        for y in 0..high {
            let at = start + y * steps[1];
            // SAFETY: as the caller vouches.
            let to = unsafe { target.slice(at..at + (wide - 1) * steps[2] + 1) };
            let from = &line[y * apart..y * apart + wide];
            match (req, steps[2]) {
                (Req::Null, _) => {}
                (Req::Add, step) => {
                    to.iter_mut()
                        .step_by(step)
                        .zip(from)
                        .for_each(|(o, &v)| *o += v + shift);
                }
                (_, 1) => to.iter_mut().zip(from).for_each(|(o, &v)| *o = v + shift),
                (_, step) => {
                    to.iter_mut()
                        .step_by(step)
                        .zip(from)
                        .for_each(|(o, &v)| *o = v + shift);
                }
            }
        }
    }

    /// Sums the gradient of the weights of each group into `out`, sample by sample.
    pub(crate) fn plane_gradient<T: Planewise>(
        &self,
        (data, head): (&[T], &[T]),
        threads: &mut [T],
        out: &mut [T],
        req: Req,
    ) {
        let (loops, each, depth) = (T::plane_loops(), self.plane_scratch::<T>(), self.taps.len());
        let lattices = Lattices::new(&self.field, &self.grid);
        let (reads, line) = (self.reads(&lattices), self.plane_sizes().1);
        let [_, high, wide] = self.grid.extents;
        let (inner, plane) = (self.field.inner[1] * self.field.inner[2], high * wide);
        let (threads, out) = (Target::of_slice(threads), Target::of_slice(out));
        let vectors = lattices.line(&self.grid).div_ceil(loops.lanes);
        par::for_each_slot(self.groups, |slot, group| {
            // SAFETY: tasks that run at the same time have different slots.
            let scratch = unsafe { threads.slice(slot * each..(slot + 1) * each) };
            scratch.fill(T::ZERO);
            let (source, turned) = scratch.split_at_mut(each - line);
            let mut totals = vec![0.0; depth];
            let mut sums = vec![T::ZERO; depth];
            for sample in 0..self.grid.batch {
                let at = sample * self.groups + group;
                lattices.fill(&self.field, &data[at * inner..(at + 1) * inner], source);
                let head = &head[at * plane..(at + 1) * plane];
                for (row, to) in head
                    .chunks_exact(wide.max(1))
                    .zip(turned.chunks_mut(lattices.wide))
                {
                    to[..wide].copy_from_slice(row);
                }
                // SAFETY: as for the product; what stands between rows of `turned` is zero.
                unsafe {
                    (loops.sums)(&reads, source.as_ptr(), turned.as_ptr(), vectors, &mut sums);
                }
                // What is infinite or undefined may have met the zeros between rows.
                if sums.iter().any(|s| !s.f64().is_finite()) {
                    let rows = (high, wide, lattices.wide);
                    sums_by_rows(&reads, (source, turned), rows, &mut sums);
                }
                totals
                    .iter_mut()
                    .zip(&sums)
                    .for_each(|(t, s)| *t += s.f64());
            }
            // SAFETY: each group's weights belong to one task.
            let to = unsafe { out.slice(group * depth..(group + 1) * depth) };
            for (&w, &total) in self.weights.iter().zip(&totals) {
                let total = T::of(total);
                match req {
                    Req::Null => {}
                    Req::Add => to[w] += total,
                    _ => to[w] = total,
                }
            }
        });
    }
}

/// As the loop of sums, of `high` rows of `wide` numbers alone, which begin `apart`.
fn sums_by_rows<T: Real>(
    taps: &[usize],
    (source, head): (&[T], &[T]),
    (high, wide, apart): (usize, usize, usize),
    sums: &mut [T],
) {
    for (sum, &tap) in sums.iter_mut().zip(taps) {
        let row = |y: usize| {
            let pairs = head[y * apart..][..wide]
                .iter()
                .zip(&source[tap + y * apart..]);
            pairs.map(|(&h, &x)| h * x).sum::<T>()
        };
        *sum = (0..high).map(row).sum();
    }
}
