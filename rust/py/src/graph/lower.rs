//! From a planned graph to the steps of a plan: which kernel runs on which arrays.

use super::{ByAddress, Numbers, address, card, inputs, is_plain};
use crate::operator::{Maker, Prepared};
use crate::support::convert::{dtype, req};
use crate::support::errors::misuse;
use crate::support::hash::Hashing;
use ferromix_engine::Name;
use ferromix_kernels::{Desc, Req};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList, PySet, PyTuple};
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

/// What is decided on a graph: shapes and element types of all entries; the entries that have arrays;
/// by the memory plan places, views and what is written over which input; what is added to.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Decided<'py> {
    shapes: Bound<'py, PyDict>,
    types: Bound<'py, PyDict>,
    given: Bound<'py, PyDict>,
    places: Bound<'py, PyDict>,
    views: Bound<'py, PyDict>,
    inplace: Bound<'py, PyDict>,
    adds: Bound<'py, PySet>,
    devices: Bound<'py, PyDict>,
}

/// The steps of the nodes in `order`, but for views, which need none.
///
/// `about(node)` gives what makes kernels for the node's operator where the node runs, the inputs that it
/// changes, and what it does with them. Where that is None, `ask(node, inputs, outputs)` gives the prepared
/// operator for such shapes and types. Each is called once for nodes that are alike.
#[pyfunction]
pub(super) fn lower<'py>(
    order: &Bound<'py, PyList>,
    decided: Decided<'py>,
    about: &Bound<'py, PyAny>,
    ask: &Bound<'py, PyAny>,
) -> PyResult<Lowered> {
    let mut run = Run::new(&decided)?;
    for node in order {
        run.add(&node, &decided, (about, ask))?;
    }
    Ok(Lowered {
        slots: run.slots,
        steps: run.steps,
    })
}

/// An entry of a graph.
#[derive(Clone, Copy, Default)]
struct Fact {
    desc: u32,
    slot: Option<u32>,
    view: bool,
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

struct Run<'py> {
    numbers: Numbers<'py>,
    facts: Vec<Fact>,
    descs: Vec<(Desc, Bound<'py, PyTuple>)>,
    slots: Vec<Source>,
    steps: Vec<Step>,
    kernels: Vec<Py<Prepared>>,
    answers: HashMap<Question, Answer, Hashing>,
    abouts: Vec<About>,
    /// Places in `abouts` by card and device.
    by_card: HashMap<(u32, u32), usize, Hashing>,
    /// Numbers of cards, with how many outputs they have, and of devices.
    cards: ByAddress<(u32, usize)>,
    places: ByAddress<u32>,
}

impl<'py> Run<'py> {
    fn new(decided: &Decided<'py>) -> PyResult<Self> {
        let mut run = Run {
            numbers: Numbers::default(),
            facts: Vec::with_capacity(decided.shapes.len()),
            descs: Vec::new(),
            slots: Vec::new(),
            steps: Vec::new(),
            kernels: Vec::new(),
            answers: HashMap::default(),
            abouts: Vec::new(),
            by_card: HashMap::default(),
            cards: ByAddress::default(),
            places: ByAddress::default(),
        };
        run.describe(decided)?;
        for (number, (entry, _)) in decided.given.iter().enumerate() {
            run.fact(&entry)?.slot = Some(u32::try_from(number)?);
            run.slots.push(Source::Given(number));
        }
        for (entry, place) in &decided.places {
            let (buffer, offset) = place.extract()?;
            let fact = *run.fact(&entry)?;
            if fact.slot.is_none() {
                run.fact(&entry)?.slot = Some(u32::try_from(run.slots.len())?);
                let desc = run.descs[fact.desc as usize].0.clone();
                run.slots.push(Source::Within(buffer, offset, desc));
            }
        }
        for (entry, _) in &decided.views {
            run.fact(&entry)?.view = true;
        }
        for (entry, _) in &decided.inplace {
            run.fact(&entry)?.inplace = true;
        }
        for entry in &decided.adds {
            run.fact(&entry)?.add = true;
        }
        Ok(run)
    }

    /// Numbers all entries, and what differs among their shapes and types.
    fn describe(&mut self, decided: &Decided<'py>) -> PyResult<()> {
        let mut known: HashMap<(usize, usize), u32, Hashing> = HashMap::default();
        for (entry, shape) in &decided.shapes {
            let Some(name) = decided.types.get_item(&entry)? else {
                return Err(misuse("lower: an entry has no element type"));
            };
            let next = u32::try_from(self.descs.len())?;
            let desc = *known
                .entry((address(&shape), address(&name)))
                .or_insert(next);
            if desc == next {
                let extents: Vec<usize> = shape.extract()?;
                let element = dtype(&name.extract::<String>()?)?;
                let pair = PyTuple::new(entry.py(), [&shape, &name])?;
                self.descs.push((Desc::new(&extents, element), pair));
            }
            self.numbers.of(&entry)?;
            self.facts.push(Fact {
                desc,
                ..Fact::default()
            });
        }
        Ok(())
    }

    fn fact(&mut self, entry: &Bound<'py, PyAny>) -> PyResult<&mut Fact> {
        let (number, _) = self.numbers.of(entry)?;
        let fact = self.facts.get_mut(number as usize);
        fact.ok_or_else(|| misuse("lower: an entry has no shape"))
    }

