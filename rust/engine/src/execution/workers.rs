//! Workers of lanes: who wakes them, and who starts one more.

use crate::base::sync::{Arc, SeqCst, fence};
use crate::execution::worker;
use crate::scheduling::lane::Lane;
use crate::scheduling::lanes::Lanes;
use crate::scheduling::park::Wake;
use crate::state::core::Core;

impl Lane {
    /// Whether what is queued here will be run: there is a thread, or one can be started.
    pub(crate) fn is_served(&self, core: &Core) -> bool {
        self.has_threads() || self.is_stopped() || self.start_worker(core)
    }

    /// Sees to it that somebody looks for work, which the caller has made available.
    pub(crate) fn wake(&self, core: &Core) {
        if self.idle.announce() == Wake::NobodyIdle {
            self.start_worker(core);
        }
    }

    /// The same, for the thread that registers: in a row of calls, cheaper.
    pub(crate) fn wake_registered(&self, core: &Core) {
        if self.idle.announce_registered() == Wake::NobodyIdle {
            self.start_worker(core);
        }
    }

    /// Starts one more worker if the lane is short of them; false if there is none at all.
    fn start_worker(&self, core: &Core) -> bool {
        let run = |core: &Arc<Core>, lane, index, stops| worker::run(core, lane, index, stops);
        self.recruit(&core.lanes, || core.shared(), run)
    }

    /// After [`Lane::enter_blocking`], when the wait turns out to take time: work that was queued
    /// while everybody was busy has nobody coming for it any more.
    pub(crate) fn cover(&self, core: &Core) {
        fence(SeqCst);
        if self.queue.has_work() {
            self.wake(core);
        }
    }

    /// Lets threads be started again.
    fn start(&self, core: &Core) {
        self.open();
        if self.queue.has_work() {
            self.wake(core);
        }
    }
}

impl Lanes {
    /// Lets threads be started again.
    pub(crate) fn start(&self, core: &Core) {
        self.open();
        self.iter().for_each(|lane| lane.start(core));
    }
}
