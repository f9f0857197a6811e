//! The forward pass: for each layer the inputs' product of all steps at once, then the steps.

use super::cell;
use super::net::{Kept, Net};
use super::steps::Steps;
use super::{Given, Lengths};
use crate::api::{Call, Kernel, Req};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Scratch, Target, scratch_bytes};
use crate::linalg::gemm::{Operand, gemm};
use crate::linalg::panels::{Rows, Shape};
use crate::linalg::rows_dot::RowsDot;
use crate::par;
use ferromix_base::{Error, Result};
use std::marker::PhantomData;
use std::ops::Range;

pub(super) struct Forward<T> {
    pub(super) net: Net,
    pub(super) element: PhantomData<fn() -> T>,
}

/// Sizes of scratch memory.
struct Sizes {
    /// What is kept of one layer, and the outputs of two, where nobody keeps it.
    kept: usize,
    dropped: usize,
    panels: usize,
    packed: usize,
    state: usize,
}

impl Sizes {
    fn new<T: RowsDot>(net: &Net) -> Self {
        let (batch, d) = (net.batch, net.directions);
        let factors = if net.factors {
            net.rows() * net.across()
        } else {
            0
        };
        Sizes {
            kept: Kept::new(net, 1).outputs(2).start,
            dropped: factors,
            panels: d * (recurrent::<T>(net).size() + projecting::<T>(net).map_or(0, |s| s.size())),
            packed: d * batch * (2 * net.out() + net.projection.map_or(0, |_| net.hidden)),
            state: d * batch * net.out().max(net.hidden),
        }
    }
}

/// The weights that the states are multiplied by.
fn recurrent<T: RowsDot>(net: &Net) -> Shape {
    Shape::new::<T>(net.gates(), net.hidden, net.out())
}

/// Those of the projection.
fn projecting<T: RowsDot>(net: &Net) -> Option<Shape> {
    net.projection.map(|p| Shape::new::<T>(1, p, net.hidden))
}

impl<T: RowsDot> Kernel for Forward<T> {
    fn workspace(&self) -> usize {
        let s = Sizes::new::<T>(&self.net);
        let parts = [s.kept, s.dropped, s.panels, s.packed, s.state, s.state];
        parts.iter().map(|&n| scratch_bytes::<T>(n)).sum()
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let net = &self.net;
        let given = Given::<T>::of(net, call.inputs)?;
        let sizes = Sizes::new::<T>(net);
        let mut scratch = Scratch::new(std::mem::take(&mut call.workspace));
        let mut take = |n| scratch.take::<T>(n);
        let spare = Target::of_slice(take(sizes.kept)?);
        let mut pass = Pass {
            net,
            lengths: &given.lengths,
            kept: spare,
            places: Kept::new(net, 1),
            spare,
            shared: true,
            dropped: take(sizes.dropped)?,
            panels: take(sizes.panels)?,
            packed: take(sizes.packed)?,
            state: Target::of_slice(take(sizes.state)?),
            cell: Target::of_slice(take(sizes.state)?),
            rows: Rows::new::<T>(net.batch),
        };
        let hidden = call.outputs.len() - 1;
        let mut summand = Vec::new();
        match call.reqs[hidden] {
            Req::Null => {}
            Req::Add => {
                summand = vec![T::ZERO; call.outputs[hidden].len()];
                pass.kept = Target::of_slice(&mut summand);
            }
            _ => pass.kept = Target::of(&mut call.outputs[hidden])?,
        }
        if call.reqs[hidden] != Req::Null {
            (pass.places, pass.shared) = (Kept::new(net, net.layers), false);
        }
        for layer in 0..net.layers {
            if layer > 0 && net.factors {
                pass.drop(layer - 1, call)?;
            }
            pass.layer(layer, &given, call)?;
            pass.states(layer, call)?;
        }
        if call.reqs[hidden] == Req::Add {
            store(&summand, call.outputs[hidden].write::<T>()?, Req::Add);
        }
        Ok(())
    }
}

struct Pass<'a, T> {
    net: &'a Net,
    lengths: &'a Lengths,
    kept: Target<T>,
    places: Kept,
    /// Scratch memory for what one layer keeps, and the outputs of two.
    spare: Target<T>,
    /// Whether all layers keep what they keep there.
    shared: bool,
    dropped: &'a mut [T],
    panels: &'a mut [T],
    packed: &'a mut [T],
    state: Target<T>,
    cell: Target<T>,
    rows: Rows,
}

