//! Variables of one program alone.

use std::collections::HashMap;
use std::fmt;

use crate::programs::program_builder::ProgramBuilder;
use crate::types::var::Var;

/// A variable of one program alone, by number: it orders the operations of each launch, and costs
/// a launch nothing. For what nobody outside the program uses; see [`ProgramBuilder::locals`].
///
/// ```
/// use ferromix_engine::LocalVar;
/// assert_eq!(LocalVar::new(3).to_string(), "local variable 3");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LocalVar(u32);

impl LocalVar {
    /// The local variable of this number, which each program has for itself.
    ///
    /// ```
    /// use ferromix_engine::LocalVar;
    /// assert_ne!(LocalVar::new(0), LocalVar::new(1));
    /// ```
    pub const fn new(number: u32) -> Self {
        Self(number)
    }
}

impl fmt::Display for LocalVar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "local variable {}", self.0)
    }
}

/// What a step of a program uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ProgramVar {
    External(Var),
    Local(LocalVar),
}

impl ProgramBuilder {
    /// Says that the operation added last also reads and mutates these local variables.
    ///
    /// Launches may overlap, so what a local variable stands for must be ordered by another one,
    /// that some operation mutates in front of all uses and another behind them; or be a thing of
    /// each launch.
    ///
    /// ```
    /// use ferromix_engine::{Engine, LocalVar, OpSpec, Program};
    /// let engine = Engine::builder().workers(2).build();
    /// let (out, between) = (engine.new_variable(), LocalVar::new(0));
    /// let program = Program::builder("two steps")
    ///     .op(&OpSpec::new("first"), |_| Ok(()))
    ///     .locals(&[], &[between])
    ///     .op(&OpSpec::new("second").writes(&[out]), |_| Ok(()))
    ///     .locals(&[between], &[])
    ///     .build();
    /// engine.launch(&program)?;
    /// engine.wait_for_var(out)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn locals(mut self, reads: &[LocalVar], writes: &[LocalVar]) -> Self {
        if let Some(uses) = self.uses.last_mut() {
            // An operation may use very many.
            let mut places: HashMap<ProgramVar, usize> = HashMap::new();
            places.extend(
                uses.iter()
                    .enumerate()
                    .map(|(place, (var, _))| (*var, place)),
            );
            for (vars, mutates) in [(writes, true), (reads, false)] {
                for var in vars.iter().map(|var| ProgramVar::Local(*var)) {
                    let place = *places.entry(var).or_insert(uses.len());
                    match uses.get_mut(place) {
                        Some((_, writes)) => *writes |= mutates,
                        None => uses.push((var, mutates)),
                    }
                }
            }
        }
        self
    }
}
