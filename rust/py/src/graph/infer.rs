//! Inference over a whole graph: what operators say of their inputs and outputs travels along the
//! edges until nothing new is learned.

use super::values::Values;
use super::{ByAddress, Entry, Numbers, address, card, inputs};
use crate::life::Inside;
use crate::support::hash::Hashing;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap};

/// What is inferred of entries in one pass: shapes, or element types.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Kind<'py> {
    /// What is known, by entry.
    known: Bound<'py, PyDict>,
    /// `ask(node, before)` gives what is known of a node's inputs and outputs once its operator was
    /// asked, from what was known before.
    ask: Bound<'py, PyAny>,
    /// Whether nodes are looked at again in sweeps to and fro, or always forwards.
    to_and_fro: bool,
    /// What the next of the variables becomes of which nothing is known in the end, and so on.
    default: Bound<'py, PyAny>,
}

/// What `nodes` say of every output, as far as it follows from what is known, by entry: first the outputs
/// of `nodes`, then the rest of what was known. One table for each kind, which are inferred in turn.
///
/// An operator is asked once for each card and each state of knowledge, however many nodes are alike. Nodes
/// are looked at again where something new is known.
#[pyfunction]
pub(super) fn infer<'py>(
    nodes: &Bound<'py, PyList>,
    kinds: Vec<Kind<'py>>,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let _inside = Inside::enter(nodes.py());
    let mut graph = Graph::new(nodes, &kinds)?;
    let mut tables = Vec::with_capacity(kinds.len());
    for kind in &kinds {
        let mut run = Run::new(&graph, &kind.known)?;
        run.settle(kind)?;
        if !kind.default.is_none() {
            let default = run.values.number(&kind.default)?;
            for &entry in &graph.variables {
                if run.found[entry as usize] == UNKNOWN {
                    run.learn(entry, default, None);
                    run.settle(kind)?;
                }
            }
        }
        let (values, found) = (run.values, run.found);
        tables.push(graph.table(&kind.known, &values, &found)?);
    }
    Ok(tables)
}

/// The number of None.
const UNKNOWN: u32 = 0;

/// A node with an operator: its card, and the numbers of its inputs and outputs.
struct Operator<'py> {
    node: Bound<'py, PyAny>,
    card: u32,
    entries: SmallVec<[u32; 4]>,
    /// Whether an entry occurs more than once.
    repeats: bool,
}

type Question = SmallVec<[u32; 8]>;

/// The nodes with their entries numbered.
struct Graph<'py> {
    numbers: Numbers<'py>,
    operators: Vec<Operator<'py>>,
    /// The outputs of all nodes, in their order, and those of variables.
    outputs: Vec<u32>,
    variables: Vec<u32>,
    /// The operators that an entry belongs to: those of `users[starts[e]..starts[e + 1]]`.
    starts: Vec<u32>,
    users: Vec<u32>,
}

impl<'py> Graph<'py> {
    fn new(nodes: &Bound<'py, PyList>, kinds: &[Kind<'py>]) -> PyResult<Self> {
        let mut graph = Graph {
            numbers: Numbers::with_room(2 * nodes.len()),
            operators: Vec::new(),
            outputs: Vec::new(),
            variables: Vec::new(),
            starts: Vec::new(),
            users: Vec::new(),
        };
        for kind in kinds {
            for (entry, _) in &kind.known {
                graph.numbers.of(&entry)?;
            }
        }
        let mut cards: ByAddress<(u32, usize)> = ByAddress::default();
        for node in nodes {
            graph.add(node, &mut cards)?;
        }
        graph.find_users();
        Ok(graph)
    }

    fn add(
        &mut self,
        node: Bound<'py, PyAny>,
        cards: &mut ByAddress<(u32, usize)>,
    ) -> PyResult<()> {
        let Some(card) = card(&node)? else {
            let variable = self.numbers.at(node, 0)?.0;
            self.outputs.push(variable);
            self.variables.push(variable);
            return Ok(());
        };
        let (number, outputs) = if let Some(&known) = cards.get(&address(&card)) {
            known
        } else {
            let names = card.getattr(intern!(node.py(), "output_names"))?;
            let known = (u32::try_from(cards.len())?, names.len()?);
            cards.insert(address(&card), known);
            known
        };
        let mut entries = SmallVec::new();
        for input in inputs(&node)? {
            entries.push(self.numbers.of(&input)?.0);
        }
        for i in 0..outputs {
            let output = self.numbers.at(node.clone(), i)?.0;
            self.outputs.push(output);
            entries.push(output);
        }
        let repeats = repeats(&entries);
        self.operators.push(Operator {
            node,
            card: number,
            entries,
            repeats,
        });
        Ok(())
    }

    fn find_users(&mut self) {
        let mut starts = vec![0_u32; self.numbers.len() + 1];
        for entry in self.operators.iter().flat_map(|o| &o.entries) {
            starts[*entry as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut users = vec![0; starts.last().map_or(0, |&n| n as usize)];
        for (operator, number) in self.operators.iter().zip(0..) {
            for entry in &operator.entries {
                let place = &mut next[*entry as usize];
                users[*place as usize] = number;
                *place += 1;
            }
        }
        (self.starts, self.users) = (starts, users);
    }

    /// What was found, by entry.
    fn table(
        &mut self,
        known: &Bound<'py, PyDict>,
        values: &Values<'py>,
        found: &[u32],
    ) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(known.py());
        for &entry in &self.outputs {
            let value = &values.objects[found[entry as usize] as usize];
            table.set_item(self.numbers.object(entry)?, value)?;
        }
        // All of it was met first, or by its nodes.
        if table.len() < self.numbers.len() {
            for entry in known.keys() {
                if !table.contains(&entry)? {
                    let number = self.numbers.of(&entry)?.0;
                    table.set_item(entry, &values.objects[found[number as usize] as usize])?;
                }
            }
        }
        Ok(table)
    }
}

