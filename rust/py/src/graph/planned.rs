//! `_core.Planned`: a graph whose entries are numbered and have places in memory.

use super::plan::{Description, Facts, Step};
use super::{Entry, Numbers, address, new_entry};
use crate::support::hash::Hashing;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::collections::{HashMap, HashSet};

/// The entries of a graph by number.
pub(super) struct Entries {
    known: HashMap<(usize, usize), u32, Hashing>,
    nodes: Vec<(Py<PyAny>, usize)>,
}

impl Entries {
    pub(super) fn of(numbers: Numbers<'_>) -> Self {
        let nodes = numbers.nodes.into_iter();
        Entries {
            known: numbers.known,
            nodes: nodes
                .map(|(node, output)| (node.unbind(), output))
                .collect(),
        }
    }

    /// The number of an entry that was met.
    pub(super) fn find(&self, entry: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        Ok(self.known.get(&Entry::of(entry)?.key()).copied())
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The entry as Python has it.
    fn object<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyAny>> {
        let (node, output) = &self.nodes[number as usize];
        new_entry(node.bind(py), *output)
    }
}

/// What Python sees, made when it asks.
pub(super) struct Tables {
    places: PyOnceLock<Py<PyDict>>,
    inplace: PyOnceLock<Py<PyDict>>,
    views: PyOnceLock<Py<PyDict>>,
    sizes: PyOnceLock<Py<PyDict>>,
}

impl Tables {
    pub(super) const fn new() -> Self {
        Tables {
            places: PyOnceLock::new(),
            inplace: PyOnceLock::new(),
            views: PyOnceLock::new(),
            sizes: PyOnceLock::new(),
        }
    }
}

/// The memory plan of one run of `order`.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Planned {
    pub(super) order: Py<PyTuple>,
    pub(super) entries: Entries,
    pub(super) steps: Vec<Step>,
    pub(super) facts: Vec<Facts>,
    pub(super) descriptions: Vec<Description>,
    // By entry: its description if the plan was made with these, its bytes, its buffer and offset.
    pub(super) described: Vec<u32>,
    pub(super) sizes: Vec<u64>,
    pub(super) places: Vec<Option<(usize, u64)>>,
    /// What is written over which input, and what is a view of which.
    pub(super) inplace: Vec<(u32, u32)>,
    pub(super) views: Vec<(u32, u32)>,
    /// The bytes of each buffer.
    #[pyo3(get)]
    pub(super) buffers: Vec<u64>,
    /// The device of each buffer.
    #[pyo3(get)]
    pub(super) devices: Vec<Py<PyAny>>,
    /// The bytes alive at the worst step.
    #[pyo3(get)]
    pub(super) peak: u64,
    pub(super) tables: Tables,
}

#[pymethods]
impl Planned {
    /// The buffer and the offset of each entry that is in one.
    #[getter]
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let places = self.places.iter().copied().zip(0..);
        let places = places.filter_map(|(place, entry)| Some((entry, place?)));
        self.table(py, &self.tables.places, places)
    }

    /// The input over which an entry is written.
    #[getter]
    fn inplace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.pairs(py, &self.tables.inplace, &self.inplace)
    }

    /// The input that an entry is a view of.
    #[getter]
    fn views<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.pairs(py, &self.tables.views, &self.views)
    }

    /// The bytes of each entry.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sizes = (0..).zip(self.sizes.iter().copied());
        self.table(py, &self.tables.sizes, sizes)
    }

    /// Whether a step from the number `first` on writes where a result of an earlier one lies that such steps read.
    fn overwrites(&self, first: usize) -> bool {
        let (before, after) = self.steps.split_at(first.min(self.steps.len()));
        let views: HashSet<u32, Hashing> = self.views.iter().map(|&(entry, _)| entry).collect();
        let mut read: HashSet<u32, Hashing> = HashSet::default();
        for step in after {
            let inputs = step.inputs.iter().enumerate();
            let shapes = &self.facts[step.facts].ignored;
            read.extend(
                inputs
                    .filter(|(i, _)| !shapes.contains(i))
                    .map(|(_, &entry)| entry),
            );
        }
        let kept = before.iter().flat_map(|step| &step.outputs);
        let kept = kept.filter(|entry| read.contains(entry));
        let written = after.iter().flat_map(|step| &step.outputs);
        let written = written.filter(|entry| !views.contains(entry));
        let mut pieces: Vec<_> = kept.filter_map(|&entry| self.piece(entry, false)).collect();
        pieces.extend(written.filter_map(|&entry| self.piece(entry, true)));
        pieces.sort_unstable();
        // By buffer, how far pieces of either kind reach.
        let (mut buffer, mut ends) = (usize::MAX, [0, 0]);
        pieces.into_iter().any(|(number, start, end, is_written)| {
            if number != buffer {
                (buffer, ends) = (number, [0, 0]);
            }
            let meets = start < ends[usize::from(!is_written)];
            let own = &mut ends[usize::from(is_written)];
            *own = end.max(*own);
            meets
        })
    }

    /// How many steps have run before each of `nodes`, and after the last; see
    /// `python/ferromix/executor/program.py`.
    ///
    /// `known_as(node)` says for one that is not of the plain class which node it stands for.
    fn count_steps(
        &self,
        nodes: Vec<Bound<'_, PyAny>>,
        known_as: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<usize>> {
        let views: HashSet<u32, Hashing> = self.views.iter().map(|&(entry, _)| entry).collect();
        let py = known_as.py();
        let mut ends: HashMap<usize, usize, Hashing> = HashMap::default();
        let mut done = 0;
        for (node, step) in self.order.bind(py).iter().zip(&self.steps) {
            let is_view = step
                .outputs
                .first()
                .is_some_and(|first| views.contains(first));
            done += usize::from(!is_view);
            let known = match super::is_plain(&node)? {
                true => address(&node),
                false => address(&known_as.call1((&node,))?),
            };
            ends.insert(known, done);
        }
        let mut most = 0;
        let ends = nodes.iter().map(|node| {
            most = most.max(ends.get(&address(node)).copied().unwrap_or(0));
            most
        });
        Ok(std::iter::once(0).chain(ends).collect())
    }
}

impl Planned {
    /// The buffer of an entry, and its bytes there, if it has any.
    fn piece(&self, entry: u32, is_written: bool) -> Option<(usize, u64, u64, bool)> {
        let ((buffer, start), size) = (self.places[entry as usize]?, self.sizes[entry as usize]);
        (size > 0).then_some((buffer, start, start + size, is_written))
    }

    fn table<'py, T: IntoPyObject<'py>>(
        &self,
        py: Python<'py>,
        cell: &PyOnceLock<Py<PyDict>>,
        rows: impl Iterator<Item = (u32, T)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let made = cell.get_or_try_init(py, || {
            let table = PyDict::new(py);
            for (entry, value) in rows {
                table.set_item(self.entries.object(py, entry)?, value)?;
            }
            Ok::<_, PyErr>(table.unbind())
        })?;
        Ok(made.bind(py).clone())
    }

    fn pairs<'py>(
        &self,
        py: Python<'py>,
        cell: &PyOnceLock<Py<PyDict>>,
        pairs: &[(u32, u32)],
    ) -> PyResult<Bound<'py, PyDict>> {
        let made = cell.get_or_try_init(py, || {
            let table = PyDict::new(py);
            for &(entry, other) in pairs {
                let other = self.entries.object(py, other)?;
                table.set_item(self.entries.object(py, entry)?, other)?;
            }
            Ok::<_, PyErr>(table.unbind())
        })?;
        Ok(made.bind(py).clone())
    }
}
