//! Backward passes: the program for what was recorded, run on the values that the tape has.

use super::program::{self, Program, Request, Step, Work};
use super::trace::Trace;
use super::{IS_RECORDING, IS_TRAINING};
use crate::array::Array;
use crate::call::{Arrays, Call, Wanted};
use crate::protocol::Frontend;
use crate::support::convert::runtime;
use crate::support::errors::to_py;
use crate::support::hash::Hashing;
use crate::support::site;
use ferromix_base::Error;
use ferromix_kernels::Req;
use ferromix_runtime as rt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;

/// The number of the request to add.
const ADD: u8 = 3;

type Given<'py> = Vec<PyRef<'py, Array>>;
type GivenOrNone<'py> = Vec<Option<PyRef<'py, Array>>>;

/// Writes or adds the gradients of `heads` to those of the variables that they depend on.
///
/// `head_grads` are the gradients of the heads, ones for None. `retain_graph` keeps the tape, to
/// be differentiated again; `train_mode` is for operators that tell training and predicting apart.
#[pyfunction]
pub(super) fn backward(
    py: Python<'_>,
    heads: Given<'_>,
    head_grads: GivenOrNone<'_>,
    retain_graph: bool,
    train_mode: bool,
) -> PyResult<()> {
    let trace = Bound::new(py, Trace::of(&heads)?)?;
    let wanted = trace.get().requested();
    if wanted.is_empty() {
        return Err(to_py(Error::value(
            "backward: the heads depend on no array that needs a gradient; call attach_grad() on \
             it before autograd.record(), with a grad_req other than 'null'",
        )));
    }
    let (wanted, requests): (Vec<_>, Vec<_>) = wanted.into_iter().unzip();
    let adds: Vec<_> = requests.iter().map(|&request| request == ADD).collect();
    let request = Request {
        wanted: &wanted,
        adds: &adds,
        create_graph: false,
    };
    let program = program::find(&trace, &request)?;
    let targets = wanted.iter().map(|&i| trace.get().gradient(i));
    let targets = targets.collect::<PyResult<Vec<_>>>()?;
    let _modes = Modes::set(false, train_mode);
    let mut pass = Pass::new(py, trace.get(), &program)?;
    pass.seed(&heads, &head_grads)?;
    pass.load()?;
    pass.aim(&targets, &adds);
    pass.run()?;
    for (i, (target, add)) in targets.iter().zip(adds).enumerate() {
        pass.deliver(i, target, add)?;
    }
    if !retain_graph {
        trace.get().free(py);
    }
    Ok(())
}

/// The gradients of `heads` with respect to `variables`, as new arrays, which are recorded if
/// `create_graph`. The rest is as in [`backward`].
#[pyfunction]
pub(super) fn gradients<'py>(
    py: Python<'py>,
    heads: Given<'py>,
    head_grads: GivenOrNone<'py>,
    variables: Given<'py>,
    retain_graph: bool,
    create_graph: bool,
    train_mode: bool,
) -> PyResult<Vec<Bound<'py, Array>>> {
    let trace = Bound::new(py, Trace::of(&heads)?)?;
    let wanted = variables.iter().enumerate().map(|(i, variable)| {
        let found = trace.get().find(variable);
        found.ok_or_else(|| undifferentiable(py, i, variable))
    });
    let wanted = wanted.collect::<PyResult<Vec<_>>>()?;
    let request = Request {
        wanted: &wanted,
        adds: &vec![false; wanted.len()],
        create_graph,
    };
    let program = program::find(&trace, &request)?;
    let modes = Modes::set(create_graph, train_mode);
    let mut pass = Pass::new(py, trace.get(), &program)?;
    pass.seed(&heads, &head_grads)?;
    pass.load()?;
    pass.run()?;
    let found = variables.iter().enumerate().map(|(i, v)| pass.result(i, v));
    let found = found.collect::<PyResult<Vec<_>>>()?;
    drop(modes);
    if !retain_graph {
        trace.get().free(py);
    }
    found
        .into_iter()
        .map(|array| Bound::new(py, array))
        .collect()
}

