//! `_core.Plan`: the steps of a graph, bound to arrays.

use super::{Run, Work, bind};
use crate::array::Array;
use crate::callback::Ticket;
use crate::graph::{Lowered, Source};
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

/// The array of each slot.
fn arrays_of(lowered: &Lowered, given: &[Array], buffers: &[Array]) -> PyResult<Vec<Array>> {
    let lacking = || misuse("Plan: an array or a buffer is missing");
    let mut arrays: Vec<Array> = Vec::with_capacity(lowered.slots.len());
    for slot in &lowered.slots {
        let array = match slot {
            Source::Given(number) => given.get(*number).ok_or_else(lacking)?.0.clone(),
            Source::Within(buffer, offset, desc) => {
                let buffer = &buffers.get(*buffer).ok_or_else(lacking)?.0;
                within(buffer, *offset, desc).map_err(to_py)?
            }
            Source::View(of, desc) => {
                let source = &arrays.get(*of).ok_or_else(lacking)?.0;
                let view = source.reshape(&desc.shape);
                view.ok_or_else(|| misuse("Plan: a view of what has gaps"))?
            }
        };
        arrays.push(Array::from(array));
    }
    Ok(arrays)
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
    slots: &[Array],
    bound: &mut [rt::Step],
    written: &HashMap<usize, rt::Chunk>,
) {
    for (step, bound) in lowered.steps.iter().zip(bound) {
        let stays = |input: usize| {
            let slot = step.inputs[input] as usize;
            let given = matches!(lowered.slots[slot], Source::Given(_));
            given && !written.contains_key(&slots[slot].0.chunk().id())
        };
        if let rt::Step::Kernel(binding) = bound {
            let inputs: SmallVec<[&Array; 4]> =
                step.inputs.iter().map(|&i| &slots[i as usize]).collect();
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
        let own = |a: &Bound<'_, Array>| Array::from(a.get().0.clone());
        let given: Vec<Array> = arrays.iter().map(own).collect();
        let buffers: Vec<Array> = buffers.iter().map(own).collect();
        let slots = arrays_of(&lowered, &given, &buffers)?;
        let mut bound = Vec::with_capacity(lowered.steps.len());
        let mut written = HashMap::new();
        for step in &lowered.steps {
            let inputs: SmallVec<[&Array; 4]> =
                step.inputs.iter().map(|&i| &slots[i as usize]).collect();
            let outputs: SmallVec<[Option<&Array>; 4]> = (step.outputs.iter())
                .map(|slot| slot.map(|i| &slots[i as usize]))
                .collect();
            for &slot in step.outputs.iter().flatten() {
                if let Source::Given(_) | Source::View(..) = lowered.slots[slot as usize] {
                    let chunk = slots[slot as usize].0.chunk();
                    written.insert(chunk.id(), chunk.clone());
                }
            }
            let run = Run {
                inputs: &inputs,
                outputs: &outputs,
                reqs: &step.reqs,
                scalars: &[],
            };
            bound.push(match &step.prepared.get().work {
                Work::Kernel(kernel) => {
                    rt::Step::Kernel(bind(kernel, step.name, run.inputs, run.outputs, run.reqs)?)
                }
                Work::Python(function, ..) => {
                    rt::Step::Async(Arc::new(PythonRun::new(py, function, step.name, &run)?))
                }
            });
        }
        for buffer in &buffers {
            written.remove(&buffer.0.chunk().id());
        }
        if keep {
            keep_weights(&lowered, &slots, &mut bound, &written);
        }
        let private = rt::Private {
            buffers: buffers.into_iter().map(|a| a.0).collect(),
            token: token.0.clone(),
        };
        let arrays = slots.into_iter().map(|a| a.0).collect();
        Ok(Plan {
            plan: rt::Plan::new(runtime()?, bound, arrays, Some(private)),
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
