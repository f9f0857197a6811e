//! Programs as users build them.

pub(crate) mod local_var;
pub(crate) mod program;
pub(crate) mod program_builder;

pub use local_var::LocalVar;
pub use program::Program;
pub use program_builder::ProgramBuilder;
