//! What a pass takes whose results are computed again for its backward half; see
//! `python/ferromix/graph/recompute.py`.

mod able;

use super::super::Entry;
use super::read::{Cards, Marked};
use super::{NONE, Planner, Step};
use crate::life::Inside;
use able::Able;
use ferromix_runtime::places;
use ferromix_runtime::places::recompute::{Candidate, Pass, select};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// What is asked for: entries that are dropped in any case; the bytes that a pass may take, or as few as may be
/// without what is dear; the share of a forward pass's time that recomputation may take.
type Wish<'py> = (Bound<'py, PyAny>, Option<u64>, f64);

/// The nodes whose first outputs to drop, by number, so that a pass takes few bytes, at little cost.
///
/// The first `forward` nodes of `order` are those of the forward pass, `states` are what operators change, and
/// `cost(card)` says how an operator's result is given again, see [`able::Cost`]; other arguments are as
/// [`super::plan_memory`] has them.
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
    states: &Bound<'py, PyAny>,
    cost: &Bound<'py, PyAny>,
    wish: Wish<'py>,
) -> PyResult<Vec<usize>> {
    let _inside = Inside::enter(order.py());
    let (forced, budget, share) = wish;
    let none = PyList::empty(order.py()).into_any();
    let marked: Marked<'_, 'py> = (fixed, &none, left_out);
    let mut cards = Cards::default();
    let planner = Planner::new(order, sizes, marked, devices, (ask, &mut cards))?;
    let mut search = Search::new(planner, forward);
    let (changed, forced) = (search.flags(states)?, search.flags(&forced)?);
    search.find_able(order, (ask, cost), &mut cards, &changed)?;
    search
        .able
        .iter_mut()
        .for_each(|able| able.forced = forced[able.entry as usize]);
    Ok(search.select(budget, share))
}

/// A pass by number, as it was made.
struct Search<'py> {
    planner: Planner<'py>,
    forward: Vec<Step>,
    backward: Vec<Step>,
    /// What may be dropped, in the order of the forward pass.
    able: Vec<Able>,
    /// By entry: its number in `able`, or nothing.
    numbers: Vec<u32>,
    /// What the forward half takes.
    seconds: f64,
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
            seconds: 0.0,
            planner,
        }
    }

    /// Which entries are among those given.
    fn flags(&self, entries: &Bound<'py, PyAny>) -> PyResult<Vec<bool>> {
        let mut flags = vec![false; self.planner.size.len()];
        for entry in entries.try_iter()? {
            if let Some(number) = self.planner.numbers.find(&Entry::of(&entry?)?) {
                flags[number as usize] = true;
            }
        }
        Ok(flags)
    }

    /// The steps whose first results to drop.
    fn select(&mut self, budget: Option<u64>, share: f64) -> Vec<usize> {
        let choosable = |&i: &usize| budget.is_some() || !self.able[i].cost.heavy;
        let numbers: Vec<usize> = (0..self.able.len()).filter(choosable).collect();
        let candidates: Vec<Candidate> = numbers.iter().map(|&i| self.able[i].cost).collect();
        let forward = std::mem::take(&mut self.forward);
        let halves = forward.iter().map(|step| (&step.inputs, &step.outputs));
        let passes: Vec<_> = halves
            .map(|(reads, writes)| Pass { reads, writes })
            .collect();
        let anyway: Vec<bool> = self.able.iter().map(|able| able.forced).collect();
        let most = share * self.seconds;
        let peak = |chosen: &[usize]| {
            let mut dropped = anyway.clone();
            chosen.iter().for_each(|&i| dropped[numbers[i]] = true);
            self.peak(&forward, &dropped)
        };
        let chosen = select(&passes, &candidates, peak, budget.unwrap_or(0), most);
        let mut dropped = anyway;
        chosen.iter().for_each(|&i| dropped[numbers[i]] = true);
        let all = self.able.iter().zip(dropped);
        let steps = all.filter_map(|(able, dropped)| dropped.then_some(able.cost.step));
        steps.collect()
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
