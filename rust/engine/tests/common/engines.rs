//! The engines that a clause of the contract is tried on.
#![allow(dead_code)] // Each file of tests uses some.

use ferromix_engine::{Engine, Kind};

pub(crate) fn engines() -> Vec<Engine> {
    vec![
        Engine::builder().workers(1).build(),
        Engine::builder().workers(4).build(),
        Engine::builder().kind(Kind::Naive).build(),
    ]
}

pub(crate) fn threaded(workers: usize) -> Engine {
    Engine::builder().workers(workers).build()
}
