//! A push that is described over several statements.

use crate::types::device::Device;
use crate::types::spec::{FnProperty, Name, OpSpec};
use crate::types::var::Var;

/// An [`OpSpec`] that owns its lists: for a description that grows over several statements.
///
/// ```
/// use ferromix_engine::{Engine, OpSpecBuf};
/// let engine = Engine::builder().build();
/// let inputs: Vec<_> = (0..3).map(|_| engine.new_variable()).collect();
/// let output = engine.new_variable();
/// let mut spec = OpSpecBuf::new("gather");
/// for input in &inputs {
///     spec.read(*input);
/// }
/// spec.write(output).priority(1);
/// engine.push_sync(&spec.spec(), |_| Ok(()))?;
/// engine.wait_for_var(output)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpSpecBuf {
    reads: Vec<Var>,
    writes: Vec<Var>,
    rest: OpSpec<'static>,
}

impl OpSpecBuf {
    /// An ordinary CPU operation that uses no variables.
    pub fn new(name: impl Into<Name>) -> Self {
        Self {
            reads: Vec::new(),
            writes: Vec::new(),
            rest: OpSpec::new(name),
        }
    }

    /// What was said so far.
    pub fn spec(&self) -> OpSpec<'_> {
        self.rest.reads(&self.reads).writes(&self.writes)
    }

    /// Adds a variable that it only reads.
    pub fn read(&mut self, var: Var) -> &mut Self {
        self.reads.push(var);
        self
    }

    /// Adds a variable that it changes.
    pub fn write(&mut self, var: Var) -> &mut Self {
        self.writes.push(var);
        self
    }

    fn set(&mut self, rest: OpSpec<'static>) -> &mut Self {
        self.rest = rest;
        self
    }

    /// As [`OpSpec::on`].
    pub fn on(&mut self, device: Device) -> &mut Self {
        self.set(self.rest.on(device))
    }

    /// As [`OpSpec::property`].
    pub fn property(&mut self, property: FnProperty) -> &mut Self {
        self.set(self.rest.property(property))
    }

    /// As [`OpSpec::priority`].
    pub fn priority(&mut self, priority: i32) -> &mut Self {
        self.set(self.rest.priority(priority))
    }

    /// As [`OpSpec::bytes`].
    pub fn bytes(&mut self, bytes: u64) -> &mut Self {
        self.set(self.rest.bytes(bytes))
    }

    /// As [`OpSpec::tag`].
    pub fn tag(&mut self, tag: u64) -> &mut Self {
        self.set(self.rest.tag(tag))
    }

    /// As [`OpSpec::inline`].
    pub fn inline(&mut self, small: bool) -> &mut Self {
        self.set(self.rest.inline(small))
    }

    /// As [`OpSpec::threads`].
    pub fn threads(&mut self, most: u16) -> &mut Self {
        self.set(self.rest.threads(most))
    }
}
