//! The lanes of an engine, made when they are first needed.

use std::ptr;
use std::time::Duration;

use crate::base::sync::{
    AcqRel, Acquire, AtomicBool, AtomicPtr, AtomicUsize, JoinHandle, Relaxed, SeqCst, fence, sleep,
};
use crate::scheduling::lane::{Lane, LaneKey};
use crate::types::device::Device;
use crate::types::options::Sizes;
use crate::types::spec::FnProperty;
use crate::types::wait_policy::WaitPolicy;

/// How long a look at whether a thread has ended waits for the next, at first and at most.
const NAP: Duration = Duration::from_micros(20);
const LONG_NAP: Duration = Duration::from_millis(1);

/// All lanes of an engine: a list that only grows, and is short.
pub(crate) struct Lanes {
    sizes: Sizes,
    /// The lane of ordinary work.
    cpu: *const Lane,
    head: AtomicPtr<Lane>,
    stopped: AtomicBool,
    /// Stops under way, whose threads may not be quite gone.
    joining: AtomicUsize,
}

/// A stop under way.
struct Joining<'a>(&'a AtomicUsize);

impl<'a> Joining<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count)
    }
}

impl Drop for Joining<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Lanes {
    pub(crate) fn new(sizes: Sizes) -> Self {
        let mut lanes = Self {
            sizes,
            cpu: ptr::null(),
            head: AtomicPtr::new(ptr::null_mut()),
            stopped: AtomicBool::new(false),
            joining: AtomicUsize::new(0),
        };
        // The host's lanes last, so that they are found first.
        lanes.find_or_make(LaneKey::new(Device::CPU, FnProperty::CpuPrioritized));
        lanes.cpu = lanes.find_or_make(LaneKey::CPU);
        lanes
    }

    /// The lane of a key, made if there is none yet.
    #[inline]
    pub(crate) fn find(&self, key: LaneKey) -> &Lane {
        if key == LaneKey::CPU {
            self.cpu()
        } else {
            self.find_or_make(key)
        }
    }

    #[inline(never)]
    fn find_or_make(&self, key: LaneKey) -> &Lane {
        let mut mine: *mut Lane = ptr::null_mut();
        loop {
            // Acquire: pairs with the exchange below.
            let head = self.head.load(Acquire);
            if let Some(found) = self.iter_from(head).find(|lane| lane.key == key) {
                if !mine.is_null() {
                    // SAFETY: made below and never shared.
                    drop(unsafe { Box::from_raw(mine) });
                }
                return found;
            }
            if mine.is_null() {
                let stopped = self.stopped.load(Acquire);
                mine = Box::into_raw(Box::new(Lane::new(key, self.sizes, stopped)));
            }
            // SAFETY: not shared yet.
            unsafe { (*mine).next.store(head, Relaxed) };
            // Release: the new lane's contents.
            if self
                .head
                .compare_exchange(head, mine, AcqRel, Relaxed)
                .is_ok()
            {
                // SAFETY: lanes live as long as the list.
                let made = unsafe { &*mine };
                // Whoever stops or starts the lanes has seen the new one, or we see that.
                fence(SeqCst);
                made.follow(self.is_stopped());
                return made;
            }
        }
    }

    fn iter_from(&self, head: *mut Lane) -> impl Iterator<Item = &Lane> {
        // SAFETY: null or a lane, which lives as long as the list.
        std::iter::successors(unsafe { head.as_ref() }, |lane| {
            // SAFETY: as above. Relaxed: set before the lane was published.
            unsafe { lane.next.load(Relaxed).as_ref() }
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Lane> {
        self.iter_from(self.head.load(Acquire))
    }

    #[inline]
    pub(crate) fn cpu(&self) -> &Lane {
        // SAFETY: made together with the list, and lives as long.
        unsafe { &*self.cpu }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(SeqCst)
    }

    /// Whether no thread of any lane is there, or on its way out.
    pub(crate) fn are_empty(&self) -> bool {
        self.joining.load(SeqCst) == 0 && !self.iter().any(Lane::has_threads)
    }

    /// Whether the lanes are stopped, and no thread works on.
    pub(crate) fn are_at_rest(&self) -> bool {
        self.is_stopped() && !self.iter().any(Lane::has_threads)
    }

    /// Whether workers of any lane wait inside operations.
    pub(crate) fn is_anyone_blocked(&self) -> bool {
        self.iter().any(Lane::has_blocked)
    }

    /// Has all sleeping workers look around.
    pub(crate) fn wake_all(&self) {
        self.iter().for_each(|lane| lane.idle.wake_all());
    }

    /// Ends the threads, except the calling one, as soon as they are through with what they run; then
    /// nobody works before the [start](Lanes::start). False if `policy` gave up first; the threads end
    /// later then.
    pub(crate) fn stop(&self, mut policy: Option<&mut dyn WaitPolicy>) -> bool {
        let _joining = Joining::begin(&self.joining);
        self.stopped.store(true, SeqCst);
        fence(SeqCst);
        let stops: Vec<_> = self.iter().map(|lane| (lane, lane.dismiss())).collect();
        for (lane, stop) in stops {
            while let Some(thread) = lane.take_dismissed(stop) {
                if !join(&thread.handle, &mut policy) {
                    lane.put_back(thread);
                    return false;
                }
                if !thread.handle.is_current() {
                    thread.handle.join();
                }
            }
        }
        true
    }

    /// New lanes are not stopped any more. (Those that are there have to be [opened](Lane::open).)
    pub(crate) fn open(&self) {
        self.stopped.store(false, SeqCst);
        fence(SeqCst);
    }

    /// In the child of a fork, where another thread may have been about to start them: all are stopped.
    pub(crate) fn be_stopped(&self) {
        self.stopped.store(true, SeqCst);
        self.iter().for_each(|lane| lane.follow(true));
    }
}

/// Waits until a thread has ended, or cannot because it is the calling one.
fn join(thread: &JoinHandle, policy: &mut Option<&mut dyn WaitPolicy>) -> bool {
    let Some(policy) = policy else {
        return true; // The caller's join waits.
    };
    let mut nap = NAP;
    while !thread.has_ended() && !thread.is_current() {
        let Some(time) = policy.before_sleep() else {
            return false;
        };
        sleep(time.min(nap));
        policy.after_sleep();
        nap = (2 * nap).min(LONG_NAP);
    }
    true
}

// SAFETY: the lanes that the pointers lead to are `Sync`, and owned by the list.
unsafe impl Sync for Lanes {}
// SAFETY: as above.
unsafe impl Send for Lanes {}

impl Drop for Lanes {
    fn drop(&mut self) {
        let mut lane = self.head.load(Acquire);
        while !lane.is_null() {
            // SAFETY: the list owns its lanes, and every thread of theirs has ended: each holds
            // the core, which holds the list.
            let owned = unsafe { Box::from_raw(lane) };
            lane = owned.next.load(Relaxed);
        }
    }
}
