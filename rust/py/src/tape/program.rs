//! Backward passes as programs: which operators run, on which values, and how long those are needed.
//!
//! A program follows from what was recorded, but for shapes: the operators, where their inputs came
//! from, and what is asked for. So a loop that records the same again and again has Python make one
//! program, which is found again by these facts.

use super::node::State;
use super::trace::{Source, Trace};
use crate::call::Call;
use crate::protocol::Frontend;
use crate::support::errors::to_py;
use crate::support::hash::Hashing;
use ferromix_base::Error;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Nodes of all tapes together whose programs are remembered: some hundred megabytes at most. Those used
/// longest ago are forgotten.
const MOST: usize = 200_000;
/// The nodes that a program with objects of a user's counts for besides its own.
const OWN: usize = MOST / 16;

/// Where the tape has a value: a node, whether the value is an input of it, and its number there.
pub(crate) type Place = (usize, bool, usize);

/// A backward pass. Values lie in slots, which are numbered from 0.
#[derive(FromPyObject)]
pub(crate) struct Program {
    slots: usize,
    /// Slots of values that the tape has, with their places. All have the same array; each says
    /// whether it was overwritten since.
    pub(super) loads: Vec<(usize, Vec<Place>)>,
    /// Slots of the heads' gradients, and the number of the head.
    pub(super) seeds: Vec<(usize, usize)>,
    pub(super) steps: Vec<Step>,
    /// The slot of the gradient of each wanted variable; None where it is zero.
    pub(super) gradients: Vec<Option<usize>>,
    /// The gradients that are the results of steps, which can write them where they are wanted.
    pub(super) direct: Vec<bool>,
    pub(super) copy: Py<Call>,
    pub(super) zeros: Py<Call>,
    pub(super) ones: Py<Call>,
    /// Whether another tape like this one can be differentiated by it.
    reusable: bool,
    /// Whether it keeps objects of a user's, which may be large.
    few_kept: bool,
}

/// One run of an operator.
#[derive(FromPyObject)]
pub(super) struct Step {
    pub(super) work: Work,
    pub(super) inputs: Vec<usize>,
    /// None for outputs that nobody reads.
    pub(super) outputs: Vec<Option<usize>>,
    /// Slots that no later step reads.
    pub(super) last: Vec<usize>,
    /// Numbers of the inputs whose memory the outputs may take.
    pub(super) dying: Vec<usize>,
}

#[derive(FromPyObject)]
pub(super) enum Work {
    Call(Py<Call>),
    /// A card that Python runs.
    Python(Py<PyAny>),
}

/// What a program computes.
pub(super) struct Request<'a> {
    /// The nodes of the variables whose gradients are asked for.
    pub(super) wanted: &'a [usize],
    /// Those whose gradient is added to what is there.
    pub(super) adds: &'a [bool],
    /// Whether every output of every step is needed, as the steps are recorded.
    pub(super) create_graph: bool,
}

impl Program {
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// Whether all numbers are those of slots, nodes and so on.
    fn is_sound(&self, heads: usize, wanted: usize) -> bool {
        let slot = |slot: &usize| *slot < self.slots;
        self.loads
            .iter()
            .all(|(s, places)| slot(s) && !places.is_empty())
            && self.seeds.iter().all(|(s, head)| slot(s) && *head < heads)
            && self.gradients.iter().flatten().all(slot)
            && self.gradients.len() == wanted
            && self.direct.len() == wanted
            && self.steps.iter().all(|step| {
                let some = step.outputs.iter().flatten();
                step.inputs.iter().chain(some).chain(&step.last).all(slot)
                    && step.dying.iter().all(|&i| i < step.inputs.len())
            })
    }
}

/// A program that is remembered.
struct Known {
    program: Arc<Program>,
    /// The nodes of its tape.
    nodes: usize,
    /// When it was used last, counted in uses.
    used: u64,
    /// The cards whose addresses are in the key, which so are nobody else's.
    _cards: Vec<Py<PyAny>>,
}

#[derive(Default)]
struct Programs {
    known: HashMap<Key, Known, Hashing>,
    nodes: usize,
    uses: u64,
}

