//! The steps back of a layer, which give the gradients of all gates.
//!
//! A task multiplies the gradients of the next step's gates by the states' weights, which gives the
//! gradient of some units' outputs, and goes on with these units' gates.

use super::net::{Kept, Net};
use super::{Given, cell};
use crate::blocks::raw::Target;
use crate::linalg::panels::{Panels, Rows, Shape};
use crate::linalg::rows_dot::RowsDot;
use crate::par;
use std::ops::Range;

/// The steps of a layer.
pub(super) struct Steps<'a, T> {
    pub(super) net: &'a Net,
    pub(super) given: &'a Given<'a, T>,
    pub(super) kept: &'a [T],
    pub(super) places: Kept,
    pub(super) layer: usize,
    pub(super) rows: &'a Rows,
    pub(super) shape: Shape,
    pub(super) projection: Option<Shape>,
    pub(super) recurrent: &'a [T],
    pub(super) projecting: &'a [T],
    pub(super) outputs: &'a [T],
    /// The gradient of the outputs.
    pub(super) grad: &'a [T],
    pub(super) sums: Target<T>,
    pub(super) more: Target<T>,
    pub(super) projected: Target<T>,
    pub(super) packed: Target<T>,
    pub(super) state: Target<T>,
    pub(super) cell: Target<T>,
}

/// Some rows and columns of a direction.
#[derive(Clone, Copy)]
struct Place {
    d: usize,
    chunk: usize,
    block: usize,
}

