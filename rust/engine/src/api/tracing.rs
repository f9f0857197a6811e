//! Tracing as users see it.

use std::time::{Duration, Instant};

use crate::api::engine::Engine;
use crate::tracing::chrome::Trace;
use crate::tracing::event::What;
use crate::tracing::recorder::MOST_EVENTS;
use crate::types::spec::Name;

/// Tracing: what was pushed, ran and waited when, on which thread. While it is off, an operation
/// pays two relaxed loads for it.
impl Engine {
    /// Starts recording; a recording before is forgotten. The memory is limited: of about 100 bytes
    /// per event, with two events per operation, four million are kept.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    ///
    /// let engine = Engine::builder().workers(2).build();
    /// let a = engine.new_variable();
    /// engine.start_trace();
    /// for _ in 0..10 {
    ///     engine.push_sync(&OpSpec::new("work").writes(&[a]), |_| Ok(()))?;
    /// }
    /// engine.wait_for_all()?;
    /// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
    /// let work = trace.summary().into_iter().find(|row| row.name == "work");
    /// assert_eq!(work.map(|row| row.count), Some(10));
    /// let mut json = Vec::new(); // or a file, to be opened in Perfetto
    /// trace.write_chrome_json(&mut json)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_trace(&self) {
        self.start_trace_of(MOST_EVENTS);
    }

    /// The same, with room for about so many events; further ones are [counted](Trace::dropped).
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(1).build();
    /// engine.start_trace_of(100);
    /// for _ in 0..10_000 {
    ///     engine.push_sync(&OpSpec::new("many"), |_| Ok(()))?;
    /// }
    /// engine.wait_for_all()?;
    /// assert!(engine.stop_trace().is_some_and(|trace| trace.dropped() > 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn start_trace_of(&self, most_events: usize) {
        if !self.core().is_inherited() {
            self.core().tracer.start(most_events);
        }
    }

    /// Records nothing until [`resume_trace`](Engine::resume_trace).
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.start_trace();
    /// engine.pause_trace();
    /// engine.push_sync(&OpSpec::new("unseen"), |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// engine.resume_trace();
    /// assert!(engine.is_tracing());
    /// assert!(engine.stop_trace().is_some_and(|trace| trace.is_empty()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pause_trace(&self) {
        self.core().tracer.pause();
    }

    /// Goes on with a recording that was paused.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.start_trace();
    /// engine.pause_trace();
    /// engine.push_sync(&OpSpec::new("unseen"), |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// engine.resume_trace();
    /// assert!(engine.is_tracing());
    /// assert!(engine.stop_trace().is_some_and(|trace| trace.is_empty()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume_trace(&self) {
        if !self.core().is_inherited() {
            self.core().tracer.resume();
        }
    }

    /// Whether events are being recorded.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// engine.start_trace();
    /// engine.pause_trace();
    /// engine.push_sync(&OpSpec::new("unseen"), |_| Ok(()))?;
    /// engine.wait_for_all()?;
    /// engine.resume_trace();
    /// assert!(engine.is_tracing());
    /// assert!(engine.stop_trace().is_some_and(|trace| trace.is_empty()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_tracing(&self) -> bool {
        self.core().tracer.is_on()
    }

    /// What was recorded so far; `None` without a recording. What is running is not in it yet.
    ///
    /// ```
    /// use ferromix_engine::Engine;
    /// let engine = Engine::builder().build();
    /// assert!(engine.trace().is_none());
    /// engine.start_trace();
    /// assert!(engine.trace().is_some());
    /// ```
    pub fn trace(&self) -> Option<Trace> {
        if self.core().is_inherited() {
            return None;
        }
        self.core().tracer.session().map(|s| Trace::of(&s))
    }

    /// Ends the recording and returns it; `None` if there was none.
    ///
    /// ```
    /// use ferromix_engine::Engine;
    /// let engine = Engine::builder().build();
    /// engine.start_trace();
    /// assert!(engine.stop_trace().is_some());
    /// assert!(engine.stop_trace().is_none());
    /// ```
    pub fn stop_trace(&self) -> Option<Trace> {
        if self.core().is_inherited() {
            return None;
        }
        self.core().tracer.stop().map(|s| Trace::of(&s))
    }

    /// Adds a time span of the user's, which ends now, to the calling thread's events.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use ferromix_engine::{Engine, Name};
    /// let engine = Engine::builder().build();
    /// engine.start_trace();
    /// let (group, name, began) = (Name::new("mine"), Name::new("setting up"), Instant::now());
    /// engine.trace_span(group, name, began);
    /// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
    /// assert_eq!(trace.len(), 1);
    /// # let _ = (began, Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace_span(&self, category: Name, name: Name, began: Instant) {
        if self.is_tracing() {
            let what = What::Span(category);
            self.core().trace_own(what, name, began, Instant::now());
        }
    }

    /// Adds a point in time: `ago` before now.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use ferromix_engine::{Engine, Name};
    /// let engine = Engine::builder().build();
    /// engine.start_trace();
    /// let (group, name, began) = (Name::new("mine"), Name::new("setting up"), Instant::now());
    /// engine.trace_mark(group, name, Duration::ZERO);
    /// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
    /// assert_eq!(trace.len(), 1);
    /// # let _ = (began, Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace_mark(&self, category: Name, name: Name, ago: Duration) {
        if self.is_tracing() {
            let now = Instant::now();
            let then = now.checked_sub(ago).unwrap_or(now);
            self.core()
                .trace_own(What::Mark(category), name, then, then);
        }
    }

    /// Adds the value that something has from now on.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use ferromix_engine::{Engine, Name};
    /// let engine = Engine::builder().build();
    /// engine.start_trace();
    /// let (group, name, began) = (Name::new("mine"), Name::new("setting up"), Instant::now());
    /// engine.trace_counter(group, name, 0.5);
    /// let trace = engine.stop_trace().ok_or("nothing was recorded")?;
    /// assert_eq!(trace.len(), 1);
    /// # let _ = (began, Duration::ZERO);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace_counter(&self, category: Name, name: Name, value: f64) {
        if self.is_tracing() {
            let now = Instant::now();
            let what = What::Count(category, value.to_bits());
            self.core().trace_own(what, name, now, now);
        }
    }
}
