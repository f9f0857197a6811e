//! Leaves out what a graph computes twice, and what nobody reads; see `python/ferromix/graph/eliminate.py`.

use super::{ByAddress, Entry, Numbers, address, card, inputs, is_plain};
use crate::life::Inside;
use crate::support::hash::Hashing;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// `order` without pure nodes that repeat an earlier one.
///
/// `facts(card)` gives a number, the same for cards that do the same, and whether the card is pure; it is
/// asked once for each. `about(node)` gives what else has to be the same, and `rewired(node, inputs)` the node
/// that reads others.
#[pyfunction]
pub(super) fn merge<'py>(
    order: &Bound<'py, PyAny>,
    kept: &Bound<'py, PyAny>,
    guarded: &Bound<'py, PyAny>,
    facts: &Bound<'py, PyAny>,
    about: &Bound<'py, PyAny>,
    rewired: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let _inside = Inside::enter(order.py());
    let py = order.py();
    let mut run = Merge::default();
    run.mark(kept, |of| &mut of.kept)?;
    run.mark(guarded, |of| &mut of.unsteady)?;
    let mut cards: ByAddress<(u64, bool)> = ByAddress::default();
    let result = PyList::empty(py);
    for node in order.try_iter()? {
        let node = node?;
        let Some(card) = card(&node)? else {
            result.append(node)?;
            continue;
        };
        let (key, pure) = match cards.get(&address(&card)) {
            Some(&known) => known,
            None => {
                let found = facts.call1((&card,))?.extract()?;
                cards.insert(address(&card), found);
                found
            }
        };
        let outputs = run.outputs(&node, &card)?;
        let own = run.read(&node)?;
        let read: Inputs = own.iter().map(|&e| run.standing_for(e)).collect();
        if pure && run.is_steady(&read) && run.is_steady(&outputs) {
            match run.first.get(&(key, read.clone())) {
                Some(&place) => {
                    let (other, given) = &run.nodes[place];
                    let free = !outputs.iter().any(|&e| run.of[e as usize].kept);
                    if free && about.call1((&node,))?.eq(about.call1((other,))?)? {
                        for (&e, &instead) in outputs.iter().zip(&given.clone()) {
                            run.of[e as usize].moved = Some(instead);
                        }
                        continue;
                    }
                }
                None => {
                    run.first.insert((key, read.clone()), run.nodes.len());
                    run.nodes.push((node.clone(), outputs));
                }
            }
        }
        if own == read {
            result.append(node)?;
        } else {
            let entries = read.iter().map(|&e| run.numbers.object(e));
            let entries = PyList::new(py, entries.collect::<PyResult<Vec<_>>>()?)?;
            result.append(rewired.call1((node, entries))?)?;
        }
    }
    Ok(result)
}

/// `order` without pure nodes whose results nobody reads. `is_pure(card)` is asked once for each card.
#[pyfunction]
pub(super) fn live<'py>(
    order: &Bound<'py, PyList>,
    kept: &Bound<'py, PyAny>,
    is_pure: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let _inside = Inside::enter(order.py());
    let mut wanted: HashSet<(usize, usize), Hashing> = HashSet::default();
    for entry in kept.try_iter()? {
        wanted.insert(Entry::of(&entry?)?.key());
    }
    let mut counts: ByAddress<usize> = ByAddress::default();
    let mut pure: ByAddress<bool> = ByAddress::default();
    let mut result = Vec::with_capacity(order.len());
    for node in order.iter().rev() {
        if !is_read(&node, &wanted, &mut counts)? {
            let card = card(&node)?.unwrap_or_else(|| node.clone());
            let pure = match pure.get(&address(&card)) {
                Some(&known) => known,
                None => {
                    let found = is_pure.call1((&card,))?.is_truthy()?;
                    pure.insert(address(&card), found);
                    found
                }
            };
            if pure {
                continue;
            }
        }
        for entry in inputs(&node)? {
            wanted.insert(Entry::of(&entry)?.key());
        }
        result.push(node);
    }
    result.reverse();
    PyList::new(order.py(), result)
}

/// Whether some output of a node is among those that are read; `counts` are those of cards' outputs.
pub(super) fn is_read(
    node: &Bound<'_, PyAny>,
    read: &HashSet<(usize, usize), Hashing>,
    counts: &mut ByAddress<usize>,
) -> PyResult<bool> {
    if read.contains(&(address(node), 0)) {
        return Ok(true);
    }
    if !is_plain(node)? {
        for entry in own_outputs(node)?.try_iter()? {
            if read.contains(&Entry::of(&entry?)?.key()) {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    let Some(card) = card(node)? else {
        return Ok(false);
    };
    let count = count_of(&card, counts)?;
    Ok((1..count).any(|i| read.contains(&(address(node), i))))
}

fn own_outputs<'py>(node: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    node.call_method0(intern!(node.py(), "outputs"))
}

/// How many outputs a card has.
fn count_of(card: &Bound<'_, PyAny>, counts: &mut ByAddress<usize>) -> PyResult<usize> {
    if let Some(&count) = counts.get(&address(card)) {
        return Ok(count);
    }
    let count = card.getattr(intern!(card.py(), "output_names"))?.len()?;
    counts.insert(address(card), count);
    Ok(count)
}

type Inputs = SmallVec<[u32; 4]>;

/// What is known of an entry.
#[derive(Clone, Copy, Default)]
struct Fact {
    kept: bool,
    /// Whether the value may change between two nodes that read it.
    unsteady: bool,
    /// The entry that is read instead.
    moved: Option<u32>,
}

#[derive(Default)]
struct Merge<'py> {
    numbers: Numbers<'py>,
    of: Vec<Fact>,
    counts: ByAddress<usize>,
    /// The first nodes of their kinds, with their outputs, and where they are by card and inputs.
    nodes: Vec<(Bound<'py, PyAny>, Inputs)>,
    first: HashMap<(u64, Inputs), usize, Hashing>,
}

impl<'py> Merge<'py> {
    fn mark(
        &mut self,
        entries: &Bound<'py, PyAny>,
        flag: impl Fn(&mut Fact) -> &mut bool,
    ) -> PyResult<()> {
        for entry in entries.try_iter()? {
            let number = self.number(&entry?)?;
            *flag(&mut self.of[number as usize]) = true;
        }
        Ok(())
    }

    fn number(&mut self, entry: &Bound<'py, PyAny>) -> PyResult<u32> {
        let (number, _) = self.numbers.of(entry)?;
        self.of.resize(self.numbers.len(), Fact::default());
        Ok(number)
    }

    fn read(&mut self, node: &Bound<'py, PyAny>) -> PyResult<Inputs> {
        let entries = inputs(node)?;
        entries.iter().map(|entry| self.number(&entry)).collect()
    }

    fn outputs(&mut self, node: &Bound<'py, PyAny>, card: &Bound<'py, PyAny>) -> PyResult<Inputs> {
        if !is_plain(node)? {
            let entries = own_outputs(node)?;
            return entries.try_iter()?.map(|e| self.number(&e?)).collect();
        }
        let count = count_of(card, &mut self.counts)?;
        let found = (0..count).map(|i| Ok(self.numbers.at(node.clone(), i)?.0));
        let found = found.collect();
        self.of.resize(self.numbers.len(), Fact::default());
        found
    }

    fn standing_for(&self, entry: u32) -> u32 {
        self.of[entry as usize].moved.unwrap_or(entry)
    }

    fn is_steady(&self, entries: &[u32]) -> bool {
        !entries.iter().any(|&e| self.of[e as usize].unsteady)
    }
}
