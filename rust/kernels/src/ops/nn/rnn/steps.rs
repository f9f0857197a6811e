//! The steps of a layer: a task multiplies the old states by the weights of some units, and goes on
//! with these units' cells.

use super::net::{Kept, Net};
use super::{Given, Lengths, cell};
use crate::blocks::raw::Target;
use crate::linalg::panels::{Panels, Rows, Shape};
use crate::linalg::rows_dot::RowsDot;
use crate::par;
use std::ops::Range;

/// The steps of a layer.
pub(super) struct Steps<'a, T> {
    pub(super) net: &'a Net,
    pub(super) lengths: &'a Lengths,
    pub(super) rows: &'a Rows,
    pub(super) shape: Shape,
    pub(super) projection: Option<Shape>,
    pub(super) recurrent: &'a [T],
    pub(super) projecting: &'a [T],
    /// What a GRU adds to the products that the reset gate multiplies.
    pub(super) biases: Vec<&'a [T]>,
    pub(super) kept: Target<T>,
    pub(super) places: Kept,
    pub(super) layer: usize,
    pub(super) outputs: Target<T>,
    pub(super) state: Target<T>,
    pub(super) cell: Target<T>,
    /// The states twice, of this step and the next, and outputs that are to be projected.
    pub(super) packed: Target<T>,
}

