//! Operations that a thread collects, to push them as one: what a [`Bulk`](crate::Bulk) is filled
//! with, and how it gets into the log.
//!
//! Nothing here is shared: a thread fills its own bulk, and what leaves it is an operation like any
//! other, whose accesses are those of all that it holds.

use std::cell::{Cell, RefCell};
use std::ptr;

use crate::core::Core;
use crate::failure::PushError;
use crate::op::{Kind, OpPtr, Uses};
use crate::op_list::OpList;
use crate::spec::{FnProperty, Name, OpSpec};
use crate::sync::{Relaxed, per_thread};
use crate::task::Task;
use crate::thread::here;
use crate::var::{Var, VarSlot};

/// Variables of one bulk.
const MOST_VARS: usize = 64;
/// Small operations that run on the thread that finds their bulk ready.
const MOST_INLINE: usize = 16;
/// Places of the table that finds variables. A power of two.
const TABLE: usize = 128;
/// A place of the table that no variable has.
const FREE: u8 = u8::MAX;

/// A thread's bulk for one engine. In a box that the [`Bulk`](crate::Bulk) owns.
pub(crate) struct Filling {
    core: *const Core,
    /// Operations that make it full.
    size: usize,
    /// The one that was the thread's innermost before.
    pub(crate) outer: Cell<*const Filling>,
    content: RefCell<Content>,
}

struct Content {
    ops: OpList,
    len: usize,
    /// All operations are small.
    small: bool,
    tag: u64,
    vars: Vars,
    /// Deletions of variables that the operations use.
    deletions: OpList,
}

#[derive(Clone, Copy)]
struct Used {
    slot: *const VarSlot,
    generation: u32,
    writes: bool,
}

/// The variables that the operations use, each once.
struct Vars {
    list: [Used; MOST_VARS],
    len: usize,
    /// Where in the list a variable is likely to be found.
    table: [u8; TABLE],
}

impl Vars {
    const fn new() -> Self {
        const NONE: Used = Used {
            slot: ptr::null(),
            generation: 0,
            writes: false,
        };
        Self {
            list: [NONE; MOST_VARS],
            len: 0,
            table: [FREE; TABLE],
        }
    }

    fn clear(&mut self) {
        self.len = 0;
        self.table = [FREE; TABLE];
    }

    /// The place of a variable in the list.
    fn find(&self, var: Var, slot: &VarSlot) -> Option<usize> {
        let is = |used: &Used| ptr::eq(used.slot, slot) && used.generation == var.generation;
        match self.table[var.index as usize % TABLE] {
            FREE => None,
            place if is(&self.list[place as usize]) => Some(place as usize),
            // Another has its place in the table.
            _ => self.list[..self.len].iter().position(is),
        }
    }

    /// The place of a variable in the list, which has room.
    fn add(&mut self, var: Var, slot: &VarSlot, writes: bool) -> u8 {
        let place = self.find(var, slot).unwrap_or_else(|| {
            let place = self.len;
            self.list[place] = Used {
                slot,
                generation: var.generation,
                writes: false,
            };
            let entry = &mut self.table[var.index as usize % TABLE];
            if *entry == FREE {
                *entry = place as u8;
            }
            self.len += 1;
            place
        });
        self.list[place].writes |= writes;
        place as u8
    }
}

impl Filling {
    pub(crate) fn new(core: &Core, size: usize) -> Self {
        Self {
            core,
            size,
            outer: Cell::new(ptr::null()),
            content: RefCell::new(Content {
                ops: OpList::new(),
                len: 0,
                small: true,
                tag: 0,
                vars: Vars::new(),
                deletions: OpList::new(),
            }),
        }
    }

    /// Takes this one out of the thread's list.
    pub(crate) fn unlink(&self) {
        here(|here| {
            let mut link = &here.filling;
            // SAFETY: what is linked is in a box that a `Bulk` of this thread still owns.
            while let Some(filling) = unsafe { link.get().as_ref() } {
                if ptr::eq(filling, self) {
                    return link.set(self.outer.get());
                }
                link = &filling.outer;
            }
        });
    }

    /// Whether it is for this engine.
    pub(crate) fn is_of(&self, core: &Core) -> bool {
        ptr::eq(self.core, core)
    }

    fn takes(&self, spec: &OpSpec<'_>) -> bool {
        self.size > 1
            && spec.property == FnProperty::Normal
            && spec.priority == 0
            && spec.bytes == 0
            && !spec.device.is_gpu()
            && spec.const_vars.len() + spec.mutate_vars.len() <= Uses::MOST
    }
}

/// At the end of a thread: pushes what its bulks hold that were forgotten.
struct LastChance;

