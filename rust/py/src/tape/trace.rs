//! What a backward pass sees of the tape: the nodes that heads depend on, in order.

use super::node::{Node, Operation, Operator, Origin, Saved, State};
use crate::array::Array;
use crate::operator::Prepared;
use crate::support::errors::to_py;
use crate::support::hash::Hashing;
use crate::support::site;
use ferromix_base::Error;
use ferromix_kernels::Desc;
use ferromix_runtime as rt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// The nodes that some heads depend on, each after those that it depends on.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Trace {
    pub(super) nodes: Vec<Arc<Node>>,
    /// Positions of the nodes, by address.
    positions: HashMap<usize, usize, Hashing>,
    /// Node and output of each head.
    pub(super) heads: Vec<(usize, usize)>,
}

#[pymethods]
impl Trace {
    /// Follows the tape back from `heads`.
    #[new]
    fn new(heads: Vec<PyRef<'_, Array>>) -> PyResult<Self> {
        Trace::of(&heads)
    }

    /// Node and output of each head.
    #[getter]
    fn heads(&self) -> Vec<(usize, usize)> {
        self.heads.clone()
    }

    /// The structure: for each node its card, None for a variable, and for each input node and output
    /// that it came from, None for a constant.
    fn structure<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rows = self.nodes.iter().map(|node| self.row(py, node));
        PyTuple::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// The variables whose gradients are requested, with the request.
    #[getter]
    fn requests(&self) -> Vec<(usize, u8)> {
        self.requested()
    }

    /// The node of a variable; None for an array that is none of this trace.
    fn variable(&self, array: &Array) -> Option<usize> {
        self.find(array)
    }

    /// The value of an input of a node, or of an output of it.
    fn value(&self, node: usize, is_input: bool, number: usize) -> PyResult<Array> {
        match is_input {
            true => self.input(node, number),
            false => self.output(node, number),
        }
    }

    /// The array that the gradient of a variable goes to.
    fn target(&self, node: usize) -> PyResult<Array> {
        self.gradient(node).map(Array::from)
    }

    /// Lets go of everything that the nodes hold, but for variables.
    fn release(&self, py: Python<'_>) {
        self.free(py);
    }

    /// The user's line that recorded a node.
    fn line(&self, node: usize) -> PyResult<String> {
        let site = self.node(node)?.with(|state| match state {
            State::Operation(operation) => operation.site,
            State::Freed { site, .. } => *site,
            State::Variable(_) => 0,
        });
        Ok(site::describe(site))
    }
}

impl Trace {
    /// Follows the tape back from `heads`.
    pub(super) fn of(heads: &[PyRef<'_, Array>]) -> PyResult<Self> {
        let mut origins = Vec::with_capacity(heads.len());
        for (i, head) in heads.iter().enumerate() {
            let origin = head.1.get().ok_or_else(|| unrecorded(i, &head.0))?;
            origins.push(origin);
        }
        let mut trace = Trace {
            nodes: Vec::new(),
            positions: HashMap::default(),
            heads: Vec::new(),
        };
        for origin in &origins {
            trace.visit(origin)?;
        }
        trace.heads = origins.iter().map(|o| trace.place(o)).collect();
        Ok(trace)
    }

    /// The variables whose gradients are requested, with the request.
    pub(super) fn requested(&self) -> Vec<(usize, u8)> {
        let requests = self.nodes.iter().map(|node| {
            node.with(|state| match state {
                State::Variable(variable) => variable.request,
                _ => 0,
            })
        });
        requests.enumerate().filter(|row| row.1 != 0).collect()
    }

    /// The position of the node that an array came from, if it is a variable of this trace.
    pub(super) fn find(&self, array: &Array) -> Option<usize> {
        let origin = array.1.get()?;
        let known = self.positions.get(&address(&origin.node)).copied();
        known.filter(|_| {
            origin
                .node
                .with(|state| matches!(state, State::Variable(_)))
        })
    }

    /// The value of an output of a node.
    pub(super) fn output(&self, node: usize, output: usize) -> PyResult<Array> {
        let owner = self.node(node)?.clone();
        let array = owner.with(|state| match state {
            State::Variable(variable) => Ok(variable.value.clone()),
            State::Operation(operation) => {
                let saved = operation.outputs.get(output).ok_or_else(missing)?;
                let what = || format!("its output {output}");
                value(operation, saved, what, |p| p.outputs().get(output))
            }
            State::Freed { .. } => Err(missing()),
        })?;
        let array = Array::from(array);
        array.1.set(Some(Origin {
            node: owner,
            output,
        }));
        Ok(array)
    }

    /// The value of an input of a node.
    pub(super) fn input(&self, node: usize, input: usize) -> PyResult<Array> {
        let (array, origin) = self.node(node)?.with(|state| {
            let State::Operation(operation) = state else {
                return Err(missing());
            };
            let row = operation.inputs.get(input).ok_or_else(missing)?;
            let what = || format!("its input {input}");
            let array = value(operation, &row.value, what, |p| p.inputs().get(input))?;
            Ok((array, row.origin.clone()))
        })?;
        let array = Array::from(array);
        array.1.set(origin);
        Ok(array)
    }

    /// The array for the gradient of a variable.
    pub(super) fn gradient(&self, node: usize) -> PyResult<rt::Array> {
        let gradient = self.node(node)?.with(|state| match state {
            State::Variable(variable) => variable.gradient.clone(),
            _ => None,
        });
        gradient.ok_or_else(missing)
    }

    /// Lets go of everything that the nodes hold, but for variables.
    pub(super) fn free(&self, py: Python<'_>) {
        let by = site::current(py);
        for node in &self.nodes {
            node.free(by);
        }
    }

    fn node(&self, node: usize) -> PyResult<&Arc<Node>> {
        self.nodes.get(node).ok_or_else(missing)
    }

    pub(super) fn place(&self, origin: &Origin) -> (usize, usize) {
        // Every origin was visited.
        (self.positions[&address(&origin.node)], origin.output)
    }

    /// Adds what `head` depends on, depth first, without recursion.
    fn visit(&mut self, head: &Origin) -> PyResult<()> {
        let mut stack = vec![(head.node.clone(), 0)];
        while let Some((node, next)) = stack.pop() {
            if next == 0 && self.positions.contains_key(&address(&node)) {
                continue;
            }
            match node.with(|state| child(state, next))? {
                Some((position, child)) => {
                    stack.push((node, position + 1));
                    stack.push((child, 0));
                }
                None => {
                    if let Entry::Vacant(entry) = self.positions.entry(address(&node)) {
                        entry.insert(self.nodes.len());
                        self.nodes.push(node);
                    }
                }
            }
        }
        Ok(())
    }

    fn row<'py>(&self, py: Python<'py>, node: &Node) -> PyResult<Bound<'py, PyAny>> {
        let (card, sources) = node.with(|state| self.describe(py, state));
        let sources = PyTuple::new(py, sources)?;
        Ok((card, sources).into_pyobject(py)?.into_any())
    }

    /// Card and sources of a node.
    fn describe(&self, py: Python<'_>, state: &State) -> (Option<Py<PyAny>>, Vec<Source>) {
        let State::Operation(operation) = state else {
            return (None, Vec::new());
        };
        let inputs = operation.inputs.iter();
        let sources = inputs.map(|i| i.origin.as_ref().map(|o| self.place(o)));
        (operation.operator.card(py), sources.collect())
    }
}

