//! The forward pass: for each layer the inputs' product of all steps at once, then the steps.

use super::cell;
use super::net::{Kept, Net};
use super::panels::{Panels, Rows, Shape};
use super::{Cell, Given, Lengths};
use crate::api::{Call, Kernel, Req};
use crate::blocks::blockwise::store;
use crate::blocks::raw::{Scratch, Target, scratch_bytes};
use crate::linalg::gemm::{Operand, gemm};
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
    fn new<T: Cell>(net: &Net) -> Self {
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
fn recurrent<T: Cell>(net: &Net) -> Shape {
    Shape::new::<T>(net.gates(), net.hidden, net.out())
}

/// Those of the projection.
fn projecting<T: Cell>(net: &Net) -> Option<Shape> {
    net.projection.map(|p| Shape::new::<T>(1, p, net.hidden))
}

impl<T: Cell> Kernel for Forward<T> {
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

impl<T: Cell> Pass<'_, T> {
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

/// The steps of a layer.
struct Steps<'a, T> {
    net: &'a Net,
    lengths: &'a Lengths,
    rows: &'a Rows,
    shape: Shape,
    projection: Option<Shape>,
    recurrent: &'a [T],
    projecting: &'a [T],
    /// What a GRU adds to the products that the reset gate multiplies.
    biases: Vec<&'a [T]>,
    kept: Target<T>,
    places: Kept,
    layer: usize,
    outputs: Target<T>,
    state: Target<T>,
    cell: Target<T>,
    /// The states twice, of this step and the next, and outputs that are to be projected.
    packed: Target<T>,
}

impl<T: Cell> Steps<'_, T> {
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
    fn start(&self, given: &Given<'_, T>, layer: usize) {
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

    fn step(&self, s: usize) {
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
        // SAFETY: nobody writes the states of the step before.
        let packed = unsafe { self.packed.slice(self.packed(d, s)) };
        panels.multiply(self.rows, chunk, packed, block, sums);

        let kept = self.places.gates(self.layer, d).start + t * net.batch * net.wide();
        let further = self.places.more(self.layer, d).start + t * net.batch * hidden;
        let at = |row: usize| row * hidden + columns.start..row * hidden + columns.end;
        let gate = |row: usize, g: usize| {
            let at = kept + row * net.wide() + g * hidden;
            at + columns.start..at + columns.end
        };
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
