//! `_core.Plan`: the steps of a graph, bound to arrays.

use super::{Run, Work, bind};
use crate::array::Array;
use crate::callback::Ticket;
use crate::graph::{Lowered, LoweredStep, Source};
use crate::lane::PythonRun;
use crate::life::let_forks_pass;
use crate::support::convert::runtime;
use crate::support::errors::{misuse, to_py};
use crate::support::site;
use crate::support::wait::{hold_back, settle, wait};
use ferromix_base::Error;
use ferromix_kernels as kernels;
use ferromix_runtime as rt;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// A list of operators bound to arrays, launched by one call.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Plan {
    plan: rt::Plan,
    /// What runs overwrite, but for the buffers.
    written: Vec<rt::Chunk>,
}

/// A row of [`Plan::about`].
type AboutStep = (&'static str, &'static str, Option<String>, usize, usize);

/// Where the array of a slot is: it is given, or one of our own.
#[derive(Clone, Copy)]
enum At {
    Given(usize),
    Own(usize),
}

/// The arrays of slots.
struct Slots<'a, 'py> {
    given: &'a [Bound<'py, Array>],
    own: Vec<Array>,
    at: Vec<At>,
}

impl<'a, 'py> Slots<'a, 'py> {
    fn new(
        lowered: &Lowered,
        given: &'a [Bound<'py, Array>],
        buffers: &[Bound<'py, Array>],
    ) -> PyResult<Self> {
        let lacking = || misuse("Plan: an array or a buffer is missing");
        let mut slots = Slots {
            given,
            own: Vec::with_capacity(lowered.slots.len().saturating_sub(given.len())),
            at: Vec::with_capacity(lowered.slots.len()),
        };
        for slot in &lowered.slots {
            let own = match slot {
                Source::Given(number) => {
                    given.get(*number).ok_or_else(lacking)?;
                    slots.at.push(At::Given(*number));
                    continue;
                }
                Source::Within(buffer, offset, desc) => {
                    let buffer = buffers.get(*buffer).ok_or_else(lacking)?;
                    within(&buffer.get().0, *offset, desc).map_err(to_py)?
                }
                Source::View(of, desc) => {
                    let source = *slots.at.get(*of).ok_or_else(lacking)?;
                    let view = slots.array(source).0.reshape(&desc.shape);
                    view.ok_or_else(|| misuse("Plan: a view of what has gaps"))?
                }
            };
            slots.at.push(At::Own(slots.own.len()));
            slots.own.push(Array::from(own));
        }
        Ok(slots)
    }

    fn array(&self, at: At) -> &Array {
        match at {
            At::Given(number) => self.given[number].get(),
            At::Own(number) => &self.own[number],
        }
    }

    /// The array of a slot, by its number.
    fn get(&self, slot: u32) -> &Array {
        self.array(self.at[slot as usize])
    }
}

/// Binds a step to the arrays of its slots.
fn bind_step(py: Python<'_>, step: &LoweredStep, slots: &Slots<'_, '_>) -> PyResult<rt::Step> {
    let inputs: SmallVec<[&Array; 4]> = step.inputs.iter().map(|&slot| slots.get(slot)).collect();
    let outputs = step.outputs.iter();
    let outputs: SmallVec<[Option<&Array>; 4]> = outputs
        .map(|slot| slot.map(|slot| slots.get(slot)))
        .collect();
    let run = Run {
        inputs: &inputs,
        outputs: &outputs,
        reqs: &step.reqs,
        scalars: &[],
    };
    Ok(match &step.prepared.get().work {
        Work::Kernel(kernel) => {
            rt::Step::Kernel(bind(kernel, step.name, run.inputs, run.outputs, run.reqs)?)
        }
        Work::Python(function, ..) => {
            rt::Step::Async(Arc::new(PythonRun::new(py, function, step.name, &run)?))
        }
    })
}

/// The part of a buffer from a byte on.
fn within(buffer: &rt::Array, offset: usize, desc: &kernels::Desc) -> Result<rt::Array, Error> {
    if offset == 0 {
        return buffer.cast_view(desc.dtype, &desc.shape);
    }
    // Offsets are multiples of the largest element.
    let (first, count) = (
        offset / desc.dtype.size(),
        desc.shape.iter().product::<usize>(),
    );
    let whole = buffer.cast_view(desc.dtype, &[first + count])?;
    let strides = ferromix_base::contiguous_strides(&desc.shape);
    whole.strided(first.cast_signed(), &desc.shape, &strides)
}

