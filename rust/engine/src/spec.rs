//! What a pusher says about an operation: where it runs, how it is queued, what it uses.

use std::collections::HashSet;
use std::fmt;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::var::Var;

/// The name of an operation: a pointer to text that lives as long as the process, so that naming a
/// push costs nothing.
///
/// ```
/// use ferromix_engine::Name;
/// let fixed: Name = "dot".into();
/// let made = Name::intern(&format!("{}_{}", "dot", 1));
/// assert_eq!((fixed.as_str(), made.as_str()), ("dot", "dot_1"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name(&'static str);

impl Name {
    /// Wraps text that is there for good.
    pub const fn new(text: &'static str) -> Self {
        Self(text)
    }

    /// Keeps a copy of `text` for the rest of the process, one per distinct text.
    ///
    /// Takes a lock and may allocate: intern once, when an operator is defined, not per push.
    pub fn intern(text: &str) -> Self {
        static NAMES: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(text) {
            return Self(known);
        }
        let kept: &'static str = Box::leak(text.into());
        names.insert(kept);
        Self(kept)
    }

    /// The text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl From<&'static str> for Name {
    fn from(text: &'static str) -> Self {
        Self(text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

/// Where an operation runs. The engine uses it only to choose a lane of worker threads.
///
/// The numbers are MXNet's: kind 2 is a GPU, and each GPU id has lanes of its own; every other kind
/// (1 = CPU, 3 = pinned, 5 = shared memory) runs on the CPU lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Device {
    /// MXNet's device type number.
    pub kind: u8,
    /// Which device of that kind.
    pub id: u16,
}

impl Device {
    /// The host processor.
    pub const CPU: Device = Device { kind: 1, id: 0 };

    /// The GPU with this number.
    pub const fn gpu(id: u16) -> Self {
        Self { kind: 2, id }
    }

    /// Whether operations for this device go to that device's own lanes.
    pub const fn is_gpu(self) -> bool {
        self.kind == 2
    }
}

impl Default for Device {
    fn default() -> Self {
        Self::CPU
    }
}

/// What kind of work an operation is; with the device it decides the lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FnProperty {
    /// Ordinary computation.
    #[default]
    Normal,
    /// A copy from a GPU to the host.
    CopyFromGpu,
    /// A copy from the host to a GPU.
    CopyToGpu,
    /// Host work that should overtake ordinary work, such as gradient exchange.
    CpuPrioritized,
    /// Work that only starts something and returns at once.
    Async,
    /// The end of a variable. Runs as soon as it may, on the thread that finds out.
    DeleteVar,
    /// Work on a GPU that should overtake ordinary work there.
    GpuPrioritized,
}

/// One push, described. Cheap to copy; the lists are borrowed for the call only.
///
/// A variable listed twice counts once; one in both lists counts as mutated.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec};
/// let engine = Engine::builder().workers(2).build();
/// let (a, b) = (engine.new_variable(), engine.new_variable());
/// engine.push_sync(&OpSpec::new("b = f(a)").reads(&[a]).writes(&[b]), |_| Ok(())).unwrap();
/// engine.wait_for_var(b).unwrap();
/// assert_eq!((engine.version(a).unwrap(), engine.version(b).unwrap()), (0, 1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OpSpec<'a> {
    /// Shown in failures and profiles.
    pub name: Name,
    /// Where it runs.
    pub device: Device,
    /// What kind of work it is.
    pub property: FnProperty,
    /// Larger runs earlier among ready operations of one lane. Priority and copy lanes keep the
    /// exact order; ordinary lanes distinguish positive, zero and negative only.
    pub priority: i32,
    /// Variables that it only reads.
    pub const_vars: &'a [Var],
    /// Variables that it changes.
    pub mutate_vars: &'a [Var],
    /// Opaque to the engine; comes back in [`Failure`](crate::Failure) (for example: an index of
    /// where the user pushed it).
    pub tag: u64,
}

impl<'a> OpSpec<'a> {
    /// An ordinary CPU operation that uses no variables.
    pub fn new(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Sets the variables that it only reads.
    pub const fn reads(mut self, vars: &'a [Var]) -> Self {
        self.const_vars = vars;
        self
    }

    /// Sets the variables that it changes.
    pub const fn writes(mut self, vars: &'a [Var]) -> Self {
        self.mutate_vars = vars;
        self
    }

    /// Sets the device.
    pub const fn on(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Sets the kind of work.
    pub const fn property(mut self, property: FnProperty) -> Self {
        self.property = property;
        self
    }

    /// Sets the priority.
    pub const fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the opaque tag.
    pub const fn tag(mut self, tag: u64) -> Self {
        self.tag = tag;
        self
    }
}

impl Default for OpSpec<'_> {
    fn default() -> Self {
        Self {
            name: Name::new("operation"),
            device: Device::CPU,
            property: FnProperty::Normal,
            priority: 0,
            const_vars: &[],
            mutate_vars: &[],
            tag: 0,
        }
    }
}
