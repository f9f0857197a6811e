//! Appending to the tape, inside of the call that runs an operator.

use super::IS_RECORDING;
use super::node::{Input, Node, Operation, Operator, Origin, Saved, State, Variable};
use crate::array::Array;
use crate::operator::Prepared;
use crate::support::errors::to_py;
use crate::support::site;
use ferromix_base::{Context, Error};
use ferromix_engine::Name;
use ferromix_runtime as rt;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ops::Deref;

/// The inputs and the outputs whose values an operator's gradient rule reads.
pub(crate) struct Reads {
    pub(crate) inputs: Vec<bool>,
    pub(crate) outputs: Vec<bool>,
}

/// Whether this thread records what is done with `array`.
pub(crate) fn records(array: &Array) -> bool {
    IS_RECORDING.get() && array.1.live().is_some()
}

/// Raises where this thread records and `array`, which the operator `name` is about to overwrite,
/// is part of what it recorded.
pub(crate) fn require_unrecorded(array: &Array, name: &str) -> PyResult<()> {
    if !records(array) {
        return Ok(());
    }
    Err(to_py(Error::value(format!(
        "operator {name}: would overwrite an array of shape {:?} that is part of the graph \
         recorded by autograd, whose gradient would be wrong then; compute a new array (a = a + b \
         for a += b), or write outside of autograd.record(), or inside of autograd.pause()",
        array.0.shape()
    ))))
}

/// A run that is to be recorded: where its inputs came from, and the state of their memory before.
pub(crate) struct Recording {
    origins: SmallVec<[Option<Origin>; 3]>,
    writes: SmallVec<[u64; 3]>,
}

impl Recording {
    /// Looks at the arrays of a run before it is pushed. None where there is nothing to record.
    ///
    /// `written` are the card's outputs, without inputs that it changes.
    pub(crate) fn start(
        name: Name,
        inputs: &[&Array],
        written: &[Option<&Array>],
    ) -> PyResult<Option<Self>> {
        if !IS_RECORDING.get() {
            return Ok(None);
        }
        for output in written.iter().flatten() {
            require_unrecorded(output, &name.to_string())?;
        }
        let Some(recording) = Recording::of(inputs) else {
            return Ok(None);
        };
        for output in written.iter().flatten() {
            if inputs.iter().any(|input| input.0.overlaps(&output.0)) {
                return Err(in_place(name, &output.0));
            }
        }
        Ok(Some(recording))
    }

    /// The same for a run that gives views, which may well share memory with the inputs.
    pub(crate) fn start_view(inputs: &[&Array]) -> Option<Self> {
        IS_RECORDING.get().then(|| Recording::of(inputs)).flatten()
    }

    fn of(inputs: &[&Array]) -> Option<Self> {
        let origins: SmallVec<[_; 3]> = inputs.iter().map(|a| a.1.live()).collect();
        if origins.iter().all(Option::is_none) {
            return None;
        }
        let writes = inputs.iter().map(|a| a.0.chunk().writes()).collect();
        Some(Recording { origins, writes })
    }

    /// Appends the run, once it was pushed. `changed` are the inputs that it changes.
    pub(crate) fn finish(
        self,
        prepared: &Bound<'_, Prepared>,
        inputs: &[&Array],
        outputs: &[Option<&Array>],
        changed: &[Option<&Array>],
        site: u64,
    ) -> PyResult<()> {
        let place = place_of(inputs);
        let reads = prepared.get().reads(prepared.py())?;
        let rows = self.origins.into_iter().zip(self.writes).zip(inputs);
        let inputs = rows
            .zip(&reads.inputs)
            .map(|(((origin, writes), array), &read)| Input {
                origin,
                value: if read {
                    let is_changed = changed.iter().flatten().any(|c| c.0.overlaps(&array.0));
                    Saved::Array(array.0.clone(), (!is_changed).then_some(writes))
                } else {
                    Saved::Nothing
                },
            });
        let saved = outputs.iter().zip(&reads.outputs).map(|(output, &read)| {
            let array = output.as_ref().filter(|_| read);
            array.map_or(Saved::Nothing, |a| save(&a.0))
        });
        let operation = Operation {
            operator: Operator::Prepared(prepared.clone().unbind()),
            inputs: inputs.collect(),
            outputs: saved.collect(),
            place,
            site,
        };
        append(operation, outputs.iter().copied());
        Ok(())
    }
}

fn in_place(name: Name, output: &rt::Array) -> PyErr {
    to_py(Error::value(format!(
        "operator {name}: cannot write its result of shape {:?} into one of its inputs while \
         autograd records it; compute a new array (a = a + b for a += b)",
        output.shape()
    )))
}

/// Where an operator with these inputs ran.
fn place_of(inputs: &[impl Deref<Target = Array>]) -> Context {
    let first = inputs.first().map(|array| array.0.chunk().context());
    first.map_or(Context::cpu(), Context::compute)
}

fn save(array: &rt::Array) -> Saved {
    // What stands for something else is written by whoever uses that.
    let has_values = array.chunk().attached().is_none();
    Saved::Array(array.clone(), has_values.then(|| array.chunk().writes()))
}

/// Makes the node, and the outputs refer to it.
fn append<'a>(operation: Operation, outputs: impl Iterator<Item = Option<&'a Array>>) {
    let node = Node::new(State::Operation(Box::new(operation)));
    for (output, array) in outputs.enumerate() {
        if let Some(array) = array {
            let node = node.clone();
            array.1.set(Some(Origin { node, output }));
        }
    }
}

/// Appends the run of a card that Python ran; the tape keeps no values. Nothing happens where no
/// input is on the tape, or nothing is recorded.
#[pyfunction]
pub(super) fn record_python(
    py: Python<'_>,
    card: Py<PyAny>,
    name: &str,
    inputs: Vec<PyRef<'_, Array>>,
    outputs: Vec<PyRef<'_, Array>>,
) {
    let origins: Vec<_> = inputs.iter().map(|a| a.1.live()).collect();
    if !IS_RECORDING.get() || origins.iter().all(Option::is_none) {
        return;
    }
    let place = place_of(&inputs);
    let inputs = inputs.iter().zip(origins).map(|(array, origin)| Input {
        origin,
        value: Saved::Desc(array.0.desc()),
    });
    let operation = Operation {
        operator: Operator::Python(card, Name::intern(name)),
        inputs: inputs.collect(),
        outputs: outputs.iter().map(|a| Saved::Desc(a.0.desc())).collect(),
        place,
        site: site::current(py),
    };
    append(operation, outputs.iter().map(|a| Some(&**a)));
}

/// Makes an array a variable, apart from what gave it.
pub(crate) fn mark(array: &Array, gradient: Option<&Array>, request: u8) {
    let node = Node::new(State::Variable(Box::new(Variable {
        value: array.0.clone(),
        gradient: gradient.map(|g| g.0.clone()),
        request,
    })));
    array.1.set(Some(Origin { node, output: 0 }));
}

/// Where the gradients of an array go, if it is a variable that has such a place.
pub(crate) fn gradient(array: &Array) -> Option<Array> {
    let origin = array.1.get()?;
    let gradient = origin.node.with(|state| match state {
        State::Variable(variable) => variable.gradient.clone(),
        _ => None,
    });
    gradient.map(Array::from)
}