/// Has steps keep what they make of given arrays that are not among those `written`.
fn keep_weights(
    lowered: &Lowered,
    slots: &Slots<'_, '_>,
    bound: &mut [rt::Step],
    written: &HashMap<usize, rt::Chunk>,
) {
    for (step, bound) in lowered.steps.iter().zip(bound) {
        let stays = |input: usize| {
            let slot = step.inputs[input];
            let given = matches!(slots.at[slot as usize], At::Given(_));
            given && !written.contains_key(&slots.get(slot).0.chunk().id())
        };
        if let rt::Step::Kernel(binding) = bound {
            let inputs: SmallVec<[&Array; 4]> =
                step.inputs.iter().map(|&slot| slots.get(slot)).collect();
            rt::Binding::keep(binding, &inputs, stays);
        }
    }
}

#[pymethods]
impl Plan {
    /// A plan of steps on `arrays`, those that `lowered` was told are given, in that order. Nobody but
    /// plans uses the memory of `buffers`; plans that share one share `token`, which stands for them. With
    /// `keep`, steps keep from run to run what they make of given arrays that no step writes.
    #[new]
    fn new(
        py: Python<'_>,
        lowered: PyRef<'_, Lowered>,
        arrays: Vec<Bound<'_, Array>>,
        buffers: Vec<Bound<'_, Array>>,
        token: PyRef<'_, Array>,
        keep: bool,
    ) -> PyResult<Self> {
        let slots = Slots::new(&lowered, &arrays, &buffers)?;
        let mut bound = Vec::with_capacity(lowered.steps.len());
        let mut written = HashMap::new();
        for step in &lowered.steps {
            for &slot in step.outputs.iter().flatten() {
                if let Source::Given(_) | Source::View(..) = lowered.slots[slot as usize] {
                    let chunk = slots.get(slot).0.chunk();
                    written.insert(chunk.id(), chunk.clone());
                }
            }
            bound.push(bind_step(py, step, &slots)?);
        }
        for buffer in &buffers {
            written.remove(&buffer.get().0.chunk().id());
        }
        if keep {
            keep_weights(&lowered, &slots, &mut bound, &written);
        }
        let private = rt::Private {
            buffers: buffers.iter().map(|a| a.get().0.clone()).collect(),
            token: token.0.clone(),
        };
        let chunks = arrays.iter().map(|a| a.get().0.chunk().clone()).collect();
        Ok(Plan {
            plan: rt::Plan::new(runtime()?, bound, chunks, Some(private)),
            written: written.into_values().collect(),
        })
    }

    /// Of each step the name, the operator, the way that its kernel chose where there are several, and
    /// bytes of scratch memory and of what is kept from run to run.
    fn about(&self) -> Vec<AboutStep> {
        let row = |step: rt::About| {
            let (name, operator) = (step.name.as_str(), step.name.kind());
            (name, operator, step.choice, step.workspace, step.kept)
        };
        self.plan.about().map(row).collect()
    }

    /// Launches the steps from `start` to before `stop`.
    #[pyo3(signature = (start=0, stop=None))]
    fn run(&self, py: Python<'_>, start: usize, stop: Option<usize>) -> PyResult<()> {
        let (site, stop) = (site::current(py), stop.unwrap_or(self.plan.len()));
        self.written.iter().for_each(rt::Chunk::note_write);
        hold_back(py, runtime()?)?;
        // A fork waits for the launch, whose functions need the interpreter.
        let foreign = self.plan.has_async(start..stop);
        if foreign {
            let_forks_pass(py);
        }
        let guard = foreign.then(|| Box::new(Ticket::new()) as _);
        wait(py, |_| {
            self.plan
                .run(start..stop, site, guard)
                .map_err(rt::ReadError::from)
        })?;
        settle(py, runtime()?)
    }

    fn __len__(&self) -> usize {
        self.plan.len()
    }
}
