//! Reads from Python what a plan needs to know of a graph.

use super::super::devices::Devices;
use super::super::{ByAddress, Entry, Numbers, address, card, inputs, is_plain};
use super::{NONE, Planner};
use crate::support::convert::dtype;
use crate::support::errors::to_py;
use crate::support::hash::Hashing;
use ferromix_kernels::Desc;
use ferromix_runtime::byte_count;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// What an operator says of itself.
pub(in super::super) struct Facts {
    pub(super) views: bool,
    pub(super) inplace: Vec<(usize, usize)>,
    /// More of these, where the node runs on the CPU.
    pub(super) on_cpu: Vec<(usize, usize)>,
    pub(in super::super) ignored: Vec<usize>,
}

/// A shape and an element type, and the two as Python has them.
pub(in super::super) type Description = (Desc, Py<PyTuple>);

/// A node: the number of its card and of its device, and those of its entries.
#[derive(Clone, Default)]
pub(in super::super) struct Step {
    pub(in super::super) facts: usize,
    pub(in super::super) device: usize,
    pub(in super::super) inputs: SmallVec<[u32; 4]>,
    pub(in super::super) outputs: SmallVec<[u32; 2]>,
}

/// Collections of entries: those that have memory of their own, of which a view may be taken, and that have
/// none.
pub(super) type Marked<'a, 'py> = (
    &'a Bound<'py, PyAny>,
    &'a Bound<'py, PyAny>,
    &'a Bound<'py, PyAny>,
);

/// Of each card that was met, its number and that of its outputs.
pub(super) type Cards = ByAddress<(usize, usize)>;

