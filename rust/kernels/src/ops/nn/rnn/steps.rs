//! The steps of a layer: a task multiplies the old states by the weights of some units, and goes on
//! with these units' cells.

use super::net::{Kept, Net};
use super::packing::{Packed, Packing};
use super::place::{Cells, Place};
use super::{Given, Lengths, cell};
use crate::blocks::raw::{Source, Target};
use crate::linalg::ends::Start;
use crate::linalg::panels::{Left, Panels, Rows, Shape, apart};
use crate::linalg::rows_dot::RowsDot;
use std::ops::Range;

/// The steps of a layer.
pub(super) struct Steps<'a, T> {
    pub(super) net: &'a Net,
    pub(super) lengths: &'a Lengths,
    pub(super) rows: &'a Rows,
    pub(super) packing: &'a Packing,
    pub(super) weights: Packed<'a, T>,
    /// What a GRU adds to the products that the reset gate multiplies.
    pub(super) biases: Vec<&'a [T]>,
    /// The inputs' products; the gates take their places if they are to stay.
    pub(super) kept: Target<T>,
    pub(super) places: Kept,
    /// Whether what the backward pass needs is to stay there.
    pub(super) keeps: bool,
    pub(super) layer: usize,
    /// The earliest step of the sequence whose inputs' products are there, in each direction.
    pub(super) earliest: [usize; 2],
    pub(super) outputs: Target<T>,
    pub(super) room: Room<T>,
}

/// Scratch memory of the steps.
#[derive(Clone, Copy)]
pub(super) struct Room<T> {
    /// The states of each direction twice, of this step and the next.
    pub(super) states: Target<T>,
    /// Outputs of each direction that are to be projected.
    pub(super) unprojected: Target<T>,
    pub(super) cell: Cells<T>,
}

/// Sizes of scratch memory, in the order of the fields of [`Room`].
pub(super) fn sizes<T: RowsDot>(net: &Net) -> [usize; 3] {
    let unprojected = if net.projection.is_some() {
        net.states_of(apart::<T>(net.hidden))
    } else {
        0
    };
    let states = 2 * net.states_of(apart::<T>(net.out()));
    [states, unprojected, Cells::<T>::size(net)]
}

/// What a task computes, in tiles of its rows and columns.
struct Sums<'a, T> {
    gates: &'a mut [T],
    more: &'a mut [T],
    out: &'a mut [T],
    spare: &'a mut [T],
}

