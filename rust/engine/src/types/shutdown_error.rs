//! Why an engine did not end in time.

use std::fmt;

use crate::types::spec::Name;

/// Names that an error gives at most.
const MOST_NAMES: usize = 16;

/// Why [`Engine::shutdown`](crate::Engine::shutdown) gave up: what is unfinished.
///
/// ```
/// use std::time::Duration;
/// use ferromix_engine::{Engine, OpSpec};
/// let engine = Engine::builder().drop_limit(Duration::from_millis(1)).build();
/// engine.push_async(&OpSpec::new("forgotten"), |_, done| std::mem::forget(done))?;
/// let unfinished = engine.shutdown(Duration::from_millis(50)).unwrap_err();
/// assert_eq!(unfinished.count(), 1);
/// assert_eq!(unfinished.names()[0].as_str(), "forgotten");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ShutdownError {
    pub(crate) names: Vec<Name>,
    pub(crate) count: u64,
    /// It was asked for inside an operation.
    pub(crate) inside: bool,
}

impl ShutdownError {
    /// The names of operations whose functions run, and of asynchronous ones that nobody has
    /// completed, each once; what waits for those is not named.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// How many operations are unfinished.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.inside {
            return f.write_str("an operation cannot shut down the engine that runs it");
        }
        write!(f, "{} operations did not finish in time", self.count)?;
        for (k, name) in self.names.iter().take(MOST_NAMES).enumerate() {
            let comma = if k == 0 {
                "; running, or begun and not completed: "
            } else {
                ", "
            };
            write!(f, "{comma}{name}")?;
        }
        if self.names.len() > MOST_NAMES {
            f.write_str(", ...")?;
        }
        Ok(())
    }
}

impl std::error::Error for ShutdownError {}
