//! Passes over graphs of Python's nodes that would cost too much there: walks, inference, the memory plan.
//!
//! Nodes and entries are those of `python/ferromix/graph/node.py`. What an operator says of itself is
//! asked of Python, once for each question that differs; the rest of a pass runs no Python code.

mod devices;
mod eliminate;
mod fuse;
mod gradient;
mod infer;
mod lower;
mod merge;
mod order;
mod plan;
mod planned;
mod values;

pub(crate) use lower::{Lowered, Source, Step as LoweredStep};

use crate::support::hash::Hashing;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use std::collections::HashMap;

/// Numbers by the address of a node, or of a card: objects that live as long as the table.
type ByAddress<T> = HashMap<usize, T, Hashing>;

/// A node and the number of one of its outputs.
struct Entry<'py> {
    node: Bound<'py, PyAny>,
    output: usize,
}

impl<'py> Entry<'py> {
    fn of(entry: &Bound<'py, PyAny>) -> PyResult<Self> {
        let pair = entry.cast::<PyTuple>()?;
        Ok(Entry {
            node: pair.get_item(0)?,
            output: pair.get_item(1)?.extract()?,
        })
    }

    fn key(&self) -> (usize, usize) {
        (address(&self.node), self.output)
    }
}

fn address(object: &Bound<'_, PyAny>) -> usize {
    object.as_ptr().addr()
}

/// A node's inputs.
fn inputs<'py>(node: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    Ok(node
        .getattr(intern!(node.py(), "inputs"))?
        .cast_into::<PyList>()?)
}

/// A node's card, None for a variable.
fn card<'py>(node: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let card = node.getattr(intern!(node.py(), "op"))?;
    Ok((!card.is_none()).then_some(card))
}

/// The class of nodes whose outputs are their own, or the class of entries.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("ferromix.graph.node")?.getattr(name)
}

static ENTRY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static NEW_TUPLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static NODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// An output of a node as Python has it.
fn new_entry<'py>(node: &Bound<'py, PyAny>, output: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = node.py();
    let class = ENTRY.get_or_try_init(py, || class(py, "Entry").map(Bound::unbind))?;
    // Without the function of Python by which the class makes them.
    let new = NEW_TUPLE.get_or_try_init(py, || {
        let new = py.get_type::<PyTuple>().getattr("__new__")?;
        Ok::<_, PyErr>(new.unbind())
    })?;
    new.bind(py).call1((class.bind(py), (node, output)))
}

/// Whether a node is of the plain class, so that its outputs are those of its card.
fn is_plain(node: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = node.py();
    let class = NODE.get_or_try_init(py, || class(py, "Node").map(Bound::unbind))?;
    Ok(node.get_type().is(class.bind(py)))
}

/// Numbers of entries, in the order in which they were met.
#[derive(Default)]
struct Numbers<'py> {
    known: HashMap<(usize, usize), u32, Hashing>,
    /// The entry of each number as Python has it; None until somebody needs it.
    objects: Vec<Option<Bound<'py, PyAny>>>,
    /// Keeps nodes whose addresses are keys.
    nodes: Vec<(Bound<'py, PyAny>, usize)>,
}

impl<'py> Numbers<'py> {
    /// Has room for so many entries.
    fn with_room(entries: usize) -> Self {
        Numbers {
            known: HashMap::with_capacity_and_hasher(entries, Hashing::default()),
            objects: Vec::with_capacity(entries),
            nodes: Vec::with_capacity(entries),
        }
    }

    /// The number of an entry, and whether it is new.
    fn of(&mut self, object: &Bound<'py, PyAny>) -> PyResult<(u32, bool)> {
        let entry = Entry::of(object)?;
        let (number, new) = self.at(entry.node, entry.output)?;
        self.objects[number as usize].get_or_insert_with(|| object.clone());
        Ok((number, new))
    }

    /// The same for an output that Python may have no object for yet.
    fn at(&mut self, node: Bound<'py, PyAny>, output: usize) -> PyResult<(u32, bool)> {
        let next = u32::try_from(self.nodes.len())?;
        let number = *self.known.entry((address(&node), output)).or_insert(next);
        if number == next {
            self.objects.push(None);
            self.nodes.push((node, output));
        }
        Ok((number, number == next))
    }

    /// The number of an entry that was met.
    fn find(&self, entry: &Entry<'_>) -> Option<u32> {
        self.known.get(&entry.key()).copied()
    }

    fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The entry as Python has it.
    fn object(&mut self, number: u32) -> PyResult<Bound<'py, PyAny>> {
        let (node, output) = &self.nodes[number as usize];
        if let Some(object) = &self.objects[number as usize] {
            return Ok(object.clone());
        }
        let made = new_entry(node, *output)?;
        self.objects[number as usize] = Some(made.clone());
        Ok(made)
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(order::topological, m)?)?;
    m.add_function(wrap_pyfunction!(eliminate::may_shrink, m)?)?;
    m.add_function(wrap_pyfunction!(merge::merge, m)?)?;
    m.add_function(wrap_pyfunction!(merge::live, m)?)?;
    m.add_function(wrap_pyfunction!(fuse::fuse, m)?)?;
    m.add_function(wrap_pyfunction!(gradient::differentiate, m)?)?;
    m.add_function(wrap_pyfunction!(infer::infer, m)?)?;
    m.add_function(wrap_pyfunction!(lower::lower, m)?)?;
    m.add_class::<Lowered>()?;
    m.add_class::<planned::Planned>()?;
    m.add_function(wrap_pyfunction!(plan::plan_memory, m)?)?;
    m.add_function(wrap_pyfunction!(plan::select_dropped, m)?)
}
