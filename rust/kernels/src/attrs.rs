//! Attributes of an operator as kernels read them: already typed and complete, since the
//! operator's card has parsed them and filled in the defaults.

use ferromix_base::{Error, Result};

/// The value of one attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Absent on purpose.
    None,
    /// A flag.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A word, for enumerations and names of element types.
    Str(String),
    /// A tuple of integers.
    Ints(Vec<i64>),
    /// A tuple of real numbers.
    Floats(Vec<f64>),
}

/// The attributes of one operator, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attrs {
    rows: Vec<(String, Value)>,
}

macro_rules! getter {
    ($(#[$doc:meta])* $name:ident, $t:ty, $what:literal, $($pat:pat => $value:expr),+) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// An attribute that is missing or of another type.
        pub fn $name(&self, name: &str) -> Result<$t> {
            match self.get(name) {
                $(Some($pat) => Ok($value),)+
                other => Err(Self::mismatch(name, $what, other)),
            }
        }
    };
}

impl Attrs {
    /// Attributes from their rows.
    pub fn new(rows: Vec<(String, Value)>) -> Self {
        Attrs { rows }
    }

    /// The value of `name`, if it was given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.rows.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Whether `name` was given and is not `None`.
    pub fn has(&self, name: &str) -> bool {
        !matches!(self.get(name), None | Some(Value::None))
    }

    getter!(/// A flag.
        bool, bool, "a bool", Value::Bool(b) => *b, Value::Int(i) => *i != 0);
    getter!(/// An integer.
        int, i64, "an int", Value::Int(i) => *i, Value::Bool(b) => i64::from(*b));
    getter!(/// A real number.
        float, f64, "a float", Value::Float(x) => *x, Value::Int(i) => *i as f64,
        Value::Bool(b) => f64::from(u8::from(*b)));
    getter!(/// A word.
        str, &str, "a string", Value::Str(s) => s.as_str());
    getter!(/// A tuple of integers.
        ints, &[i64], "a tuple of ints", Value::Ints(v) => v.as_slice());

    getter!(/// A tuple of real numbers.
        floats, Vec<f64>, "a tuple of floats", Value::Floats(v) => v.clone(),
        Value::Ints(v) => v.iter().map(|&i| i as f64).collect());

    /// A tuple of `n` non-negative extents, or `fill` everywhere where the tuple is empty or
    /// absent.
    ///
    /// # Errors
    /// A tuple of another length or with a negative member.
    pub fn extents(&self, name: &str, n: usize, fill: usize) -> Result<Vec<usize>> {
        let given: &[i64] = if self.has(name) {
            self.ints(name)?
        } else {
            &[]
        };
        if given.is_empty() {
            return Ok(vec![fill; n]);
        }
        if given.len() != n || given.iter().any(|&x| x < 0) {
            return Err(Error::value(format!(
                "attribute '{name}' must be {n} non-negative integers, got {given:?}"
            )));
        }
        Ok(given.iter().map(|&x| x as usize).collect())
    }

    fn mismatch(name: &str, what: &str, got: Option<&Value>) -> Error {
        match got {
            None => Error::value(format!("attribute '{name}' is missing; it must be {what}")),
            Some(v) => Error::value(format!("attribute '{name}' must be {what}, got {v:?}")),
        }
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Attrs {
    fn from(rows: [(&str, Value); N]) -> Self {
        Attrs::new(rows.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
    }
}
