//! Failures while somebody may still ask for them, and what users' code leaves to be dropped.

pub(crate) mod ledger;
pub(crate) mod leftovers;
