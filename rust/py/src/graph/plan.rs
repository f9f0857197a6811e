//! The memory plan of a graph: which results share memory, given the order of execution.

mod again;
mod read;

use super::Numbers;
use super::devices::Devices;
use super::planned::{Entries, Planned, Tables};
use crate::life::Inside;
pub(super) use again::select_dropped;
use ferromix_runtime::places::{self, Life, Placed};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use read::Cards;
pub(super) use read::{Description, Facts, Step};
use smallvec::SmallVec;
use std::sync::Arc;

/// Plans the memory of one run of `order`; see `python/ferromix/graph/plan_memory.py`.
///
/// `sizes` has bytes by entry, or is a pair of shapes and of element types, from which they follow; what is
/// `left_out` has no memory. `ask(card)` says of an operator whether its output may be a view of its input,
/// which pairs of input and output may share memory, anywhere and on the CPU alone, and of which inputs only
/// the shape matters.
#[pyfunction]
pub(super) fn plan_memory<'py>(
    order: &Bound<'py, PyList>,
    sizes: &Bound<'py, PyAny>,
    fixed: &Bound<'py, PyAny>,
    viewable: &Bound<'py, PyAny>,
    devices: &Bound<'py, PyDict>,
    left_out: &Bound<'py, PyAny>,
    ask: &Bound<'py, PyAny>,
) -> PyResult<Planned> {
    let _inside = Inside::enter(order.py());
    let (marked, mut cards) = ((fixed, viewable, left_out), Cards::default());
    let mut planner = Planner::new(order, sizes, marked, devices, (ask, &mut cards))?;
    planner.find_last();
    planner.place_all();
    let found = planner.places();
    let peak = places::peak(&planner.lives, planner.steps.len());
    if planner.shrinks && found.total() > peak {
        // Results that lie over what they are made from leave less choice of places.
        planner.may_shrink = false;
        planner.place_all();
        let other = planner.places();
        if other.total() < found.total() {
            return Ok(planner.finish(order, &other));
        }
        planner.may_shrink = true;
        planner.place_all();
    }
    Ok(planner.finish(order, &found))
}

const NONE: u32 = u32::MAX;

struct Planner<'py> {
    numbers: Numbers<'py>,
    facts: Vec<Facts>,
    steps: Vec<Step>,
    devices: Devices<'py>,
    /// What differs among shapes and types, if these are given.
    descriptions: Vec<Description>,
    // By entry: the device of its node; its description; its bytes; the last step that reads it, -1 if a step only asks for
    // its shape, and nothing for one that no step takes; whether it has memory of its own, and a view
    // of that may be taken; its life.
    device: Vec<usize>,
    described: Vec<u32>,
    size: Vec<u64>,
    last: Vec<Option<i64>>,
    fixed: Vec<bool>,
    viewable: Vec<bool>,
    life: Vec<u32>,
    lives: Vec<Life>,
    /// What lives are apart from that are from nothing.
    none: Arc<[u32]>,
    /// The entries of each life.
    members: Vec<SmallVec<[u32; 2]>>,
    inplace: Vec<(u32, u32)>,
    views: Vec<(u32, u32)>,
    /// What has no memory.
    left_out: Vec<u32>,
    /// Whether a result may begin where a larger input does, and whether any does.
    may_shrink: bool,
    shrinks: bool,
}

impl<'py> Planner<'py> {
    /// Goes through all steps, from the start.
    fn place_all(&mut self) {
        self.life.fill(NONE);
        self.lives.clear();
        self.members.clear();
        self.inplace.clear();
        self.views.clear();
        for step in 0..self.steps.len() {
            self.place(step);
        }
    }

    /// Finds the last step that reads each entry.
    fn find_last(&mut self) {
        self.last.fill(None);
        for (step, number) in self.steps.iter().zip(0..) {
            let ignored = &self.facts[step.facts].ignored;
            for (i, &input) in step.inputs.iter().enumerate() {
                let last = &mut self.last[input as usize];
                if ignored.contains(&i) {
                    last.get_or_insert(-1);
                } else {
                    *last = Some(number);
                }
            }
        }
    }

    fn places(&self) -> Placed {
        places::place(&self.lives, self.devices.objects.len())
    }

    /// Pairs of input and output that may share memory on the CPU alone, for a step that runs there.
    fn cpu_options(&self, facts: usize, device: usize) -> &[(usize, usize)] {
        if self.devices.cpus[device] {
            &self.facts[facts].on_cpu
        } else {
            &[]
        }
    }

    /// Decides for each output of a step whether it shares the memory of an input.
    fn place(&mut self, number: usize) {
        // Taken out for as long as it is looked at.
        let step = std::mem::take(&mut self.steps[number]);
        self.place_step(number, &step);
        self.steps[number] = step;
    }