impl Programs {
    fn find(&mut self, key: &Key) -> Option<Arc<Program>> {
        self.uses += 1;
        let known = self.known.get_mut(key)?;
        known.used = self.uses;
        Some(known.program.clone())
    }

    /// Adds a program; what is forgotten for it.
    fn add(&mut self, key: Key, mut new: Known) -> Vec<Known> {
        new.used = self.uses;
        self.nodes += new.nodes;
        let mut forgotten: Vec<Known> = self.known.insert(key, new).into_iter().collect();
        if self.nodes > MOST {
            // Half of them at once, so that a loop over more than fit does not search for each.
            let mut uses: Vec<u64> = self.known.values().map(|known| known.used).collect();
            uses.sort_unstable();
            let middle = uses[uses.len() / 2];
            let old = self.known.extract_if(|_, known| known.used < middle);
            forgotten.extend(old.map(|(_, known)| known));
        }
        self.nodes -= forgotten.iter().map(|known| known.nodes).sum::<usize>();
        forgotten
    }
}

/// The facts from which a program follows, as numbers.
#[derive(PartialEq, Eq)]
struct Key(Vec<usize>);

impl Hash for Key {
    /// By numbers; a slice would be hashed by bytes.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|&fact| state.write_usize(fact));
    }
}

static PROGRAMS: Mutex<Option<Programs>> = Mutex::new(None);

/// Calls `f` with what is remembered. It must not run Python code.
fn programs<R>(f: impl FnOnce(&mut Programs) -> R) -> R {
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    f(programs.get_or_insert_default())
}

/// The program for what was recorded, which Python makes where it is not known.
pub(super) fn find(trace: &Bound<'_, Trace>, request: &Request<'_>) -> PyResult<Arc<Program>> {
    let py = trace.py();
    let (key, cards) = describe(py, trace.get(), request);
    if let Some(program) = programs(|programs| programs.find(&key)) {
        return Ok(program);
    }
    let program = py.backward_program(trace, request.wanted, request.adds, request.create_graph)?;
    if !program.is_sound(trace.get().heads.len(), request.wanted.len()) {
        return Err(to_py(Error::internal(
            "a backward pass that does not fit its tape",
        )));
    }
    let program = Arc::new(program);
    let nodes = trace.get().nodes.len() + if program.few_kept { OWN } else { 0 };
    if program.reusable && nodes <= MOST / 2 {
        let new = Known {
            program: program.clone(),
            nodes,
            used: 0,
            _cards: cards,
        };
        let forgotten = programs(|programs| programs.add(key, new));
        drop(forgotten); // may run Python code, so not under the lock
    }
    Ok(program)
}

/// The facts of a trace, and its cards.
fn describe(py: Python<'_>, trace: &Trace, request: &Request<'_>) -> (Key, Vec<Py<PyAny>>) {
    let (mut facts, mut cards) = (Vec::new(), Vec::new());
    for node in &trace.nodes {
        node.with(|state| match state {
            State::Variable(variable) => facts.extend([0, variable.request.into()]),
            State::Freed { .. } => facts.extend([0, 0]),
            State::Operation(operation) => {
                let card = operation.operator.card(py);
                facts.push(card.as_ref().map_or(0, |card| card.as_ptr() as usize));
                facts.push(operation.inputs.len());
                cards.extend(card);
                let origins = operation.inputs.iter().map(|input| input.origin.as_ref());
                origins.for_each(|o| source(&mut facts, o.map(|o| trace.place(o))));
            }
        });
    }
    trace
        .heads
        .iter()
        .for_each(|head| source(&mut facts, Some(*head)));
    for (wanted, add) in request.wanted.iter().zip(request.adds) {
        facts.extend([*wanted, usize::from(*add)]);
    }
    facts.push(usize::from(request.create_graph));
    (Key(facts), cards)
}

fn source(facts: &mut Vec<usize>, source: Source) {
    match source {
        None => facts.push(usize::MAX),
        Some((node, output)) => facts.extend([node, output]),
    }
}
