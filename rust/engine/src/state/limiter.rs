//! The limit on operations and bytes in flight: when pushers have to wait. How they do is in
//! `waiting/back_pressure.rs`.

use crossbeam_utils::CachePadded;

use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, Relaxed, SMALL};
use crate::state::core::Core;
use crate::types::options::Limit;

/// How often the registrar looks, in operations. A power of two.
const EVERY: u64 = if SMALL { 4 } else { 64 };
/// Operations that pushers who waited in vain are let through, all together; twice as many each
/// further time.
const FREE: u64 = EVERY;

pub(crate) struct Limiter {
    pub(crate) limit: Limit,
    over: AtomicBool,
    over_bytes: AtomicBool,
    /// Stalls since the last wait that ended well.
    vain: AtomicU32,
    /// Stalls ever: a stall counts once, for all pushers that wait during it.
    pub(crate) stalls: AtomicU64,
    /// Number of operations registered below which nobody is asked to wait.
    free_until: AtomicU64,
    /// Pushes of bytes that are let through over the limit.
    free_pushes: AtomicU64,
    /// Of operations in flight that said how many.
    bytes: CachePadded<AtomicU64>,
}

impl Limiter {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            over: AtomicBool::new(false),
            over_bytes: AtomicBool::new(false),
            vain: AtomicU32::new(0),
            stalls: AtomicU64::new(0),
            free_until: AtomicU64::new(0),
            free_pushes: AtomicU64::new(0),
            bytes: CachePadded::new(AtomicU64::new(0)),
        }
    }

    /// Registrar: at the operation of that number, notes whether there are too many; `in_flight` counts.
    #[inline]
    pub(crate) fn check(&self, registered: u64, in_flight: impl FnOnce() -> u64) {
        if registered % EVERY == 0 && self.limit.most < u64::MAX {
            // Relaxed, here and below: hints.
            let over = registered >= self.free_until.load(Relaxed) && in_flight() > self.limit.most;
            self.over.store(over, Relaxed);
        }
    }

    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Relaxed) || self.over_bytes.load(Relaxed)
    }

    /// Whether a pusher should wait by itself.
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.is_over() && self.limit.wait
    }

    /// Whether pushers see to it that they are registered: the registrar, who notes what is over the
    /// limit, may be kept from its processor.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.limit.wait && self.limit.most < u64::MAX
    }

    /// Adds the bytes of an operation that is pushed.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        let before = self.bytes.fetch_add(bytes, Relaxed);
        // An operation that is too large by itself is let through when nothing else is there.
        if before == 0 || before.saturating_add(bytes) <= self.limit.most_bytes {
            return;
        }
        match self.free_pushes.load(Relaxed).checked_sub(1) {
            Some(left) => self.free_pushes.store(left, Relaxed),
            None => self.over_bytes.store(true, Relaxed),
        }
    }

    fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Whether a quarter of both limits is free.
    pub(crate) fn is_low(&self, in_flight: u64) -> bool {
        let low = |most: u64| most - most / 4;
        in_flight <= low(self.limit.most) && self.bytes() <= low(self.limit.most_bytes)
    }

    /// A wait has ended well: nobody waits again before the registrar, or a push of bytes, says so.
    pub(crate) fn open(&self) {
        self.over.store(false, Relaxed);
        self.over_bytes.store(false, Relaxed);
        self.vain.store(0, Relaxed);
        self.free_until.store(0, Relaxed);
        self.free_pushes.store(0, Relaxed);
    }

    /// Nothing goes on since the stall of that number ended: lets some pushes through, for the first
    /// of all pushers that find it out.
    pub(crate) fn end_stall(&self, stall: u64, double: bool, registered: u64) {
        if self
            .stalls
            .compare_exchange(stall, stall + 1, Relaxed, Relaxed)
            .is_err()
        {
            return;
        }
        let times = self.vain.load(Relaxed).min(32);
        let free = if double { FREE << times } else { FREE };
        self.vain.store(times + u32::from(double), Relaxed);
        self.free_pushes.store(free, Relaxed);
        self.free_until
            .store(registered.saturating_add(free), Relaxed);
        self.over.store(false, Relaxed);
        self.over_bytes.store(false, Relaxed);
    }

    /// In the child of a fork: nothing is in flight, and nobody waits.
    pub(crate) fn begin_anew(&self) {
        self.open();
        self.bytes.store(0, Relaxed);
    }
}

/// The bytes of an operation in flight, until it is dropped.
pub(crate) struct Bytes {
    limiter: *const Limiter,
    bytes: u64,
}

// SAFETY: the limiter is `Sync`; see `new`.
unsafe impl Send for Bytes {}

impl Bytes {
    /// For an operation of `core`, which outlives all its operations.
    pub(crate) fn new(core: &Core, bytes: u64) -> Self {
        core.limiter.add_bytes(bytes);
        Self {
            limiter: &raw const core.limiter,
            bytes,
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: see `new`. Relaxed: a hint.
        unsafe { (*self.limiter).bytes.fetch_sub(self.bytes, Relaxed) };
    }
}
