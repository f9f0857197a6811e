//! Operations as blocks of memory, their chains, and the log.

pub(crate) mod access;
pub(crate) mod block_pool;
pub(crate) mod log;
pub(crate) mod name_cell;
pub(crate) mod op;
pub(crate) mod op_list;
pub(crate) mod promises;
#[cfg(shuttle)]
pub(crate) mod quarantine;
pub(crate) mod task_space;
pub(crate) mod var_slots;
