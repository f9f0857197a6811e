//! From a planned graph to the steps of a plan: which kernel runs on which arrays.

use super::plan::{Description, Step as Numbered};
use super::planned::Planned;
use crate::life::Inside;
use crate::operator::{Maker, Prepared};
use crate::support::convert::req;
use crate::support::errors::misuse;
use crate::support::hash::Hashing;
use ferromix_engine::Name;
use ferromix_kernels::{Desc, Req};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::collections::HashMap;

/// Where the array of a value comes from.
pub(crate) enum Source {
    /// It is given, with this number.
    Given(usize),
    /// It lies in a buffer, so many bytes from the start.
    Within(usize, usize, Desc),
    /// It is the array of an earlier slot, in another shape.
    View(usize, Desc),
}

/// An operator and the slots that it works on.
pub(crate) struct Step {
    pub(crate) prepared: Py<Prepared>,
    pub(crate) name: Name,
    pub(crate) inputs: SmallVec<[u32; 3]>,
    /// Last those inputs that it changes.
    pub(crate) outputs: SmallVec<[Option<u32>; 2]>,
    pub(crate) reqs: SmallVec<[Req; 2]>,
}

/// The steps of a graph, to be bound to arrays any number of times.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Lowered {
    /// Where the array of each slot comes from; views come after what they are views of.
    pub(crate) slots: Vec<Source>,
    pub(crate) steps: Vec<Step>,
}

#[pymethods]
impl Lowered {
    fn __len__(&self) -> usize {
        self.steps.len()
    }
}

/// The steps of the nodes of `planned` from the number `first` on, but for views, which need none.
///
/// `given` are the entries that have arrays, and to those in `adds` is added. `about(node)` gives what makes
/// kernels for the node's operator where the node runs, the inputs that it changes, and what it does with
/// them. Where that is None, `ask(node, inputs, outputs)` gives the prepared operator for such shapes and
/// types. Each is called once for nodes that are alike.
#[pyfunction]
pub(super) fn lower<'py>(
    planned: &Bound<'py, Planned>,
    first: usize,
    given: Vec<Bound<'py, PyAny>>,
    adds: &Bound<'py, PyAny>,
    about: &Bound<'py, PyAny>,
    ask: &Bound<'py, PyAny>,
) -> PyResult<Lowered> {
    let _inside = Inside::enter(about.py());
    let planned = planned.get();
    let mut run = Run::new(planned, &given, adds)?;
    let order = planned.order.bind(about.py());
    for (node, step) in order.iter().zip(&planned.steps).skip(first) {
        run.add(&node, step, (about, ask))?;
    }
    Ok(Lowered {
        slots: run.slots,
        steps: run.steps,
    })
}

/// An entry of a graph.
#[derive(Clone, Copy, Default)]
struct Fact {
    slot: Option<u32>,
    /// What it is a view of.
    view: Option<u32>,
    inplace: bool,
    add: bool,
}

type Question = SmallVec<[u32; 8]>;

/// The two functions of [`lower`].
type Asked<'a, 'py> = (&'a Bound<'py, PyAny>, &'a Bound<'py, PyAny>);

/// What a card says of all its nodes on a device.
struct About {
    maker: Option<Py<Maker>>,
    changed: SmallVec<[usize; 2]>,
    state: Req,
}

/// The numbers of a prepared operator, and of what its card says.
#[derive(Clone, Copy)]
struct Answer {
    prepared: usize,
    about: usize,
}

struct Run<'a> {
    planned: &'a Planned,
    facts: Vec<Fact>,
    slots: Vec<Source>,
    steps: Vec<Step>,
    kernels: Vec<Py<Prepared>>,
    answers: HashMap<Question, Answer, Hashing>,
    abouts: Vec<About>,
    /// Places in `abouts` by card and device.
    by_card: HashMap<(usize, usize), usize, Hashing>,
}

impl<'a> Run<'a> {
    fn new(
        planned: &'a Planned,
        given: &[Bound<'_, PyAny>],
        adds: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let mut run = Run {
            planned,
            facts: vec![Fact::default(); planned.entries.len()],
            slots: Vec::with_capacity(given.len() + planned.places.len()),
            steps: Vec::with_capacity(planned.steps.len()),
            kernels: Vec::new(),
            answers: HashMap::default(),
            abouts: Vec::new(),
            by_card: HashMap::default(),
        };
        for (number, entry) in given.iter().enumerate() {
            if let Some(entry) = planned.entries.find(entry)? {
                run.facts[entry as usize].slot = Some(u32::try_from(number)?);
            }
            run.slots.push(Source::Given(number));
        }
        for (entry, place) in planned.places.iter().enumerate() {
            if let (Some((buffer, offset)), None) = (*place, run.facts[entry].slot) {
                run.facts[entry].slot = Some(u32::try_from(run.slots.len())?);
                let desc = run.description(entry)?.0.clone();
                let offset = usize::try_from(offset)?;
                run.slots.push(Source::Within(buffer, offset, desc));
            }
        }
        for &(entry, of) in &planned.views {
            run.facts[entry as usize].view = Some(of);
        }
        for &(entry, _) in &planned.inplace {
            run.facts[entry as usize].inplace = true;
        }
        for entry in adds.try_iter()? {
            if let Some(entry) = planned.entries.find(&entry?)? {
                run.facts[entry as usize].add = true;
            }
        }
        Ok(run)
    }

    fn description(&self, entry: usize) -> PyResult<&'a Description> {
        let number = self.planned.described[entry] as usize;
        let found = self.planned.descriptions.get(number);
        found.ok_or_else(|| misuse("lower: an entry has no shape, or no element type"))
    }

