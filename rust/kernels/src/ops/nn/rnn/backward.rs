//! The backward pass: for each layer from the last the steps in the other order, which give the
//! gradients of all gates, and then products of all steps at once.
//!
//! A task multiplies the gradients of the next step's gates by the states' weights, which gives the
//! gradient of some units' outputs, and goes on with these units' gates.

use super::cell;
use super::net::{Kept, Net};
use super::panels::{Panels, Rows, Shape};
use super::{Cell, Given};
use crate::api::{Call, Kernel, Req};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Scratch, Target, scratch_bytes};
use crate::blocks::sums;
use crate::linalg::gemm::{Operand, gemm};
use crate::par;
use ferromix_base::Result;
use std::marker::PhantomData;
use std::ops::Range;

pub(super) struct Backward<T> {
    pub(super) net: Net,
    /// Gradients of outputs, which come first.
    pub(super) heads: usize,
    /// Inputs of forward, which come next.
    pub(super) arity: usize,
    pub(super) element: PhantomData<fn() -> T>,
}

/// The weights that the gradients of gates are multiplied by.
fn recurrent<T: Cell>(net: &Net) -> Shape {
    Shape::new::<T>(1, net.out(), net.wide())
}

/// Those of the projection.
fn projecting<T: Cell>(net: &Net) -> Option<Shape> {
    net.projection.map(|p| Shape::new::<T>(1, net.hidden, p))
}

/// Sizes of scratch memory, in the order of the fields of [`Room`].
fn sizes<T: Cell>(net: &Net) -> [usize; 9] {
    let (d, rows, batch) = (net.directions, net.rows(), net.batch);
    let only = |flag: bool, n: usize| if flag { n } else { 0 };
    let projects = net.projection.is_some();
    [
        d * rows * net.wide(),
        only(net.more_bias(), d * rows * net.hidden),
        only(projects, d * rows * net.out()),
        only(net.layers > 1, rows * net.across()),
        only(net.factors, rows * net.across()),
        d * (recurrent::<T>(net).size() + projecting::<T>(net).map_or(0, |s| s.size())),
        d * batch * (2 * net.wide() + only(projects, net.out())),
        d * batch * net.out(),
        d * batch * net.hidden,
    ]
}

/// Scratch memory.
struct Room<'a, T> {
    /// Gradients of the gates' sums, `(direction, step, row, gate)`.
    sums: Target<T>,
    /// Of a GRU, those of what the reset gate multiplies.
    more: Target<T>,
    /// Those of projected outputs.
    projected: Target<T>,
    /// The gradient of a layer's outputs.
    outputs: &'a mut [T],
    /// A layer's inputs, as they were multiplied by factors.
    dropped: &'a mut [T],
    panels: &'a mut [T],
    /// Gradients of sums twice, of this step and the next, and those of projected outputs.
    packed: Target<T>,
    /// What goes to a state by itself.
    state: Target<T>,
    cell: Target<T>,
}

impl<T: Cell> Kernel for Backward<T> {
    fn workspace(&self) -> usize {
        let first = scratch_bytes::<T>(self.net.batch * self.net.wide());
        sizes::<T>(&self.net)
            .iter()
            .map(|&n| scratch_bytes::<T>(n))
            .sum::<usize>()
            + first
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let net = &self.net;
        let (grads, inputs) = call.inputs.split_at(self.heads);
        let given = Given::<T>::of(net, inputs)?;
        let mut scratch = Scratch::new(std::mem::take(&mut call.workspace));
        let mut parts = sizes::<T>(net).into_iter().map(|n| scratch.take::<T>(n));
        let mut next = || parts.next().unwrap_or(Ok(&mut []));
        let room = Room {
            sums: Target::of_slice(next()?),
            more: Target::of_slice(next()?),
            projected: Target::of_slice(next()?),
            outputs: next()?,
            dropped: next()?,
            panels: next()?,
            packed: Target::of_slice(next()?),
            state: Target::of_slice(next()?),
            cell: Target::of_slice(next()?),
        };
        drop(parts);
        let mut pass = Pass {
            net,
            out_grad: grads[0].read::<T>()?,
            state_grads: match grads {
                [_, state, cell] => [Some(state.read::<T>()?), Some(cell.read::<T>()?)],
                [_, state] => [Some(state.read::<T>()?), None],
                _ => [None, None],
            },
            output: inputs[self.arity].read::<T>()?,
            kept: inputs[self.arity + 1].read::<T>()?,
            places: Kept::new(net, net.layers),
            room,
            first: scratch.take::<T>(net.batch * net.wide())?,
            rows: Rows::new::<T>(net.batch),
            given,
        };
        for layer in (0..net.layers).rev() {
            pass.layer(layer, call)?;
        }
        Ok(())
    }
}

