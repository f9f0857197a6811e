//! The end of an engine: its work is finished, its threads end, and what did not finish is named.

use std::time::Duration;

use crate::base::sync::{Arc, Instant, MODEL, start_thread};
use crate::execution::ready_batch::ReadyBatch;
use crate::state::core::Core;
use crate::state::thread;
use crate::types::shutdown_error::ShutdownError;
use crate::types::spec::Name;
use crate::types::wait_policy::WaitPolicy;

/// How often somebody who waits for the end looks whether anything finishes.
const LOOK: Duration = Duration::from_millis(10);

/// Waits as long as something finishes now and then.
struct WhileSomethingFinishes<'a> {
    core: &'a Core,
    limit: Duration,
    completed: u64,
    since: Instant,
}

impl WaitPolicy for WhileSomethingFinishes<'_> {
    fn before_sleep(&mut self) -> Option<Duration> {
        let completed = self.core.epochs.counts().1;
        if completed != self.completed {
            (self.completed, self.since) = (completed, Instant::now());
        }
        (self.since.elapsed() < self.limit).then_some(LOOK)
    }
}

impl Core {
    /// Finishes everything and ends the threads, for good; false if `policy` gave up first.
    pub(crate) fn shut_down(&self, policy: &mut dyn WaitPolicy) -> bool {
        // Somebody may have stopped the engine and pushed afterwards.
        self.lanes.start(self);
        // In a model, time passes in turns, and nobody runs out of it.
        let finished = if MODEL {
            self.finish_all(None).is_ok() && self.lanes.stop(None)
        } else {
            self.finish_all(Some(&mut *policy)).is_ok() && self.lanes.stop(Some(policy))
        };
        if !finished {
            return false;
        }
        // Invitations to launches that were over before anybody followed.
        for lane in self.lanes.iter() {
            while let Some(op) = lane.queue.pop_foreign() {
                let mut batch = ReadyBatch::new();
                self.execute(op, &mut batch);
                self.settle(&mut batch);
            }
        }
        true
    }

    pub(crate) fn unfinished(&self, inside: bool) -> ShutdownError {
        let running = self.lanes.iter().flat_map(|lane| lane.running());
        let mut names: Vec<Name> = running.chain(self.promises.names()).collect();
        names.sort_unstable_by_key(|name| name.as_str());
        names.dedup();
        let (pushed, completed) = self.epochs.counts();
        ShutdownError {
            names,
            count: pushed - completed,
            inside,
        }
    }

    /// The end of the last handle.
    pub(crate) fn end_of_handles(&self) {
        let mut policy = WhileSomethingFinishes {
            core: self,
            limit: self.options.drop_limit,
            completed: 0,
            since: Instant::now(),
        };
        if !self.shut_down(&mut policy) && !self.is_inherited() {
            let unfinished = self.unfinished(false);
            eprintln!("ferromix-engine: dropped, and left to its threads: {unfinished}");
        }
    }
}

/// The last of these to go drains the engine.
pub(crate) struct Handle {
    pub(crate) core: Arc<Core>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.core.is_inherited() {
            // Nobody here could finish anything, nor free what the parent's threads had in hand.
            std::mem::forget(self.core.clone());
            return;
        }
        // Where this thread has brought it to rest: it goes on, to its end.
        self.core.resume_in_parent();
        if !thread::is_running() && self.core.may_block_here() && !thread::has_served(&self.core) {
            return self.core.end_of_handles();
        }
        // The last handle went with an operation's function, which must end first, also if it is
        // another engine's, or with a worker.
        let core = self.core.clone();
        if let Err(error) = start_thread("fmx-end".to_owned(), move || core.end_of_handles()) {
            eprintln!("ferromix-engine: dropped, and left to its threads, as {error}");
        }
    }
}
