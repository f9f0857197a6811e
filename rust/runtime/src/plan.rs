//! A bound graph: operators on fixed arrays, pushed by one call.

use crate::{Array, Bound, Runtime, fork};
use ferromix_base::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// A list of bound operators in an order that respects the graph. It keeps their arrays alive.
pub struct Plan {
    runtime: Arc<Runtime>,
    steps: Vec<Arc<Bound>>,
    _arrays: Vec<Array>,
}

impl Plan {
    /// A plan of `steps`, which work on `arrays`.
    pub fn new(runtime: &Arc<Runtime>, steps: Vec<Arc<Bound>>, arrays: Vec<Array>) -> Self {
        Plan {
            runtime: runtime.clone(),
            steps,
            _arrays: arrays,
        }
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Pushes the steps of `range` in order and returns at once.
    ///
    /// # Errors
    /// A range outside the plan, or an engine that was shut down.
    pub fn run(&self, range: Range<usize>, site: u64) -> Result<()> {
        let steps = self.steps.get(range.clone()).ok_or_else(|| {
            Error::value(format!(
                "steps {range:?} of a plan of {} steps",
                self.steps.len()
            ))
        })?;
        let _inside = fork::enter();
        steps
            .iter()
            .try_for_each(|step| step.push(&self.runtime, site))
    }
}
