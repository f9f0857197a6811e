//! One error type: a kind, which decides the Python exception, and a message for a person.

/// What went wrong, in the terms of the Python exception it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A value, a shape or an attribute that does not fit.
    Value,
    /// An index that an axis lacks.
    Index,
    /// An element type that does not fit.
    Type,
    /// Memory that could not be had.
    Memory,
    /// A file that cannot be read or written, or is malformed.
    Io,
    /// A GPU that is not there, or that failed.
    Device,
    /// A call that makes no sense now.
    Misuse,
    /// A fault of Ferromix itself.
    Internal,
}

/// An error: its kind and a message that says what was wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// Shorthand for results with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the given kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
        }
    }

    /// A value, shape or attribute that does not fit.
    pub fn value(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Value, message)
    }

    /// A call that makes no sense now.
    pub fn misuse(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Misuse, message)
    }

    /// An index that an axis lacks.
    pub fn index(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Index, message)
    }

    /// An element type that does not fit.
    pub fn dtype(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Type, message)
    }

    /// Memory that could not be had.
    pub fn memory(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Memory, message)
    }

    /// A file that cannot be read or written.
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, message)
    }

    /// A GPU that is not there, or that failed.
    pub fn device(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Device, message)
    }

    /// A fault of Ferromix itself.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The same error with `prefix: ` before its message.
    #[must_use]
    pub fn within(self, prefix: impl std::fmt::Display) -> Self {
        Error {
            kind: self.kind,
            message: format!("{prefix}: {}", self.message),
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
