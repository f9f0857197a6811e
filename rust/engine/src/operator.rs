//! Operators: a function, its name and its variables, kept to be pushed again and again.

use crate::context::{OnComplete, RunContext};
use crate::failure::OpError;
use crate::spec::{FnProperty, Name, OpSpec};
use crate::sync::Arc;
use crate::var::Var;

type SyncFn = dyn Fn(&RunContext) -> Result<(), OpError> + Send + Sync;
type AsyncFn = dyn Fn(&RunContext, OnComplete) + Send + Sync;

pub(crate) enum Function {
    Sync(Box<SyncFn>),
    Async(Box<AsyncFn>),
}

pub(crate) struct Inner {
    name: Name,
    property: FnProperty,
    tag: u64,
    const_vars: Box<[Var]>,
    mutate_vars: Box<[Var]>,
    pub(crate) function: Function,
}

/// A prepared operation; made by [`Engine::new_operator`](crate::Engine::new_operator).
///
/// Pushes of one operator are independent operations: each has its own outcome, and the function
/// may run in several threads at once if the variables allow it.
#[derive(Clone)]
pub struct Operator {
    pub(crate) inner: Arc<Inner>,
}

impl Operator {
    pub(crate) fn new(spec: &OpSpec<'_>, function: Function) -> Self {
        let inner = Inner {
            name: spec.name,
            property: spec.property,
            tag: spec.tag,
            const_vars: spec.const_vars.into(),
            mutate_vars: spec.mutate_vars.into(),
            function,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The description of one push.
    pub(crate) fn spec(&self) -> OpSpec<'_> {
        OpSpec {
            name: self.inner.name,
            property: self.inner.property,
            tag: self.inner.tag,
            const_vars: &self.inner.const_vars,
            mutate_vars: &self.inner.mutate_vars,
            ..OpSpec::default()
        }
    }

    /// Its name.
    pub fn name(&self) -> Name {
        self.inner.name
    }
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operator")
            .field("name", &self.inner.name)
            .field("const_vars", &self.inner.const_vars)
            .field("mutate_vars", &self.inner.mutate_vars)
            .finish_non_exhaustive()
    }
}
