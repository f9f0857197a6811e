//! The backward pass: for each layer from the last the steps in the other order, which give the
//! gradients of all gates, and then products of all steps at once.

use super::back_steps::Steps;
use super::history::History;
use super::net::{Kept, Net};
use super::{Given, cell};
use crate::api::{Call, Kernel, Req};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Scratch, Target, scratch_bytes};
use crate::blocks::sums;
use crate::linalg::gemm::{Operand, gemm};
use crate::linalg::panels::{Rows, Shape};
use crate::linalg::rows_dot::RowsDot;
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
fn recurrent<T: RowsDot>(net: &Net) -> Shape {
    Shape::new::<T>(1, net.out(), net.wide())
}

/// Those of the projection.
fn projecting<T: RowsDot>(net: &Net) -> Option<Shape> {
    net.projection.map(|p| Shape::new::<T>(1, net.hidden, p))
}

/// Sizes of scratch memory, in the order of the fields of [`Room`].
fn sizes<T: RowsDot>(net: &Net) -> [usize; 9] {
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

impl<T: RowsDot> Kernel for Backward<T> {
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

impl<T: RowsDot> Pass<'_, T> {
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