impl<T: RowsDot> Pass<'_, T> {
    fn own(&self, layer: usize) -> usize {
        if self.shared { 0 } else { layer }
    }

    /// Where the outputs of a layer are that is not the last.
    fn between(&self, layer: usize) -> Range<usize> {
        self.places
            .outputs(if self.shared { layer % 2 } else { layer })
    }

    /// Where the last layer's outputs are in scratch memory, if they are not to be written as they
    /// come.
    fn last(&self) -> Range<usize> {
        Kept::new(self.net, 1).outputs((self.net.layers - 1) % 2)
    }

    /// The factors of a layer's outputs, and their products.
    fn drop(&mut self, layer: usize, call: &Call<'_>) -> Result<()> {
        let stream = match (&self.net.coin, call.random) {
            (None, _) => None,
            (Some(coin), Some(stream)) => Some((*coin, stream)),
            _ => return Err(Error::internal("RNN was run without random numbers")),
        };
        let (outputs, factors) = (self.between(layer), self.factors(layer));
        let n = outputs.len();
        let first = layer * n.next_multiple_of(4);
        let (kept, dropped) = (self.kept, Target::of_slice(self.dropped));
        par::for_ranges(n, 16_384, |range| {
            let at = |all: &Range<usize>| all.start + range.start..all.start + range.end;
            // SAFETY: the range belongs to this task; the outputs are written by no one now.
            let (y, f, x) = unsafe {
                (
                    kept.slice(at(&outputs)),
                    kept.slice(at(&factors)),
                    dropped.slice(range.clone()),
                )
            };
            match stream {
                Some((coin, stream)) => coin.fill(stream, first + range.start, f),
                None => f.fill(T::ONE),
            }
            cell::multiply(y, f, x);
        });
        Ok(())
    }

    fn factors(&self, layer: usize) -> Range<usize> {
        self.places
            .factors(if self.shared { layer % 2 } else { layer })
    }

    fn layer(&mut self, layer: usize, given: &Given<'_, T>, call: &mut Call<'_>) -> Result<()> {
        let net = self.net;
        let last = layer + 1 == net.layers;
        let own = self.own(layer);
        let kept = self.kept;
        let below = layer.checked_sub(1).map(|l| self.between(l));
        let input: &[T] = match below {
            None => given.data,
            Some(_) if net.factors => self.dropped,
            // SAFETY: outputs of the layer below, which nobody writes now.
            Some(range) => unsafe { kept.slice(range) },
        };
        let outputs = match last {
            true if call.reqs[0] == Req::Write || call.reqs[0] == Req::Inplace => {
                Target::of(&mut call.outputs[0])?
            }
            // SAFETY: places of this layer, which nobody else uses now.
            true => Target::of_slice(unsafe { self.spare.slice(self.last()) }),
            // SAFETY: as above.
            false => Target::of_slice(unsafe { kept.slice(self.between(layer)) }),
        };
        let (shape, projection) = (recurrent::<T>(net), projecting::<T>(net));
        let (recurrent, rest) = self.panels.split_at_mut(net.directions * shape.size());
        for d in 0..net.directions {
            let w = net.weights(layer, d);
            let p = given.parameters;
            // SAFETY: the gates of this layer and direction, which nobody else uses now.
            let gates = unsafe { kept.slice(self.places.gates(own, d)) };
            let inner = (net.gates() - 1) * net.hidden;
            let bias: Vec<T> = (p[w.input_bias]
                .iter()
                .zip(&p[w.state_bias.clone()])
                .enumerate())
            .map(|(i, (&x, &h))| {
                if net.more_bias() && i >= inner {
                    x
                } else {
                    x + h
                }
            })
            .collect();
            gates
                .chunks_exact_mut(net.wide())
                .for_each(|row| row.copy_from_slice(&bias));
            let width = net.input(layer);
            let weight = Operand::new(&p[w.input], width).transposed();
            let size = (net.rows(), net.wide(), width);
            gemm(
                size,
                T::ONE,
                Operand::new(input, width),
                weight,
                T::ONE,
                gates,
            );
            let out = net.out();
            let to = &mut recurrent[d * shape.size()..(d + 1) * shape.size()];
            shape.pack(&p[w.state], [1, net.hidden * out, out], to);
            if let Some(shape) = projection {
                let to = &mut rest[d * shape.size()..(d + 1) * shape.size()];
                shape.pack(&p[w.projection], [1, 0, net.hidden], to);
            }
        }
        let steps = Steps {
            net,
            lengths: self.lengths,
            rows: &self.rows,
            shape,
            projection,
            recurrent,
            projecting: rest,
            biases: (0..net.directions)
                .map(|d| {
                    let inner = (net.gates() - 1) * net.hidden;
                    &given.parameters[net.weights(layer, d).state_bias][inner..]
                })
                .collect(),
            kept,
            places: self.places,
            layer: own,
            outputs,
            state: self.state,
            cell: self.cell,
            packed: Target::of_slice(self.packed),
        };
        steps.start(given, layer);
        for s in 0..net.steps {
            steps.step(s);
        }
        if last && call.reqs[0] == Req::Add {
            // SAFETY: written above; nobody writes it now.
            let from = unsafe { self.spare.slice(self.last()) };
            store(from, call.outputs[0].write::<T>()?, Req::Add);
        }
        Ok(())
    }

    /// The last states of a layer.
    fn states(&self, layer: usize, call: &mut Call<'_>) -> Result<()> {
        let net = self.net;
        if !net.states {
            return Ok(());
        }
        let mut put = |output: usize, from: Target<T>, width: usize| -> Result<()> {
            if call.reqs[output] != Req::Null {
                let n = net.directions * net.batch * width;
                let to = call.outputs[output].write::<T>()?;
                // SAFETY: the steps have ended.
                let from = unsafe { from.slice(0..n) };
                store(from, &mut to[layer * n..(layer + 1) * n], call.reqs[output]);
            }
            Ok(())
        };
        put(1, self.state, net.out())?;
        if net.cells() {
            put(2, self.cell, net.hidden)?;
        }
        Ok(())
    }
}
