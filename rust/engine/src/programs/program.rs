//! Programs: a fixed list of operations over fixed variables, compiled once and launched as one
//! entry of the log. What happens at a launch is in `execution/take_part.rs`.

use std::collections::HashSet;

use crate::base::sync::Arc;
use crate::functions::compiled_program::CompiledProgram;
use crate::programs::program_builder::ProgramBuilder;
use crate::types::device::Device;
use crate::types::launch_args::RebindError;
use crate::types::spec::{FnProperty, Name, OpSpec};
use crate::types::var::Var;

/// The external variables of a program, in the order of their numbers.
#[derive(Debug)]
pub(crate) struct External {
    pub(crate) mutated: Box<[Var]>,
    pub(crate) read: Box<[Var]>,
}

/// A fixed list of operations over fixed variables, prepared to be run again and again; made by
/// [`Program::builder`], run by [`Engine::launch`](crate::Engine::launch).
///
/// The operations of one launch run as if they had been pushed one by one, in their order, at the
/// place of the launch: in parallel where their variables allow it, and each as soon as its own
/// variables are there, so that two launches overlap like pushed operations. But the order among
/// them was worked out when the program was built, so an operation costs a fraction of a push.
/// A variable's version grows by one per launch that mutates it.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use std::sync::Arc;
/// use ferromix_engine::{Engine, OpSpec, Program};
///
/// let engine = Engine::builder().workers(2).build();
/// let (a, b) = (engine.new_variable(), engine.new_variable());
/// let cells = Arc::new([AtomicU64::new(1), AtomicU64::new(1)]);
/// let (first, second) = (cells.clone(), cells.clone());
/// let program = Program::builder("fibonacci")
///     .op(&OpSpec::new("a += b").reads(&[b]).writes(&[a]), move |_| {
///         first[0].fetch_add(first[1].load(Relaxed), Relaxed);
///         Ok(())
///     })
///     .op(&OpSpec::new("b += a").reads(&[a]).writes(&[b]), move |_| {
///         second[1].fetch_add(second[0].load(Relaxed), Relaxed);
///         Ok(())
///     })
///     .build();
/// for _ in 0..10 {
///     engine.launch(&program)?;
/// }
/// engine.wait_for_all()?;
/// assert_eq!(cells[1].load(Relaxed), 17711);
/// assert_eq!(engine.version(a)?, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Program {
    pub(crate) plan: Arc<CompiledProgram>,
    pub(crate) external: Arc<External>,
}

impl Program {
    /// Starts a program; the name is for profiles.
    ///
    /// ```
    /// use ferromix_engine::{OpSpec, Program};
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first"), |_| Ok(()))
    ///     .op(&OpSpec::new("second"), |_| Ok(()))
    ///     .build();
    /// assert_eq!(program.len(), 2);
    /// ```
    pub fn builder(name: impl Into<Name>) -> ProgramBuilder {
        ProgramBuilder {
            name: name.into(),
            device: Device::CPU,
            priority: 0,
            small: false,
            steps: Vec::new(),
            uses: Vec::new(),
        }
    }

    /// How a launch stands in the log.
    pub(crate) fn spec(&self) -> OpSpec<'_> {
        let plan = &self.plan;
        OpSpec {
            name: plan.name,
            device: plan.device,
            priority: plan.priority,
            property: FnProperty::Normal,
            const_vars: &self.external.read,
            mutate_vars: &self.external.mutated,
            inline: plan.small,
            ..OpSpec::default()
        }
    }

    /// The same program on other variables: `(old, new)`; those that are not named stay. Nothing is
    /// compiled again. The operations' functions are the same; what belongs to the new variables
    /// may come with the [launch](crate::LaunchArgs::argument).
    ///
    /// Launches of both count as launches of one program.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec, Program};
    /// let engine = Engine::builder().workers(2).build();
    /// let (a, b) = (engine.new_variable(), engine.new_variable());
    /// let on_a = Program::builder("any")
    ///     .op(&OpSpec::new("write").writes(&[a]), |_| Ok(()))
    ///     .build();
    /// let on_b = on_a.rebind(&[(a, b)])?;
    /// engine.launch(&on_b)?;
    /// engine.wait_for_all()?;
    /// assert_eq!((engine.version(a)?, engine.version(b)?), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RebindError`]. Whether the new variables are alive is found out by each launch.
    pub fn rebind(&self, changes: &[(Var, Var)]) -> Result<Program, RebindError> {
        let old = || self.external.mutated.iter().chain(&self.external.read);
        for &(from, _) in changes {
            if !old().any(|var| *var == from) {
                return Err(RebindError::NotUsed(from));
            }
        }
        let new = |var: &Var| {
            let change = changes.iter().rev().find(|(from, _)| from == var);
            change.map_or(*var, |(_, to)| *to)
        };
        let mut seen = HashSet::new();
        if let Some(var) = old().map(new).find(|var| !seen.insert(*var)) {
            return Err(RebindError::Twice(var));
        }
        Ok(Program {
            plan: self.plan.clone(),
            external: Arc::new(External {
                mutated: self.external.mutated.iter().map(new).collect(),
                read: self.external.read.iter().map(new).collect(),
            }),
        })
    }

    /// Its name.
    ///
    /// ```
    /// use ferromix_engine::{OpSpec, Program};
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first"), |_| Ok(()))
    ///     .op(&OpSpec::new("second"), |_| Ok(()))
    ///     .build();
    /// assert_eq!(program.name().as_str(), "two steps");
    /// ```
    pub fn name(&self) -> Name {
        self.plan.name
    }

    /// Number of operations.
    ///
    /// ```
    /// use ferromix_engine::{OpSpec, Program};
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first"), |_| Ok(()))
    ///     .op(&OpSpec::new("second"), |_| Ok(()))
    ///     .build();
    /// assert_eq!(program.len(), 2);
    /// ```
    pub fn len(&self) -> usize {
        self.plan.steps.len()
    }

    /// Whether it has no operation.
    ///
    /// ```
    /// use ferromix_engine::Program;
    /// assert!(Program::builder("nothing").build().is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.plan.steps.is_empty()
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.plan.name)
            .field("operations", &self.len())
            .field("mutates", &self.external.mutated)
            .field("reads", &self.external.read)
            .finish_non_exhaustive()
    }
}
