//! Whether there may be anything to leave out of a graph: what most have nothing of.

use super::merge::is_read;
use super::{ByAddress, Entry, address, card, inputs};
use crate::life::Inside;
use crate::support::hash::Hashing;
use pyo3::prelude::*;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher};

/// Whether two nodes of `order` are of one class of operator and read the same, or a node gives nothing
/// that another one reads or that is `kept`. May say yes in vain.
#[pyfunction]
pub(super) fn may_shrink(order: &Bound<'_, PyAny>, kept: &Bound<'_, PyAny>) -> PyResult<bool> {
    let _inside = Inside::enter(order.py());
    let mut read: HashSet<(usize, usize), Hashing> = HashSet::default();
    for entry in kept.try_iter()? {
        read.insert(Entry::of(&entry?)?.key());
    }
    let mut seen: HashSet<u64, Hashing> = HashSet::default();
    let mut nodes = Vec::new();
    for node in order.try_iter()? {
        let node = node?;
        let mut hasher = Hashing::default().build_hasher();
        if let Some(card) = card(&node)? {
            address(card.get_type().as_any()).hash(&mut hasher);
        }
        for entry in inputs(&node)? {
            let key = Entry::of(&entry)?.key();
            key.hash(&mut hasher);
            read.insert(key);
        }
        if !seen.insert(hasher.finish()) {
            return Ok(true);
        }
        nodes.push(node);
    }
    let mut counts: ByAddress<usize> = ByAddress::default();
    for node in &nodes {
        if !is_read(node, &read, &mut counts)? {
            return Ok(true);
        }
    }
    Ok(false)
}
