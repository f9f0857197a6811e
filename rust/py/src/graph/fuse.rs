//! Makes one node of neighbours that compute element by element; see `python/ferromix/graph/fuse.py`.

use super::devices::Devices;
use super::values::Values;
use super::{Entry, Numbers, address, card, inputs, is_plain};
use crate::life::Inside;
use crate::support::hash::Hashing;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// What is asked of Python: `about(node)`, once for each card and device, `fits(node)`, and
/// `join(members, inputs, reads)`, which gives the node that stands for several.
type Asked<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// How many members and how many inputs a group may have, and from how many elements results are large.
type Limits = (usize, usize, usize);

/// The halves of a graph with one node in place of the last of each group, and without the others.
///
/// `sizes` are shapes and element types by entry; results that are `kept` have to be in memory.
#[pyfunction]
pub(super) fn fuse<'py>(
    halves: Vec<Bound<'py, PyList>>,
    kept: &Bound<'py, PyAny>,
    sizes: (Bound<'py, PyDict>, Bound<'py, PyDict>),
    devices: &Bound<'py, PyDict>,
    asked: Asked<'py>,
    limits: Limits,
) -> PyResult<Vec<Bound<'py, PyList>>> {
    let _inside = Inside::enter(kept.py());
    let mut run = Run {
        numbers: Numbers::default(),
        facts: Vec::new(),
        items: Vec::new(),
        values: Values::new(kept.py()),
        large: Vec::new(),
        sizes,
        devices: Devices::new(devices),
        abouts: HashMap::default(),
        asked,
        limits,
    };
    let mut ranges = Vec::with_capacity(halves.len());
    for half in &halves {
        let start = run.items.len();
        for node in half {
            run.add(node)?;
        }
        ranges.push(start..run.items.len());
    }
    let fusible = run.items.iter().filter(|item| item.output.is_some());
    if fusible.count() < 2 {
        return Ok(halves);
    }
    for entry in kept.try_iter()? {
        if let Some(number) = run.numbers.find(&Entry::of(&entry?)?) {
            run.facts[number as usize].kept = true;
        }
    }
    run.find_readers()?;
    let halves = halves.into_iter().zip(ranges);
    halves
        .map(|(half, range)| run.joined(half, range))
        .collect()
}

/// What a card says of all its nodes on a device.
#[derive(Clone)]
struct About {
    way: u8,
    /// The inputs that it changes.
    changed: SmallVec<[usize; 2]>,
}

/// A node may not be fused; may if its inputs and its output have one large shape; may if Python says so.
const NEVER: u8 = 0;
const ALIKE: u8 = 1;

/// An entry of the graph.
#[derive(Clone, Default)]
struct Fact {
    kept: bool,
    /// Whether an operator changes it.
    changed: bool,
    readers: SmallVec<[usize; 2]>,
    /// The numbers of its shape and of its type, once asked for.
    described: Option<(u32, u32)>,
}

/// Groups of nodes, the last node first, and for each node of a half the group that it is in.
type Groups = (Vec<Vec<usize>>, Vec<Option<usize>>);

/// A node.
struct Item<'py> {
    node: Bound<'py, PyAny>,
    /// What it reads, if it may be fused.
    inputs: SmallVec<[u32; 4]>,
    /// Its result, if it may be fused.
    output: Option<u32>,
    /// Which inputs it changes.
    changed: SmallVec<[usize; 2]>,
}

struct Run<'py> {
    numbers: Numbers<'py>,
    facts: Vec<Fact>,
    items: Vec<Item<'py>>,
    values: Values<'py>,
    /// Whether the values with these numbers are large shapes.
    large: Vec<bool>,
    sizes: (Bound<'py, PyDict>, Bound<'py, PyDict>),
    devices: Devices<'py>,
    abouts: HashMap<(usize, usize), About, Hashing>,
    asked: Asked<'py>,
    limits: Limits,
}

impl<'py> Run<'py> {
    fn number(&mut self, entry: &Bound<'py, PyAny>) -> PyResult<u32> {
        let number = self.numbers.of(entry)?.0;
        self.facts.resize(self.numbers.len(), Fact::default());
        Ok(number)
    }

