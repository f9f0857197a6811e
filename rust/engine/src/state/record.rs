//! What the engine itself records in its trace.

use std::time::Instant;

use crate::state::core::Core;

use crate::operation::op::{NO_STEP, OpKind, OpPtr};
use crate::scheduling::lane::Lane;
use crate::tracing::event::{Event, What};
use crate::types::spec::Name;

impl Core {
    /// An operation that was pushed at `begin`. It may be over already.
    #[cold]
    pub(crate) fn trace_push(&self, op: OpPtr, name: Name, tag: u64, begin: Instant) {
        self.tracer.record(Event {
            what: What::Push,
            name,
            lane: None,
            op: op.as_ptr() as usize,
            step: NO_STEP,
            tag,
            begin,
            end: Instant::now(),
        });
    }

    /// The function of an operation that is not over yet ran since `begin`, or was discarded.
    #[cold]
    pub(crate) fn trace_run(&self, op: OpPtr, skipped: bool, begin: Instant) {
        let header = op.header();
        let what = match header.kind {
            _ if skipped => What::Skip,
            OpKind::Async => What::Start,
            OpKind::Delete => What::Delete,
            _ => What::Run,
        };
        self.trace_function((op, NO_STEP), what, op.name(), header.tag, begin);
    }

    /// The function of an asynchronous operation, or step of one, is about to run. It may be over,
    /// and looked for in a trace, before its function is.
    #[cold]
    pub(crate) fn trace_begin(&self, of: (OpPtr, u32), name: Name, tag: u64) {
        self.trace_function(of, What::Begin, name, tag, Instant::now());
    }

    /// A function, of an operation or step that is not over yet, ran since `begin`.
    #[cold]
    pub(crate) fn trace_function(
        &self,
        (op, step): (OpPtr, u32),
        what: What,
        name: Name,
        tag: u64,
        begin: Instant,
    ) {
        self.tracer.record(Event {
            what,
            name,
            // SAFETY: null, or a lane, which lives as long as we.
            lane: unsafe { Lane::of(op) }.map(|lane| lane.key),
            op: op.as_ptr() as usize,
            step,
            tag,
            begin,
            end: Instant::now(),
        });
    }

    /// The calling thread waited since `begin`.
    #[cold]
    pub(crate) fn trace_wait(&self, name: Name, begin: Instant) {
        self.trace_own(What::Wait, name, begin, Instant::now());
    }

    #[cold]
    pub(crate) fn trace_own(&self, what: What, name: Name, begin: Instant, end: Instant) {
        self.tracer.record(Event {
            what,
            name,
            lane: None,
            op: 0,
            step: NO_STEP,
            tag: 0,
            begin,
            end,
        });
    }
}