impl<T: RowsDot> Steps<'_, T> {
    /// Where the states of a direction begin that step `s` reads.
    fn state(&self, d: usize, s: usize) -> usize {
        (2 * d + s % 2) * self.net.batch * apart::<T>(self.net.out())
    }

    /// The state of a row that step `s` reads.
    fn state_row(&self, d: usize, s: usize, row: usize) -> Range<usize> {
        let out = self.net.out();
        let at = self.state(d, s) + row * apart::<T>(out);
        at..at + out
    }

    /// Puts the first states where steps find them.
    pub(super) fn start(&self, given: &Given<'_, T>, layer: usize) {
        let net = self.net;
        self.each_state(0, |at, state| {
            state.copy_from_slice(&given.state[layer * net.states_of(net.out())..][at]);
        });
        if net.cells() {
            let cells = &given.cell[layer * net.states_of(net.hidden)..];
            // SAFETY: no step runs yet.
            unsafe { self.room.cell.fill(net, self.rows, Some(cells)) };
        }
    }

    /// Calls with each state that step `s` begins with, and its place in a layer's.
    fn each_state(&self, s: usize, mut call: impl FnMut(Range<usize>, &mut [T])) {
        let (net, out) = (self.net, self.net.out());
        for d in 0..net.directions {
            for row in 0..net.batch {
                let at = (d * net.batch + row) * out;
                // SAFETY: no step runs.
                let state = unsafe { self.room.states.slice(self.state_row(d, s, row)) };
                call(at..at + out, state);
            }
        }
    }

    /// Hands out the last states in pieces, with their places in a layer's.
    pub(super) fn last_states(&self, mut put: impl FnMut(Range<usize>, &[T])) {
        self.each_state(self.net.steps, |at, state| put(at, state));
    }

    /// As [`Steps::last_states`], those of cells.
    pub(super) fn last_cells(&self, mut put: impl FnMut(Range<usize>, &[T])) {
        // SAFETY: the steps have ended.
        unsafe {
            self.room
                .cell
                .each(self.net, self.rows, |at, tile| put(at, tile))
        };
    }

    pub(super) fn step(&self, s: usize) {
        let (net, rows) = (self.net, self.rows);
        Place::each(net, rows, &self.packing.recurrent, s, |p| self.units(p));
        if let Some(shape) = &self.packing.projecting {
            Place::each(net, rows, shape, s, |p| self.project(shape, p));
        }
    }

    /// Where the row of a gate begins.
    fn gate(&self, p: &Place, row: usize, g: usize) -> usize {
        let net = self.net;
        let line = ((p.t - self.earliest[p.d]) * net.batch + row) * net.wide();
        self.places.gates(self.layer, p.d).start + line + g * net.hidden
    }

    /// Where the outputs of a row begin.
    fn output(&self, p: &Place, row: usize) -> usize {
        let net = self.net;
        (p.t * net.batch + row) * net.across() + p.d * net.out()
    }

    /// The new states of some rows and units.
    fn units(&self, p: &Place) {
        let (net, n) = (self.net, p.size());
        let mut room = T::borrow_room((net.gates() + 3) * n);
        let (gates, rest) = room.split_at_mut(net.gates() * n);
        let (more, rest) = rest.split_at_mut(n);
        let (out, rest) = rest.split_at_mut(n);
        let spare = &mut rest[..n];
        if net.projection.is_none() {
            // Meanwhile the cache fetches the places of the outputs, which are as far apart.
            p.rows
                .clone()
                .for_each(|row| self.outputs.fetch(p.of(self.output(p, row))));
        }
        self.products(p, gates);
        let mut sums = Sums {
            gates,
            more,
            out,
            spare,
        };
        if net.cells() {
            self.cells(p, &mut sums);
        } else {
            self.plain(p, &mut sums);
        }
        if self.keeps {
            self.keep_gates(p, sums.gates);
        }
        if net.projection.is_none() {
            self.put(p, sums.out);
        } else {
            self.put_unprojected(p, sums.out);
        }
        T::return_room(room);
    }

    /// The sums of the gates.
    fn products(&self, p: &Place, gates: &mut [T]) {
        let (net, shape) = (self.net, self.packing.recurrent);
        let panels = Panels::new(
            net.tiles(),
            &self.weights.recurrent[p.d * shape.size()..(p.d + 1) * shape.size()],
            shape,
        );
        let from = |g: usize| {
            if net.more_bias() && g + 1 == net.gates() {
                Start::Rows(Source::of_slice(self.biases[p.d]), 0, 0)
            } else {
                Start::Rows(self.kept.source(), self.gate(p, 0, g), net.wide())
            }
        };
        let (first, far) = (self.state(p.d, p.s), apart::<T>(net.out()));
        // SAFETY: nobody writes the states of the step before, nor the inputs' products of these units.
        unsafe {
            let states = self.room.states;
            let left = Left::Lines(states.read(first..first + net.batch * far), far);
            panels.multiply((self.rows, p.chunk), left, p.block, gates, from);
        }
    }

    /// The cells of an LSTM, whose states stay where they are.
    fn cells(&self, p: &Place, sums: &mut Sums<'_, T>) {
        let net = self.net;
        // SAFETY: these rows and units belong to this task.
        let cell = unsafe { self.room.cell.tile(net, p) };
        let ends = self.lengths.0.is_some();
        if ends {
            sums.more.copy_from_slice(cell);
        }
        let block = cell::Block {
            gates: sums.gates,
            more: cell,
            out: sums.out,
            spare: sums.spare,
            keeps: self.keeps,
        };
        cell::forward(net.mode, net.clip, block);
        if self.keeps {
            self.keep_more(p, cell);
        }
        for row in p.rows.clone().filter(|_| ends) {
            if !self.lengths.has(row, p.t) {
                cell[p.own(row)].copy_from_slice(&sums.more[p.own(row)]);
            }
        }
    }

    /// Cells without states of their own.
    fn plain(&self, p: &Place, sums: &mut Sums<'_, T>) {
        let (net, gates, n) = (self.net, self.net.gates(), p.size());
        if net.more_bias() {
            let last = &mut sums.gates[(gates - 1) * n..];
            sums.more.copy_from_slice(last);
            let gate = |row| p.of(self.gate(p, row, gates - 1));
            let state = |row| p.of(self.state_row(p.d, p.s, row).start);
            let (kept, states) = (self.kept, self.room.states);
            // SAFETY: nobody else writes these rows and units, and nobody the old states.
            unsafe {
                p.take(last, |row| kept.read(gate(row)));
                p.take(sums.out, |row| states.read(state(row)));
            }
        }
        let block = cell::Block {
            gates: sums.gates,
            more: sums.more,
            out: sums.out,
            spare: sums.spare,
            keeps: self.keeps,
        };
        cell::forward(net.mode, net.clip, block);
        if self.keeps && net.keeps_more() {
            self.keep_more(p, sums.more);
        }
    }

    fn keep_gates(&self, p: &Place, gates: &[T]) {
        for (g, gates) in gates.chunks_exact(p.size()).enumerate() {
            // SAFETY: these rows and units belong to this task.
            unsafe { p.put(gates, self.kept, |row| self.gate(p, row, g)) };
        }
    }

    fn keep_more(&self, p: &Place, more: &[T]) {
        let first = self.places.more(self.layer, p.d).start;
        let (batch, hidden) = (self.net.batch, self.net.hidden);
        let at = |row| first + (p.t * batch + row) * hidden;
        // SAFETY: these rows and units belong to this task.
        unsafe { p.put(more, self.kept, at) };
    }

    /// Puts outputs where they are projected from.
    fn put_unprojected(&self, p: &Place, out: &[T]) {
        let (batch, hidden) = (self.net.batch, self.net.hidden);
        let first = self.places.unprojected(self.layer, p.d).start;
        let far = apart::<T>(hidden);
        // SAFETY: these rows and units belong to this task.
        unsafe {
            let at = |row| (p.d * batch + row) * far;
            p.put(out, self.room.unprojected, at);
            if self.keeps {
                let at = |row| first + (p.t * batch + row) * hidden;
                p.put(out, self.kept, at);
            }
        }
    }

    /// Puts new outputs where they belong; a row past the end of its sequence gets zeros and keeps its
    /// state.
    fn put(&self, p: &Place, out: &[T]) {
        let first = |row: usize| self.output(p, row);
        let state = |s: usize, row: usize| self.state_row(p.d, s, row).start;
        // SAFETY: these rows and columns belong to this task; nobody reads the next states yet.
        unsafe {
            p.put(out, self.outputs, first);
            p.put(out, self.room.states, |row| state(p.s + 1, row));
            if self.lengths.0.is_some() {
                for row in p.rows.clone().filter(|&row| !self.lengths.has(row, p.t)) {
                    self.outputs.slice(p.of(first(row))).fill(T::ZERO);
                    let old = self.room.states.read(p.of(state(p.s, row)));
                    let new = self.room.states.slice(p.of(state(p.s + 1, row)));
                    new.copy_from_slice(old);
                }
            }
        }
    }

    /// The projections of some rows on some units.
    fn project(&self, shape: &Shape, p: &Place) {
        let net = self.net;
        let mut room = T::borrow_room(p.size());
        let sums = &mut room[..p.size()];
        let panels = Panels::new(
            net.tiles(),
            &self.weights.projecting[p.d * shape.size()..(p.d + 1) * shape.size()],
            *shape,
        );
        let far = apart::<T>(net.hidden);
        let (first, n) = (p.d * net.batch * far, net.batch * far);
        // SAFETY: nobody writes what is projected now; the sums begin with nothing.
        unsafe {
            let unprojected = self.room.unprojected;
            let left = Left::Lines(unprojected.read(first..first + n), far);
            panels.multiply((self.rows, p.chunk), left, p.block, sums, |_| Start::Zero);
        }
        self.put(p, sums);
        T::return_room(room);
    }
}
