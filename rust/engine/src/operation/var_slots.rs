//! The slots behind variables: chain, version and failure of each. They lie in a slab that only grows
//! and is freed with its engine.

use std::ptr;

use crate::base::engine_number::Number;
use crate::base::sync::{
    AcqRel, Acquire, Arc, AtomicPtr, AtomicU32, AtomicU64, MODEL, Relaxed, Release, UnsafeCell,
};
use crate::failures::ledger::FailureCell;
use crate::operation::access::AccessPtr;
use crate::operation::op::OpPtr;
use crate::types::var::{GENERATIONS, Var};

/// What only the holder of the baton touches.
pub(crate) struct Chain {
    /// The last access in push order; it is retired by whoever registers the next one.
    pub(crate) tail: Option<AccessPtr>,
    /// The generation that is alive at this point of the log.
    pub(crate) generation: u32,
}

/// One variable's state, in two cache lines: what pushers and the registrar touch, and what those
/// that execute operations do.
#[repr(C, align(64))]
pub(crate) struct VarSlot {
    /// In the upper half the generation: odd while alive, even from the call of `delete_variable`
    /// until the slot is given out again. In the lower half how many hold the variable.
    state: AtomicU64,
    free_next: AtomicU32,
    index: u32,
    /// Writes registered so far; what `version` is on its way to.
    registered: AtomicU64,
    pub(crate) chain: UnsafeCell<Chain>,
    /// The deletion of a variable that was held: set by whoever deleted it, who holds it, too, and
    /// taken by the last one to let go.
    parked: UnsafeCell<Option<OpPtr>>,
    written: WriteState,
}

/// What became of a handle that was to be made stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Killed {
    /// It was stale before.
    Before,
    /// Nobody holds the variable.
    Free,
    /// Somebody does, and so does the caller now, until it parks the deletion.
    Held,
}

const fn generation_of(state: u64) -> u32 {
    (state >> 32) as u32
}

const fn holders_of(state: u64) -> u32 {
    state as u32
}

/// The state of a slot that nobody holds.
const fn unheld(generation: u32) -> u64 {
    (generation as u64) << 32
}

/// What is changed under write access.
#[repr(align(64))]
struct WriteState {
    version: AtomicU64,
    /// Read under any access.
    failure: UnsafeCell<Option<Arc<FailureCell>>>,
}

// SAFETY: `chain` is touched under the baton alone (and by `drop`), `failure` under an access of
// the variable: writers exclude everybody, readers only clone. `parked` has one owner at a time.
unsafe impl Sync for VarSlot {}

// SAFETY: the pointers in `chain` are to operation blocks, which any thread may retire.
unsafe impl Send for VarSlot {}

impl VarSlot {
    fn new(index: u32, generation: u32) -> Self {
        Self {
            state: AtomicU64::new(unheld(generation)),
            free_next: AtomicU32::new(0),
            index,
            registered: AtomicU64::new(0),
            chain: UnsafeCell::new(Chain {
                tail: None,
                generation: generation + 1,
            }),
            parked: UnsafeCell::new(None),
            written: WriteState {
                version: AtomicU64::new(0),
                failure: UnsafeCell::new(None),
            },
        }
    }

    /// Whether a further variable would make generations repeat.
    fn is_worn_out(&self) -> bool {
        // Relaxed: the caller alone may give the slot to a new variable.
        generation_of(self.state.load(Relaxed)) & GENERATIONS >= GENERATIONS - 1
    }

    /// The handle of this slot's variable of some generation.
    pub(crate) fn handle(&self, generation: u32) -> Var {
        Var {
            index: self.index,
            generation,
        }
    }

    /// Registrar: counts one more write to come.
    ///
    /// # Safety
    /// The caller holds the baton.
    pub(crate) unsafe fn expect_write(&self) {
        // Relaxed load and store: under the baton. Published when the baton is put down.
        let registered = self.registered.load(Relaxed);
        self.registered.store(registered + 1, Relaxed);
    }