impl<T: RowsDot> Steps<'_, T> {
    /// The packed gradients of the sums of step `s`.
    fn packed(&self, d: usize, s: usize) -> Range<usize> {
        let n = self.net.batch * self.net.wide();
        let at = (2 * d + s % 2) * n;
        at..at + n
    }

    /// Those of projected outputs.
    fn packed_out(&self, d: usize) -> Range<usize> {
        let n = self.net.batch * self.net.out();
        let at = 2 * self.net.directions * self.net.batch * self.net.wide() + d * n;
        at..at + n
    }

    /// The gradients of the last states.
    pub(super) fn start(&self, grads: [Option<&[T]>; 2]) {
        let net = self.net;
        let widths = [net.out(), net.hidden];
        for ((grad, to), width) in grads.into_iter().zip([self.state, self.cell]).zip(widths) {
            let n = net.directions * net.batch * width;
            // SAFETY: no step runs yet.
            let to = unsafe { to.slice(0..n) };
            match grad {
                Some(grad) => to.copy_from_slice(&grad[self.layer * n..(self.layer + 1) * n]),
                None => to.fill(T::ZERO),
            }
        }
    }

    fn run(&self, shape: &Shape, task: impl Fn(Place) + Sync + Send) {
        let (chunks, blocks) = (self.rows.chunks(), shape.blocks());
        let n = self.net.directions * chunks * blocks;
        par::for_ranges(n, shape.grain(self.net.batch), |range| {
            for i in range {
                let (d, chunk, block) = (i / (chunks * blocks), i / blocks % chunks, i % blocks);
                task(Place { d, chunk, block });
            }
        });
    }

    pub(super) fn step(&self, s: usize) {
        match &self.projection {
            None => self.run(&self.shape, |place| {
                let mut grad = self.by_state(s, place, true);
                self.units(s, place, &self.shape, &mut grad);
            }),
            Some(shape) => {
                self.run(&self.shape, |place| self.project(s, place));
                self.run(shape, |Place { d, chunk, block }| {
                    let mut grad = vec![T::ZERO; self.rows.range(chunk).len() * shape.width()];
                    let data = &self.projecting[d * shape.size()..(d + 1) * shape.size()];
                    // SAFETY: nobody writes it now.
                    let packed = unsafe { self.packed.slice(self.packed_out(d)) };
                    let panels = Panels {
                        data,
                        shape: *shape,
                    };
                    panels.multiply(self.rows, chunk, packed, block, &mut grad);
                    self.units(s, Place { d, chunk, block }, shape, &mut grad);
                });
            }
        }
    }

    /// The gradients of the first states.
    pub(super) fn finish(&self) {
        if self.net.steps == 0 {
            return;
        }
        self.run(&self.shape, |place| {
            let grad = self.by_state(usize::MAX, place, false);
            let (rows, columns) = (self.rows.range(place.chunk), self.shape.range(place.block));
            for row in rows.clone() {
                let at = (row - rows.start) * self.shape.width();
                // SAFETY: these rows and columns belong to this task.
                let to = unsafe { self.state.slice(self.state_at(place.d, row, &columns)) };
                to.copy_from_slice(&grad[at..at + columns.len()]);
            }
        });
    }

    fn state_at(&self, d: usize, row: usize, columns: &Range<usize>) -> Range<usize> {
        let at = (d * self.net.batch + row) * self.net.out();
        at + columns.start..at + columns.end
    }

    /// The gradient of the outputs of step `s`, that of the states that `s + 1` began with: by the
    /// next step's gates, by itself, and if `output` by that of the layer's output.
    fn by_state(&self, s: usize, Place { d, chunk, block }: Place, output: bool) -> Vec<T> {
        let net = self.net;
        let (rows, columns, width) = (
            self.rows.range(chunk),
            self.shape.range(block),
            self.shape.width(),
        );
        let mut grad = vec![T::ZERO; rows.len() * width];
        if s.wrapping_add(1) != net.steps {
            let data = &self.recurrent[d * self.shape.size()..(d + 1) * self.shape.size()];
            // SAFETY: nobody writes the gradients of the next step now.
            let packed = unsafe { self.packed.slice(self.packed(d, s.wrapping_add(1))) };
            Panels {
                data,
                shape: self.shape,
            }
            .multiply(self.rows, chunk, packed, block, &mut grad);
        }
        for row in rows.clone() {
            let at = (row - rows.start) * width;
            let grad = &mut grad[at..at + columns.len()];
            // SAFETY: these rows and columns belong to this task.
            cell::add(
                unsafe { self.state.slice(self.state_at(d, row, &columns)) },
                grad,
            );
            if output && self.given.lengths.has(row, net.step(d, s)) {
                let at = (net.step(d, s) * net.batch + row) * net.across() + d * net.out();
                cell::add(&self.grad[at + columns.start..at + columns.end], grad);
            }
        }
        grad
    }

    /// The gradients of projected outputs.
    fn project(&self, s: usize, place: Place) {
        let (net, t) = (self.net, self.net.step(place.d, s));
        let mut grad = self.by_state(s, place, true);
        let Place { d, chunk, block } = place;
        let (rows, columns, width) = (
            self.rows.range(chunk),
            self.shape.range(block),
            self.shape.width(),
        );
        for row in rows.clone() {
            let at = (row - rows.start) * width;
            let grad = &mut grad[at..at + columns.len()];
            let to = ((d * net.steps + t) * net.batch + row) * net.out();
            // SAFETY: these rows and columns belong to this task.
            let (carry, to) = unsafe {
                (
                    self.state.slice(self.state_at(d, row, &columns)),
                    self.projected.slice(to + columns.start..to + columns.end),
                )
            };
            if self.given.lengths.has(row, t) {
                carry.fill(T::ZERO);
            } else {
                carry.copy_from_slice(grad);
                grad.fill(T::ZERO);
            }
            to.copy_from_slice(grad);
        }
        // SAFETY: as above; nobody reads it yet.
        unsafe {
            let to = Target::of_slice(self.packed.slice(self.packed_out(d)));
            self.rows
                .pack(chunk, (&grad, width), (to, net.out()), columns);
        }
    }

    /// The gradients of the gates' sums of some units, from that of their outputs.
    fn units(&self, s: usize, Place { d, chunk, block }: Place, shape: &Shape, out: &mut [T]) {
        let (net, t) = (self.net, self.net.step(d, s));
        let (rows, columns, width) = (self.rows.range(chunk), shape.range(block), shape.width());
        let (gates, hidden, n) = (net.gates(), net.hidden, out.len());
        let mut room = vec![T::ZERO; (gates + 8) * n];
        let (values, rest) = room.split_at_mut(gates * n);
        let (more, rest) = rest.split_at_mut(n);
        let (old, rest) = rest.split_at_mut(n);
        let (of_cell, rest) = rest.split_at_mut(n);
        let (spare, sums) = rest.split_at_mut(n);
        let own = |place: usize, row: usize| {
            let at = place * n + (row - rows.start) * width;
            at..at + columns.len()
        };
        let whole = |at: usize| at + columns.start..at + columns.end;
        let line = |row: usize| (t * net.batch + row) * hidden;
        let cell_at = |row: usize| whole((d * net.batch + row) * hidden);
        let kept = &self.kept[self.places.gates(self.layer, d)];
        let further = &self.kept[self.places.more(self.layer, d)];
        for row in rows.clone() {
            for g in 0..gates {
                let from = whole((t * net.batch + row) * net.wide() + g * hidden);
                values[own(g, row)].copy_from_slice(&kept[from]);
            }
            if net.keeps_more() {
                more[own(0, row)].copy_from_slice(&further[whole(line(row))]);
                old[own(0, row)].copy_from_slice(&self.old(further, d, t, row)[columns.clone()]);
            }
            if net.cells() {
                // SAFETY: these rows and units belong to this task.
                of_cell[own(0, row)].copy_from_slice(unsafe { self.cell.slice(cell_at(row)) });
            }
        }
        let passed = out.to_vec();
        let back = cell::Back {
            gates: values,
            more,
            old,
            out,
            cell: of_cell,
            sums,
            spare,
        };
        cell::backward(net.mode, net.clip, back);
        let taken = gates + usize::from(net.more_bias());
        for row in rows.clone() {
            let lives = self.given.lengths.has(row, t);
            if !lives {
                (0..taken).for_each(|g| sums[own(g, row)].fill(T::ZERO));
            }
            // SAFETY: as above.
            unsafe {
                for g in 0..gates {
                    let to = ((d * net.steps + t) * net.batch + row) * net.wide() + g * hidden;
                    self.sums
                        .slice(whole(to))
                        .copy_from_slice(&sums[own(g, row)]);
                }
                if net.more_bias() {
                    let to = ((d * net.steps + t) * net.batch + row) * hidden;
                    self.more
                        .slice(whole(to))
                        .copy_from_slice(&sums[own(gates, row)]);
                }
                if self.projection.is_none() {
                    let from = if lives {
                        &out[own(0, row)]
                    } else {
                        &passed[own(0, row)]
                    };
                    self.state
                        .slice(self.state_at(d, row, &columns))
                        .copy_from_slice(from);
                }
                if net.cells() && lives {
                    self.cell
                        .slice(cell_at(row))
                        .copy_from_slice(&of_cell[own(0, row)]);
                }
            }
        }
        for g in 0..gates {
            // Of a GRU, the states see the gradient of what the reset gate multiplies.
            let from = if net.more_bias() && g + 1 == gates {
                gates
            } else {
                g
            };
            // SAFETY: as above; nobody reads the gradients of this step yet.
            unsafe {
                let to = Target::of_slice(self.packed.slice(self.packed(d, s)));
                let to_columns = g * hidden + columns.start..g * hidden + columns.end;
                let from = (&sums[from * n..(from + 1) * n], width);
                self.rows.pack(chunk, from, (to, net.wide()), to_columns);
            }
        }
    }

    /// What a step began with: the cell states of an LSTM, the outputs of a GRU.
    fn old<'b>(&'b self, cells: &'b [T], d: usize, t: usize, row: usize) -> &'b [T] {
        let (net, hidden) = (self.net, self.net.hidden);
        let first = self.given.lengths.first(row, d, net.steps);
        if first.is_none_or(|first| first == t) || !self.given.lengths.has(row, t) {
            let states = if net.cells() {
                self.given.cell
            } else {
                self.given.state
            };
            let at = ((self.layer * net.directions + d) * net.batch + row) * hidden;
            return &states[at..at + hidden];
        }
        let before = if d == 0 { t - 1 } else { t + 1 } * net.batch + row;
        let at = if net.cells() {
            before * hidden
        } else {
            before * net.across() + d * hidden
        };
        let from = if net.cells() { cells } else { self.outputs };
        &from[at..at + hidden]
    }
}
