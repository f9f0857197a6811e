//! The steps back of a layer, which give the gradients of all gates.
//!
//! A task multiplies the gradients of the next step's gates by the states' weights, which gives the
//! gradient of some units' outputs, and goes on with these units' gates.

use super::net::{Kept, Net};
use super::place::{Cells, Place};
use super::{Given, cell};
use crate::blocks::raw::Target;
use crate::linalg::ends::Start;
use crate::linalg::panels::{Left, Panels, Rows, Shape, apart};
use crate::linalg::rows_dot::RowsDot;

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
    pub(super) room: Room<T>,
}

/// Scratch memory of the steps.
#[derive(Clone, Copy)]
pub(super) struct Room<T> {
    /// Gradients of the gates' sums, `(direction, step, row, gate)`, in rows that are [`apart`].
    pub(super) sums: Target<T>,
    /// Of a GRU, those of what the reset gate multiplies.
    pub(super) more: Target<T>,
    /// Those of projected outputs, likewise.
    pub(super) projected: Target<T>,
    /// Of a GRU, the gradients of a step's gates by which the states' are found, of this step and the next.
    pub(super) gates: Target<T>,
    /// What goes to a state by itself.
    pub(super) state: Target<T>,
    pub(super) cell: Cells<T>,
}

/// Sizes of scratch memory, in the order of the fields of [`Room`].
pub(super) fn sizes<T: RowsDot>(net: &Net) -> [usize; 6] {
    let rows = net.directions * net.rows();
    let only = |flag: bool, n: usize| if flag { n } else { 0 };
    [
        rows * apart::<T>(net.wide()),
        only(net.more_bias(), rows * net.hidden),
        only(net.projection.is_some(), rows * apart::<T>(net.out())),
        only(net.more_bias(), 2 * net.states_of(apart::<T>(net.wide()))),
        net.states_of(net.out()),
        Cells::<T>::size(net),
    ]
}

/// Tiles of what a task computes for some units.
struct Tiles<'a, T> {
    gates: &'a mut [T],
    more: &'a mut [T],
    old: &'a mut [T],
    sums: &'a mut [T],
    spare: &'a mut [T],
    /// The gradients of outputs and of cell states before the step.
    before: [&'a mut [T]; 2],
}

