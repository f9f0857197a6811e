//! Variables that delete themselves.

use std::ops::Deref;

use crate::api::engine::Engine;
use crate::types::var::Var;

/// A variable that is deleted when this is dropped, after the operations that use it.
///
/// ```
/// use ferromix_engine::{Engine, OpSpec};
/// let engine = Engine::builder().build();
/// let owned = engine.owned_variable();
/// let var = owned.var();
/// engine.push_sync(&OpSpec::new("write").writes(&[var]), |_| Ok(()))?;
/// drop(owned);
/// assert!(engine.version(var).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OwnedVar {
    var: Var,
    engine: Engine,
}

impl OwnedVar {
    /// The variable.
    pub fn var(&self) -> Var {
        self.var
    }
}

impl Deref for OwnedVar {
    type Target = Var;

    fn deref(&self) -> &Var {
        &self.var
    }
}

impl Drop for OwnedVar {
    fn drop(&mut self) {
        // Refused if it was deleted by hand, or in the child of a fork: either way it is gone.
        let _ = self.engine.delete_variable(self.var, || ());
    }
}

impl Engine {
    /// A new variable, which is deleted when what is returned is dropped.
    ///
    /// ```
    /// let engine = ferromix_engine::Engine::builder().build();
    /// let owned = engine.owned_variable();
    /// assert_eq!(engine.version(*owned)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn owned_variable(&self) -> OwnedVar {
        OwnedVar {
            var: self.new_variable(),
            engine: self.clone(),
        }
    }
}
