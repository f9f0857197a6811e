//! Recording what runs when, for `ferromix.profiler`.

use crate::support::convert::runtime;
use crate::support::errors::misuse;
use ferromix_engine::{Engine, Name};
use ferromix_runtime::Runtime;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The engine, if there is one and it records.
pub(crate) fn recording() -> Option<&'static Engine> {
    let engine = Runtime::existing()?.engine();
    engine.is_tracing().then_some(engine)
}

/// Starts a new recording.
#[pyfunction]
fn profiler_start(py: Python<'_>) -> PyResult<()> {
    let engine = runtime()?.engine();
    py.detach(|| engine.start_trace());
    Ok(())
}

/// Records nothing for a while.
#[pyfunction]
fn profiler_pause(py: Python<'_>) -> PyResult<()> {
    let engine = runtime()?.engine();
    py.detach(|| engine.pause_trace());
    Ok(())
}

/// Goes on with the recording.
#[pyfunction]
fn profiler_resume(py: Python<'_>) -> PyResult<()> {
    let engine = runtime()?.engine();
    py.detach(|| engine.resume_trace());
    Ok(())
}

/// Whether events are recorded.
#[pyfunction]
fn profiler_is_on() -> bool {
    recording().is_some()
}

/// Forgets the recording.
#[pyfunction]
fn profiler_forget(py: Python<'_>) -> PyResult<()> {
    let engine = runtime()?.engine();
    // Millions of events take a while to free.
    py.detach(|| drop(engine.stop_trace()));
    Ok(())
}

/// Writes what was recorded so far to a file; the number of events and of those without room.
#[pyfunction]
fn profiler_write(py: Python<'_>, path: PathBuf) -> PyResult<(usize, u64)> {
    let engine = runtime()?.engine();
    py.detach(|| {
        let trace = engine.trace();
        let Some(trace) = trace else {
            return Err(misuse(
                "there is no profile to write; call mx.profiler.set_state('run') first",
            ));
        };
        let mut out = BufWriter::new(File::create(path)?);
        trace.write_chrome_json(&mut out)?;
        out.flush()?;
        Ok((trace.len(), trace.dropped()))
    })
}

type Row = (&'static str, &'static str, u64, f64, f64, f64);

/// Category, name, count, and the total, the shortest and the longest time in milliseconds.
#[pyfunction]
fn profiler_summary(py: Python<'_>) -> PyResult<Vec<Row>> {
    let engine = runtime()?.engine();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let rows = py.detach(|| engine.trace().map(|trace| trace.summary()));
    let rows = rows.unwrap_or_default().into_iter();
    Ok(rows
        .map(|r| {
            let times = (ms(r.total), ms(r.min), ms(r.max));
            (r.category, r.name, r.count, times.0, times.1, times.2)
        })
        .collect())
}

/// A stretch of time that the user marks.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Span {
    category: Name,
    name: Name,
    began: Mutex<Option<Instant>>,
}

#[pymethods]
impl Span {
    #[new]
    fn new(category: &str, name: &str) -> Self {
        Span {
            category: Name::intern(category),
            name: Name::intern(name),
            began: Mutex::new(None),
        }
    }

    /// Begins; again, if it has begun before.
    fn start(&self) {
        *self.began.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Ends; false if it has not begun.
    fn stop(&self) -> bool {
        let began = self
            .began
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let (Some(began), Some(engine)) = (began, recording()) {
            engine.trace_span(self.category, self.name, began);
        }
        began.is_some()
    }
}

/// Marks this moment.
#[pyfunction]
fn profiler_mark(category: &str, name: &str) {
    if let Some(engine) = recording() {
        engine.trace_mark(Name::intern(category), Name::intern(name), Duration::ZERO);
    }
}

/// Says what value something has from now on.
#[pyfunction]
fn profiler_count(category: &str, name: &str, value: f64) {
    if let Some(engine) = recording() {
        engine.trace_counter(Name::intern(category), Name::intern(name), value);
    }
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Span>()?;
    m.add_function(wrap_pyfunction!(profiler_start, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_pause, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_resume, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_is_on, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_forget, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_write, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_summary, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_mark, m)?)?;
    m.add_function(wrap_pyfunction!(profiler_count, m)?)
}