    /// Ends one hold. The last one of a deleted variable gets its deletion, which is to be pushed.
    pub(crate) fn let_go(&self) -> Option<OpPtr> {
        // Release: what the holder pushed comes before what the last one, or whoever deletes the
        // variable later, pushes. Acquire: pairs with that in the others' `let_go`.
        let before = self.state.fetch_sub(1, AcqRel);
        if holders_of(before) > 1 || generation_of(before) & 1 == 1 {
            return None;
        }
        // SAFETY: the last one: a variable that is stale gets no new holders.
        self.parked.with_mut(|parked| unsafe { (*parked).take() })
    }

    /// Leaves the deletion to the last one that holds the variable; gives it back if nobody does.
    ///
    /// # Safety
    /// The caller's `kill` returned [`Killed::Held`]; once.
    pub(crate) unsafe fn park(&self, deletion: OpPtr) -> Option<OpPtr> {
        // SAFETY: one call of `kill` holds what it made stale, and others take when that is over.
        self.parked
            .with_mut(|parked| unsafe { *parked = Some(deletion) });
        self.let_go()
    }

    /// Whether all writes that are registered have finished. Says nothing if the variable is
    /// deleted meanwhile, which the caller then sees.
    fn is_quiet(&self) -> bool {
        // Acquire: pairs with `recycle`.
        let registered = self.registered.load(Acquire);
        // Acquire: pairs with `bump_version`, whose writes are in order. Those that were registered
        // after the look above may have finished, too.
        self.written.version.load(Acquire) >= registered
    }

    /// Counts one finished write.
    ///
    /// # Safety
    /// The caller runs an operation with write access.
    pub(crate) unsafe fn bump_version(&self) {
        // Relaxed load and store instead of an addition: writers exclude each other. Release: a
        // thread that sees the new number also sees the write.
        let version = &self.written.version;
        version.store(version.load(Relaxed) + 1, Release);
    }

    /// Replaces the failure that the variable holds.
    ///
    /// # Safety
    /// The caller runs an operation with write access.
    #[must_use = "an error may be of a user's type, whose destructor does anything"]
    pub(crate) unsafe fn set_failure(
        &self,
        failure: Option<Arc<FailureCell>>,
    ) -> Option<Arc<FailureCell>> {
        // SAFETY: write access excludes everybody else.
        self.written
            .failure
            .with_mut(|cell| unsafe { std::mem::replace(&mut *cell, failure) })
    }

    /// The failure that the variable holds.
    ///
    /// # Safety
    /// The caller runs an operation with any access.
    pub(crate) unsafe fn failure(&self) -> Option<Arc<FailureCell>> {
        // SAFETY: nobody writes while an access is held.
        self.written.failure.with(|cell| unsafe { (*cell).clone() })
    }
}

/// Slots of the first level; each further level doubles. (Few in a model, which tracks each.)
const FIRST: u32 = if MODEL { 4 } else { 64 };

const LEVELS: usize = 26;

/// All slots of one engine. Slots never move, are reused, and are freed with the engine.
pub(crate) struct VarSlab {
    levels: [AtomicPtr<VarSlot>; LEVELS],
    len: AtomicU32,
    /// Top of the stack of free slots: tag in the upper half (against ABA), index + 1 in the lower.
    free: AtomicU64,
    engine: Number,
}

fn locate(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + u64::from(FIRST);
    let level = shifted.ilog2() - FIRST.ilog2();
    (
        level as usize,
        (shifted - (u64::from(FIRST) << level)) as usize,
    )
}

fn level_len(level: usize) -> usize {
    (FIRST as usize) << level
}

impl VarSlab {
    pub(crate) fn new() -> Self {
        Self {
            levels: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            len: AtomicU32::new(0),
            free: AtomicU64::new(0),
            engine: Number::take(),
        }
    }

