//! Numbers of the devices that nodes run on.

use super::{ByAddress, address};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Devices by number; equal ones have one, and no device is number 0.
pub(super) struct Devices<'py> {
    given: Bound<'py, PyDict>,
    pub(super) objects: Vec<Bound<'py, PyAny>>,
    /// Whether each is a CPU; no device is taken for one.
    pub(super) cpus: Vec<bool>,
    by_address: ByAddress<usize>,
    kept: Vec<Bound<'py, PyAny>>,
}

impl<'py> Devices<'py> {
    /// Those that nodes have in `given`.
    pub(super) fn new(given: &Bound<'py, PyDict>) -> Self {
        Devices {
            given: given.clone(),
            objects: vec![given.py().None().into_bound(given.py())],
            cpus: vec![true],
            by_address: ByAddress::default(),
            kept: Vec::new(),
        }
    }

    pub(super) fn of(&mut self, node: &Bound<'py, PyAny>) -> PyResult<usize> {
        let Some(device) = self.given.get_item(node)? else {
            return Ok(0);
        };
        if let Some(&number) = self.by_address.get(&address(&device)) {
            return Ok(number);
        }
        let mut number = self.objects.len();
        for (i, known) in self.objects.iter().enumerate() {
            if known.eq(&device)? {
                number = i;
            }
        }
        if number == self.objects.len() {
            let kind = device.getattr(intern!(device.py(), "device_type"))?;
            self.cpus.push(kind.extract::<String>()?.starts_with("cpu"));
            self.objects.push(device.clone());
        }
        self.by_address.insert(address(&device), number);
        self.kept.push(device);
        Ok(number)
    }
}
