//! `RNN`: recurrent networks of several layers, and their gradients.
//!
//! Of a layer, the inputs of all steps are multiplied by their weights at once. Steps multiply the states
//! by weights that are packed once, and the same tasks go on to compute the cells. Both directions
//! of a layer take their steps together.

mod back_steps;
mod backward;
mod cell;
mod forward;
mod history;
mod net;
mod packing;
mod place;
mod steps;

use crate::api::prepared::{check_count, check_shape};
use crate::api::{Attrs, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::linalg::rows_dot::RowsDot;
use crate::math::real::by_real;
use ferromix_base::{Error, Result};
use net::Net;
use packing::Packing;
use std::marker::PhantomData;

pub(crate) const ROWS: &[Row] = &[
    Row::new("RNN", prepare_forward).random().unknown_cost(),
    Row::new("_backward_RNN", prepare_backward).unknown_cost(),
];

/// Which steps sequences have.
struct Lengths(Option<Vec<usize>>);

impl Lengths {
    /// Whether step `t` is part of the sequence in `row`.
    fn has(&self, row: usize, t: usize) -> bool {
        self.0.as_ref().is_none_or(|lengths| t < lengths[row])
    }

    /// The step that direction `d` takes first, if the sequence has any.
    fn first(&self, row: usize, d: usize, steps: usize) -> Option<usize> {
        let length = self.0.as_ref().map_or(steps, |lengths| lengths[row]);
        let last = length.checked_sub(1)?;
        Some(if d == 0 { 0 } else { last })
    }
}

/// The inputs of the operator.
struct Given<'a, T> {
    data: &'a [T],
    parameters: &'a [T],
    state: &'a [T],
    /// Empty but for LSTMs.
    cell: &'a [T],
    lengths: Lengths,
}

impl<'a, T: RowsDot> Given<'a, T> {
    /// Reads them from where they begin in `inputs`.
    fn of(net: &Net, inputs: &'a [View]) -> Result<Self> {
        let cell = if net.cells() {
            inputs[3].read::<T>()?
        } else {
            &[]
        };
        let lengths = match net.lengths {
            true => Some(lengths(net, &inputs[3 + usize::from(net.cells())])?),
            false => None,
        };
        Ok(Given {
            data: inputs[0].read::<T>()?,
            parameters: inputs[1].read::<T>()?,
            state: inputs[2].read::<T>()?,
            cell,
            lengths: Lengths(lengths),
        })
    }
}

fn lengths(net: &Net, given: &View) -> Result<Vec<usize>> {
    let mut found = vec![0_i64; net.batch];
    assign(
        given,
        &View::of_slice(&mut found, &[net.batch])?,
        Req::Write,
    )?;
    let check = |(row, &n): (usize, &i64)| {
        let length = usize::try_from(n).ok().filter(|&n| n <= net.steps);
        length.ok_or_else(|| {
            Error::value(format!(
                "RNN: sequence_length of sequence {row} must be from 0 to {}, the steps of the data, \
                 got {n}",
                net.steps
            ))
        })
    };
    found.iter().enumerate().map(check).collect()
}

/// Checks the inputs of forward from `data` on; gives the shapes of outputs, with what is kept.
fn check_inputs(name: &str, net: &Net, ins: &[Desc]) -> Result<Vec<Vec<usize>>> {
    let (Some(count), Some(kept)) = (net.count(), net.kept()) else {
        return Err(Error::value(format!(
            "{name}: more parameters than memory could hold"
        )));
    };
    let shared = net.layers.saturating_mul(net.directions);
    check_shape(name, "parameters", &ins[1], &[count])?;
    let state = vec![shared, net.batch, net.out()];
    check_shape(name, "state", &ins[2], &state)?;
    let cell = vec![shared, net.batch, net.hidden];
    if net.cells() {
        check_shape(name, "state_cell", &ins[3], &cell)?;
    }
    if net.lengths {
        let place = 3 + usize::from(net.cells());
        check_shape(name, "sequence_length", &ins[place], &[net.batch])?;
    }
    let same = &ins[..3 + usize::from(net.cells())];
    if let Some(odd) = same.iter().find(|d| d.dtype != ins[0].dtype) {
        return Err(Error::dtype(format!(
            "{name}: data, parameters and states must share one dtype, got {} and {}; cast one of them",
            ins[0].dtype, odd.dtype
        )));
    }
    let mut outs = vec![vec![net.steps, net.batch, net.across()]];
    if net.states {
        outs.push(state);
        outs.extend(net.cells().then_some(cell));
    }
    outs.push(vec![kept]);
    Ok(outs)
}

/// How many inputs forward has.
fn arity(attrs: &Attrs) -> Result<usize> {
    let lstm = attrs.str("mode")? == "lstm";
    Ok(3 + usize::from(lstm) + usize::from(attrs.bool("use_sequence_length")?))
}

fn prepare_forward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "RNN";
    check_count(name, (ins, arity(attrs)?), (outs, outs.len()))?;
    let net = Net::new(attrs, &ins[0])?;
    let shapes = check_inputs(name, &net, ins)?;
    check_count(name, (ins, ins.len()), (outs, shapes.len()))?;
    check_all(name, "output", ins[0].dtype, outs, &shapes)?;
    by_real!(name, ins[0].dtype, T => {
        let kernel = forward::Forward::<T> {
            packing: Packing::new::<T>(&net),
            net,
            element: PhantomData,
        };
        Ok(Box::new(kernel) as Box<dyn Kernel>)
    })
}

fn check_all(
    name: &str,
    what: &str,
    dtype: ferromix_base::DType,
    given: &[Desc],
    shapes: &[Vec<usize>],
) -> Result<()> {
    for (d, shape) in given.iter().zip(shapes) {
        check_shape(name, what, d, shape)?;
        if d.dtype != dtype {
            return Err(Error::dtype(format!(
                "{name}: {what} must be {dtype}, got {}",
                d.dtype
            )));
        }
    }
    Ok(())
}

/// The inputs are the gradients of the visible outputs, the inputs of forward, its output and what it
/// kept; the outputs are the gradients of data, parameters and states.
fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_RNN";
    let (arity, lstm) = (arity(attrs)?, attrs.str("mode")? == "lstm");
    let heads = if attrs.bool("state_outputs")? {
        2 + usize::from(lstm)
    } else {
        1
    };
    let grads = 3 + usize::from(lstm);
    check_count(name, (ins, heads + arity + 2), (outs, grads))?;
    let (given, rest) = (&ins[heads..heads + arity], &ins[heads + arity..]);
    let net = Net::new(attrs, &given[0])?;
    let mut shapes = check_inputs(name, &net, given)?;
    let dtype = given[0].dtype;
    let kept = shapes.pop().unwrap_or_default();
    check_all(name, "out_grad", dtype, &ins[..heads], &shapes)?;
    check_all(name, "output", dtype, rest, &[shapes.swap_remove(0), kept])?;
    for (grad, like) in outs.iter().zip(given) {
        check_all(
            name,
            "gradient",
            dtype,
            std::slice::from_ref(grad),
            &[like.shape.to_vec()],
        )?;
    }
    by_real!(name, dtype, T => {
        Ok(Box::new(backward::Backward::<T> { net, heads, arity, element: PhantomData }) as Box<dyn Kernel>)
    })
}
