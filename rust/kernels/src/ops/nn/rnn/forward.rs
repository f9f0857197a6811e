//! The forward pass: for each layer the inputs' product of many steps at once, then the steps.

use super::net::{Kept, Net};
use super::packing::Packing;
use super::place::Cells;
use super::steps::{self, Room, Steps};
use super::{Given, Lengths, cell};
use crate::api::{self, Call, Kernel, Req, View};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Scratch, Target, numbers, scratch_bytes};
use crate::linalg::gemm::{Operand, affine};
use crate::linalg::packed::Right;
use crate::linalg::panels::Rows;
use crate::linalg::rows_dot::RowsDot;
use crate::linalg::tile::tile_rows;
use crate::par;
use ferromix_base::{Error, Result};
use std::marker::PhantomData;
use std::ops::Range;

/// Sums of inputs of steps that are taken together, for each thread: they stay in its second-level cache until their
/// steps read them.
const NEAR: usize = 1 << 17;
/// Rows of these at least, so that reading the weights once more does not count.
const FEWEST: usize = 96;

pub(super) struct Forward<T> {
    pub(super) net: Net,
    pub(super) packing: Packing,
    pub(super) element: PhantomData<fn() -> T>,
}

/// Sizes of scratch memory.
struct Sizes {
    /// What is kept of one layer, and the outputs of two, where nobody keeps it.
    kept: usize,
    dropped: usize,
    panels: usize,
    steps: [usize; 3],
}

impl Sizes {
    fn new<T: RowsDot>(net: &Net, packing: &Packing) -> Self {
        let factors = if net.factors {
            net.rows() * net.across()
        } else {
            0
        };
        Sizes {
            kept: Kept::new(net, 1).outputs(2).start,
            dropped: factors,
            panels: packing.states(),
            steps: steps::sizes::<T>(net),
        }
    }
}

impl<T: RowsDot> Kernel for Forward<T> {
    fn workspace(&self) -> usize {
        let s = Sizes::new::<T>(&self.net, &self.packing);
        let parts = [s.kept, s.dropped, s.panels];
        let parts = parts.iter().chain(&s.steps);
        parts.map(|&n| scratch_bytes::<T>(n)).sum()
    }

    fn kept(&self) -> Option<api::Kept> {
        let bytes = scratch_bytes::<T>(self.packing.count());
        (bytes > 0).then(|| api::Kept {
            inputs: vec![1],
            bytes,
        })
    }

    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        let to = Scratch::new(memory).take(self.packing.count())?;
        self.packing.pack::<T>(&self.net, inputs[1].read()?, to);
        Ok(())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let net = &self.net;
        let given = Given::<T>::of(net, call.inputs)?;
        let sizes = Sizes::new::<T>(net, &self.packing);
        let count = self.packing.count();
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
            packing: &self.packing,
            weights: call.kept.map(|kept| numbers(kept, count)).transpose()?,
            panels: take(sizes.panels)?,
            room: Room {
                states: Target::of_slice(take(sizes.steps[0])?),
                unprojected: Target::of_slice(take(sizes.steps[1])?),
                cell: Cells {
                    tiles: Target::of_slice(take(sizes.steps[2])?),
                    shape: self.packing.recurrent,
                },
            },
            rows: Rows::new(&net.tiles::<T>(), net.batch),
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
    packing: &'a Packing,
    /// The weights, where they were packed before; else those of a layer are packed into `panels`.
    weights: Option<&'a [T]>,
    panels: &'a mut [T],
    room: Room<T>,
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
        let (end, parameters) = (self.last(), given.parameters);
        let weights = match self.weights {
            Some(all) => self.packing.of(all, layer),
            None => self
                .packing
                .pack_states(net, parameters, layer, self.panels),
        };
        let inner = (net.gates() - 1) * net.hidden;
        let bias = |d| &parameters[net.weights(layer, d).state_bias][inner..];
        let mut steps = Steps {
            net,
            lengths: self.lengths,
            rows: &self.rows,
            packing: self.packing,
            weights,
            biases: (0..net.directions).map(bias).collect(),
            kept,
            places: self.places,
            keeps: !self.shared,
            layer: own,
            earliest: [0; 2],
            outputs,
            room: self.room,
        };
        steps.start(given, layer);
        for (first, count) in tile_rows(net.steps, most_steps(&steps)) {
            let range = first..first + count;
            run_steps((&mut steps, layer), (parameters, input), range);
        }
        if last && call.reqs[0] == Req::Add {
            // SAFETY: written above; nobody writes it now.
            let from = unsafe { self.spare.read(end) };
            store(from, call.outputs[0].write::<T>()?, Req::Add);
        }
        last_states(&steps, layer, call)
    }
}

