//! What a pusher says about an operation: where it runs, how it is queued, what it uses.

use std::fmt;

use crate::base::names;
use crate::types::device::Device;
use crate::types::var::Var;

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
    ///
    /// ```
    /// use ferromix_engine::Name;
    /// const ADD: Name = Name::new("add");
    /// assert_eq!(ADD.to_string(), "add");
    /// ```
    pub const fn new(text: &'static str) -> Self {
        Self(text)
    }

    /// Keeps a copy of `text` for the rest of the process, one per distinct text.
    ///
    /// May allocate: intern once, when an operator is defined, not per push.
    ///
    /// ```
    /// use ferromix_engine::Name;
    /// assert_eq!(Name::intern(&"x".repeat(3)), Name::new("xxx"));
    /// ```
    pub fn intern(text: &str) -> Self {
        Self(names::intern(text, None))
    }

    /// As [`intern`](Self::intern), for one of several things of a kind, by which traces count.
    ///
    /// ```
    /// use ferromix_engine::Name;
    /// let layer = Name::intern_of("convolution", "layer 1");
    /// assert_eq!((layer.as_str(), layer.kind()), ("layer 1", "convolution"));
    /// assert_eq!(Name::intern("layer 1").kind(), "layer 1");
    /// ```
    pub fn intern_of(kind: &str, text: &str) -> Self {
        Self(names::intern(text, Some(kind)))
    }

    /// The kind it was made with; the text, if with none. Looks it up: not for each push.
    ///
    /// ```
    /// use ferromix_engine::Name;
    /// assert_eq!(Name::new("add").kind(), "add");
    /// ```
    pub fn kind(self) -> &'static str {
        names::kind_of(self.0).unwrap_or(self.0)
    }

    /// The text.
    ///
    /// ```
    /// use ferromix_engine::Name;
    /// assert_eq!(Name::new("add").as_str(), "add");
    /// ```
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

/// What kind of work an operation is; with the device it decides the lane.
///
/// ```
/// use ferromix_engine::{Engine, FnProperty, OpSpec};
/// let engine = Engine::builder().build();
/// let spec = OpSpec::new("exchange").property(FnProperty::CpuPrioritized).priority(5);
/// engine.push_sync(&spec, |_| Ok(()))?; // does not queue behind ordinary work
/// engine.wait_for_all()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
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
    /// Work that only starts something and returns at once. It has a thread of its own for each
    /// device, and so does not wait behind work that takes time.
    Async,
    /// The end of something. Runs as soon as it may, on the host on the thread that finds out.
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
#[non_exhaustive]
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
    /// Memory that it stands for while it is in flight, for
    /// [`Builder::max_bytes_in_flight`](crate::Builder::max_bytes_in_flight). 0 costs nothing.
    pub bytes: u64,
    /// Opaque to the engine; comes back in [`Failure`](crate::Failure) (for example: an index of
    /// where the user pushed it).
    pub tag: u64,
    /// See [`inline`](OpSpec::inline).
    pub inline: bool,
    /// See [`threads`](OpSpec::threads). 0: no limit.
    pub threads: u16,
}

impl<'a> OpSpec<'a> {
    /// An ordinary CPU operation that uses no variables.
    ///
    /// ```
    /// use ferromix_engine::{FnProperty, OpSpec};
    /// let spec = OpSpec::new("x");
    /// assert_eq!((spec.property, spec.priority), (FnProperty::Normal, 0));
    /// ```
    pub fn new(name: impl Into<Name>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Sets the variables that it only reads.
    ///
    /// ```
    /// use ferromix_engine::OpSpec;
    /// let engine = ferromix_engine::Engine::builder().build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// assert_eq!(OpSpec::new("x").reads(&[a, b]).const_vars, [a, b]);
    /// ```
    pub const fn reads(mut self, vars: &'a [Var]) -> Self {
        self.const_vars = vars;
        self
    }

    /// Sets the variables that it changes.
    ///
    /// ```
    /// use ferromix_engine::OpSpec;
    /// let engine = ferromix_engine::Engine::builder().build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// assert_eq!(OpSpec::new("x").writes(&[a, b]).mutate_vars, [a, b]);
    /// ```
    pub const fn writes(mut self, vars: &'a [Var]) -> Self {
        self.mutate_vars = vars;
        self
    }

    /// Sets the device.
    ///
    /// ```
    /// use ferromix_engine::{Device, OpSpec};
    /// assert_eq!(OpSpec::new("x").on(Device::gpu(1)).device, Device::gpu(1));
    /// ```
    pub const fn on(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Sets the kind of work.
    ///
    /// ```
    /// use ferromix_engine::{FnProperty, OpSpec};
    /// assert_eq!(OpSpec::new("x").property(FnProperty::Async).property, FnProperty::Async);
    /// ```
    pub const fn property(mut self, property: FnProperty) -> Self {
        self.property = property;
        self
    }

    /// Sets the priority.
    ///
    /// ```
    /// use ferromix_engine::OpSpec;
    /// assert_eq!(OpSpec::new("x").priority(3).priority, 3);
    /// ```
    pub const fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the memory that it stands for while it is in flight.
    ///
    /// ```
    /// use ferromix_engine::OpSpec;
    /// assert_eq!(OpSpec::new("x").bytes(1 << 20).bytes, 1 << 20);
    /// ```
    pub const fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the opaque tag.
    ///
    /// ```
    /// use ferromix_engine::OpSpec;
    /// assert_eq!(OpSpec::new("x").tag(7).tag, 7);
    /// ```
    pub const fn tag(mut self, tag: u64) -> Self {
        self.tag = tag;
        self
    }

    /// Says that the function takes no longer than handing it to another thread would (about a
    /// microsecond): it then runs at once on the thread that finds it ready, which may be the
    /// pusher, inside the push, or any other that pushes, completes or waits.
    ///
    /// For [`FnProperty::Normal`] and [`FnProperty::Async`] on the host; others ignore it. The order
    /// is the usual one. The function must not take a lock that a pusher holds, nor wait. A thread
    /// that has run 64 such operations in a row, or is several deep in such that push such, leaves
    /// further ones to the workers; so does everybody while the engine is stopped.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// let a = engine.new_variable();
    /// let me = std::thread::current().id();
    /// engine.push_sync(&OpSpec::new("small").writes(&[a]).inline(true), move |_| {
    ///     assert_eq!(std::thread::current().id(), me);
    ///     Ok(())
    /// })?;
    /// assert_eq!(engine.version(a)?, 1);
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn inline(mut self, small: bool) -> Self {
        self.inline = small;
        self
    }

    /// Sets how many threads the function may use, the one that calls it included; 0 for as many as
    /// it likes. The engine passes this on, by [`RunContext::threads`](crate::RunContext::threads):
    /// it cannot see what threads a function uses.
    ///
    /// ```
    /// use ferromix_engine::OpSpec;
    /// assert_eq!(OpSpec::new("x").threads(2).threads, 2);
    /// ```
    pub const fn threads(mut self, most: u16) -> Self {
        self.threads = most;
        self
    }

    /// Whether the operation gets no lane.
    pub(crate) const fn runs_inline(&self) -> bool {
        !self.device.is_gpu()
            && match self.property {
                FnProperty::Normal | FnProperty::Async => self.inline,
                FnProperty::DeleteVar => true,
                _ => false,
            }
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
            bytes: 0,
            tag: 0,
            inline: false,
            threads: 0,
        }
    }
}
