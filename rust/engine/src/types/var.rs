//! Variables as users hold them: handles with a generation, so that a stale one is noticed.

use std::fmt;

use crate::base::engine_number;

/// A variable: what operations read and write, as far as the engine cares.
///
/// A plain 64-bit handle. After [`delete_variable`](crate::Engine::delete_variable) the handle is
/// stale, and every use of it is an error, even when its slot has been given to a new variable.
///
/// ```
/// use ferromix_engine::Engine;
/// let engine = Engine::builder().build();
/// let old = engine.new_variable();
/// engine.delete_variable(old, || ())?;
/// let new = engine.new_variable();
/// assert_ne!(old, new);
/// assert!(engine.version(old).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Var {
    pub(crate) index: u32,
    /// The engine's number, and which of the slot's variables it is.
    pub(crate) generation: u32,
}

/// Bits of a generation behind the engine's number: a slot has half as many variables in turn.
pub(crate) const GENERATION_BITS: u32 = 32 - engine_number::BITS;
pub(crate) const GENERATIONS: u32 = (1 << GENERATION_BITS) - 1;

impl Var {
    /// The handle as one integer, for other languages to carry.
    ///
    /// ```
    /// use ferromix_engine::{Engine, Var};
    /// let a = Engine::builder().build().new_variable();
    /// assert_eq!(Var::from_bits(a.to_bits()), a);
    /// ```
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The handle from [`Var::to_bits`]. Any integer is safe; a wrong one is a stale handle.
    ///
    /// ```
    /// use ferromix_engine::{Engine, Var};
    /// let a = Engine::builder().build().new_variable();
    /// assert_eq!(Var::from_bits(a.to_bits()), a);
    /// ```
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            index: bits as u32,
            generation: (bits >> 32) as u32,
        }
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let generation = self.generation & GENERATIONS;
        write!(f, "variable {}#{generation}", self.index)?;
        write!(f, " of engine {}", self.generation >> GENERATION_BITS)
    }
}

impl fmt::Debug for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Var({self})")
    }
}
