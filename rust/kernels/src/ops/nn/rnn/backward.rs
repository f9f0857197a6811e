//! The backward pass: for each layer from the last the steps in the other order, which give the
//! gradients of all gates, and then products of all steps at once.

use super::back_steps::{self, Room, Steps};
use super::history::History;
use super::net::{Kept, Net};
use super::place::Cells;
use super::{Given, cell};
use crate::api::{Call, Kernel, Req};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Scratch, Target, scratch_bytes};
use crate::blocks::sums;
use crate::linalg::gemm::{Operand, gemm};
use crate::linalg::panels::{Rows, Shape, apart};
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
    Shape::new(&net.tiles::<T>(), 1, net.out(), net.wide())
}

/// Those of the projection.
fn projecting<T: RowsDot>(net: &Net) -> Option<Shape> {
    net.projection
        .map(|p| Shape::new(&net.tiles::<T>(), 1, net.hidden, p))
}

/// Sizes of scratch memory, besides that of the steps: in the order of the fields of [`Pass`].
fn sizes<T: RowsDot>(net: &Net) -> [usize; 4] {
    let (d, rows) = (net.directions, net.rows());
    let only = |flag: bool, n: usize| if flag { n } else { 0 };
    [
        only(net.layers > 1, rows * net.across()),
        only(net.factors, rows * net.across()),
        d * (recurrent::<T>(net).size() + projecting::<T>(net).map_or(0, |s| s.size())),
        net.batch * net.wide(),
    ]
}

impl<T: RowsDot> Kernel for Backward<T> {
    fn workspace(&self) -> usize {
        let sizes = sizes::<T>(&self.net).into_iter();
        let steps = back_steps::sizes::<T>(&self.net);
        sizes.chain(steps).map(scratch_bytes::<T>).sum()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let net = &self.net;
        let (grads, inputs) = call.inputs.split_at(self.heads);
        let given = Given::<T>::of(net, inputs)?;
        let mut scratch = Scratch::new(std::mem::take(&mut call.workspace));
        let [outputs, dropped, panels, first] = sizes::<T>(net).map(|n| scratch.take::<T>(n));
        let room = back_steps::sizes::<T>(net).map(|n| scratch.take::<T>(n));
        let [sums, more, projected, gates, state, cell] = room;
        let room = Room {
            sums: Target::of_slice(sums?),
            more: Target::of_slice(more?),
            projected: Target::of_slice(projected?),
            gates: Target::of_slice(gates?),
            state: Target::of_slice(state?),
            cell: Cells {
                tiles: Target::of_slice(cell?),
                shape: Shape::new(&net.tiles::<T>(), 1, net.hidden, 0),
            },
        };
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
            outputs: outputs?,
            dropped: dropped?,
            panels: panels?,
            first: first?,
            room,
            rows: Rows::new(&net.tiles::<T>(), net.batch),
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
    /// The gradient of a layer's outputs.
    outputs: &'a mut [T],
    /// A layer's inputs, as they were multiplied by factors.
    dropped: &'a mut [T],
    panels: &'a mut [T],
    /// Gradients of the sums of the steps that come first.
    first: &'a mut [T],
    room: Room<T>,
    rows: Rows,
}

impl<T: RowsDot> Pass<'_, T> {
    fn layer(&mut self, layer: usize, call: &mut Call<'_>) -> Result<()> {
        let net = self.net;
        let last = layer + 1 == net.layers;
        let (shape, projection) = (recurrent::<T>(net), projecting::<T>(net));
        let (recurrent, rest) = self.panels.split_at_mut(net.directions * shape.size());
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
            grad: if last { self.out_grad } else { self.outputs },
            room: self.room,
        };
        steps.start(self.state_grads);
        for s in (0..net.steps).rev() {
            steps.step(s);
        }
        steps.finish();
        if call.reqs[2] != Req::Null {
            let n = net.states_of(net.out());
            let to = &mut call.outputs[2].write::<T>()?[layer * n..(layer + 1) * n];
            // SAFETY: the steps have ended.
            store(unsafe { self.room.state.read(0..n) }, to, call.reqs[2]);
        }
        if net.cells() && call.reqs[3] != Req::Null {
            let to = &mut call.outputs[3].write::<T>()?[layer * net.states_of(net.hidden)..];
            let put = |at: Range<usize>, from: &mut [T]| store(from, &mut to[at], call.reqs[3]);
            // SAFETY: as above.
            unsafe { self.room.cell.each(net, &self.rows, put) };
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
                cell::multiply(y, f, self.dropped);
                self.dropped
            }
            Some(below) => &self.kept[self.places.outputs(below)],
        };
        for d in 0..net.directions {
            let w = net.weights(layer, d);
            let (rows, wide, hidden, out) = (net.rows(), net.wide(), net.hidden, net.out());
            let far = apart::<T>(wide);
            // SAFETY: the steps have ended.
            let sums = unsafe { self.room.sums.read(d * rows * far..(d + 1) * rows * far) };
            let width = net.input(layer);
            let product = Operand::new(sums, far).transposed();
            let x = Operand::new(input, width);
            gemm(
                (wide, width, rows),
                T::ONE,
                product,
                x,
                beta,
                &mut to[w.input],
            );
            let mut biases = vec![T::ZERO; far];
            sums::columns(sums, far, &mut biases, Req::Write);
            store(&biases[..wide], &mut to[w.input_bias], req);
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
            history.product((sums, far, same), self.first, beta, upper);
            store(
                &biases[..same],
                &mut to[w.state_bias.start..w.state_bias.start + same],
                req,
            );
            if net.more_bias() {
                // SAFETY: as above.
                let more = unsafe {
                    let n = rows * hidden;
                    self.room.more.read(d * n..(d + 1) * n)
                };
                let lower = &mut to[middle..w.state.end];
                history.product((more, hidden, hidden), self.first, beta, lower);
                let to = &mut to[w.state_bias.start + same..w.state_bias.end];
                sums::columns(more, hidden, to, req);
            }
            if net.projection.is_some() {
                let far = apart::<T>(out);
                // SAFETY: as above.
                let grad = unsafe {
                    let n = rows * far;
                    self.room.projected.read(d * n..(d + 1) * n)
                };
                let grad = Operand::new(grad, far).transposed();
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
            _ => (self.outputs, T::ZERO),
        };
        for d in 0..net.directions {
            let w = net.weights(layer, d);
            let far = apart::<T>(wide);
            // SAFETY: the steps have ended.
            let sums = unsafe { self.room.sums.read(d * rows * far..(d + 1) * rows * far) };
            let weight = Operand::new(&self.given.parameters[w.input], width);
            gemm(
                (rows, width, wide),
                T::ONE,
                Operand::new(sums, far),
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
