//! Nodes: a variable that gradients are asked for, or one run of an operator.

use crate::operator::Prepared;
use ferromix_base::Context;
use ferromix_engine::Name;
use ferromix_kernels::Desc;
use ferromix_runtime as rt;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::mem::replace;
use std::sync::{Arc, Mutex, PoisonError};

/// One output of a node.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(super) node: Arc<Node>,
    pub(super) output: usize,
}

/// Where an array came from, if that was recorded.
#[derive(Default)]
pub(crate) struct Slot(Mutex<Option<Origin>>);

impl Slot {
    /// The origin, be its node freed or not.
    pub(super) fn get(&self) -> Option<Origin> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn set(&self, origin: Option<Origin>) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let old = replace(&mut *slot, origin);
        drop(slot);
        drop(old); // may run Python code, so not under the lock
    }

    pub(crate) fn twin(&self) -> Self {
        Slot(Mutex::new(self.get()))
    }

    /// The origin, where a backward pass could start from it.
    pub(crate) fn live(&self) -> Option<Origin> {
        self.get().filter(|origin| !origin.node.is_freed())
    }
}

/// A node of the recorded graph. It owns the nodes that its inputs came from.
pub(super) struct Node(Mutex<State>);

pub(super) enum State {
    Variable(Box<Variable>),
    Operation(Box<Operation>),
    /// A backward pass used the node up; what it was, and the lines that recorded and freed it.
    Freed {
        name: Name,
        site: u64,
        by: u64,
    },
}

/// An array that was marked.
pub(super) struct Variable {
    pub(super) value: rt::Array,
    pub(super) gradient: Option<rt::Array>,
    pub(super) request: u8,
}

/// A run of an operator.
pub(super) struct Operation {
    pub(super) operator: Operator,
    pub(super) inputs: SmallVec<[Input; 2]>,
    pub(super) outputs: SmallVec<[Saved; 1]>,
    /// Where it ran.
    pub(super) place: Context,
    /// The user's line.
    pub(super) site: u64,
}

pub(super) enum Operator {
    Prepared(Py<Prepared>),
    /// A card that is run by Python.
    Python(Py<PyAny>, Name),
}

impl Operator {
    pub(super) fn card(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        match self {
            Operator::Prepared(prepared) => prepared.get().card(py),
            Operator::Python(card, _) => Some(card.clone_ref(py)),
        }
    }

    pub(super) fn name(&self) -> Name {
        match self {
            Operator::Prepared(prepared) => prepared.get().name(),
            Operator::Python(_, name) => *name,
        }
    }
}

pub(super) struct Input {
    /// None for a constant.
    pub(super) origin: Option<Origin>,
    pub(super) value: Saved,
}

/// The saved value of an array, as far as the gradient rule reads it.
pub(super) enum Saved {
    /// Nothing: the gradient rule does not read it, and the prepared operator knows the shape.
    Nothing,
    Desc(Desc),
    /// The array, and how many writes had been pushed to its memory; None where writes between the
    /// run and the backward pass are expected.
    Array(rt::Array, Option<u64>),
}

impl Node {
    pub(super) fn new(state: State) -> Arc<Self> {
        Arc::new(Node(Mutex::new(state)))
    }

    /// Calls `f` with what the node is. It must not run Python code.
    pub(super) fn with<R>(&self, f: impl FnOnce(&State) -> R) -> R {
        f(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn is_freed(&self) -> bool {
        self.with(|state| matches!(state, State::Freed { .. }))
    }

    /// Lets go of what an operation's node holds; variables stay. `by` is the line that does so.
    pub(super) fn free(&self, by: u64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State::Operation(operation) = &*state else {
            return;
        };
        let (name, site) = (operation.operator.name(), operation.site);
        let old = replace(&mut *state, State::Freed { name, site, by });
        drop(state);
        drop(old); // may run Python code, so not under the lock
    }

    /// Moves the nodes that this one owns to `owned`.
    fn disown(&mut self, owned: &mut Vec<Arc<Node>>) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::Operation(operation) = state {
            let origins = operation.inputs.iter_mut().filter_map(|i| i.origin.take());
            owned.extend(origins.map(|origin| origin.node));
        }
    }
}

impl Drop for Node {
    /// Without recursion, as a chain of nodes may be as long as a program.
    fn drop(&mut self) {
        let mut owned = Vec::new();
        self.disown(&mut owned);
        while let Some(node) = owned.pop() {
            if let Some(mut node) = Arc::into_inner(node) {
                node.disown(&mut owned);
            }
        }
    }
}
