//! Operators: a function, its name and its variables, kept to be pushed again and again.

use crate::base::sync::Arc;
use crate::functions::function::Function;
use crate::types::spec::{FnProperty, Name, OpSpec};
use crate::types::var::Var;

pub(crate) struct Inner {
    name: Name,
    property: FnProperty,
    tag: u64,
    inline: bool,
    bytes: u64,
    threads: u16,
    const_vars: Box<[Var]>,
    mutate_vars: Box<[Var]>,
    pub(crate) function: Function,
}

/// A prepared operation; made by [`Engine::new_operator`](crate::Engine::new_operator).
///
/// Pushes of one operator are independent operations: each has its own outcome, and the function
/// may run in several threads at once if the variables allow it.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use std::sync::Arc;
/// use ferromix_engine::{Device, Engine, OpSpec};
/// let engine = Engine::builder().build();
/// let (a, count) = (engine.new_variable(), Arc::new(AtomicU32::new(0)));
/// let counter = count.clone();
/// let count_up = engine.new_operator(&OpSpec::new("count").writes(&[a]), move |_| {
///     counter.fetch_add(1, Relaxed);
///     Ok(())
/// });
/// for _ in 0..3 {
///     engine.push(&count_up, Device::CPU, 0)?;
/// }
/// engine.wait_for_var(a)?;
/// assert_eq!(count.load(Relaxed), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
            inline: spec.inline,
            bytes: spec.bytes,
            threads: spec.threads,
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
            inline: self.inner.inline,
            bytes: self.inner.bytes,
            threads: self.inner.threads,
            const_vars: &self.inner.const_vars,
            mutate_vars: &self.inner.mutate_vars,
            ..OpSpec::default()
        }
    }

    /// Its name.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let operator = engine.new_operator(&OpSpec::new("add"), |_| Ok(()));
    /// assert_eq!(operator.name().as_str(), "add");
    /// ```
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
