//! An operation joins the bulk that its thread builds, and the bulk goes into the log.

use std::ptr;

use crate::base::sync::{Relaxed, per_thread};
use crate::functions::task::Task;
use crate::operation::op::{Op, OpKind, Uses};
use crate::state::bulk_builder::{BulkBuilder, MOST_VARS, UsedVar, Vars};
use crate::state::core::Core;
use crate::state::thread::here;
use crate::types::failure::PushError;
use crate::types::spec::{Name, OpSpec};

/// Small operations that run on the thread that finds their bulk ready.
const MOST_INLINE: usize = 16;

/// At the end of a thread: pushes what its bulks hold that were forgotten.
struct LastChance;

impl Drop for LastChance {
    fn drop(&mut self) {
        let mut next = here(|here| here.bulks.get());
        // SAFETY: as in `BulkBuilder::unlink`.
        while let Some(builder) = unsafe { next.as_ref() } {
            // SAFETY: its `Bulk`, dropped later or never, has a handle of the engine.
            unsafe { (*builder.core).push_bulk(builder) };
            next = builder.outer.get();
        }
    }
}

per_thread! {
    static LAST_CHANCE: LastChance = LastChance;
}

/// Sees to it that this thread's bulks are pushed at its end.
pub(crate) fn watch_thread() {
    // An error means that the thread is ending.
    let _ = LAST_CHANCE.try_with(|_| ());
}

impl Core {
    /// The bulk that this thread fills.
    #[inline]
    pub(crate) fn bulk_builder(&self) -> Option<&BulkBuilder> {
        // Relaxed: a thread sees what it counted itself.
        if self.bulks.load(Relaxed) == 0 {
            return None;
        }
        self.find_bulk_builder()
    }

    #[cold]
    fn find_bulk_builder(&self) -> Option<&BulkBuilder> {
        let mut next = here(|here| here.bulks.get());
        // SAFETY: as in `BulkBuilder::unlink`.
        while let Some(builder) = unsafe { next.as_ref() } {
            if builder.is_of(self) {
                return Some(builder);
            }
            next = builder.outer.get();
        }
        None
    }

    /// Pushes what this thread has collected. Comes before everything that must be behind it.
    #[inline]
    pub(crate) fn push_collected(&self) {
        if let Some(builder) = self.bulk_builder() {
            self.push_bulk(builder);
        }
    }

    /// Adds an operation to the bulk; `None` if it is to be pushed by itself. `store` runs no code
    /// of the user's.
    pub(crate) fn collect(
        &self,
        builder: &BulkBuilder,
        spec: &OpSpec<'_>,
        store: impl FnOnce(&mut Task),
    ) -> Option<Result<(), PushError>> {
        if self.naive || !builder.takes(spec) {
            return None;
        }
        if let Err(refused) = self.check_open() {
            return Some(Err(refused));
        }
        let mut vars = spec.mutate_vars.iter().chain(spec.const_vars);
        if let Some(&stale) = vars.find(|var| self.vars.live(**var).is_none()) {
            return Some(Err(PushError::StaleVariable(stale)));
        }
        let more = spec.mutate_vars.len() + spec.const_vars.len();
        if builder.content.borrow().vars.len + more > MOST_VARS {
            self.push_bulk(builder);
        }
        let mut content = builder.content.borrow_mut();
        let uses = match self.hold_vars(spec, &mut content.vars) {
            Ok(uses) => uses,
            Err(refused) => {
                // Lets go of what was held for this operation.
                drop(content);
                self.push_bulk(builder);
                return Some(Err(refused));
            }
        };
        // Without a lane: it is the bulk that is queued.
        let op = self.new_op(OpKind::Sync, &spec.inline(true), 0, ptr::null());
        // SAFETY: not shared yet, nor is the bulk.
        unsafe {
            op.with_task(store);
            op.set_uses(uses);
        }
        if content.len == 0 {
            (content.small, content.tag) = (true, spec.tag);
        }
        content.ops.push(op);
        content.len += 1;
        content.small &= spec.inline;
        let full = content.len == builder.size;
        drop(content);
        if full {
            self.push_bulk(builder);
        }
        Some(Ok(()))
    }

    /// The variables of an operation among those of the bulk, which holds them from now on.
    fn hold_vars(&self, spec: &OpSpec<'_>, held: &mut Vars) -> Result<Uses, PushError> {
        let mut uses = Uses::default();
        for (vars, writes) in [(spec.mutate_vars, true), (spec.const_vars, false)] {
            for &var in vars {
                let place = match held.find(var) {
                    Some(place) => place,
                    // Another thread may have deleted it since the look at all of them.
                    None => match self.vars.hold(var) {
                        Some(slot) => held.add(var, slot),
                        None => return Err(PushError::StaleVariable(var)),
                    },
                };
                uses.add(place, writes);
            }
        }
        for &var in spec.mutate_vars {
            if let Some(place) = held.find(var) {
                held.list[place as usize].writes = true;
            }
        }
        Ok(uses)
    }

    /// Lets go of the variables of a bulk that is pushed, and pushes the deletions of those that
    /// were deleted meanwhile.
    fn release_vars(&self, held: &[UsedVar]) {
        for used in held {
            // SAFETY: slots live as long as the engine.
            if let Some(deletion) = unsafe { (*used.slot).let_go() } {
                self.submit(deletion);
            }
        }
    }

    /// Pushes what a bulk holds. It is empty afterwards, but for what runs inline and pushes.
    fn push_bulk(&self, builder: &BulkBuilder) {
        let mut content = builder.content.borrow_mut();
        if (content.len == 0 && content.vars.len == 0) || self.is_inherited() {
            return;
        }
        let spec = OpSpec::new(const { Name::new("bulk") })
            .tag(content.tag)
            .inline(content.small && content.len <= MOST_INLINE);
        // What runs inline may push.
        let (list, len) = (content.vars.list, content.vars.len);
        let (held, ops) = (&list[..len], content.ops.take());
        content.len = 0;
        content.vars.clear();
        drop(content);
        if !ops.is_null() {
            self.submit_bulk(&spec, held, ops);
        }
        self.release_vars(held);
        if self.limiter.holds_back() {
            self.hold_back(None);
        }
    }

    /// Pushes the operations that `first` leads to, as one that uses these variables.
    fn submit_bulk(&self, spec: &OpSpec<'_>, vars: &[UsedVar], first: *mut Op) {
        let bulk = self.new_op(OpKind::Bulk, spec, vars.len(), ptr::null());
        for (k, used) in vars.iter().enumerate() {
            // SAFETY: each access once, of an operation that is not shared yet; slots live as long
            // as the engine.
            unsafe { bulk.init_access(k, &*used.slot, used.var.generation, used.writes) };
        }
        // SAFETY: not shared yet.
        unsafe { bulk.set_first(first) };
        let begin = self.tracer.begin();
        self.submit(bulk);
        if let Some(begin) = begin {
            self.trace_push(bulk, spec.name, spec.tag, begin);
        }
    }
}
