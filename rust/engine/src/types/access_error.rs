//! Why an operation does not get at data.

use std::fmt;

use crate::types::var::Var;

/// Why an operation does not get at the value of a [`Data`](crate::Data).
///
/// ```
/// use ferromix_engine::{AccessError, Engine, OpSpec};
/// let engine = Engine::builder().build();
/// let data = engine.data(1);
/// let mine = data.clone();
/// engine.push_sync(&OpSpec::new("undeclared"), move |context| {
///     assert!(matches!(context.read(&mine), Err(AccessError::Undeclared(_))));
///     Ok(())
/// })?;
/// engine.wait_for_all()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AccessError {
    /// The operation has not listed the variable, or is completed already.
    Undeclared(Var),
    /// The operation has listed the variable to read it only.
    ReadOnly(Var),
    /// There is a reference that does not go together with this one: the operation itself holds it,
    /// or one before has left it behind.
    InUse(Var),
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessError::Undeclared(var) => write!(
                f,
                "the operation does not list {var}, or is completed; list it in reads() or writes()"
            ),
            AccessError::ReadOnly(var) => {
                write!(f, "the operation only reads {var}; list it in writes()")
            }
            AccessError::InUse(var) => write!(
                f,
                "there still is a reference to the data of {var}; drop that one first"
            ),
        }
    }
}

impl std::error::Error for AccessError {}