impl Drop for LastChance {
    fn drop(&mut self) {
        let mut next = here(|here| here.filling.get());
        // SAFETY: as in `unlink`.
        while let Some(filling) = unsafe { next.as_ref() } {
            // SAFETY: its `Bulk`, dropped later or never, has a handle of the engine.
            unsafe { (*filling.core).push_bulk(filling) };
            next = filling.outer.get();
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
    pub(crate) fn filling(&self) -> Option<&Filling> {
        // Relaxed: a thread sees what it counted itself.
        if self.bulks.load(Relaxed) == 0 {
            return None;
        }
        self.find_filling()
    }

    #[cold]
    fn find_filling(&self) -> Option<&Filling> {
        let mut next = here(|here| here.filling.get());
        // SAFETY: as in `unlink`.
        while let Some(filling) = unsafe { next.as_ref() } {
            if filling.is_of(self) {
                return Some(filling);
            }
            next = filling.outer.get();
        }
        None
    }

    /// Pushes what this thread has collected. Comes before everything that must be behind it.
    #[inline]
    pub(crate) fn push_collected(&self) {
        if let Some(filling) = self.filling() {
            self.push_bulk(filling);
        }
    }

    /// Adds an operation to the bulk; `None` if it is to be pushed by itself. `store` runs no code
    /// of the user's.
    pub(crate) fn collect(
        &self,
        filling: &Filling,
        spec: &OpSpec<'_>,
        store: impl FnOnce(&mut Task),
    ) -> Option<Result<(), PushError>> {
        if self.naive || !filling.takes(spec) {
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
        if filling.content.borrow().vars.len + more > MOST_VARS {
            self.push_bulk(filling);
        }
        // Without a lane: it is the bulk that is queued.
        let op = self.new_op(Kind::Sync, &spec.inline(true), 0, ptr::null());
        // SAFETY: not shared yet.
        unsafe { op.with_task(store) };
        let mut content = filling.content.borrow_mut();
        let uses = self.uses(spec, &mut content);
        // SAFETY: the bulk is not shared yet.
        unsafe { op.set_uses(uses) };
        if content.len == 0 {
            (content.small, content.tag) = (true, spec.tag);
        }
        content.ops.push(op);
        content.len += 1;
        content.small &= spec.inline;
        let full = content.len == filling.size;
        drop(content);
        if full {
            self.push_bulk(filling);
        }
        Some(Ok(()))
    }

    /// The variables of an operation among those of the bulk, to which they are added.
    fn uses(&self, spec: &OpSpec<'_>, content: &mut Content) -> Uses {
        let mut uses = Uses::default();
        for (vars, writes) in [(spec.mutate_vars, true), (spec.const_vars, false)] {
            for &var in vars {
                // There since it was alive; a deletion meanwhile is the registrar's matter.
                if let Some(slot) = self.vars.slot(var.index) {
                    uses.add(content.vars.add(var, slot, writes), writes);
                }
            }
        }
        uses
    }

    /// Keeps the deletion of a variable until the operations of the bulk that use it are pushed;
    /// false if there is none.
    pub(crate) fn collect_deletion(&self, var: Var, deletion: OpPtr) -> bool {
        let Some(filling) = self.filling() else {
            return false;
        };
        let mut content = filling.content.borrow_mut();
        let slot = self.vars.slot(var.index);
        let used = slot.is_some_and(|slot| content.vars.find(var, slot).is_some());
        if used {
            content.deletions.push(deletion);
        }
        used
    }

    /// Pushes what a bulk holds. It is empty afterwards, but for what runs inline and pushes.
    fn push_bulk(&self, filling: &Filling) {
        let mut content = filling.content.borrow_mut();
        if content.len == 0 || self.is_inherited() {
            return;
        }
        let spec = OpSpec::new(const { Name::new("bulk") })
            .tag(content.tag)
            .inline(content.small && content.len <= MOST_INLINE);
        let vars = &content.vars.list[..content.vars.len];
        let bulk = self.new_op(Kind::Bulk, &spec, vars.len(), ptr::null());
        for (k, used) in vars.iter().enumerate() {
            // SAFETY: each access once, of an operation that is not shared yet.
            unsafe { bulk.init_access(k, used.slot, used.generation, used.writes) };
        }
        // SAFETY: not shared yet.
        unsafe { bulk.set_first(content.ops.take()) };
        content.len = 0;
        content.vars.clear();
        let mut deletions = std::mem::replace(&mut content.deletions, OpList::new());
        // What runs inline may push.
        drop(content);
        let begin = self.tracer.begin();
        self.submit(bulk);
        if let Some(begin) = begin {
            self.trace_push(bulk, spec.name, spec.tag, begin);
        }
        while let Some(deletion) = deletions.pop() {
            self.submit(deletion);
        }
        if self.bound.holds_back() {
            self.hold_back(None);
        }
    }
}