fn undifferentiable(py: Python<'_>, number: usize, variable: &Array) -> PyErr {
    let problem = match variable.1.live() {
        Some(_) => "no head depends on it",
        None => "it does not require a gradient",
    };
    to_py(Error::value(format!(
        "grad: cannot differentiate with respect to variable {number} of shape {}: {problem}; call \
         attach_grad() on it before autograd.record(), and compute the heads from it",
        shown(py, &variable.0)
    )))
}

/// The shape of an array, as Python shows it.
fn shown(py: Python<'_>, array: &rt::Array) -> String {
    PyTuple::new(py, array.shape()).map_or_else(|_| String::new(), |shape| shape.to_string())
}

/// Whether the thread records and trains, until this is dropped.
struct Modes(bool, bool);

impl Modes {
    fn set(recording: bool, training: bool) -> Self {
        Modes(
            IS_RECORDING.replace(recording),
            IS_TRAINING.replace(training),
        )
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        IS_RECORDING.set(self.0);
        IS_TRAINING.set(self.1);
    }
}

/// One run of a program.
struct Pass<'a, 'py> {
    py: Python<'py>,
    trace: &'a Trace,
    program: &'a Arc<Program>,
    values: Vec<Option<Array>>,
    /// Where steps write, by slot.
    targets: Vec<Option<(rt::Array, Req)>>,
    /// The memory of values that are not the pass's own.
    borrowed: HashSet<usize, Hashing>,
    /// Whether the gradients are written where they are wanted.
    is_direct: bool,
    /// The user's line.
    site: u64,
}

impl<'a, 'py> Pass<'a, 'py> {
    fn new(py: Python<'py>, trace: &'a Trace, program: &'a Arc<Program>) -> PyResult<Self> {
        let mut values = Vec::new();
        values.resize_with(program.slots(), || None);
        Ok(Pass {
            py,
            trace,
            program,
            values,
            targets: Vec::new(),
            borrowed: HashSet::default(),
            is_direct: false,
            site: site::current(py),
        })
    }

    /// Sees to the gradients of the heads that are read; those of losses are not.
    fn seed(&mut self, heads: &Given<'_>, head_grads: &GivenOrNone<'_>) -> PyResult<()> {
        for &(slot, number) in &self.program.seeds {
            let head = &*heads[number];
            let seed = match head_grads.get(number).and_then(Option::as_deref) {
                None => self.alone(&self.program.ones, head, Wanted::New)?,
                Some(seed) if seed.0.desc() == head.0.desc() => Some(seed.twin()),
                Some(seed) => return Err(self.misfit(number, head, seed)),
            };
            self.borrow(slot, seed);
        }
        Ok(())
    }

    fn misfit(&self, number: usize, head: &Array, seed: &Array) -> PyErr {
        to_py(Error::value(format!(
            "backward: the gradient of head {number} is {} {}, but the head is {} {}",
            seed.0.dtype(),
            shown(self.py, &seed.0),
            head.0.dtype(),
            shown(self.py, &head.0)
        )))
    }

    /// Takes what the tape has.
    fn load(&mut self) -> PyResult<()> {
        for (slot, places) in &self.program.loads {
            let mut value = None;
            for &(node, is_input, number) in places {
                value = Some(match is_input {
                    true => self.trace.input(node, number)?,
                    false => self.trace.output(node, number)?,
                });
            }
            self.borrow(*slot, value);
        }
        Ok(())
    }

    fn borrow(&mut self, slot: usize, value: Option<Array>) {
        self.borrowed
            .extend(value.as_ref().map(|v| v.0.chunk().id()));
        self.values[slot] = value;
    }

    /// Has gradients written where they are wanted, without a copy, unless something that is still to
    /// be read shares memory with one of these places.
    fn aim(&mut self, targets: &[rt::Array], adds: &[bool]) {
        let mut places: HashSet<usize, Hashing> = HashSet::default();
        self.is_direct = targets.iter().all(|target| {
            let place = target.chunk().id();
            places.insert(place) && !self.borrowed.contains(&place)
        });
        if !self.is_direct {
            return;
        }
        self.targets.resize_with(self.program.slots(), || None);
        let wanted = targets.iter().zip(adds).zip(&self.program.gradients);
        for (((target, add), slot), direct) in wanted.zip(&self.program.direct) {
            let req = if *add { Req::Add } else { Req::Write };
            if let (true, Some(slot)) = (*direct, slot) {
                self.targets[*slot] = Some((target.clone(), req));
            }
        }
    }

