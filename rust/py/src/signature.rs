//! Call signatures of an operator's function: which arguments are arrays, and the values of all others
//! but for dynamic attributes, which go along with the run. A table knows the call for each of these.

use crate::call::Call;
use crate::dense::Dense;
use crate::support::convert::{is_int, number};
use crate::support::hash::{Hashing, Mixer};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::{Arc, Mutex, PoisonError};

/// A dynamic attribute: its name, its place among the positional arguments, if it has one, and
/// whether it is an int.
pub(crate) type Dynamic = (String, Option<usize>, bool);

/// What a user passed, as CPython hands it over: the last values have names.
pub(crate) struct Arguments<'a, 'py> {
    values: &'a [Bound<'py, PyAny>],
    names: Option<Bound<'py, PyTuple>>,
}

/// What an argument is, apart from its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Array,
    /// An array that Python makes dense, or has a kernel for.
    Sparse,
    /// A number for the dynamic attribute at this place.
    Number(usize),
    Value,
    Out,
    /// The name of a result, which arrays do not have.
    Name,
}

/// What there is to see of arguments.
pub(crate) struct Seen {
    kinds: SmallVec<[Kind; 8]>,
    /// The dynamic attributes, by place.
    pub(crate) scalars: SmallVec<[(usize, f64); 4]>,
    /// Where `out` is.
    pub(crate) out: Option<usize>,
    /// Whether an argument, or one in a list, is a sparse array.
    pub(crate) sparse: bool,
    /// Of everything that tells signatures apart; None where a value cannot be hashed.
    hash: Option<u64>,
}

impl<'a, 'py> Arguments<'a, 'py> {
    pub(crate) fn new(values: &'a [Bound<'py, PyAny>], names: Option<Bound<'py, PyTuple>>) -> Self {
        Arguments { values, names }
    }

    pub(crate) fn values(&self) -> &'a [Bound<'py, PyAny>] {
        self.values
    }

    /// The values and names with `out` and `name` given by name, where they lie behind the `takes`
    /// positional arguments of the operator. None where nothing lies there, or more.
    #[allow(clippy::type_complexity)]
    pub(crate) fn with_results_named(
        &self,
        py: Python<'py>,
        takes: usize,
    ) -> PyResult<Option<(Vec<Bound<'py, PyAny>>, Bound<'py, PyTuple>)>> {
        const RESULT: [&str; 2] = ["out", "name"];
        let positional = self.positional();
        let Some(more) = positional.checked_sub(takes) else {
            return Ok(None);
        };
        if more == 0 || more > RESULT.len() {
            return Ok(None);
        }
        let mut names: Vec<Bound<'py, PyAny>> = match &self.names {
            Some(names) => names.iter().collect(),
            None => Vec::new(),
        };
        let (first, named) = self.values.split_at(positional);
        let mut values = [&first[..takes], named].concat();
        for (value, name) in first[takes..].iter().zip(RESULT) {
            let name = PyString::intern(py, name).into_any();
            for given in &names {
                if given.eq(&name)? {
                    return Ok(None);
                }
            }
            values.push(value.clone());
            names.push(name);
        }
        Ok(Some((values, PyTuple::new(py, names)?)))
    }

    fn positional(&self) -> usize {
        self.values.len() - self.names.as_ref().map_or(0, |names| names.len())
    }

    /// The name of the argument at `place`, if it was given by name.
    fn name(&self, place: usize) -> Option<Borrowed<'_, 'py, PyAny>> {
        let place = place.checked_sub(self.positional())?;
        self.names.as_ref()?.get_borrowed_item(place).ok()
    }

    pub(crate) fn look(&self, dynamic: &[Dynamic]) -> PyResult<Seen> {
        let mut seen = Seen {
            kinds: SmallVec::new(),
            scalars: SmallVec::new(),
            out: None,
            sparse: false,
            hash: None,
        };
        let mut hasher = Mixer::default();
        hasher.write_usize(self.positional());
        let mut hashable = true;
        for (place, value) in self.values.iter().enumerate() {
            let name = self.name(place);
            let text = name.map(|n| n.cast::<PyString>()).transpose()?;
            let text = text.as_ref().map(|n| n.to_str()).transpose()?;
            let kind = kind(place, text, value, dynamic, &mut seen);
            if let Some(name) = name {
                hasher.write_u64(name.hash()? as u64);
            }
            match kind {
                Kind::Out => seen.out = Some(place),
                Kind::Value => match value.hash() {
                    Ok(hash) => hasher.write_u64(hash as u64),
                    Err(_) => {
                        hashable = false;
                        seen.sparse |= holds_sparse(value);
                    }
                },
                Kind::Array | Kind::Number(_) | Kind::Name => hasher.write_u64(1),
                Kind::Sparse => {
                    hashable = false;
                    seen.sparse = true;
                }
            }
            seen.kinds.push(kind);
        }
        seen.hash = hashable.then(|| hasher.finish());
        Ok(seen)
    }

    /// The arguments without `out` and `name`, as a tuple and a dict.
    pub(crate) fn to_python(
        &self,
        py: Python<'py>,
        seen: &Seen,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let positional = PyTuple::new(py, &self.values[..self.positional()])?;
        let named = PyDict::new(py);
        for (place, (value, kind)) in self.values.iter().zip(&seen.kinds).enumerate() {
            if let (Some(name), Kind::Array | Kind::Sparse | Kind::Number(_) | Kind::Value) =
                (self.name(place), kind)
            {
                named.set_item(name, value)?;
            }
        }
        Ok((positional, named))
    }
}