impl<T: RowsDot> Steps<'_, T> {
    /// The packed states of a direction that step `s` reads.
    fn packed(&self, d: usize, s: usize) -> Range<usize> {
        let n = self.net.batch * self.net.out();
        let at = (2 * d + s % 2) * n;
        at..at + n
    }

    /// The packed outputs that are to be projected.
    fn unprojected(&self, d: usize) -> Range<usize> {
        let net = self.net;
        let n = net.batch * net.hidden;
        let at = 2 * net.directions * net.batch * net.out() + d * n;
        at..at + n
    }

    /// Puts the first states where steps find them.
    pub(super) fn start(&self, given: &Given<'_, T>, layer: usize) {
        let (net, out) = (self.net, self.net.out());
        for d in 0..net.directions {
            let n = net.batch * out;
            let first = (layer * net.directions + d) * n;
            let from = &given.state[first..first + n];
            // SAFETY: no step runs yet.
            unsafe {
                self.state.slice(d * n..(d + 1) * n).copy_from_slice(from);
                for chunk in 0..self.rows.chunks() {
                    let from = &from[self.rows.range(chunk).start * out..];
                    let to = Target::of_slice(self.packed.slice(self.packed(d, 0)));
                    self.rows.pack(chunk, (from, out), (to, out), 0..out);
                }
            }
        }
        if net.cells() {
            let n = net.directions * net.batch * net.hidden;
            // SAFETY: as above.
            let to = unsafe { self.cell.slice(0..n) };
            to.copy_from_slice(&given.cell[layer * n..(layer + 1) * n]);
        }
    }

    pub(super) fn step(&self, s: usize) {
        self.run(&self.shape, |d, chunk, block| {
            self.units(s, (d, chunk, block))
        });
        if let Some(shape) = &self.projection {
            self.run(shape, |d, chunk, block| {
                self.project(shape, s, (d, chunk, block))
            });
        }
    }

    /// Runs a task for each direction, chunk of rows and block of columns.
    fn run(&self, shape: &Shape, task: impl Fn(usize, usize, usize) + Sync + Send) {
        let (chunks, blocks) = (self.rows.chunks(), shape.blocks());
        let n = self.net.directions * chunks * blocks;
        par::for_ranges(n, shape.grain(self.net.batch), |range| {
            for i in range {
                task(i / (chunks * blocks), i / blocks % chunks, i % blocks);
            }
        });
    }

    /// The new states of some rows and units.
    fn units(&self, s: usize, (d, chunk, block): (usize, usize, usize)) {
        let net = self.net;
        let (rows, columns, t) = (
            self.rows.range(chunk),
            self.shape.range(block),
            net.step(d, s),
        );
        let (width, gates, hidden) = (self.shape.width(), net.gates(), net.hidden);
        let n = rows.len() * width;
        let mut room = vec![T::ZERO; (gates + 3) * n];
        let (sums, rest) = room.split_at_mut(gates * n);
        let (more, rest) = rest.split_at_mut(n);
        let (out, spare) = rest.split_at_mut(n);
        let size = self.shape.size();
        let panels = Panels {
            data: &self.recurrent[d * size..(d + 1) * size],
            shape: self.shape,
        };
        let kept = self.places.gates(self.layer, d).start + t * net.batch * net.wide();
        let further = self.places.more(self.layer, d).start + t * net.batch * hidden;
        let at = |row: usize| row * hidden + columns.start..row * hidden + columns.end;
        let gate = |row: usize, g: usize| {
            let at = kept + row * net.wide() + g * hidden;
            at + columns.start..at + columns.end
        };
        // Meanwhile the cache fetches what is added: rows of it are too far apart for the processor to foresee.
        let gates_of = |row: usize| (0..gates).map(move |g| (row, g));
        let added = rows.clone().flat_map(gates_of);
        added.for_each(|(row, g)| self.kept.fetch(gate(row, g)));
        // SAFETY: nobody writes the states of the step before.
        let packed = unsafe { self.packed.slice(self.packed(d, s)) };
        panels.multiply(self.rows, chunk, packed, block, sums);

        let own = |place: usize, row: usize| {
            let at = place * n + (row - rows.start) * width;
            at..at + columns.len()
        };
        let state = |row: usize| (d * net.batch + row) * hidden + columns.start;
        let projected = net.projection.is_some();
        for row in rows.clone() {
            // SAFETY: these rows and units belong to this task.
            unsafe {
                for g in 0..gates {
                    let sums = &mut sums[own(g, row)];
                    if net.more_bias() && g + 1 == gates {
                        let more = &mut more[own(0, row)];
                        more.copy_from_slice(sums);
                        cell::add(&self.biases[d][columns.clone()], more);
                        sums.copy_from_slice(self.kept.slice(gate(row, g)));
                    } else {
                        cell::add(self.kept.slice(gate(row, g)), sums);
                    }
                }
                let old = state(row)..state(row) + columns.len();
                if net.cells() {
                    more[own(0, row)].copy_from_slice(self.cell.slice(old.clone()));
                }
                if !projected {
                    out[own(0, row)].copy_from_slice(self.state.slice(old));
                }
            }
        }
        cell::forward(
            net.mode,
            net.clip,
            cell::Block {
                gates: sums,
                more,
                out,
                spare,
            },
        );
        for row in rows.clone() {
            let lives = self.lengths.has(row, t);
            let old = state(row)..state(row) + columns.len();
            // SAFETY: as above.
            unsafe {
                for g in 0..gates {
                    self.kept
                        .slice(gate(row, g))
                        .copy_from_slice(&sums[own(g, row)]);
                }
                if net.keeps_more() {
                    let to = at(row);
                    let to = self.kept.slice(further + to.start..further + to.end);
                    to.copy_from_slice(&more[own(0, row)]);
                }
                if net.cells() && lives {
                    self.cell
                        .slice(old.clone())
                        .copy_from_slice(&more[own(0, row)]);
                }
                if projected {
                    let place =
                        self.places.unprojected(self.layer, d).start + t * net.batch * hidden;
                    let to = at(row);
                    let to = self.kept.slice(place + to.start..place + to.end);
                    to.copy_from_slice(&out[own(0, row)]);
                } else {
                    self.put(out, own(0, row), (d, t, row), columns.clone());
                }
            }
        }
        // SAFETY: nobody reads the states of the next step, or what is to be projected, yet.
        unsafe {
            if projected {
                let to = Target::of_slice(self.packed.slice(self.unprojected(d)));
                self.rows.pack(chunk, (out, width), (to, hidden), columns);
            } else {
                let to = Target::of_slice(self.packed.slice(self.packed(d, s + 1)));
                self.rows.pack(chunk, (out, width), (to, hidden), columns);
            }
        }
    }

    /// Puts a row of new outputs where they belong; past the end of its sequence it gets the old
    /// ones.
    ///
    /// # Safety
    /// This row and these columns belong to the caller.
    unsafe fn put(
        &self,
        from: &mut [T],
        own: Range<usize>,
        (d, t, row): (usize, usize, usize),
        columns: Range<usize>,
    ) {
        let net = self.net;
        let state = (d * net.batch + row) * net.out();
        let out = (t * net.batch + row) * net.across() + d * net.out();
        // SAFETY: as the caller vouches.
        let (state, out) = unsafe {
            (
                self.state.slice(state + columns.start..state + columns.end),
                self.outputs.slice(out + columns.start..out + columns.end),
            )
        };
        if self.lengths.has(row, t) {
            out.copy_from_slice(&from[own.clone()]);
            state.copy_from_slice(&from[own]);
        } else {
            out.fill(T::ZERO);
            from[own].copy_from_slice(state);
        }
    }

    /// The projections of some rows on some units.
    fn project(&self, shape: &Shape, s: usize, (d, chunk, block): (usize, usize, usize)) {
        let (net, t) = (self.net, self.net.step(d, s));
        let (rows, columns, width) = (self.rows.range(chunk), shape.range(block), shape.width());
        let mut sums = vec![T::ZERO; rows.len() * width];
        let data = &self.projecting[d * shape.size()..(d + 1) * shape.size()];
        // SAFETY: nobody writes what is projected now.
        let packed = unsafe { self.packed.slice(self.unprojected(d)) };
        Panels {
            data,
            shape: *shape,
        }
        .multiply(self.rows, chunk, packed, block, &mut sums);
        for row in rows.clone() {
            let at = (row - rows.start) * width;
            let own = at..at + columns.len();
            // SAFETY: these rows and units belong to this task.
            unsafe { self.put(&mut sums, own, (d, t, row), columns.clone()) };
        }
        // SAFETY: as above; nobody reads the states of the next step yet.
        unsafe {
            let to = Target::of_slice(self.packed.slice(self.packed(d, s + 1)));
            self.rows
                .pack(chunk, (&sums, width), (to, net.out()), columns);
        }
    }
}
