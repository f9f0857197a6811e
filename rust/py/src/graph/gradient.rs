//! The walk of the gradient pass: operators' rules are followed from the heads to the variables.

use super::{ByAddress, Entry, address, card, class, inputs, new_entry};
use crate::life::Inside;
use crate::support::errors::misuse;
use crate::support::hash::Hashing;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// What an operator says once for all its nodes.
#[derive(FromPyObject, Clone, Copy)]
struct Facts {
    arguments: usize,
    outputs: usize,
    visible: usize,
    needs_out_grad: bool,
    /// Whether its gradient changes states, and so has to run even where it is zero.
    updates: bool,
    /// Whether nodes with gradients of the same outputs follow one rule.
    lasts: bool,
}

/// A rule as `python/ferromix/graph/gradient.py` writes it down. Values are numbered: inputs and outputs
/// of the node, then what the steps give.
struct Rule<'py> {
    steps: Vec<Step<'py>>,
    gradients: Vec<Option<usize>>,
    alike: Vec<(usize, usize)>,
    /// The values that nodes of the rule read, or that are gradients themselves.
    reads: HashSet<usize, Hashing>,
}

/// The values of a rule, but for results of the node that nothing reads.
type Values<'py> = SmallVec<[Option<Bound<'py, PyAny>>; 16]>;

enum Step<'py> {
    /// The gradient of an output.
    Read(usize),
    Make(Made<'py>),
}

#[derive(FromPyObject)]
struct Made<'py> {
    card: Bound<'py, PyAny>,
    suffix: String,
    inputs: Vec<usize>,
    outputs: usize,
}

impl<'py> Rule<'py> {
    fn of(rule: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = rule.py();
        let step = |step: Bound<'py, PyAny>| match step.is_instance_of::<PyInt>() {
            true => step.extract().map(Step::Read),
            false => step.extract().map(Step::Make),
        };
        let steps = rule.getattr(intern!(py, "steps"))?.try_iter()?;
        let steps: Vec<Step<'_>> = steps.map(|found| step(found?)).collect::<PyResult<_>>()?;
        let gradients: Vec<Option<usize>> = rule.getattr(intern!(py, "gradients"))?.extract()?;
        let mut reads: HashSet<usize, Hashing> = gradients.iter().copied().flatten().collect();
        for step in &steps {
            if let Step::Make(made) = step {
                reads.extend(&made.inputs);
            }
        }
        Ok(Rule {
            steps,
            gradients,
            alike: rule.getattr(intern!(py, "alike"))?.extract()?,
            reads,
        })
    }
}

/// What Python's part of the pass gives and is asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Pass<'py> {
    /// For each new node the one that it is for, in an order in which they can run.
    origins: Bound<'py, PyDict>,
    /// For each node that is differentiated the gradients of its arguments.
    of_inputs: Bound<'py, PyDict>,
    /// What has the shape and the type of something before.
    alike: Bound<'py, PyDict>,
    /// `facts(card)`, see [`Facts`].
    facts: Bound<'py, PyAny>,
    /// `rule(node, given)`: the rule where outputs have gradients or not; None where there is no gradient.
    rule: Bound<'py, PyAny>,
    /// `total(entry, parts)`: the sum of several gradients of an entry, by a new node.
    total: Bound<'py, PyAny>,
}

/// Follows the rules of the nodes of `order`, from the last to the first, and gives the gradients of the
/// variables in `wanted`, None where no way leads there. `seeds` are the gradients of the `heads`.
#[pyfunction]
pub(super) fn differentiate<'py>(
    order: &Bound<'py, PyList>,
    heads: Vec<Bound<'py, PyAny>>,
    seeds: Vec<Bound<'py, PyAny>>,
    wanted: Vec<Bound<'py, PyAny>>,
    pass: Pass<'py>,
) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
    let _inside = Inside::enter(order.py());
    let mut run = Run {
        reached: dependents(order, &wanted)?,
        node: class(order.py(), "Node")?,
        parts: HashMap::default(),
        totals: HashMap::default(),
        facts: ByAddress::default(),
        order: order.clone(),
        read: None,
        heads: Vec::new(),
        rules: HashMap::default(),
        pass,
    };
    for (head, seed) in heads.iter().zip(seeds) {
        let head = Entry::of(head)?.key();
        run.heads.push(head);
        run.add(head, seed);
    }
    for node in order.iter().rev() {
        if run.reached.contains(&address(&node)) {
            run.differentiate(&node)?;
        }
    }
    wanted.iter().map(|node| run.total(node, 0)).collect()
}

