//! What a pass takes whose results are computed again for its backward half; see
//! `python/ferromix/graph/recompute.py`.

use super::super::new_entry;
use super::read::{Cards, Marked};
use super::{NONE, Planner, Step};
use ferromix_runtime::places;
use ferromix_runtime::recompute::{Candidate, Pass, select};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use smallvec::SmallVec;

/// A result that may be dropped: the operator that gives it again; what that reads; the seconds for it, and whether
/// it takes longer than its memory does, None for what may not be chosen; whether it is dropped in any case.
type Row<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<(f64, bool)>,
    bool,
);

/// What to drop of `rows` so that a pass takes at most `budget` bytes, at little cost and in at most `most`
/// seconds more.
///
/// The first `forward` nodes of `order` are those of the forward pass, whose order `rows` have; other arguments
/// are as [`super::plan_memory`] has them.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a graph, and what is asked for")]
pub(in super::super) fn select_dropped<'py>(
    order: &Bound<'py, PyList>,
    sizes: &Bound<'py, PyAny>,
    fixed: &Bound<'py, PyAny>,
    devices: &Bound<'py, PyDict>,
    left_out: &Bound<'py, PyAny>,
    ask: &Bound<'py, PyAny>,
    forward: usize,
    rows: Vec<Row<'py>>,
    budget: u64,
    most: f64,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let none = PyList::empty(order.py()).into_any();
    let marked: Marked<'_, 'py> = (fixed, &none, left_out);
    let mut cards = Cards::default();
    let planner = Planner::new(order, sizes, marked, devices, (ask, &mut cards))?;
    let mut search = Search::new(planner, forward);
    // Rows stay, as their operators are known by address.
    for row in &rows {
        search.add(row, ask, &mut cards)?;
    }
    let chosen = search.select(budget, most);
    let nodes = &search.planner.numbers.nodes;
    let entry = |&entry: &u32| {
        let (node, output) = &nodes[entry as usize];
        new_entry(node, *output)
    };
    chosen.iter().map(entry).collect()
}

/// A pass by number, as it was made.
struct Search<'py> {
    planner: Planner<'py>,
    forward: Vec<Step>,
    backward: Vec<Step>,
    able: Vec<Able>,
    /// By entry: its number in `able`, or nothing.
    numbers: Vec<u32>,
}

/// What may be dropped.
struct Able {
    entry: u32,
    /// The step that gives it again, and its result there.
    again: Step,
    cost: Option<(f64, bool)>,
    forced: bool,
}

impl<'py> Search<'py> {
    fn new(mut planner: Planner<'py>, forward: usize) -> Self {
        let mut steps = std::mem::take(&mut planner.steps);
        let backward = steps.split_off(forward.min(steps.len()));
        Search {
            numbers: vec![NONE; planner.size.len()],
            forward: steps,
            backward,
            able: Vec::new(),
            planner,
        }
    }

    fn add(&mut self, row: &Row<'py>, ask: &Bound<'py, PyAny>, cards: &mut Cards) -> PyResult<()> {
        let (entry, card, read, cost, forced) = row;
        let planner = &mut self.planner;
        let known = planner.known(entry)?;
        let inputs = read.try_iter()?.map(|input| planner.known(&input?));
        let inputs = inputs.collect::<PyResult<SmallVec<_>>>()?;
        let (facts, _) = planner.facts(card, ask, cards)?;
        let device = planner.device[known as usize];
        let new = u32::try_from(planner.size.len())?;
        planner.grow(device);
        planner.size[new as usize] = planner.size[known as usize];
        self.numbers.push(NONE);
        self.numbers[known as usize] = u32::try_from(self.able.len())?;
        self.able.push(Able {
            entry: known,
            again: Step {
                facts,
                device,
                inputs,
                outputs: SmallVec::from_slice(&[new]),
            },
            cost: *cost,
            forced: *forced,
        });
        Ok(())
    }

    /// The entries to drop, without those that are dropped in any case.
    fn select(&mut self, budget: u64, most: f64) -> Vec<u32> {
        let (candidates, numbers) = self.candidates();
        let forward = std::mem::take(&mut self.forward);
        let halves = forward.iter().map(|step| (&step.inputs, &step.outputs));
        let passes: Vec<_> = halves
            .map(|(reads, writes)| Pass { reads, writes })
            .collect();
        let peak = |chosen: &[usize]| {
            let mut dropped: Vec<bool> = self.able.iter().map(|able| able.forced).collect();
            chosen.iter().for_each(|&i| dropped[numbers[i]] = true);
            self.peak(&forward, &dropped)
        };
        let chosen = select(&passes, &candidates, peak, budget, most);
        chosen
            .iter()
            .map(|&i| self.able[numbers[i]].entry)
            .collect()
    }

    /// What may be chosen, in the order of the forward pass, and their numbers in `able`.
    fn candidates(&self) -> (Vec<Candidate>, Vec<usize>) {
        let candidate = |(step, writes): (usize, &Step)| {
            let &entry = writes.outputs.first()?;
            let number = self.numbers[entry as usize];
            let (seconds, heavy) = self.able.get(number as usize)?.cost?;
            let size = self.planner.size[entry as usize];
            let candidate = Candidate {
                step,
                size,
                seconds,
                heavy,
            };
            Some((candidate, number as usize))
        };
        self.forward
            .iter()
            .enumerate()
            .filter_map(candidate)
            .unzip()
    }

    /// The bytes alive at the worst step of a pass without what is dropped.
    fn peak(&mut self, forward: &[Step], dropped: &[bool]) -> u64 {
        let mut steps = forward.to_vec();
        let mut there = vec![false; self.able.len()];
        for step in &self.backward {
            for &input in &step.inputs {
                self.add_again(input, dropped, &mut there, &mut steps);
            }
            steps.push(self.moved(step, &there));
        }
        let planner = &mut self.planner;
        planner.steps = steps;
        planner.find_last();
        planner.place_all();
        places::peak(&planner.lives, planner.steps.len())
    }

    /// Adds what gives a result again where it is dropped, after what that needs.
    fn add_again(&self, entry: u32, dropped: &[bool], there: &mut [bool], steps: &mut Vec<Step>) {
        let missing = |entry: u32, there: &[bool]| {
            let number = self.numbers[entry as usize] as usize;
            (dropped.get(number) == Some(&true) && !there[number]).then_some(number)
        };
        let mut stack: Vec<usize> = missing(entry, there).into_iter().collect();
        while let Some(&number) = stack.last() {
            let again = &self.able[number].again;
            let before = stack.len();
            if !there[number] {
                let inputs = again.inputs.iter();
                stack.extend(inputs.filter_map(|&input| missing(input, there)));
            }
            if stack.len() > before {
                continue;
            }
            stack.pop();
            if !there[number] {
                steps.push(self.moved(again, there));
                there[number] = true;
            }
        }
    }

    /// A step that reads what is there again instead of what was dropped.
    fn moved(&self, step: &Step, there: &[bool]) -> Step {
        let mut moved = step.clone();
        for input in &mut moved.inputs {
            let number = self.numbers[*input as usize] as usize;
            if there.get(number) == Some(&true) {
                *input = self.able[number].again.outputs[0];
            }
        }
        moved
    }
}
