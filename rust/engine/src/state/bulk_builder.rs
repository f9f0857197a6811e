//! Operations that a thread collects, to push them as one: what a [`Bulk`](crate::Bulk) is made of.
//!
//! Nothing here is shared: a thread fills its own bulk, and what leaves it is an operation like any
//! other, whose accesses are those of all that it holds. Until then the bulk holds their variables,
//! so that who deletes one leaves the deletion to it.

use std::cell::{Cell, RefCell};
use std::ptr;

use crate::operation::op::Uses;
use crate::operation::op_list::OpList;
use crate::operation::var_slots::VarSlot;
use crate::state::core::Core;
use crate::state::thread::here;
use crate::types::spec::{FnProperty, OpSpec};
use crate::types::var::Var;

/// Variables of one bulk.
pub(crate) const MOST_VARS: usize = 64;
/// Places of the table that finds variables. A power of two.
const TABLE: usize = 128;
/// A place of the table that no variable has.
const FREE: u8 = u8::MAX;

/// A thread's bulk for one engine. In a box that the [`Bulk`](crate::Bulk) owns.
pub(crate) struct BulkBuilder {
    pub(crate) core: *const Core,
    /// Operations that make it full.
    pub(crate) size: usize,
    /// The one that was the thread's innermost before.
    pub(crate) outer: Cell<*const BulkBuilder>,
    pub(crate) content: RefCell<Content>,
}

/// What a bulk holds.
pub(crate) struct Content {
    pub(crate) ops: OpList,
    pub(crate) len: usize,
    /// All operations are small.
    pub(crate) small: bool,
    pub(crate) tag: u64,
    pub(crate) vars: Vars,
}

/// A variable, and how the operations use it.
#[derive(Clone, Copy)]
pub(crate) struct UsedVar {
    pub(crate) slot: *const VarSlot,
    pub(crate) var: Var,
    pub(crate) writes: bool,
}

/// The variables that the operations use, each once.
pub(crate) struct Vars {
    pub(crate) list: [UsedVar; MOST_VARS],
    pub(crate) len: usize,
    /// Where in the list a variable is likely to be found.
    table: [u8; TABLE],
}

impl Vars {
    const fn new() -> Self {
        const NONE: UsedVar = UsedVar {
            slot: ptr::null(),
            var: Var {
                index: 0,
                generation: 0,
            },
            writes: false,
        };
        Self {
            list: [NONE; MOST_VARS],
            len: 0,
            table: [FREE; TABLE],
        }
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.table = [FREE; TABLE];
    }

    /// The place of a variable in the list.
    pub(crate) fn find(&self, var: Var) -> Option<u8> {
        let is = |used: &UsedVar| used.var == var;
        match self.table[var.index as usize % TABLE] {
            FREE => None,
            place if is(&self.list[place as usize]) => Some(place),
            // Another has its place in the table.
            _ => {
                let place = self.list[..self.len].iter().position(is)?;
                Some(place as u8)
            }
        }
    }

    /// Adds a variable that is held and not in the list, which has room. Its place.
    pub(crate) fn add(&mut self, var: Var, slot: &VarSlot) -> u8 {
        let place = self.len as u8;
        self.list[self.len] = UsedVar {
            slot,
            var,
            writes: false,
        };
        let entry = &mut self.table[var.index as usize % TABLE];
        if *entry == FREE {
            *entry = place;
        }
        self.len += 1;
        place
    }
}

impl BulkBuilder {
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
            }),
        }
    }

    /// Takes this one out of the thread's list.
    pub(crate) fn unlink(&self) {
        here(|here| {
            let mut link = &here.bulks;
            // SAFETY: what is linked is in a box that a `Bulk` of this thread still owns.
            while let Some(builder) = unsafe { link.get().as_ref() } {
                if ptr::eq(builder, self) {
                    return link.set(self.outer.get());
                }
                link = &builder.outer;
            }
        });
    }

    /// Whether it is for this engine.
    pub(crate) fn is_of(&self, core: &Core) -> bool {
        ptr::eq(self.core, core)
    }

    /// Whether an operation may join.
    pub(crate) fn takes(&self, spec: &OpSpec<'_>) -> bool {
        self.size > 1
            && spec.property == FnProperty::Normal
            && spec.priority == 0
            && spec.bytes == 0
            && !spec.device.is_gpu()
            && spec.const_vars.len() + spec.mutate_vars.len() <= Uses::MOST
    }
}
