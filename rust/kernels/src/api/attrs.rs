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
    /// A real number that may differ from run to run: its place among those that come with a run,
    /// and its value where none does.
    Dynamic(usize, f64),
}

/// A real number of a prepared kernel, which its card may have marked as dynamic: then each run
/// brings its own.
///
/// A kernel takes it by [`Attrs::scalar`] when it is prepared and reads it by [`Scalar::of`] in each
/// run. Which attributes are dynamic is the card's choice alone; [`Attrs::float`] refuses those, as
/// it would fix them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar {
    slot: Option<usize>,
    value: f64,
}

impl Scalar {
    /// One that is the same in every run.
    pub fn fixed(value: f64) -> Self {
        Scalar { slot: None, value }
    }

    /// The number of the run that came with `scalars` ([`Call::scalars`](crate::api::Call)).
    pub fn of(self, scalars: &[f64]) -> f64 {
        let given = self.slot.and_then(|slot| scalars.get(slot));
        given.copied().unwrap_or(self.value)
    }
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

    /// Those whose names begin with `prefix`, without it.
    #[must_use]
    pub fn within(&self, prefix: &str) -> Attrs {
        let rows = self.rows.iter();
        let mine = rows.filter_map(|(n, v)| Some((n.strip_prefix(prefix)?.to_owned(), v.clone())));
        Attrs::new(mine.collect())
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

    /// A real number that may come with each run.
    ///
    /// # Errors
    /// An attribute that is missing or of another type.
    pub fn scalar(&self, name: &str) -> Result<Scalar> {
        match self.get(name) {
            Some(&Value::Dynamic(slot, value)) => Ok(Scalar {
                slot: Some(slot),
                value,
            }),
            _ => self.float(name).map(Scalar::fixed),
        }
    }

    /// The numbers of a run that brings none: the values of the dynamic attributes, by place.
    pub fn scalars(&self) -> Vec<f64> {
        let dynamic = |(_, value): &(String, Value)| match *value {
            Value::Dynamic(slot, value) => Some((slot, value)),
            _ => None,
        };
        let mut found: Vec<(usize, f64)> = self.rows.iter().filter_map(dynamic).collect();
        found.sort_by_key(|row| row.0);
        found.into_iter().map(|row| row.1).collect()
    }

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
            Some(Value::Dynamic(..)) => Error::internal(format!(
                "attribute '{name}' is dynamic, but the kernel fixes it when it is prepared"
            )),
            Some(v) => Error::value(format!("attribute '{name}' must be {what}, got {v:?}")),
        }
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Attrs {
    fn from(rows: [(&str, Value); N]) -> Self {
        Attrs::new(rows.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_attributes_are_those_of_the_run() {
        let attrs = Attrs::from([
            ("wd", Value::Dynamic(1, 0.25)),
            ("lr", Value::Dynamic(0, 0.5)),
            ("beta", Value::Float(0.125)),
        ]);
        assert_eq!(attrs.scalars(), [0.5, 0.25]);
        let read = |name: &str, scalars: &[f64]| attrs.scalar(name).map(|s| s.of(scalars));
        assert_eq!(read("lr", &[2.0, 3.0]), Ok(2.0));
        assert_eq!(read("wd", &[2.0, 3.0]), Ok(3.0));
        assert_eq!(read("wd", &[]), Ok(0.25));
        assert_eq!(read("beta", &[2.0, 3.0]), Ok(0.125));
        assert!(read("momentum", &[]).is_err());
        let fixed = attrs.float("lr").map_err(|e| e.to_string());
        assert!(fixed.is_err_and(|e| e.contains("'lr' is dynamic")));
    }
}