    fn run(&mut self) -> PyResult<()> {
        let program = self.program.clone();
        for step in &program.steps {
            match &step.work {
                Work::Call(call) => self.call(step, call)?,
                Work::Python(card) => self.ask(step, card)?,
            }
            for &slot in &step.last {
                self.values[slot] = None;
            }
        }
        Ok(())
    }

    fn call(&mut self, step: &Step, call: &Py<Call>) -> PyResult<()> {
        let inputs = step.inputs.iter().map(|&slot| self.value(slot));
        let inputs = inputs.collect::<PyResult<Arrays<'_>>>()?;
        let wanted = step.outputs.iter().map(|slot| match slot {
            None => Wanted::Nothing,
            Some(slot) => match self.targets.get(*slot) {
                Some(Some((array, req))) => Wanted::In(array, *req),
                _ => Wanted::New,
            },
        });
        let wanted: SmallVec<[_; 4]> = wanted.collect();
        let call = call.get();
        let found = call.run_for(self.py, &inputs, &wanted, &step.dying, self.site)?;
        drop((inputs, wanted));
        self.put(step, found)
    }

    fn ask(&mut self, step: &Step, card: &Py<PyAny>) -> PyResult<()> {
        let inputs = step
            .inputs
            .iter()
            .map(|&slot| Bound::new(self.py, self.value(slot)?.twin()));
        let inputs = inputs.collect::<PyResult<Vec<_>>>()?;
        let found = self.py.run_card(card, inputs)?;
        self.put(step, found.iter().map(|array| Some(array.get().twin())))
    }

    fn put(&mut self, step: &Step, found: impl IntoIterator<Item = Option<Array>>) -> PyResult<()> {
        let mut found = found.into_iter();
        for slot in &step.outputs {
            let value = found.next().ok_or_else(missing)?;
            if let Some(slot) = slot {
                self.values[*slot] = value;
            }
        }
        Ok(())
    }

    fn value(&self, slot: usize) -> PyResult<&Array> {
        self.values[slot].as_ref().ok_or_else(missing)
    }

    /// Runs a call of one input and one output.
    fn alone(&self, call: &Py<Call>, input: &Array, wanted: Wanted<'_>) -> PyResult<Option<Array>> {
        let call = call.get();
        let mut found = call.run_for(self.py, &[input], &[wanted], &[], self.site)?;
        Ok(found.pop().flatten())
    }

    /// Writes or adds the gradient of wanted variable `i`, zeros where it has none, unless a step did.
    fn deliver(&mut self, i: usize, target: &rt::Array, add: bool) -> PyResult<()> {
        let program = self.program;
        match program.gradients[i] {
            Some(_) if self.is_direct && program.direct[i] => {}
            Some(slot) => {
                let req = if add { Req::Add } else { Req::Write };
                self.alone(&program.copy, self.value(slot)?, Wanted::In(target, req))?;
            }
            None if add => {}
            None => {
                let like = Array::from(target.clone());
                self.alone(&program.zeros, &like, Wanted::In(target, Req::Write))?;
            }
        }
        Ok(())
    }

    /// The gradient of wanted variable `i`, where the variable is, in memory that is nobody else's.
    fn result(&mut self, i: usize, variable: &Array) -> PyResult<Array> {
        let mut found = match self.program.gradients[i] {
            Some(slot) => self.value(slot)?.twin(),
            None => {
                let zeros = self.alone(&self.program.zeros, variable, Wanted::New)?;
                zeros.ok_or_else(missing)?
            }
        };
        // Two variables may have the same gradient, or that of a head, or a value of the tape.
        let place = variable.0.chunk().context().compute();
        let elsewhere = found.0.chunk().context() != place;
        if elsewhere || self.borrowed.contains(&found.0.chunk().id()) {
            let desc = found.0.desc();
            let target =
                rt::Array::on(runtime()?, place, &desc.shape, desc.dtype).map_err(to_py)?;
            let copy = self.alone(&self.program.copy, &found, Wanted::In(&target, Req::Write))?;
            found = copy.ok_or_else(missing)?;
        }
        self.borrowed.insert(found.0.chunk().id());
        Ok(found)
    }
}

fn missing() -> PyErr {
    to_py(Error::internal("a backward pass lacks a value"))
}