    fn add(
        &mut self,
        node: &Bound<'_, PyAny>,
        planned: &Numbered,
        asked: Asked<'_, '_>,
    ) -> PyResult<()> {
        if self.view(&planned.outputs)? {
            return Ok(());
        }
        let answer = self.ask(node, planned, asked)?;
        let name = node.getattr(intern!(node.py(), "name"))?;
        let step = self.step(&name.extract::<PyBackedStr>()?, answer, planned, node.py())?;
        self.steps.push(step);
        Ok(())
    }

    /// Has views share the arrays of what they are views of; whether the node is one.
    fn view(&mut self, outputs: &[u32]) -> PyResult<bool> {
        for &output in outputs {
            let fact = self.facts[output as usize];
            let (Some(of), None) = (fact.view, fact.slot) else {
                continue;
            };
            let Some(of) = self.facts[of as usize].slot else {
                return Err(misuse("lower: a view of what has no array"));
            };
            self.facts[output as usize].slot = Some(u32::try_from(self.slots.len())?);
            let desc = self.description(output as usize)?.0.clone();
            self.slots.push(Source::View(of as usize, desc));
        }
        let first = outputs.first();
        Ok(first.is_some_and(|&first| self.facts[first as usize].view.is_some()))
    }

    fn ask(
        &mut self,
        node: &Bound<'_, PyAny>,
        step: &Numbered,
        (about, ask): Asked<'_, '_>,
    ) -> PyResult<Answer> {
        let key = (step.facts, step.device);
        let mut question: Question = SmallVec::new();
        question.push(u32::try_from(step.facts)?);
        question.push(u32::try_from(step.device)?);
        let described = |&entry: &u32| self.planned.described[entry as usize];
        question.extend(step.inputs.iter().chain(&step.outputs).map(described));
        if let Some(answer) = self.answers.get(&question) {
            return Ok(*answer);
        }
        let about = self.about(node, key, about)?;
        let descs = |entries: &[u32]| {
            let found = entries.iter().map(|&e| self.description(e as usize));
            found.collect::<PyResult<SmallVec<[&Description; 4]>>>()
        };
        let (read, written) = (descs(&step.inputs)?, descs(&step.outputs)?);
        let prepared = if let Some(maker) = &self.abouts[about].maker {
            let descs = |of: &[&Description]| of.iter().map(|d| d.0.clone()).collect();
            maker
                .get()
                .prepared(node.py(), descs(&read), descs(&written))?
        } else {
            let pairs = |of: &[&Description]| PyTuple::new(node.py(), of.iter().map(|d| &d.1));
            let prepared = ask.call1((node, pairs(&read)?, pairs(&written)?))?;
            prepared.extract()?
        };
        self.kernels.push(prepared);
        let answer = Answer {
            prepared: self.kernels.len() - 1,
            about,
        };
        self.answers.insert(question, answer);
        Ok(answer)
    }

    /// The number of what a node's card says where the node runs.
    fn about(
        &mut self,
        node: &Bound<'_, PyAny>,
        key: (usize, usize),
        about: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        if let Some(&known) = self.by_card.get(&key) {
            return Ok(known);
        }
        let (maker, changed, state): (Option<Py<Maker>>, Vec<usize>, u8) =
            about.call1((node,))?.extract()?;
        self.abouts.push(About {
            maker,
            changed: changed.into(),
            state: req(state)?,
        });
        self.by_card.insert(key, self.abouts.len() - 1);
        Ok(self.abouts.len() - 1)
    }

    fn step(
        &self,
        name: &str,
        answer: Answer,
        planned: &Numbered,
        py: Python<'_>,
    ) -> PyResult<Step> {
        let mut inputs = SmallVec::new();
        for &entry in &planned.inputs {
            let slot = self.facts[entry as usize].slot;
            inputs.push(slot.ok_or_else(|| misuse("lower: an input has no array"))?);
        }
        let facts = planned.outputs.iter().map(|&o| self.facts[o as usize]);
        let request = |fact: Fact| match fact.slot {
            None => Req::Null,
            Some(_) if fact.add => Req::Add,
            Some(_) if fact.inplace => Req::Inplace,
            Some(_) => Req::Write,
        };
        let mut reqs: SmallVec<[Req; 2]> = facts.clone().map(request).collect();
        let mut written: SmallVec<[Option<u32>; 2]> = facts.map(|fact| fact.slot).collect();
        let about = &self.abouts[answer.about];
        for &i in &about.changed {
            written.push(inputs.get(i).copied());
            reqs.push(about.state);
        }
        let prepared = &self.kernels[answer.prepared];
        Ok(Step {
            prepared: prepared.clone_ref(py),
            name: Name::intern_of(prepared.get().name.as_str(), name),
            inputs,
            outputs: written,
            reqs,
        })
    }
}