    fn place_step(&mut self, number: usize, step: &Step) {
        let (facts, device) = (step.facts, step.device);
        let (inputs, outputs) = (&step.inputs, &step.outputs);
        if self.facts[facts].views && self.view(inputs[0], outputs[0], device) {
            return;
        }
        let mut taken: SmallVec<[usize; 4]> = SmallVec::new();
        let mut replaced: SmallVec<[usize; 4]> = SmallVec::new();
        let everywhere = self.facts[facts].inplace.iter();
        let options: SmallVec<[(usize, usize); 4]> = everywhere
            .chain(self.cpu_options(facts, device))
            .copied()
            .collect();
        for (i, o) in options {
            let (Some(&source), Some(&out)) = (inputs.get(i), outputs.get(o)) else {
                continue;
            };
            if taken.contains(&o) || replaced.contains(&i) || !self.is_wanted(out) {
                continue;
            }
            let life = self.life[source as usize];
            if life != NONE
                && self.is_read_once(inputs, life)
                && self.may_replace(number, source, out, device)
            {
                self.join(out, source);
                self.inplace.push((out, source));
                taken.push(o);
                replaced.push(i);
            }
        }
        let ignored = &self.facts[facts].ignored;
        let lives = ignored.iter().map(|&i| self.life[inputs[i] as usize]);
        let apart: Arc<[u32]> = match ignored.is_empty() {
            true => self.none.clone(),
            false => lives.filter(|&life| life != NONE).collect(),
        };
        for (o, &out) in outputs.iter().enumerate() {
            if !taken.contains(&o) && self.is_wanted(out) {
                let first = i64::try_from(number).unwrap_or(i64::MAX);
                let last = first.max(self.last[out as usize].unwrap_or(-1));
                let size = self.size[out as usize];
                self.live(out, Life::new(size, first, last, device, &apart));
                if self.may_shrink {
                    self.shrink(number, step, (o, out));
                }
            }
        }
    }

    /// Has a result begin where an input does that dies here, if the operator allows it.
    fn shrink(&mut self, number: usize, step: &Step, (o, out): (usize, u32)) {
        let (facts, device) = (step.facts, step.device);
        for k in 0..self.cpu_options(facts, device).len() {
            let (i, other) = self.cpu_options(facts, device)[k];
            let Some(&source) = step.inputs.get(i) else {
                continue;
            };
            let of = self.life[source as usize];
            if other != o || of == NONE || !self.is_read_once(&step.inputs, of) {
                continue;
            }
            let from = &self.lives[of as usize];
            let (fixed, size, end, whole) = (from.fixed, from.size, from.last, from.whole);
            let near = self.device[source as usize] == device;
            if fixed || usize::try_from(end) != Ok(number) || !near {
                continue;
            }
            let life = &mut self.lives[self.life[out as usize] as usize];
            if life.size.saturating_mul(2) > size {
                continue;
            }
            life.whole = Some(whole.unwrap_or(of));
            life.first = end + 1;
            life.last = life.last.max(life.first);
            self.inplace.push((out, source));
            self.shrinks = true;
            return;
        }
    }

    /// Whether just one of these inputs is part of a life.
    fn is_read_once(&self, inputs: &[u32], life: u32) -> bool {
        let mut readers = inputs.iter().filter(|&&e| self.life[e as usize] == life);
        readers.next().is_some() && readers.next().is_none()
    }

    fn live(&mut self, entry: u32, life: Life) {
        self.life[entry as usize] = u32::try_from(self.lives.len()).unwrap_or(NONE);
        self.lives.push(life);
        self.members.push(SmallVec::from_slice(&[entry]));
    }

    fn is_wanted(&self, entry: u32) -> bool {
        self.last[entry as usize].is_some() && !self.fixed[entry as usize]
    }

    /// Makes an output a view of the input where both are ours to decide on.
    fn view(&mut self, source: u32, out: u32, device: usize) -> bool {
        if !self.is_wanted(out) || self.device[source as usize] != device {
            return false;
        }
        if self.life[source as usize] == NONE {
            if !self.viewable[source as usize] {
                return false;
            }
            let mut life = Life::new(0, -1, -1, device, &self.none);
            life.fixed = true;
            self.live(source, life);
        }
        self.join(out, source);
        self.views.push((out, source));
        true
    }

    /// Whether an input is read here for the last time.
    fn may_replace(&self, step: usize, source: u32, out: u32, device: usize) -> bool {
        let life = &self.lives[self.life[source as usize] as usize];
        !life.fixed
            && usize::try_from(life.last) == Ok(step)
            && self.device[source as usize] == device
            && life.size == self.size[out as usize]
    }

    fn join(&mut self, out: u32, source: u32) {
        let number = self.life[source as usize];
        let life = &mut self.lives[number as usize];
        life.last = life.last.max(self.last[out as usize].unwrap_or(-1));
        self.life[out as usize] = number;
        self.members[number as usize].push(out);
    }

    fn finish(self, order: &Bound<'py, PyList>, found: &Placed) -> Planned {
        let mut places = vec![None; self.numbers.len()];
        for &life in &found.order {
            for &entry in &self.members[life as usize] {
                places[entry as usize] = Some(found.places[life as usize]);
            }
        }
        let outside = self.left_out.iter().map(|&entry| entry as usize);
        outside.for_each(|entry| places[entry] = None);
        let device = |b: &(u64, usize)| self.devices.objects[b.1].clone().unbind();
        Planned {
            order: order.to_tuple().unbind(),
            peak: places::peak(&self.lives, self.steps.len()),
            buffers: found.buffers.iter().map(|b| b.0).collect(),
            devices: found.buffers.iter().map(device).collect(),
            entries: Entries::of(self.numbers),
            descriptions: self.descriptions,
            described: self.described,
            sizes: self.size,
            steps: self.steps,
            facts: self.facts,
            places,
            inplace: self.inplace,
            views: self.views,
            tables: Tables::new(),
        }
    }
}
