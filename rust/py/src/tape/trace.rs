//! What a backward pass sees of the tape: the nodes that heads depend on, in order.

use super::node::{Kept, Node, Operation, Operator, Origin, State};
use crate::array::Array;
use crate::errors::to_py;
use crate::site;
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
pub(super) struct Trace {
    nodes: Vec<Arc<Node>>,
    /// Positions of the nodes, by address.
    positions: HashMap<usize, usize>,
    heads: Vec<(usize, usize)>,
}

#[pymethods]
impl Trace {
    /// Follows the tape back from `heads`.
    #[new]
    fn new(heads: Vec<PyRef<'_, Array>>) -> PyResult<Self> {
        let mut origins = Vec::with_capacity(heads.len());
        for (i, head) in heads.iter().enumerate() {
            let origin = head.1.get().ok_or_else(|| unrecorded(i, &head.0))?;
            origins.push(origin);
        }
        let mut trace = Trace {
            nodes: Vec::new(),
            positions: HashMap::new(),
            heads: Vec::new(),
        };
        for origin in &origins {
            trace.visit(origin)?;
        }
        trace.heads = origins.iter().map(|o| trace.place(o)).collect();
        Ok(trace)
    }

    fn __len__(&self) -> usize {
        self.nodes.len()
    }

    /// Node and output of each head.
    #[getter]
    fn heads(&self) -> Vec<(usize, usize)> {
        self.heads.clone()
    }

    /// The structure: for each node its request, if it is a variable, or its card and, for each
    /// input, node and output that it came from, or None for a constant.
    fn structure<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rows = self.nodes.iter().map(|node| self.row(py, node));
        PyTuple::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// The position of the node that an array came from, if it is a variable of this trace.
    fn find(&self, array: &Array) -> Option<usize> {
        let origin = array.1.get()?;
        let known = self.positions.get(&address(&origin.node)).copied();
        known.filter(|_| {
            origin
                .node
                .with(|state| matches!(state, State::Variable(_)))
        })
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

    /// The value of an output of a node.
    fn output(&self, node: usize, output: usize) -> PyResult<Array> {
        let owner = self.node(node)?.clone();
        let array = owner.with(|state| match state {
            State::Variable(variable) => Ok(variable.value.clone()),
            State::Operation(operation) => {
                let kept = operation.outputs.get(output).ok_or_else(missing)?;
                let what = || format!("its output {output}");
                value(operation, kept, what, |p| p.outputs().get(output))
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
    fn input(&self, node: usize, input: usize) -> PyResult<Array> {
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
    fn gradient(&self, node: usize) -> PyResult<Option<Array>> {
        let gradient = self.node(node)?.with(|state| match state {
            State::Variable(variable) => variable.gradient.clone(),
            _ => None,
        });
        Ok(gradient.map(Array::from))
    }

    /// Lets go of everything that the nodes hold, but for variables.
    fn free(&self, py: Python<'_>) {
        let by = site::current(py);
        for node in &self.nodes {
            node.free(by);
        }
    }
}

impl Trace {
    fn node(&self, node: usize) -> PyResult<&Arc<Node>> {
        self.nodes.get(node).ok_or_else(missing)
    }

    fn place(&self, origin: &Origin) -> (usize, usize) {
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
        let (card, sources) = match node.with(|state| self.describe(py, state)) {
            Ok(found) => found,
            Err(request) => return Ok(request.into_pyobject(py)?.into_any()),
        };
        let sources = PyTuple::new(py, sources)?;
        Ok((card, sources).into_pyobject(py)?.into_any())
    }

    /// Card and sources of an operation, or the request of a variable.
    fn describe(
        &self,
        py: Python<'_>,
        state: &State,
    ) -> Result<(Option<Py<PyAny>>, Vec<Source>), u8> {
        match state {
            State::Variable(variable) => Err(variable.request),
            State::Freed { .. } => Err(0),
            State::Operation(operation) => {
                let card = match &operation.operator {
                    Operator::Prepared(prepared) => prepared.get().card(py),
                    Operator::Python(card, _) => Some(card.clone_ref(py)),
                };
                let inputs = operation.inputs.iter();
                let sources = inputs.map(|i| i.origin.as_ref().map(|o| self.place(o)));
                Ok((card, sources.collect()))
            }
        }
    }
}

fn address(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node) as usize
}

type Source = Option<(usize, usize)>;

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

/// The array that was kept, as it was then, or one that has the same shape only.
fn value<'a>(
    operation: &'a Operation,
    kept: &'a Kept,
    what: impl Fn() -> String,
    desc: impl Fn(&'a rt::Prepared) -> Option<&'a Desc>,
) -> PyResult<rt::Array> {
    let desc = match (kept, &operation.operator) {
        (Kept::Array(array, writes), _) => {
            if writes.is_some_and(|w| w != array.chunk().writes()) {
                return Err(overwritten(operation, &what(), array));
            }
            return Ok(array.clone());
        }
        (Kept::Desc(desc), _) => desc,
        (Kept::Nothing, Operator::Prepared(prepared)) => {
            desc(prepared.get().prepared()).ok_or_else(missing)?
        }
        (Kept::Nothing, Operator::Python(..)) => return Err(missing()),
    };
    let runtime = crate::convert::runtime()?;
    rt::Array::new(runtime, &desc.shape, desc.dtype).map_err(to_py)
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