    /// Adds a node; of those that may not be fused, what they read is not numbered: it is most of a graph.
    fn add(&mut self, node: Bound<'py, PyAny>) -> PyResult<()> {
        let about = self.about(&node)?;
        let mut inputs = SmallVec::new();
        let mut output = None;
        if about.way != NEVER {
            inputs = self.read(&node)?;
            output = self.fusible(&node, about.way, &inputs)?;
        }
        self.items.push(Item {
            node,
            inputs,
            output,
            changed: about.changed,
        });
        Ok(())
    }

    fn read(&mut self, node: &Bound<'py, PyAny>) -> PyResult<SmallVec<[u32; 4]>> {
        let inputs = inputs(node)?;
        inputs.iter().map(|entry| self.number(&entry)).collect()
    }

    /// Notes who reads and who changes what has a number.
    fn find_readers(&mut self) -> PyResult<()> {
        for (place, item) in self.items.iter().enumerate() {
            for (i, entry) in inputs(&item.node)?.iter().enumerate() {
                let Some(number) = self.numbers.find(&Entry::of(&entry)?) else {
                    continue;
                };
                let fact = &mut self.facts[number as usize];
                fact.readers.push(place);
                fact.changed |= item.changed.contains(&i);
            }
        }
        Ok(())
    }

    fn about(&mut self, node: &Bound<'py, PyAny>) -> PyResult<About> {
        let card = card(node)?.unwrap_or_else(|| node.clone());
        let key = (address(&card), self.devices.of(node)?);
        if let Some(known) = self.abouts.get(&key) {
            return Ok(known.clone());
        }
        let (way, changed): (u8, Vec<usize>) = self.asked.0.call1((node,))?.extract()?;
        let about = About {
            way,
            changed: changed.into(),
        };
        self.abouts.insert(key, about.clone());
        Ok(about)
    }

    /// The result of a node that may be fused.
    fn fusible(
        &mut self,
        node: &Bound<'py, PyAny>,
        way: u8,
        read: &[u32],
    ) -> PyResult<Option<u32>> {
        if way != ALIKE && !self.asked.1.call1((node,))?.is_truthy()? {
            return Ok(None);
        }
        let output = if is_plain(node)? {
            self.numbers.at(node.clone(), 0)?.0
        } else {
            let entries = node.call_method0(intern!(node.py(), "outputs"))?;
            self.numbers.of(&entries.get_item(0)?)?.0
        };
        self.facts.resize(self.numbers.len(), Fact::default());
        let shape = self.describe(output)?.0;
        if way == ALIKE {
            if !self.large[shape as usize] {
                return Ok(None);
            }
            for &entry in read {
                if self.describe(entry)?.0 != shape {
                    return Ok(None);
                }
            }
        }
        Ok(Some(output))
    }

    /// The numbers of the shape and of the type of an entry.
    fn describe(&mut self, entry: u32) -> PyResult<(u32, u32)> {
        if let Some(known) = self.facts[entry as usize].described {
            return Ok(known);
        }
        let object = self.numbers.object(entry)?;
        let shape = self.sizes.0.as_any().get_item(&object)?;
        let found = self.values.number(&shape)?;
        if self.large.len() <= found as usize {
            let extents: Vec<usize> = shape.extract()?;
            let elements = extents.iter().fold(1_usize, |a, &b| a.saturating_mul(b));
            self.large.resize(found as usize + 1, false);
            self.large[found as usize] = elements >= self.limits.2;
        }
        let dtype = self
            .values
            .number(&self.sizes.1.as_any().get_item(&object)?)?;
        self.facts[entry as usize].described = Some((found, dtype));
        Ok((found, dtype))
    }

    /// The nodes of one half, some of them joined.
    fn joined(
        &mut self,
        half: Bound<'py, PyList>,
        range: Range<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (groups, of) = self.group(range.clone())?;
        if groups.iter().all(|group| group.len() == 1) {
            return Ok(half);
        }
        let result = PyList::empty(half.py());
        for (place, group) in range.zip(of) {
            match group.map(|group| &groups[group]) {
                Some(group) if group.len() > 1 => {
                    if group[0] == place {
                        result.append(self.join(group)?)?;
                    }
                }
                _ => result.append(&self.items[place].node)?,
            }
        }
        Ok(result)
    }