/// How many steps are taken after the sums of their inputs: all, where these are to stay or weights are packed each time.
fn most_steps<T: RowsDot>(steps: &Steps<'_, T>) -> usize {
    let net = steps.net;
    if steps.keeps || steps.weights.input(0, net.directions).is_none() {
        return net.steps.max(1);
    }
    let batch = net.batch.max(1);
    let near = par::threads() * NEAR / (batch * net.wide()).max(1);
    near.max(FEWEST.div_ceil(batch))
}

/// Runs some steps, after the sums of their inputs.
fn run_steps<T: RowsDot>(
    (steps, layer): (&mut Steps<'_, T>, usize),
    (parameters, input): (&[T], &[T]),
    range: Range<usize>,
) {
    let net = steps.net;
    let (rows, width) = (range.len() * net.batch, net.input(layer));
    for d in 0..net.directions {
        let first = net.step(d, range.start).min(net.step(d, range.end - 1));
        steps.earliest[d] = first;
        let at = steps.places.gates(steps.layer, d).start;
        // SAFETY: the gates of this layer and direction, which nobody else uses now.
        let gates = unsafe { steps.kept.slice(at..at + rows * net.wide()) };
        let packed = steps.weights.input(d, net.directions);
        let input = &input[first * net.batch * width..][..rows * width];
        sums_of_inputs(net, (layer, d), parameters, (input, packed), gates);
    }
    range.for_each(|s| steps.step(s));
}

/// The sums of inputs of some steps, with all biases that gates add to them.
fn sums_of_inputs<T: RowsDot>(
    net: &Net,
    (layer, d): (usize, usize),
    parameters: &[T],
    (input, packed): (&[T], Option<&[T]>),
    gates: &mut [T],
) {
    let w = net.weights(layer, d);
    let mut bias = parameters[w.input_bias].to_vec();
    // That of a GRU's last gate is added before the reset gate multiplies.
    let same = net.wide() - if net.more_bias() { net.hidden } else { 0 };
    cell::add(&parameters[w.state_bias][..same], &mut bias[..same]);
    let width = net.input(layer);
    let right = Right {
        lies: Operand::new(&parameters[w.input], width).transposed(),
        packed,
    };
    let size = (gates.len() / net.wide().max(1), net.wide(), width);
    affine(
        size,
        Operand::new(input, width),
        right,
        Some(&bias),
        false,
        gates,
    );
}

/// The last states of a layer, where they are wanted.
fn last_states<T: RowsDot>(steps: &Steps<'_, T>, layer: usize, call: &mut Call<'_>) -> Result<()> {
    let net = steps.net;
    if !net.states {
        return Ok(());
    }
    if call.reqs[1] != Req::Null {
        let to = &mut call.outputs[1].write::<T>()?[layer * net.states_of(net.out())..];
        steps.last_states(|at, from| store(from, &mut to[at], call.reqs[1]));
    }
    if net.cells() && call.reqs[2] != Req::Null {
        let to = &mut call.outputs[2].write::<T>()?[layer * net.states_of(net.hidden)..];
        steps.last_cells(|at, from| store(from, &mut to[at], call.reqs[2]));
    }
    Ok(())
}