    /// The slot of an index, if there is one.
    #[inline]
    pub(crate) fn slot(&self, index: u32) -> Option<&VarSlot> {
        let (level, offset) = locate(index);
        // Acquire: pairs with the publication of the level; the slots are initialised.
        let base = self.levels.get(level)?.load(Acquire);
        if base.is_null() {
            return None;
        }
        // SAFETY: the offset is below the level's length by construction of `locate`.
        Some(unsafe { &*base.add(offset) })
    }

    /// The slot of a live variable.
    #[inline]
    pub(crate) fn live(&self, var: Var) -> Option<&VarSlot> {
        let slot = self.slot(var.index)?;
        // Acquire: pairs with `create`, so that a reused slot is seen reset.
        let is_live = || generation_of(slot.state.load(Acquire)) == var.generation;
        (var.generation & 1 == 1 && is_live()).then_some(slot)
    }

    /// A new variable of version 0.
    pub(crate) fn create(&self) -> Var {
        let (index, slot) = match self.pop_free() {
            Some(found) => found,
            None => self.grow(),
        };
        // Relaxed: nobody else changes the state of a slot without a variable.
        let generation = generation_of(slot.state.load(Relaxed)) + 1;
        // Release: pairs with `live` and `hold`.
        slot.state.store(unheld(generation), Release);
        Var { index, generation }
    }

    /// Holds a variable, until [`VarSlot::let_go`]: what deletes it will be pushed after that. None
    /// if it is stale.
    pub(crate) fn hold(&self, var: Var) -> Option<&VarSlot> {
        let slot = self.slot(var.index)?;
        // Relaxed: the exchange looks again.
        let mut state = slot.state.load(Relaxed);
        while var.generation & 1 == 1 && generation_of(state) == var.generation {
            // Acquire: as in `live`. Relaxed on failure: as above.
            match slot
                .state
                .compare_exchange_weak(state, state + 1, Acquire, Relaxed)
            {
                Ok(_) => return Some(slot),
                Err(now) => state = now,
            }
        }
        None
    }

    /// Makes the handle stale. Of several callers one wins.
    pub(crate) fn kill(&self, var: Var) -> Killed {
        let Some(slot) = self.live(var) else {
            return Killed::Before;
        };
        // Relaxed: the exchange looks again.
        let mut state = slot.state.load(Relaxed);
        while generation_of(state) == var.generation {
            let held = holders_of(state) > 0;
            let next = unheld(var.generation + 1) | u64::from(holders_of(state) + u32::from(held));
            // Release: whoever fails because of this sees what happened before the deletion.
            // Acquire: pairs with `let_go`. Relaxed on failure: as above.
            match slot
                .state
                .compare_exchange_weak(state, next, AcqRel, Relaxed)
            {
                Ok(_) if held => return Killed::Held,
                Ok(_) => return Killed::Free,
                Err(now) => state = now,
            }
        }
        Killed::Before
    }

    /// Number of finished writes.
    pub(crate) fn version(&self, var: Var) -> Option<u64> {
        let slot = self.live(var)?;
        // Acquire: pairs with `bump_version`.
        let version = slot.written.version.load(Acquire);
        // If the slot was reused meanwhile the number may be another variable's: look again.
        self.live(var).map(|_| version)
    }

    /// Whether the variable is alive and all its registered writes have finished.
    pub(crate) fn is_quiet(&self, var: Var) -> bool {
        // If the slot is given up meanwhile, the numbers may be another variable's: look again.
        self.live(var).is_some_and(VarSlot::is_quiet) && self.live(var).is_some()
    }