    fn output(&mut self, node: &Bound<'py, PyAny>, number: usize) -> PyResult<usize> {
        let (number, new) = self.numbers.at(node.clone(), number)?;
        if new {
            return Err(misuse("lower: an output has no shape"));
        }
        Ok(number as usize)
    }

    fn add(
        &mut self,
        node: &Bound<'py, PyAny>,
        decided: &Decided<'py>,
        asked: Asked<'_, 'py>,
    ) -> PyResult<()> {
        let Some(card) = card(node)? else {
            return Err(misuse("lower: a variable is no step"));
        };
        let count = self.cards.len();
        let (number, count) = match self.cards.get(&address(&card)) {
            Some(&known) => known,
            None => {
                let names = card.getattr(intern!(node.py(), "output_names"))?.len()?;
                let new = (u32::try_from(count)?, names);
                self.cards.insert(address(&card), new);
                new
            }
        };
        let mut outputs: SmallVec<[usize; 2]> = SmallVec::new();
        if is_plain(node)? {
            for i in 0..count {
                outputs.push(self.output(node, i)?);
            }
        } else {
            let own = node.call_method0(intern!(node.py(), "outputs"))?;
            for entry in own.try_iter()? {
                outputs.push(self.numbers.of(&entry?)?.0 as usize);
            }
        }
        if self.view(&outputs, decided)? {
            return Ok(());
        }
        let mut read: SmallVec<[usize; 3]> = SmallVec::new();
        for entry in inputs(node)? {
            read.push(self.numbers.of(&entry)?.0 as usize);
        }
        let answer = self.ask(node, number, (&read, &outputs), decided, asked)?;
        let name = node.getattr(intern!(node.py(), "name"))?;
        let step = self.step(
            &name.extract::<PyBackedStr>()?,
            answer,
            &read,
            &outputs,
            node.py(),
        )?;
        self.steps.push(step);
        Ok(())
    }

    /// Has views share the arrays of what they are views of; whether the node is one.
    fn view(&mut self, outputs: &[usize], decided: &Decided<'py>) -> PyResult<bool> {
        let mut first = true;
        let mut is_view = false;
        for &output in outputs {
            let fact = self.facts[output];
            is_view |= first && fact.view;
            first = false;
            if !fact.view || fact.slot.is_some() {
                continue;
            }
            let entry = self.numbers.object(u32::try_from(output)?)?;
            let source = decided.views.get_item(&entry)?;
            let source = source.map(|s| self.fact(&s).map(|f| f.slot)).transpose()?;
            let Some(of) = source.flatten() else {
                return Err(misuse("lower: a view of what has no array"));
            };
            self.facts[output].slot = Some(u32::try_from(self.slots.len())?);
            let desc = self.descs[fact.desc as usize].0.clone();
            self.slots.push(Source::View(of as usize, desc));
        }
        Ok(is_view)
    }

    fn ask(
        &mut self,
        node: &Bound<'py, PyAny>,
        card: u32,
        (read, outputs): (&[usize], &[usize]),
        decided: &Decided<'py>,
        (about, ask): Asked<'_, 'py>,
    ) -> PyResult<Answer> {
        let next = u32::try_from(self.places.len())?;
        let device = match decided.devices.get_item(node)? {
            Some(device) => *self.places.entry(address(&device)).or_insert(next),
            None => u32::MAX,
        };
        let mut question: Question = SmallVec::from_slice(&[card, device]);
        question.extend(read.iter().chain(outputs).map(|&e| self.facts[e].desc));
        if let Some(answer) = self.answers.get(&question) {
            return Ok(*answer);
        }
        let about = self.about(node, (card, device), about)?;
        let desc = |&entry: &usize| &self.descs[self.facts[entry].desc as usize];
        let prepared = if let Some(maker) = &self.abouts[about].maker {
            let descs = |entries: &[usize]| entries.iter().map(|e| desc(e).0.clone()).collect();
            maker
                .get()
                .prepared(node.py(), descs(read), descs(outputs))?
        } else {
            let descs = |entries: &[usize]| {
                PyTuple::new(
                    node.py(),
                    entries.iter().map(|e| &desc(e).1).collect::<Vec<_>>(),
                )
            };
            let prepared = ask.call1((node, descs(read)?, descs(outputs)?))?;
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
        node: &Bound<'py, PyAny>,
        key: (u32, u32),
        about: &Bound<'py, PyAny>,
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
        read: &[usize],
        outputs: &[usize],
        py: Python<'py>,
    ) -> PyResult<Step> {
        let mut inputs = SmallVec::new();
        for &entry in read {
            let slot = self.facts[entry].slot;
            inputs.push(slot.ok_or_else(|| misuse("lower: an input has no array"))?);
        }
        let request = |&output: &usize| {
            let fact = self.facts[output];
            match fact.slot {
                None => Req::Null,
                Some(_) if fact.add => Req::Add,
                Some(_) if fact.inplace => Req::Inplace,
                Some(_) => Req::Write,
            }
        };
        let mut reqs: SmallVec<[Req; 2]> = outputs.iter().map(request).collect();
        let mut written: SmallVec<[Option<u32>; 2]> =
            outputs.iter().map(|&o| self.facts[o].slot).collect();
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
