//! The order in which every pass goes through a graph.

use super::{address, inputs};
use crate::life::Inside;
use crate::support::hash::Hashing;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::collections::HashSet;

/// All nodes that `heads` depend on, each after its inputs, depth first as in MXNet.
#[pyfunction]
pub(super) fn topological<'py>(heads: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let _inside = Inside::enter(heads.py());
    let order = PyList::empty(heads.py());
    let mut seen: HashSet<usize, Hashing> = HashSet::default();
    for head in heads.try_iter()? {
        let node = head?.cast::<PyTuple>()?.get_item(0)?;
        if !seen.insert(address(&node)) {
            continue;
        }
        let mut stack = vec![(inputs(&node)?, 0, node)];
        while let Some((entries, next, _)) = stack.last_mut() {
            if let Ok(entry) = entries.get_item(*next) {
                *next += 1;
                let child = entry.cast::<PyTuple>()?.get_item(0)?;
                if seen.insert(address(&child)) {
                    stack.push((inputs(&child)?, 0, child));
                }
            } else if let Some((_, _, node)) = stack.pop() {
                order.append(node)?;
            }
        }
    }
    Ok(order)
}