    /// The groups of one half.
    fn group(&mut self, range: Range<usize>) -> PyResult<Groups> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut of: Vec<Option<usize>> = vec![None; range.len()];
        for place in range.clone().rev() {
            let Some(output) = self.items[place].output else {
                continue;
            };
            if !self.may_be_member(place)? {
                continue;
            }
            let readers = &self.facts[output as usize].readers;
            // Nodes of the other half are in none.
            let group_of =
                |&reader: &usize| of.get(reader.wrapping_sub(range.start)).copied().flatten();
            let first = readers.first().and_then(group_of);
            let same = first.filter(|_| readers.iter().all(|reader| group_of(reader) == first));
            let group = same.filter(|_| !self.facts[output as usize].kept);
            let number = match group {
                Some(group) if self.may_join(place, &groups[group])? => group,
                _ => {
                    groups.push(Vec::new());
                    groups.len() - 1
                }
            };
            groups[number].push(place);
            of[place - range.start] = Some(number);
        }
        Ok((groups, of))
    }

    /// Whether a node reads nothing that is changed, or that is on another device.
    fn may_be_member(&mut self, place: usize) -> PyResult<bool> {
        let item = &self.items[place];
        if item.inputs.iter().any(|&e| self.facts[e as usize].changed) {
            return Ok(false);
        }
        let own = self.devices.of(&item.node)?;
        for &entry in &item.inputs {
            let device = self.devices.of(&self.numbers.nodes[entry as usize].0)?;
            if device != own && device != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a node may be in a group.
    fn may_join(&mut self, place: usize, group: &[usize]) -> PyResult<bool> {
        let last = group[0];
        let described =
            |item: &Item<'_>| item.output.and_then(|e| self.facts[e as usize].described);
        if described(&self.items[place]) != described(&self.items[last]) {
            return Ok(false);
        }
        let device = self.devices.of(&self.items[place].node)?;
        if device != self.devices.of(&self.items[last].node)? || group.len() >= self.limits.0 {
            return Ok(false);
        }
        let members: Vec<usize> = group.iter().copied().chain([place]).collect();
        // Mostly there are few, even if none is the same as another.
        let most = members
            .iter()
            .map(|&m| self.items[m].inputs.len())
            .sum::<usize>();
        Ok(most <= self.limits.1 || self.read_by(&members).len() <= self.limits.1)
    }

    /// What a group reads of the rest of the graph, each entry once.
    fn read_by(&self, members: &[usize]) -> Vec<u32> {
        let inside: HashSet<u32, Hashing> = members
            .iter()
            .filter_map(|&m| self.items[m].output)
            .collect();
        let mut seen = inside.clone();
        let entries = members
            .iter()
            .flat_map(|&m| self.items[m].inputs.iter().copied());
        entries.filter(|&entry| seen.insert(entry)).collect()
    }

    /// The node that stands for a group.
    fn join(&mut self, group: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        let py = self.asked.2.py();
        let members: Vec<usize> = group.iter().rev().copied().collect();
        let read = self.read_by(&members);
        let mut values: HashMap<u32, usize, Hashing> = read.iter().copied().zip(0..).collect();
        let mut reads = Vec::with_capacity(members.len());
        for &member in &members {
            let item = &self.items[member];
            let numbers = item.inputs.iter().map(|entry| values.get(entry));
            reads.push(PyTuple::new(py, numbers.collect::<Vec<_>>())?);
            if let Some(output) = item.output {
                values.insert(output, values.len());
            }
        }
        let nodes = members
            .iter()
            .map(|&m| &self.items[m].node)
            .collect::<Vec<_>>();
        let nodes = PyTuple::new(py, nodes)?;
        let inputs = read
            .iter()
            .map(|&e| self.numbers.object(e))
            .collect::<PyResult<Vec<_>>>()?;
        self.asked
            .2
            .call1((nodes, PyList::new(py, inputs)?, PyList::new(py, reads)?))
    }
}
