//! Numbers of what Python gives as values: shapes, element types.

use super::{ByAddress, address};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Numbers of values that are equal in Python.
pub(super) struct Values<'py> {
    pub(super) objects: Vec<Bound<'py, PyAny>>,
    by_value: Bound<'py, PyDict>,
    /// Objects that were met, which are kept, so that an address means one of them.
    by_address: ByAddress<u32>,
    kept: Vec<Bound<'py, PyAny>>,
}

impl<'py> Values<'py> {
    pub(super) fn new(py: Python<'py>) -> Self {
        Values {
            objects: Vec::new(),
            by_value: PyDict::new(py),
            by_address: ByAddress::default(),
            kept: Vec::new(),
        }
    }

    pub(super) fn number(&mut self, value: &Bound<'py, PyAny>) -> PyResult<u32> {
        if let Some(&number) = self.by_address.get(&address(value)) {
            return Ok(number);
        }
        let number = if let Some(number) = self.by_value.get_item(value)? {
            number.extract()?
        } else {
            let number = u32::try_from(self.objects.len())?;
            self.objects.push(value.clone());
            self.by_value.set_item(value, number)?;
            number
        };
        self.by_address.insert(address(value), number);
        self.kept.push(value.clone());
        Ok(number)
    }
}
