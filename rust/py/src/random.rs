//! The state of the random numbers, and streams of them for those who share a resource.

use crate::engine::Variable;
use crate::support::convert::{context, runtime};
use crate::support::errors::{push_to_py, to_py};
use ferromix_engine::{Name, OpSpec};
use ferromix_runtime::Draws;
use pyo3::prelude::*;
use std::sync::Arc;

/// Starts the random numbers over.
#[pyfunction]
#[pyo3(signature = (value, device=None))]
fn seed(value: u64, device: Option<(i32, u16)>) -> PyResult<()> {
    let random = runtime()?.random();
    if let Some((code, id)) = device {
        return random.reseed_on(context(code, id)?, value).map_err(to_py);
    }
    random.reseed(value);
    Ok(())
}

/// Random numbers apart from those of the devices.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct RandomStream {
    draws: Arc<Draws>,
    resource: u16,
}

/// Starts the numbers over when it goes: run or skipped, since the failure of an operation before it
/// must not lose a seed.
struct Reseed {
    draws: Arc<Draws>,
    resource: u16,
    seed: u64,
}

impl Drop for Reseed {
    fn drop(&mut self) {
        self.draws.reseed(self.seed, self.resource);
    }
}

#[pymethods]
impl RandomStream {
    /// The numbers of the resource of this number, for the host's seed.
    #[new]
    fn new(resource: u16) -> PyResult<Self> {
        let seed = runtime()?.random().seed();
        Ok(RandomStream {
            draws: Arc::new(Draws::new(seed, resource)),
            resource,
        })
    }

    /// Starts over once the users of `variable` are done.
    fn reseed(&self, variable: &Variable, seed: u64) -> PyResult<()> {
        let reseed = Reseed {
            draws: self.draws.clone(),
            resource: self.resource,
            seed,
        };
        let vars = [variable.var()];
        let spec = OpSpec::new(const { Name::new("seed") })
            .writes(&vars)
            .inline(true);
        let run = move |_: &_| {
            drop(reseed);
            Ok(())
        };
        runtime()?
            .engine()
            .push_sync(&spec, run)
            .map_err(push_to_py)
    }

    /// Streams that depend on this one's next numbers, each with its own.
    fn split(&self, count: u32) -> Vec<RandomStream> {
        let run = self.draws.next();
        let stream = |index: u32| {
            let [low, high, ..] = run.block(index.into());
            RandomStream {
                draws: Arc::new(Draws::new(
                    u64::from(high) << 32 | u64::from(low),
                    self.resource,
                )),
                resource: self.resource,
            }
        };
        (0..count).map(stream).collect()
    }

    /// Calls a function; what it pushes on this thread draws from here.
    fn during<'py>(&self, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        struct Restore(Option<Arc<Draws>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                Draws::set_current(self.0.take());
            }
        }
        let _restore = Restore(Draws::set_current(Some(self.draws.clone())));
        function.call0()
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<RandomStream>()?;
    m.add_function(wrap_pyfunction!(seed, m)?)
}
