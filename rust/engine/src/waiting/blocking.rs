//! A worker that waits inside an operation is counted out of its lane, so that another one works in its
//! place.

use crate::scheduling::lane::Lane;
use crate::state::core::Core;
use crate::state::thread;

/// A worker's lane knows that the worker waits, as long as this lives.
pub(crate) struct Blocking {
    lane: Option<(&'static Core, &'static Lane)>,
}

impl Blocking {
    /// `None` if so many workers wait already that this one must not.
    pub(crate) fn enter() -> Option<Self> {
        let lane = thread::own_lane();
        match lane {
            Some((_, lane)) if !lane.enter_blocking() => None,
            _ => Some(Self { lane }),
        }
    }

    /// The wait will take time: see that somebody else works meanwhile.
    pub(crate) fn cover(&self) {
        if let Some((core, lane)) = self.lane {
            lane.cover(core);
        }
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        if let Some((core, lane)) = self.lane {
            lane.leave_blocking(&core.lanes);
        }
    }
}