impl<T: RowsDot> Steps<'_, T> {
    /// The gradients of the last states.
    pub(super) fn start(&self, grads: [Option<&[T]>; 2]) {
        let (net, layer) = (self.net, self.layer);
        let n = net.states_of(net.out());
        // SAFETY: no step runs yet.
        unsafe {
            let state = self.room.state.slice(0..n);
            match grads[0] {
                Some(grad) => state.copy_from_slice(&grad[layer * n..(layer + 1) * n]),
                None => state.fill(T::ZERO),
            }
            let cell = grads[1].map(|grad| &grad[layer * net.states_of(net.hidden)..]);
            self.room.cell.fill(net, self.rows, cell);
        }
    }

    pub(super) fn step(&self, s: usize) {
        let (net, rows) = (self.net, self.rows);
        match &self.projection {
            None => Place::each(net, rows, &self.shape, s, |p| {
                let mut grad = T::borrow_room(p.size());
                self.by_state(p, true, &mut grad);
                self.units(p, &mut grad[..p.size()]);
                T::return_room(grad);
            }),
            Some(shape) => {
                Place::each(net, rows, &self.shape, s, |p| self.project(p));
                Place::each(net, rows, shape, s, |p| self.unproject(shape, p));
            }
        }
    }

    /// The gradients of the first states.
    pub(super) fn finish(&self) {
        if self.net.steps == 0 {
            return;
        }
        let (net, rows) = (self.net, self.rows);
        Place::each(net, rows, &self.shape, 0, |p| {
            let p = Place {
                // The step before the first one.
                s: usize::MAX,
                rows: p.rows.clone(),
                columns: p.columns.clone(),
                ..*p
            };
            let mut grad = T::borrow_room(p.size());
            self.by_state(&p, false, &mut grad);
            // SAFETY: these rows and columns belong to this task.
            unsafe {
                p.put(&grad[..p.size()], self.room.state, |row| {
                    self.state(&p, row)
                })
            };
            T::return_room(grad);
        });
    }

    /// Where a row of the states begins.
    fn state(&self, p: &Place, row: usize) -> usize {
        (p.d * self.net.batch + row) * self.net.out()
    }

    /// The gradients of the gates of step `s`, as the states' weights take them, and the distance between
    /// rows.
    ///
    /// # Safety
    /// Nobody writes them meanwhile.
    unsafe fn gates(&self, d: usize, s: usize) -> (&[T], usize) {
        let (net, far) = (self.net, apart::<T>(self.net.wide()));
        let n = net.batch * far;
        // SAFETY: as the caller vouches.
        let gates = unsafe {
            if net.more_bias() {
                let at = (2 * d + s % 2) * n;
                self.room.gates.read(at..at + n)
            } else {
                let at = (d * net.steps + net.step(d, s)) * n;
                self.room.sums.read(at..at + n)
            }
        };
        (gates, far)
    }

    /// The gradient of the outputs of a step, that of the states that the next one began with: by the
    /// next step's gates, by itself, and if `output` by that of the layer's output.
    fn by_state(&self, p: &Place, output: bool, grad: &mut [T]) {
        let (net, shape) = (self.net, self.shape);
        let grad = &mut grad[..p.size()];
        let own = Start::Rows(self.room.state.source(), self.state(p, 0), net.out());
        let next = p.s.wrapping_add(1);
        // SAFETY: nobody writes the gradients of the next step now, and these rows and columns of the states
        // belong to this task.
        unsafe {
            if next == net.steps {
                own.copy((&p.rows, &p.columns), (grad, p.width));
            } else {
                let data = &self.recurrent[p.d * shape.size()..(p.d + 1) * shape.size()];
                let (gates, far) = self.gates(p.d, next);
                let (rows, left) = ((self.rows, p.chunk), Left::Lines(gates, far));
                Panels::new(net.tiles(), data, shape).multiply(rows, left, p.block, grad, |_| own);
            }
        }
        let lives = |&row: &usize| output && self.given.lengths.has(row, p.t);
        for row in p.rows.clone().filter(lives) {
            let at = (p.t * net.batch + row) * net.across() + p.d * net.out();
            cell::add(&self.grad[p.of(at)], &mut grad[p.own(row)]);
        }
    }

    /// Where a row of gradients of projected outputs begins.
    fn projected(&self, p: &Place, row: usize) -> usize {
        let net = self.net;
        ((p.d * net.steps + p.t) * net.batch + row) * apart::<T>(net.out())
    }

    /// The gradients of projected outputs.
    fn project(&self, p: &Place) {
        let mut room = T::borrow_room(p.size());
        self.by_state(p, true, &mut room);
        let grad = &mut room[..p.size()];
        for row in p.rows.clone() {
            let grad = &mut grad[p.own(row)];
            // SAFETY: these rows and columns belong to this task.
            let carry = unsafe { self.room.state.slice(p.of(self.state(p, row))) };
            if self.given.lengths.has(row, p.t) {
                carry.fill(T::ZERO);
            } else {
                carry.copy_from_slice(grad);
                grad.fill(T::ZERO);
            }
        }
        // SAFETY: as above; nobody reads it yet.
        unsafe { p.put(grad, self.room.projected, |row| self.projected(p, row)) };
        T::return_room(room);
    }

    /// The gradients of the gates of some units, by those of projected outputs.
    fn unproject(&self, shape: &Shape, p: &Place) {
        let (batch, far) = (self.net.batch, apart::<T>(self.net.out()));
        let mut room = T::borrow_room(p.size());
        let grad = &mut room[..p.size()];
        let panels = Panels::new(
            self.net.tiles(),
            &self.projecting[p.d * shape.size()..(p.d + 1) * shape.size()],
            *shape,
        );
        let at = self.projected(p, 0);
        // SAFETY: nobody writes it now; the sums begin with nothing.
        unsafe {
            let projected = self.room.projected.read(at..at + batch * far);
            let (rows, left) = ((self.rows, p.chunk), Left::Lines(projected, far));
            panels.multiply(rows, left, p.block, grad, |_| Start::Zero);
        }
        self.units(p, grad);
        T::return_room(room);
    }

    /// The gradients of the gates' sums of some units, from that of their outputs.
    fn units(&self, p: &Place, out: &mut [T]) {
        let (net, n) = (self.net, p.size());
        let gates = net.gates();
        let mut room = T::borrow_room((2 * gates + 6) * n);
        let mut rest = &mut room[..];
        let mut take = |size: usize| {
            let (mine, others) = std::mem::take(&mut rest).split_at_mut(size);
            rest = others;
            mine
        };
        let mut tiles = Tiles {
            gates: take(gates * n),
            sums: take((gates + 1) * n),
            more: take(n),
            old: take(n),
            spare: take(n),
            before: [take(n), take(n)],
        };
        self.gather(p, &mut tiles);
        self.back(p, &mut tiles, out);
        self.scatter(p, tiles.sums);
        T::return_room(room);
    }

    /// What forward kept of these units.
    fn gather(&self, p: &Place, tiles: &mut Tiles<'_, T>) {
        let net = self.net;
        let kept = &self.kept[self.places.gates(self.layer, p.d)];
        let further = &self.kept[self.places.more(self.layer, p.d)];
        let line = |row: usize| p.t * net.batch + row;
        for (g, tile) in tiles.gates.chunks_exact_mut(p.size()).enumerate() {
            p.take(tile, |row| {
                &kept[p.of(line(row) * net.wide() + g * net.hidden)]
            });
        }
        if net.keeps_more() {
            p.take(tiles.more, |row| &further[p.of(line(row) * net.hidden)]);
            let old = |row| &self.old(further, (p.d, p.t), row)[p.columns.clone()];
            p.take(tiles.old, old);
        }
    }

    /// Takes the step back; rows past the end of their sequence pass gradients on.
    fn back(&self, p: &Place, tiles: &mut Tiles<'_, T>, out: &mut [T]) {
        let net = self.net;
        let ends = self.given.lengths.0.is_some();
        let [outs, cells] = &mut tiles.before;
        let of_cell: &mut [T] = match net.cells() {
            // SAFETY: these rows and units belong to this task.
            true => unsafe { self.room.cell.tile(net, p) },
            false => &mut [],
        };
        if ends {
            outs.copy_from_slice(out);
            cells[..of_cell.len()].copy_from_slice(of_cell);
        }
        let back = cell::Back {
            gates: tiles.gates,
            more: tiles.more,
            old: tiles.old,
            out,
            cell: of_cell,
            sums: tiles.sums,
            spare: tiles.spare,
        };
        cell::backward(net.mode, net.clip, back);
        for row in p
            .rows
            .clone()
            .filter(|&row| !self.given.lengths.has(row, p.t))
        {
            let own = p.own(row);
            let sums = tiles.sums.chunks_exact_mut(out.len());
            sums.for_each(|sums| sums[own.clone()].fill(T::ZERO));
            out[own.clone()].copy_from_slice(&outs[own.clone()]);
            if net.cells() {
                of_cell[own.clone()].copy_from_slice(&cells[own]);
            }
        }
        if self.projection.is_none() {
            // SAFETY: as above.
            unsafe { p.put(out, self.room.state, |row| self.state(p, row)) };
        }
    }

    /// Puts the gradients of sums where they belong.
    fn scatter(&self, p: &Place, sums: &[T]) {
        let (net, far) = (self.net, apart::<T>(self.net.wide()));
        let line = |row: usize| (p.d * net.steps + p.t) * net.batch + row;
        let next = |row: usize| ((2 * p.d + p.s % 2) * net.batch + row) * far;
        for (g, tile) in sums.chunks_exact(p.size()).enumerate() {
            let gate = g * net.hidden;
            // SAFETY: these rows and units belong to this task; nobody reads those of this step yet.
            unsafe {
                if g < net.gates() {
                    p.put(tile, self.room.sums, |row| line(row) * far + gate);
                } else if net.more_bias() {
                    p.put(tile, self.room.more, |row| line(row) * net.hidden);
                }
                // Of a GRU, the states see the gradient of what the reset gate multiplies.
                if net.more_bias() && g + 1 != net.gates() {
                    let gate = gate.min((net.gates() - 1) * net.hidden);
                    p.put(tile, self.room.gates, |row| next(row) + gate);
                }
            }
        }
    }

    /// What a step began with: the cell states of an LSTM, the outputs of a GRU.
    fn old<'b>(&'b self, cells: &'b [T], (d, t): (usize, usize), row: usize) -> &'b [T] {
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
