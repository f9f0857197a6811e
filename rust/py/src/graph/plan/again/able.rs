//! Which results may be computed again, by which operator, and what that costs.

use super::super::super::card;
use super::super::read::Cards;
use super::super::{NONE, Step};
use super::Search;
use ferromix_runtime::places::recompute::{Candidate, seconds};
use pyo3::prelude::*;
use pyo3::types::PyList;
use smallvec::SmallVec;

/// What may be dropped.
pub(super) struct Able {
    pub(super) entry: u32,
    /// The step that gives it again, and its result there.
    pub(super) again: Step,
    pub(super) cost: Candidate,
    pub(super) forced: bool,
}

/// What a card says of its nodes.
#[derive(FromPyObject)]
pub(super) struct Cost<'py> {
    /// The operator that gives the first output once more, and which of the inputs and outputs, counted
    /// together, it reads; None where there is none.
    again: Option<(Bound<'py, PyAny>, Vec<usize>)>,
    /// Whether that runs on GPUs.
    on_gpu: bool,
    /// Which input is a weight, whose elements take part in a product for each position.
    weight: Option<usize>,
    /// Whether it takes longer than its memory does.
    heavy: bool,
}

impl<'py> Search<'py> {
    /// Asks what may be dropped: nothing that has memory of its own, and nothing that is changed or made from
    /// what is.
    pub(super) fn find_able(
        &mut self,
        order: &Bound<'py, PyList>,
        (ask, ask_cost): (&Bound<'py, PyAny>, &Bound<'py, PyAny>),
        cards: &mut Cards,
        changed: &[bool],
    ) -> PyResult<()> {
        // By the number of the operator. They stay, since operators are known by address.
        let mut known: Vec<Option<Cost<'py>>> = Vec::new();
        for (number, node) in order.iter().take(self.forward.len()).enumerate() {
            let facts = self.forward[number].facts;
            known.resize_with(known.len().max(facts + 1), || None);
            if known[facts].is_none() {
                let own = card(&node)?.unwrap_or(node);
                known[facts] = Some(ask_cost.call1((own,))?.extract()?);
            }
            let Some(about) = &known[facts] else {
                continue;
            };
            let cost = self.cost(number, about);
            self.seconds += cost.seconds;
            let Some((operator, reads)) = &about.again else {
                continue;
            };
            let Some((entry, reads)) = self.reads(number, reads) else {
                continue;
            };
            let stays = reads.iter().chain([&entry]).all(|&e| !changed[e as usize]);
            let near = self.planner.devices.cpus[self.forward[number].device];
            if stays && !self.planner.fixed[entry as usize] && (near || about.on_gpu) {
                let (facts, _) = self.planner.facts(operator, ask, cards)?;
                self.add(entry, cost, facts, reads)?;
            }
        }
        Ok(())
    }

    /// The first result of a step, and what gives it again reads.
    fn reads(&self, number: usize, reads: &[usize]) -> Option<(u32, SmallVec<[u32; 4]>)> {
        let step = &self.forward[number];
        let entries: SmallVec<[u32; 8]> =
            step.inputs.iter().chain(&step.outputs).copied().collect();
        let reads = reads.iter().map(|&i| entries.get(i).copied());
        Some((*step.outputs.first()?, reads.collect::<Option<_>>()?))
    }

    /// What a step costs, by the bytes that it moves or the products that it adds up.
    fn cost(&self, number: usize, about: &Cost<'_>) -> Candidate {
        let step = &self.forward[number];
        let size = |&entry: &u32| self.planner.size[entry as usize];
        let moved: u64 = step.inputs.iter().chain(&step.outputs).map(size).sum();
        let shape = |entry: Option<&u32>| {
            let description = self.planner.described[*entry? as usize] as usize;
            Some(&self.planner.descriptions.get(description)?.0.shape)
        };
        let weight = about.weight.and_then(|i| shape(step.inputs.get(i)));
        let products = weight
            .zip(shape(step.outputs.first()))
            .map_or(0.0, |(weight, out)| {
                let taps = weight.iter().skip(1).product::<usize>() as f64;
                out.iter().product::<usize>() as f64 * taps
            });
        Candidate {
            step: number,
            size: step.outputs.first().map_or(0, size),
            seconds: seconds(moved, products),
            heavy: about.heavy,
        }
    }

    fn add(
        &mut self,
        entry: u32,
        cost: Candidate,
        facts: usize,
        inputs: SmallVec<[u32; 4]>,
    ) -> PyResult<()> {
        let planner = &mut self.planner;
        let device = planner.device[entry as usize];
        let new = u32::try_from(planner.size.len())?;
        planner.grow(device);
        planner.size[new as usize] = planner.size[entry as usize];
        self.numbers.resize(planner.size.len(), NONE);
        self.numbers[entry as usize] = u32::try_from(self.able.len())?;
        self.able.push(Able {
            entry,
            again: Step {
                facts,
                device,
                inputs,
                outputs: SmallVec::from_slice(&[new]),
            },
            cost,
            forced: false,
        });
        Ok(())
    }
}