/// The inference of one kind.
struct Run<'a, 'py> {
    graph: &'a Graph<'py>,
    values: Values<'py>,
    /// The number of the value of each entry.
    found: Vec<u32>,
    /// The operators to be looked at.
    waiting: BTreeSet<u32>,
    answers: HashMap<Question, SmallVec<[u32; 4]>, Hashing>,
}

impl<'a, 'py> Run<'a, 'py> {
    fn new(graph: &'a Graph<'py>, known: &Bound<'py, PyDict>) -> PyResult<Self> {
        let mut values = Values::new(known.py());
        values.number(&known.py().None().into_bound(known.py()))?;
        let mut found = vec![UNKNOWN; graph.numbers.len()];
        for (entry, value) in known {
            if let Some(number) = graph.numbers.find(&Entry::of(&entry)?) {
                found[number as usize] = values.number(&value)?;
            }
        }
        Ok(Run {
            graph,
            values,
            found,
            waiting: (0..u32::try_from(graph.operators.len())?).collect(),
            answers: HashMap::default(),
        })
    }

    /// Notes what is known of an entry, for all operators but the one that it came from.
    fn learn(&mut self, entry: u32, value: u32, from: Option<u32>) {
        let entry = entry as usize;
        if self.found[entry] == value {
            return;
        }
        self.found[entry] = value;
        let graph = self.graph;
        let (start, end) = (graph.starts[entry], graph.starts[entry + 1]);
        let users = &graph.users[start as usize..end as usize];
        let others = users.iter().filter(|&&user| Some(user) != from);
        self.waiting.extend(others);
    }

    fn settle(&mut self, kind: &Kind<'py>) -> PyResult<()> {
        let mut forwards = true;
        while !self.waiting.is_empty() {
            let mut next = if forwards {
                self.waiting.first().copied()
            } else {
                self.waiting.last().copied()
            };
            while let Some(number) = next {
                self.waiting.remove(&number);
                self.visit(number, &kind.ask)?;
                next = if forwards {
                    self.waiting.range(number..).next().copied()
                } else {
                    self.waiting.range(..number).next_back().copied()
                };
            }
            forwards = forwards != kind.to_and_fro;
        }
        Ok(())
    }

    fn visit(&mut self, number: u32, ask: &Bound<'py, PyAny>) -> PyResult<()> {
        let operator = &self.graph.operators[number as usize];
        let before = operator.entries.iter().map(|&e| self.found[e as usize]);
        let mut question: Question = before.collect();
        let count = question.len();
        question.push(operator.card);
        if operator.repeats {
            question.extend(first_places(&operator.entries));
        }
        let answer = if let Some(answer) = self.answers.get(&question) {
            answer
        } else {
            let objects = &self.values.objects;
            let given = question[..count].iter().map(|&v| &objects[v as usize]);
            let given = PyTuple::new(ask.py(), given.collect::<Vec<_>>())?;
            let mut answer = SmallVec::new();
            for value in ask.call1((&operator.node, given))?.try_iter()? {
                answer.push(self.values.number(&value?)?);
            }
            answer.resize(count, UNKNOWN);
            self.answers.entry(question).or_insert(answer)
        };
        let changes: SmallVec<[(u32, u32); 4]> = (operator.entries.iter().copied())
            .zip(answer.iter().copied())
            .filter(|&(entry, value)| self.found[entry as usize] != value)
            .collect();
        for (entry, value) in changes {
            self.learn(entry, value, Some(number));
        }
        Ok(())
    }
}

fn repeats(entries: &[u32]) -> bool {
    if entries.len() > 16 {
        let mut sorted = entries.to_vec();
        sorted.sort_unstable();
        return sorted.windows(2).any(|pair| pair[0] == pair[1]);
    }
    (1..entries.len()).any(|i| entries[..i].contains(&entries[i]))
}

/// For each entry where it stands first.
fn first_places(entries: &[u32]) -> Vec<u32> {
    let mut places: HashMap<u32, u32, Hashing> = HashMap::default();
    let numbered = entries.iter().zip(0..);
    numbered
        .map(|(&entry, place)| *places.entry(entry).or_insert(place))
        .collect()
}