struct Pass<'a, T> {
    net: &'a Net,
    given: Given<'a, T>,
    out_grad: &'a [T],
    state_grads: [Option<&'a [T]>; 2],
    output: &'a [T],
    kept: &'a [T],
    places: Kept,
    room: Room<'a, T>,
    /// Gradients of the sums of the steps that come first.
    first: &'a mut [T],
    rows: Rows,
}

impl<T: Cell> Pass<'_, T> {
    fn layer(&mut self, layer: usize, call: &mut Call<'_>) -> Result<()> {
        let net = self.net;
        let last = layer + 1 == net.layers;
        let (shape, projection) = (recurrent::<T>(net), projecting::<T>(net));
        let (recurrent, rest) = self.room.panels.split_at_mut(net.directions * shape.size());
        for d in 0..net.directions {
            let w = net.weights(layer, d);
            let to = &mut recurrent[d * shape.size()..(d + 1) * shape.size()];
            shape.pack(&self.given.parameters[w.state], [net.out(), 0, 1], to);
            if let Some(shape) = projection {
                let to = &mut rest[d * shape.size()..(d + 1) * shape.size()];
                shape.pack(&self.given.parameters[w.projection], [net.hidden, 0, 1], to);
            }
        }
        let outputs = match last {
            true => self.output,
            false => &self.kept[self.places.outputs(layer)],
        };
        let steps = Steps {
            net,
            given: &self.given,
            kept: self.kept,
            places: self.places,
            layer,
            rows: &self.rows,
            shape,
            projection,
            recurrent,
            projecting: rest,
            outputs,
            grad: if last {
                self.out_grad
            } else {
                self.room.outputs
            },
            sums: self.room.sums,
            more: self.room.more,
            projected: self.room.projected,
            packed: self.room.packed,
            state: self.room.state,
            cell: self.room.cell,
        };
        steps.start(self.state_grads);
        for s in (0..net.steps).rev() {
            steps.step(s);
        }
        steps.finish();
        for (i, (grad, width)) in [(self.room.state, net.out()), (self.room.cell, net.hidden)]
            .into_iter()
            .take(1 + usize::from(net.cells()))
            .enumerate()
        {
            let req = call.reqs[2 + i];
            if req != Req::Null {
                let n = net.directions * net.batch * width;
                let to = &mut call.outputs[2 + i].write::<T>()?[layer * n..(layer + 1) * n];
                // SAFETY: the steps have ended.
                store(unsafe { grad.slice(0..n) }, to, req);
            }
        }
        self.parameters(layer, outputs, call)?;
        self.inputs(layer, call)
    }

    /// The gradients of a layer's parameters.
    fn parameters(&mut self, layer: usize, outputs: &[T], call: &mut Call<'_>) -> Result<()> {
        let (net, req) = (self.net, call.reqs[1]);
        if req == Req::Null {
            return Ok(());
        }
        let to = call.outputs[1].write::<T>()?;
        let beta = if req == Req::Add { T::ONE } else { T::ZERO };
        let input: &[T] = match layer.checked_sub(1) {
            None => self.given.data,
            Some(below) if net.factors => {
                let at = |range: Range<usize>| &self.kept[range];
                let (y, f) = (
                    at(self.places.outputs(below)),
                    at(self.places.factors(below)),
                );
                cell::multiply(y, f, self.room.dropped);
                self.room.dropped
            }
            Some(below) => &self.kept[self.places.outputs(below)],
        };
        for d in 0..net.directions {
            let w = net.weights(layer, d);
            let (rows, wide, hidden, out) = (net.rows(), net.wide(), net.hidden, net.out());
            // SAFETY: the steps have ended.
            let sums = unsafe { self.room.sums.slice(d * rows * wide..(d + 1) * rows * wide) };
            let width = net.input(layer);
            let product = Operand::new(sums, wide).transposed();
            let x = Operand::new(input, width);
            gemm(
                (wide, width, rows),
                T::ONE,
                product,
                x,
                beta,
                &mut to[w.input],
            );
            let mut biases = vec![T::ZERO; wide];
            sums::columns(sums, wide, &mut biases, Req::Write);
            store(&biases, &mut to[w.input_bias], req);
            // Of a GRU, the last gate's states are multiplied before the reset gate is.
            let same = if net.more_bias() { 2 * hidden } else { wide };
            let history = History {
                net,
                given: &self.given,
                layer,
                d,
                outputs,
            };
            let middle = w.state.start + same * out;
            let upper = &mut to[w.state.start..middle];
            history.product((sums, wide, same), self.first, beta, upper);
            store(
                &biases[..same],
                &mut to[w.state_bias.start..w.state_bias.start + same],
                req,
            );
            if net.more_bias() {
                // SAFETY: as above.
                let more = unsafe {
                    self.room
                        .more
                        .slice(d * rows * hidden..(d + 1) * rows * hidden)
                };
                let lower = &mut to[middle..w.state.end];
                history.product((more, hidden, hidden), self.first, beta, lower);
                let to = &mut to[w.state_bias.start + same..w.state_bias.end];
                sums::columns(more, hidden, to, req);
            }
            if net.projection.is_some() {
                // SAFETY: as above.
                let grad = unsafe {
                    self.room
                        .projected
                        .slice(d * rows * out..(d + 1) * rows * out)
                };
                let grad = Operand::new(grad, out).transposed();
                let from = &self.kept[self.places.unprojected(layer, d)];
                let size = (out, hidden, rows);
                gemm(
                    size,
                    T::ONE,
                    grad,
                    Operand::new(from, hidden),
                    beta,
                    &mut to[w.projection],
                );
            }
        }
        Ok(())
    }

    /// The gradient of a layer's input: of the data, or of the outputs of the layer below.
    fn inputs(&mut self, layer: usize, call: &mut Call<'_>) -> Result<()> {
        let net = self.net;
        let (rows, wide, width) = (net.rows(), net.wide(), net.input(layer));
        let (to, mut beta): (&mut [T], T) = match (layer, call.reqs[0]) {
            (0, Req::Null) => return Ok(()),
            (0, Req::Add) => (call.outputs[0].write::<T>()?, T::ONE),
            (0, _) => (call.outputs[0].write::<T>()?, T::ZERO),
            _ => (self.room.outputs, T::ZERO),
        };
        for d in 0..net.directions {
            let w = net.weights(layer, d);
            // SAFETY: the steps have ended.
            let sums = unsafe { self.room.sums.slice(d * rows * wide..(d + 1) * rows * wide) };
            let weight = Operand::new(&self.given.parameters[w.input], width);
            gemm(
                (rows, width, wide),
                T::ONE,
                Operand::new(sums, wide),
                weight,
                beta,
                to,
            );
            beta = T::ONE;
        }
        if layer > 0 && net.factors {
            let factors = &self.kept[self.places.factors(layer - 1)];
            for (x, &f) in to.iter_mut().zip(factors) {
                *x *= f;
            }
        }
        Ok(())
    }
}