    /// Takes back the slot of a deleted variable. Returns the failure that it held.
    ///
    /// # Safety
    /// The caller runs the deleting operation, which has write access.
    pub(crate) unsafe fn recycle(&self, slot: &VarSlot) -> Option<Arc<FailureCell>> {
        // SAFETY: write access.
        let held = unsafe { slot.set_failure(None) };
        // No more writes are registered: that of the deletion was the last.
        // Release: whoever reads the number sees that the variable is gone. As for `version`, which
        // others read only together with it; the push onto the free stack publishes both.
        slot.registered.store(0, Release);
        slot.written.version.store(0, Release);
        if slot.is_worn_out() {
            return held; // Generations would repeat: leave the slot unused for good.
        }
        let mut top = self.free.load(Relaxed);
        loop {
            slot.free_next.store(top as u32, Relaxed);
            let new = ((top >> 32) + 1) << 32 | u64::from(slot.index + 1);
            // Release: pairs with `pop_free`; the new owner sees the slot reset.
            match self.free.compare_exchange_weak(top, new, Release, Relaxed) {
                Ok(_) => return held,
                Err(now) => top = now,
            }
        }
    }

    fn pop_free(&self) -> Option<(u32, &VarSlot)> {
        // Acquire: pairs with `recycle`.
        let mut top = self.free.load(Acquire);
        loop {
            let index = (top as u32).checked_sub(1)?;
            let slot = self.slot(index)?;
            // May be stale if somebody pops and pushes meanwhile; then the tag differs and the
            // exchange fails.
            let next = slot.free_next.load(Relaxed);
            let new = ((top >> 32) + 1) << 32 | u64::from(next);
            match self.free.compare_exchange_weak(top, new, Acquire, Acquire) {
                Ok(_) => return Some((index, slot)),
                Err(now) => top = now,
            }
        }
    }

    fn grow(&self) -> (u32, &VarSlot) {
        // Relaxed: only the uniqueness of the number matters.
        let index = self.len.fetch_add(1, Relaxed);
        assert!(
            index < u32::MAX - FIRST,
            "more than four billion variables at once"
        );
        let (level, offset) = locate(index);
        let cell = &self.levels[level];
        // Acquire: as in `slot`.
        let mut base = cell.load(Acquire);
        if base.is_null() {
            let begin = index - offset as u32;
            let fresh: Box<[VarSlot]> = (0..level_len(level) as u32)
                .map(|k| VarSlot::new(begin + k, self.engine.first_stamp()))
                .collect();
            let fresh = Box::into_raw(fresh).cast::<VarSlot>();
            // Release on success: publishes the slots. Acquire on failure: sees the winner's.
            match cell.compare_exchange(ptr::null_mut(), fresh, AcqRel, Acquire) {
                Ok(_) => base = fresh,
                Err(theirs) => {
                    // SAFETY: `fresh` was never shared.
                    drop(unsafe { Self::level_from_raw(fresh, level) });
                    base = theirs;
                }
            }
        }
        // SAFETY: as in `slot`.
        (index, unsafe { &*base.add(offset) })
    }

    /// # Safety
    /// `base` came from `Box::into_raw` in `grow` for this level and is owned by the caller.
    unsafe fn level_from_raw(base: *mut VarSlot, level: usize) -> Box<[VarSlot]> {
        // SAFETY: by the contract.
        unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(base, level_len(level))) }
    }

    /// Hands every chain's tail to `retire`, and leaves the chains empty.
    ///
    /// # Safety
    /// Nobody else uses the engine: it is about to go, or this process was just forked.
    pub(crate) unsafe fn drain_tails(&self, mut retire: impl FnMut(AccessPtr)) {
        for index in 0..self.len.load(Relaxed) {
            if let Some(slot) = self.slot(index) {
                // SAFETY: by the contract.
                if let Some(tail) = slot.chain.with_mut(|chain| unsafe { (*chain).tail.take() }) {
                    retire(tail);
                }
            }
        }
    }
}

impl Drop for VarSlab {
    fn drop(&mut self) {
        for (level, cell) in self.levels.iter().enumerate() {
            let base = cell.load(Acquire);
            if !base.is_null() {
                // SAFETY: the slab owns its levels, and it is going away.
                drop(unsafe { Self::level_from_raw(base, level) });
            }
        }
    }
}