fn address(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node) as usize
}

/// Node and output that an input came from; None for a constant.
pub(super) type Source = Option<(usize, usize)>;

/// The next node that a node came from, from its input `next` on.
fn child(state: &State, next: usize) -> PyResult<Option<(usize, Arc<Node>)>> {
    match state {
        State::Variable(_) => Ok(None),
        State::Operation(operation) => Ok((next..operation.inputs.len()).find_map(|i| {
            let origin = operation.inputs[i].origin.as_ref()?;
            Some((i, origin.node.clone()))
        })),
        State::Freed { name, site, by } => Err(to_py(Error::value(format!(
            "backward: the graph of operator {name}, recorded at {}, was freed by the backward \
             pass at {}; pass retain_graph=True there to differentiate it again",
            site::describe(*site),
            site::describe(*by)
        )))),
    }
}

/// The array that was saved, as it was then, or one that has the same shape only.
fn value<'a>(
    operation: &'a Operation,
    saved: &'a Saved,
    what: impl Fn() -> String,
    desc: impl Fn(&'a Prepared) -> Option<&'a Desc>,
) -> PyResult<rt::Array> {
    let desc = match (saved, &operation.operator) {
        (Saved::Array(array, writes), _) => {
            if writes.is_some_and(|w| w != array.chunk().writes()) {
                return Err(overwritten(operation, &what(), array));
            }
            return Ok(array.clone());
        }
        (Saved::Desc(desc), _) => desc,
        (Saved::Nothing, Operator::Prepared(prepared)) => {
            desc(prepared.get()).ok_or_else(missing)?
        }
        (Saved::Nothing, Operator::Python(..)) => return Err(missing()),
    };
    let runtime = crate::support::convert::runtime()?;
    rt::Array::on(runtime, operation.place, &desc.shape, desc.dtype).map_err(to_py)
}

fn overwritten(operation: &Operation, what: &str, array: &rt::Array) -> PyErr {
    to_py(Error::value(format!(
        "backward: operator {}, recorded at {}, needs {what} of shape {:?} for the gradient, but \
         that was overwritten since; call backward before writing into it (x += ..., x[:] = ..., \
         out=x), or compute with a copy",
        operation.operator.name(),
        site::describe(operation.site),
        array.shape()
    )))
}

fn unrecorded(head: usize, array: &rt::Array) -> PyErr {
    to_py(Error::value(format!(
        "backward: head {head} of shape {:?} is not part of a recorded graph; compute it inside \
         of autograd.record(), from arrays on which attach_grad() was called before",
        array.shape()
    )))
}

fn missing() -> PyErr {
    to_py(Error::internal("the trace has no such node or array"))
}