/// Whether an array in a list or a tuple is sparse; arrays hash, so a list alone does not.
fn holds_sparse(value: &Bound<'_, PyAny>) -> bool {
    let sparse = |item: Bound<'_, PyAny>| item.cast::<Dense>().is_ok_and(|a| !a.get().is_dense());
    value
        .cast::<PyList>()
        .is_ok_and(|all| all.iter().any(sparse))
}

fn kind(
    place: usize,
    name: Option<&str>,
    value: &Bound<'_, PyAny>,
    dynamic: &[Dynamic],
    seen: &mut Seen,
) -> Kind {
    match name {
        Some("out") => return Kind::Out,
        Some("name") => return Kind::Name,
        _ => (),
    }
    if let Ok(array) = value.cast::<Dense>() {
        return match array.get().is_dense() {
            true => Kind::Array,
            false => Kind::Sparse,
        };
    }
    let slot = dynamic.iter().position(|(own, own_place, _)| match name {
        Some(name) => name == own,
        None => *own_place == Some(place),
    });
    // What is no such number is Python's to complain of.
    if let Some(slot) = slot
        && (!dynamic[slot].2 || is_int(value).unwrap_or(false))
        && let Ok(Some(number)) = number(value)
    {
        seen.scalars.push((slot, number));
        return Kind::Number(slot);
    }
    Kind::Value
}

/// A call signature, with the call that belongs to it.
pub(crate) struct Signature {
    kinds: SmallVec<[Kind; 8]>,
    positional: usize,
    names: Option<Py<PyTuple>>,
    values: Vec<Py<PyAny>>,
    call: Py<Call>,
    /// Which of the arguments, by place, are the inputs.
    order: SmallVec<[usize; 4]>,
}

impl Signature {
    /// None where the call cannot be found by it again: values that cannot be hashed, arrays in
    /// lists, or one array in two places.
    pub(crate) fn new(
        arguments: &Arguments<'_, '_>,
        seen: &Seen,
        call: Py<Call>,
        inputs: &[Bound<'_, Dense>],
    ) -> Option<Self> {
        seen.hash?;
        let of_kind = |wanted: Kind| {
            let rows = arguments.values.iter().zip(&seen.kinds).enumerate();
            rows.filter(move |(_, (_, kind))| **kind == wanted)
                .map(|(place, (value, _))| (place, value))
        };
        let arrays: SmallVec<[_; 4]> = of_kind(Kind::Array).collect();
        let twice = (1..arrays.len()).any(|k| arrays[..k].iter().any(|a| a.1.is(arrays[k].1)));
        if twice {
            return None;
        }
        let place = |input: &Bound<'_, Dense>| {
            let found = arrays.iter().find(|(_, value)| value.is(input));
            found.map(|(place, _)| *place)
        };
        Some(Signature {
            kinds: seen.kinds.clone(),
            positional: arguments.positional(),
            names: arguments.names.clone().map(Bound::unbind),
            values: of_kind(Kind::Value)
                .map(|(_, value)| value.clone().unbind())
                .collect(),
            call,
            order: inputs.iter().map(place).collect::<Option<_>>()?,
        })
    }

    pub(crate) fn call(&self) -> &Call {
        self.call.get()
    }

    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    fn is(&self, arguments: &Arguments<'_, '_>, seen: &Seen) -> bool {
        if self.kinds != seen.kinds || self.positional != arguments.positional() {
            return false;
        }
        let same_names = match (&self.names, &arguments.names) {
            (None, None) => true,
            (Some(own), Some(given)) => own.is(given) || given.eq(own).unwrap_or(false),
            _ => false,
        };
        let values = arguments.values.iter().zip(&seen.kinds);
        let mut values = values.filter(|(_, kind)| **kind == Kind::Value);
        same_names
            && self
                .values
                .iter()
                .all(|own| values.next().is_some_and(|(given, _)| same(own, given)))
    }
}

/// Whether two values of an attribute mean the same: `1` and `1.0` need not, and `0.0` and `-0.0`.
fn same(own: &Py<PyAny>, given: &Bound<'_, PyAny>) -> bool {
    let own = own.bind(given.py());
    if own.is(given) {
        return true;
    }
    if !own.get_type().is(given.get_type()) {
        return false;
    }
    if let (Ok(own), Ok(given)) = (own.cast::<PyFloat>(), given.cast::<PyFloat>()) {
        return own.value().to_bits() == given.value().to_bits();
    }
    own.eq(given).unwrap_or(false)
}

/// By the hashes of what was seen, which two signatures may share.
type Table = HashMap<u64, SmallVec<[Arc<Signature>; 1]>, Hashing>;

/// The call signatures of a function.
#[derive(Default)]
pub(crate) struct Signatures(Mutex<Table>);

impl Signatures {
    pub(crate) fn find(
        &self,
        arguments: &Arguments<'_, '_>,
        seen: &Seen,
    ) -> Option<Arc<Signature>> {
        let signatures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let candidates = signatures.get(&seen.hash?)?.clone();
        drop(signatures); // comparing may run Python code, so not under the lock
        candidates
            .into_iter()
            .find(|signature| signature.is(arguments, seen))
    }

    /// Remembers a signature, and forgets all others where there are `most` already.
    pub(crate) fn remember(&self, seen: &Seen, signature: Signature, most: usize) {
        let Some(hash) = seen.hash else { return };
        let mut signatures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = (signatures.len() >= most).then(|| std::mem::take(&mut *signatures));
        let same = signatures.entry(hash).or_default();
        // Two threads may come with the same signature; so may a hash that two signatures share.
        let replaced = same.drain(1.min(same.len())..).collect::<Vec<_>>();
        same.insert(0, Arc::new(signature));
        drop(signatures);
        drop((forgotten, replaced)); // may run Python code, so not under the lock
    }
}