/// The nodes that are wanted, and all that depend on one of them.
fn dependents<'py>(
    order: &Bound<'py, PyList>,
    wanted: &[Bound<'py, PyAny>],
) -> PyResult<HashSet<usize, Hashing>> {
    let mut found: HashSet<usize, Hashing> = wanted.iter().map(address).collect();
    for node in order {
        for entry in inputs(&node)? {
            if found.contains(&Entry::of(&entry)?.key().0) {
                found.insert(address(&node));
                break;
            }
        }
    }
    Ok(found)
}

/// An output of a node, by address.
type Key = (usize, usize);

/// A card by address, and which of the outputs have gradients.
type Asked = (usize, SmallVec<[bool; 4]>);

struct Run<'py> {
    reached: HashSet<usize, Hashing>,
    node: Bound<'py, PyAny>,
    /// The summands of the gradient of each entry.
    parts: HashMap<Key, SmallVec<[Bound<'py, PyAny>; 2]>, Hashing>,
    totals: HashMap<Key, Bound<'py, PyAny>, Hashing>,
    facts: ByAddress<Facts>,
    order: Bound<'py, PyList>,
    /// The heads, and what nodes read; known when somebody asks.
    read: Option<HashSet<Key, Hashing>>,
    heads: Vec<Key>,
    rules: HashMap<Asked, Option<Rc<Rule<'py>>>, Hashing>,
    pass: Pass<'py>,
}

impl<'py> Run<'py> {
    fn add(&mut self, entry: Key, gradient: Bound<'py, PyAny>) {
        self.parts.entry(entry).or_default().push(gradient);
    }

    /// The gradient of an output of a node.
    fn total(
        &mut self,
        node: &Bound<'py, PyAny>,
        output: usize,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = (address(node), output);
        if let Some(known) = self.totals.get(&key) {
            return Ok(Some(known.clone()));
        }
        let Some(parts) = self.parts.get(&key) else {
            return Ok(None);
        };
        let found = match parts.as_slice() {
            [one] => one.clone(),
            several => {
                let parts = PyList::new(node.py(), several)?;
                self.pass.total.call1((new_entry(node, output)?, parts))?
            }
        };
        self.totals.insert(key, found.clone());
        Ok(Some(found))
    }

    fn facts(&mut self, card: &Bound<'py, PyAny>) -> PyResult<Facts> {
        if let Some(&known) = self.facts.get(&address(card)) {
            return Ok(known);
        }
        let facts: Facts = self.pass.facts.call1((card,))?.extract()?;
        self.facts.insert(address(card), facts);
        Ok(facts)
    }

