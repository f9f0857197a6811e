//! `_core.Maker`: the kernels of one card, for any shapes and types.

use super::Prepared;
use crate::support::convert::{attrs, desc};
use crate::support::errors::{misuse, to_py};
use crate::support::hash::Hashing;
use ferromix_kernels::{Attrs, Desc, Row};
use ferromix_runtime as rt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The shapes and types of one array.
type Given = (Vec<usize>, String);

/// What a card says of its kernel, and the operators that were prepared for it.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Maker {
    operator: String,
    row: &'static Row,
    attrs: Attrs,
    /// The inputs that the operator changes.
    changed: Vec<usize>,
    card: Py<PyAny>,
    known: Mutex<HashMap<Question, Py<Prepared>, Hashing>>,
}

/// The inputs and the outputs.
type Question = (Vec<Desc>, Vec<Desc>);

/// How many prepared operators of a card are kept.
const MOST: usize = 256;

#[pymethods]
impl Maker {
    /// For the kernel `row` of the operator `operator`; the rest as [`Prepared`] takes it, but that
    /// `changed` are the places of inputs.
    #[new]
    fn new(
        operator: String,
        row: &str,
        attributes: &Bound<'_, PyDict>,
        changed: Vec<usize>,
        card: Py<PyAny>,
        dynamic: Vec<String>,
    ) -> PyResult<Self> {
        Ok(Maker {
            row: rt::Prepared::row(&operator, row).map_err(to_py)?,
            operator,
            attrs: attrs(attributes, &dynamic)?,
            changed,
            card,
            known: Mutex::default(),
        })
    }

    /// The kernel for these shapes and types of inputs and outputs.
    fn prepare(
        &self,
        py: Python<'_>,
        inputs: Vec<Given>,
        outputs: Vec<Given>,
    ) -> PyResult<Py<Prepared>> {
        let descs = |given: Vec<Given>| given.into_iter().map(desc).collect::<PyResult<_>>();
        self.prepared(py, descs(inputs)?, descs(outputs)?)
    }
}

impl Maker {
    /// See [`Maker::prepare`].
    pub(crate) fn prepared(
        &self,
        py: Python<'_>,
        inputs: Vec<Desc>,
        outputs: Vec<Desc>,
    ) -> PyResult<Py<Prepared>> {
        let question = (inputs, outputs);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&question) {
            return Ok(found.clone_ref(py));
        }
        let (inputs, mut written) = question.clone();
        for &i in &self.changed {
            let input = inputs.get(i).cloned();
            written.push(input.ok_or_else(|| misuse("a changed input is not there"))?);
        }
        let kernel = rt::Prepared::by_row(&self.operator, self.row, &self.attrs, inputs, written);
        let kernel = kernel.map_err(to_py)?;
        let card = Some(self.card.clone_ref(py));
        let made = Prepared::around(kernel, &self.operator, self.changed.len(), card);
        let made = Py::new(py, made)?;
        let mut table = known();
        let old = match table.len() >= MOST {
            true => std::mem::take(&mut *table),
            false => HashMap::default(),
        };
        let other = table.insert(question, made.clone_ref(py));
        drop(table);
        // What is given up may run code of Python's, which may come here.
        drop((old, other));
        Ok(made)
    }
}