impl<'py> Planner<'py> {
    pub(super) fn new(
        order: &Bound<'py, PyList>,
        sizes: &Bound<'py, PyAny>,
        (fixed, viewable, left_out): Marked<'_, 'py>,
        devices: &Bound<'py, PyDict>,
        (ask, cards): (&Bound<'py, PyAny>, &mut Cards),
    ) -> PyResult<Self> {
        let mut planner = Planner {
            numbers: Numbers::with_room(4 * order.len()),
            facts: Vec::new(),
            steps: Vec::with_capacity(order.len()),
            devices: Devices::new(devices),
            descriptions: Vec::new(),
            device: Vec::new(),
            described: Vec::new(),
            size: Vec::new(),
            last: Vec::new(),
            fixed: Vec::new(),
            viewable: Vec::new(),
            life: Vec::new(),
            lives: Vec::new(),
            none: Arc::from([]),
            members: Vec::new(),
            inplace: Vec::new(),
            views: Vec::new(),
            left_out: Vec::new(),
            may_shrink: true,
            shrinks: false,
        };
        for node in order {
            planner.add(&node, ask, cards)?;
        }
        match sizes.cast::<PyDict>() {
            Ok(sizes) => planner.measure(sizes)?,
            Err(_) => planner.describe(sizes.extract()?)?,
        }
        for entry in left_out.try_iter()? {
            if let Some(number) = planner.numbers.find(&Entry::of(&entry?)?) {
                planner.size[number as usize] = 0;
                planner.left_out.push(number);
            }
        }
        for (entries, flags) in [
            (fixed, &mut planner.fixed),
            (viewable, &mut planner.viewable),
        ] {
            for entry in entries.try_iter()? {
                if let Some(number) = planner.numbers.find(&Entry::of(&entry?)?) {
                    flags[number as usize] = true;
                }
            }
        }
        Ok(planner)
    }

    /// The number of an operator and how many outputs it has; it is asked where it is new.
    pub(super) fn facts(
        &mut self,
        card: &Bound<'py, PyAny>,
        ask: &Bound<'py, PyAny>,
        cards: &mut Cards,
    ) -> PyResult<(usize, usize)> {
        if let Some(&known) = cards.get(&address(card)) {
            return Ok(known);
        }
        let (views, inplace, on_cpu, ignored) = ask.call1((card,))?.extract()?;
        let outputs = card.getattr(intern!(card.py(), "output_names"))?.len()?;
        let known = (self.facts.len(), outputs);
        self.facts.push(Facts {
            views,
            inplace,
            on_cpu,
            ignored,
        });
        cards.insert(address(card), known);
        Ok(known)
    }

    fn add(
        &mut self,
        node: &Bound<'py, PyAny>,
        ask: &Bound<'py, PyAny>,
        cards: &mut Cards,
    ) -> PyResult<()> {
        let card = card(node)?.unwrap_or_else(|| node.clone());
        let (facts, outputs) = self.facts(&card, ask, cards)?;
        let mut read = SmallVec::new();
        for entry in inputs(node)?.iter() {
            read.push(self.number(&entry)?);
        }
        let mut written = SmallVec::new();
        if is_plain(node)? {
            let device = self.devices.of(node)?;
            for i in 0..outputs {
                let (number, new) = self.numbers.at(node.clone(), i)?;
                if new {
                    self.grow(device);
                }
                written.push(number);
            }
        } else {
            let own = node.call_method0(intern!(node.py(), "outputs"))?;
            for entry in own.try_iter()? {
                written.push(self.number(&entry?)?);
            }
        }
        let device = self.devices.of(node)?;
        self.steps.push(Step {
            facts,
            device,
            inputs: read,
            outputs: written,
        });
        Ok(())
    }

    /// Takes the bytes of entries.
    fn measure(&mut self, sizes: &Bound<'py, PyDict>) -> PyResult<()> {
        for (entry, size) in sizes {
            if let Some(number) = self.numbers.find(&Entry::of(&entry)?) {
                self.size[number as usize] = size.extract()?;
            }
        }
        Ok(())
    }

    /// Takes the shapes and the element types of entries.
    fn describe(
        &mut self,
        (shapes, types): (Bound<'py, PyDict>, Bound<'py, PyDict>),
    ) -> PyResult<()> {
        let mut found: Vec<Option<Bound<'py, PyAny>>> = vec![None; self.numbers.len()];
        for (entry, name) in types {
            if let Some(number) = self.numbers.find(&Entry::of(&entry)?) {
                found[number as usize] = Some(name);
            }
        }
        let mut known: HashMap<(usize, usize), u32, Hashing> = HashMap::default();
        let mut bytes = Vec::new();
        for (entry, shape) in shapes {
            let Some(number) = self.numbers.find(&Entry::of(&entry)?) else {
                continue;
            };
            let Some(name) = &found[number as usize] else {
                continue;
            };
            let next = u32::try_from(self.descriptions.len())?;
            let key = (address(&shape), address(name));
            let description = *known.entry(key).or_insert(next);
            if description == next {
                let extents: Vec<usize> = shape.extract()?;
                let element = dtype(&name.extract::<String>()?)?;
                bytes.push(byte_count(&extents, element).map_err(to_py)? as u64);
                let pair = PyTuple::new(entry.py(), [&shape, name])?;
                let desc = Desc::new(&extents, element);
                self.descriptions.push((desc, pair.unbind()));
            }
            self.described[number as usize] = description;
            self.size[number as usize] = bytes[description as usize];
        }
        Ok(())
    }

    fn number(&mut self, entry: &Bound<'py, PyAny>) -> PyResult<u32> {
        let (number, new) = self.numbers.of(entry)?;
        if new {
            let device = self.devices.of(&Entry::of(entry)?.node)?;
            self.grow(device);
        }
        Ok(number)
    }

    /// Makes room for another entry.
    pub(super) fn grow(&mut self, device: usize) {
        self.device.push(device);
        self.described.push(NONE);
        self.size.push(0);
        self.last.push(None);
        self.fixed.push(false);
        self.viewable.push(false);
        self.life.push(NONE);
    }
}