    fn rule(
        &mut self,
        node: &Bound<'py, PyAny>,
        card: usize,
        given: SmallVec<[bool; 4]>,
        lasts: bool,
    ) -> PyResult<Option<Rc<Rule<'py>>>> {
        if let Some(known) = self.rules.get(&(card, given.clone())) {
            return Ok(known.clone());
        }
        let found = self.pass.rule.call1((node, given.to_vec()))?;
        let rule = match found.is_none() {
            true => None,
            false => Some(Rc::new(Rule::of(&found)?)),
        };
        if lasts {
            self.rules.insert((card, given), rule.clone());
        }
        Ok(rule)
    }

    /// Whether an output of a node is a head or read, and no gradient of it in the graph has moved its states, which
    /// reads what nobody else sees.
    fn is_first(&mut self, node: &Bound<'py, PyAny>, facts: Facts) -> PyResult<bool> {
        if self.read.is_none() {
            let mut read: HashSet<Key, Hashing> = self.heads.iter().copied().collect();
            for node in &self.order {
                for entry in inputs(&node)? {
                    read.insert(Entry::of(&entry)?.key());
                }
            }
            self.read = Some(read);
        }
        let (node, all) = (address(node), self.read.as_ref());
        let is_read = |i: usize| all.is_some_and(|read| read.contains(&(node, i)));
        Ok((0..facts.visible).any(is_read) && !(facts.visible..facts.outputs).any(is_read))
    }

    /// Notes the gradients of a node's inputs.
    fn differentiate(&mut self, node: &Bound<'py, PyAny>) -> PyResult<()> {
        let Some(card) = card(node)? else {
            return Ok(());
        };
        let facts = self.facts(&card)?;
        let own = inputs(node)?;
        let mut arguments: SmallVec<[Option<Key>; 4]> = SmallVec::new();
        for entry in own.iter().take(facts.arguments) {
            let key = Entry::of(&entry)?.key();
            arguments.push(self.reached.contains(&key.0).then_some(key));
        }
        if arguments.iter().all(Option::is_none) {
            return Ok(());
        }
        let there = |i| self.parts.contains_key(&(address(node), i));
        let given = (0..facts.visible).map(there).collect();
        let is_zero = facts.needs_out_grad && !(0..facts.outputs).any(there);
        if is_zero && !(facts.updates && self.is_first(node, facts)?) {
            return Ok(());
        }
        let Some(rule) = self.rule(node, address(&card), given, facts.lasts)? else {
            return Ok(());
        };
        let gradients = self.follow(&rule, node, &own, facts.outputs)?;
        if is_zero {
            // Nothing comes of it but the states.
            return Ok(());
        }
        self.pass.of_inputs.set_item(node, &gradients)?;
        for (argument, gradient) in arguments.into_iter().zip(gradients) {
            if let (Some(key), Some(gradient)) = (argument, gradient) {
                self.add(key, gradient);
            }
        }
        Ok(())
    }

    /// Makes the nodes of a rule; gives the gradients of the arguments.
    fn follow(
        &mut self,
        rule: &Rule<'py>,
        node: &Bound<'py, PyAny>,
        own: &Bound<'py, PyList>,
        outputs: usize,
    ) -> PyResult<Vec<Option<Bound<'py, PyAny>>>> {
        let py = node.py();
        let name: String = node.getattr(intern!(py, "name"))?.extract()?;
        // Few rules read what the node gives.
        let count = own.len();
        let results = (0..outputs).map(|i| {
            let is_read = rule.reads.contains(&(count + i));
            is_read.then(|| new_entry(node, i)).transpose()
        });
        let inputs = own.iter().map(|input| Ok(Some(input)));
        let mut values: Values<'_> = inputs.chain(results).collect::<PyResult<_>>()?;
        let missing = || misuse("differentiate: a rule reads a gradient that is not there");
        for step in &rule.steps {
            match step {
                Step::Read(output) => {
                    let total = self.total(node, *output)?;
                    values.push(Some(total.ok_or_else(missing)?));
                }
                Step::Make(made) => {
                    let reads = made.inputs.iter().map(|&i| values[i].as_ref());
                    let reads = PyList::new(py, reads.collect::<SmallVec<[_; 8]>>())?;
                    let name = format!("{name}{}", made.suffix);
                    let new = self.node.call1((&made.card, name, reads))?;
                    self.pass.origins.set_item(&new, node)?;
                    for i in 0..made.outputs {
                        values.push(Some(new_entry(&new, i)?));
                    }
                }
            }
        }
        for &(made, like) in &rule.alike {
            let value = |i: usize| values[i].as_ref().ok_or_else(missing);
            self.pass.alike.set_item(value(made)?, value(like)?)?;
        }
        let gradients = rule.gradients.iter();
        Ok(gradients
            .map(|i| i.and_then(|i| values[i].clone()))
            .collect())
    }
}