/// The states that steps began with.
struct History<'a, T> {
    net: &'a Net,
    given: &'a Given<'a, T>,
    layer: usize,
    d: usize,
    outputs: &'a [T],
}

impl<T: Cell> History<'_, T> {
    /// The product of gradients, `wide` apart of which the first `count` are taken, with the states.
    fn product(
        &self,
        (grads, wide, count): (&[T], usize, usize),
        first: &mut [T],
        beta: T,
        to: &mut [T],
    ) {
        let Net { batch, steps, .. } = *self.net;
        let (out, across) = (self.net.out(), self.net.across());
        let own = self.d * out;
        let rows = steps.saturating_sub(1) * batch;
        let (later, before) = if self.d == 0 { (batch, 0) } else { (0, batch) };
        // Where there is but one step, nothing is multiplied.
        let a = grads.get(later * wide..).unwrap_or_default();
        let b = self
            .outputs
            .get(before * across + own..)
            .unwrap_or_default();
        let (a, b) = (Operand::new(a, wide).transposed(), Operand::new(b, across));
        gemm((count, out, rows), T::ONE, a, b, beta, to);
        let first = &mut first[..batch * count];
        for (row, to) in first.chunks_exact_mut(count).enumerate() {
            match self.given.lengths.first(row, self.d, steps) {
                Some(t) => {
                    let at = (t * batch + row) * wide;
                    to.copy_from_slice(&grads[at..at + count]);
                }
                None => to.fill(T::ZERO),
            }
        }
        let n = batch * out;
        let at = (self.layer * self.net.directions + self.d) * n;
        let states = Operand::new(&self.given.state[at..at + n], out);
        let first = Operand::new(first, count).transposed();
        gemm((count, out, batch), T::ONE, first, states, T::ONE, to);
    }
}

/// The steps of a layer.
struct Steps<'a, T> {
    net: &'a Net,
    given: &'a Given<'a, T>,
    kept: &'a [T],
    places: Kept,
    layer: usize,
    rows: &'a Rows,
    shape: Shape,
    projection: Option<Shape>,
    recurrent: &'a [T],
    projecting: &'a [T],
    outputs: &'a [T],
    /// The gradient of the outputs.
    grad: &'a [T],
    sums: Target<T>,
    more: Target<T>,
    projected: Target<T>,
    packed: Target<T>,
    state: Target<T>,
    cell: Target<T>,
}

/// Some rows and columns of a direction.
#[derive(Clone, Copy)]
struct Place {
    d: usize,
    chunk: usize,
    block: usize,
}

impl<T: Cell> Steps<'_, T> {
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
    fn start(&self, grads: [Option<&[T]>; 2]) {
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

    fn step(&self, s: usize) {
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
    fn finish(&self) {
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
