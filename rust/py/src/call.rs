//! Operators as they are called: a card with its attributes is asked once for each combination of
//! shapes and types; from then on a call runs without it.

use crate::array::Array;
use crate::composite::Work;
use crate::operator::{Prepared, Run};
use crate::protocol::Frontend;
use crate::support::convert::{self, desc, req, runtime};
use crate::support::device;
use crate::support::errors::to_py;
use crate::support::site;
use crate::tape;
use ferromix_base::{Context, Error};
use ferromix_kernels::{Desc, Req};
use ferromix_runtime as rt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// Combinations of shapes and types that an operator remembers; the one used longest ago is
/// forgotten.
const MOST: usize = 64;
/// The same where they keep objects of a user's, which may be large.
const MOST_OWN: usize = 8;

/// The arrays of a call.
pub(crate) type Arrays<'a> = SmallVec<[&'a Array; 4]>;
/// What a call gives, hidden outputs included.
pub(crate) type Outputs<'py> = SmallVec<[Bound<'py, Array>; 2]>;

/// What the card says for some shapes and types.
struct Entry {
    is_train: bool,
    /// The device that the work was prepared for; any memory of the CPU counts as `cpu(0)`.
    device: Context,
    work: Work,
    outputs: Vec<Desc>,
    /// Inputs that are changed, and the request for them.
    changed: Vec<usize>,
    change: Req,
    /// Inputs and outputs that may share memory.
    in_place: Vec<(usize, usize)>,
}

impl Entry {
    fn fits(&self, inputs: &[&Array], is_train: bool, device: Context) -> bool {
        let wanted = self.work.inputs();
        self.is_train == is_train
            && self.device == device
            && wanted.len() == inputs.len()
            && wanted
                .iter()
                .zip(inputs)
                .all(|(desc, a)| desc.dtype == a.0.dtype() && desc.shape[..] == *a.0.shape())
    }

    /// The first of the inputs `dying` that this output may be written over.
    fn replaceable(
        &self,
        output: usize,
        inputs: &[&Array],
        dying: &[usize],
        place: Context,
    ) -> Option<usize> {
        let desc = &self.outputs[output];
        let fits = |input: &usize| {
            let array = &inputs[*input].0;
            array.dtype() == desc.dtype
                && array.shape() == &desc.shape[..]
                && array.is_contiguous()
                && array.chunk().context() == place
        };
        let pairs = self.in_place.iter().filter(|pair| pair.1 == output);
        let mut found = pairs.map(|pair| pair.0).filter(|i| dying.contains(i));
        found.find(fits)
    }

    /// Pushes one run; `outputs` and `reqs` are without the inputs that it changes.
    fn push<'a>(
        &self,
        prepared: &Bound<'_, Prepared>,
        inputs: &[&'a Array],
        mut outputs: SmallVec<[Option<&'a Array>; 4]>,
        mut reqs: SmallVec<[Req; 4]>,
        scalars: &[(usize, f64)],
        site: u64,
    ) -> PyResult<()> {
        for &changed in &self.changed {
            outputs.push(Some(inputs[changed]));
            reqs.push(self.change);
        }
        let run = Run {
            inputs,
            outputs: &outputs,
            reqs: &reqs,
            scalars,
        };
        run.push(prepared, site)
    }
}

/// What a run does with an output.
pub(crate) enum Wanted<'a> {
    Nothing,
    New,
    /// Into an array, by the request.
    In(&'a rt::Array, Req),
}

impl<'a> Wanted<'a> {
    fn array(&self) -> Option<&&'a rt::Array> {
        match self {
            Wanted::In(array, _) => Some(array),
            _ => None,
        }
    }
}

/// A card, ready to be called.
#[pyclass(frozen, module = "ferromix._core")]
pub(crate) struct Call {
    card: Py<PyAny>,
    name: String,
    uses_train_mode: bool,
    visible: usize,
    /// Where results of no inputs are; None where the thread decides.
    place: Option<Context>,
    /// Those used last in front.
    entries: Mutex<Vec<Arc<Entry>>>,
}

#[pymethods]
impl Call {
    /// Of a card that is called `name`, and of whose outputs a user sees the first `visible`. Without
    /// inputs its results are on `device`, a type and a number, or where the thread places new arrays.
    #[new]
    #[pyo3(signature = (card, name, uses_train_mode, visible, device=None))]
    fn new(
        card: Py<PyAny>,
        name: String,
        uses_train_mode: bool,
        visible: usize,
        device: Option<(i32, u16)>,
    ) -> PyResult<Self> {
        let place = device.map(|(code, number)| convert::place(code, number));
        Ok(Call {
            card,
            name,
            uses_train_mode,
            visible,
            place: place.transpose()?,
            entries: Mutex::default(),
        })
    }

    /// Pushes one run, and gives its outputs, hidden ones included: the arrays of `out` first, which
    /// are overwritten, then new ones. `is_train` is what autograd says, if it is not given.
    #[pyo3(signature = (inputs, out=Vec::new(), is_train=None))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<PyRef<'py, Array>>,
        out: Vec<Bound<'py, Array>>,
        is_train: Option<bool>,
    ) -> PyResult<Vec<Bound<'py, Array>>> {
        let inputs: Arrays<'_> = inputs.iter().map(|a| &**a).collect();
        self.run(py, &inputs, &out, is_train, &[])
            .map(SmallVec::into_vec)
    }
}

impl Call {
    /// How many of the outputs a user sees.
    pub(crate) fn visible(&self) -> usize {
        self.visible
    }

    /// See `__call__`; `scalars` are this run's values of dynamic attributes, by place.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        inputs: &[&Array],
        out: &[Bound<'py, Array>],
        is_train: Option<bool>,
        scalars: &[(usize, f64)],
    ) -> PyResult<Outputs<'py>> {
        let place = self.place(inputs, out.iter().map(Bound::get))?;
        let entry = self.find(py, inputs, self.trains(is_train), place)?;
        let Some(missing) = entry.outputs.get(out.len()..) else {
            return Err(self.too_many(entry.outputs.len(), out.len()));
        };
        let prepared = match &entry.work {
            Work::Kernel(prepared) => prepared.bind(py),
            Work::Parts(parts) => return parts.get().run(py, inputs, out, is_train),
        };
        let mut results: Outputs<'py> = out.iter().cloned().collect();
        for desc in missing {
            results.push(Bound::new(py, self.new_array(desc, place)?)?);
        }
        let mut reqs: SmallVec<[Req; 4]> = SmallVec::from_elem(Req::Write, results.len());
        for &(input, output) in &entry.in_place {
            let shares = |given: &Bound<'_, Array>| std::ptr::eq(given.get(), inputs[input]);
            if out.get(output).is_some_and(shares) {
                reqs[output] = Req::Inplace;
            }
        }
        let outputs = results.iter().map(|output| Some(output.get())).collect();
        entry.push(prepared, inputs, outputs, reqs, scalars, site::current(py))?;
        Ok(results)
    }

    fn new_array(&self, desc: &Desc, place: Context) -> PyResult<Array> {
        let array = rt::Array::on(runtime()?, place, &desc.shape, desc.dtype);
        let explained = |e: Error| to_py(e.within(format_args!("operator {}", self.name)));
        array.map(Array::from).map_err(explained)
    }

    /// Pushes one run for some of its outputs, on behalf of the line `site`, and gives those. Nothing
    /// else reads the memory of the inputs with the numbers `dying`, so outputs may be written there.
    pub(crate) fn run_for(
        &self,
        py: Python<'_>,
        inputs: &[&Array],
        wanted: &[Wanted<'_>],
        dying: &[usize],
        site: u64,
    ) -> PyResult<SmallVec<[Option<Array>; 2]>> {
        let given = wanted.iter().filter_map(Wanted::array);
        let place = self.place(inputs, given)?;
        let entry = self.find(py, inputs, self.trains(None), place)?;
        if entry.outputs.len() != wanted.len() {
            return Err(self.too_many(entry.outputs.len(), wanted.len()));
        }
        let Work::Kernel(prepared) = &entry.work else {
            return Err(to_py(Error::internal(format!(
                "operator {}: is made of others, which were to run in its place",
                self.name
            ))));
        };
        let (mut results, mut reqs) = (SmallVec::new(), SmallVec::new());
        let mut dying: SmallVec<[usize; 4]> = SmallVec::from_slice(dying);
        for (output, (wanted, desc)) in wanted.iter().zip(&entry.outputs).enumerate() {
            let replaced = match wanted {
                Wanted::New => entry.replaceable(output, inputs, &dying, place),
                _ => None,
            };
            dying.retain(|input| Some(*input) != replaced);
            let (array, req) = match (wanted, replaced) {
                (Wanted::Nothing, _) => (None, Req::Null),
                (Wanted::In(array, req), _) => (Some(Array::from((*array).clone())), *req),
                (Wanted::New, Some(i)) => (Some(Array::from(inputs[i].0.clone())), Req::Inplace),
                (Wanted::New, None) => (Some(self.new_array(desc, place)?), Req::Write),
            };
            results.push(array);
            reqs.push(req);
        }
        let outputs = results.iter().map(Option::as_ref).collect();
        entry.push(prepared.bind(py), inputs, outputs, reqs, &[], site)?;
        Ok(results)
    }

    /// Where a run has its results.
    fn place<'a, A: AsRef<rt::Array> + 'a>(
        &self,
        inputs: &[&'a Array],
        given: impl Iterator<Item = &'a A>,
    ) -> PyResult<Context> {
        let inputs = inputs.iter().map(|array| &array.0);
        let arrays = inputs.chain(given.map(AsRef::as_ref));
        let found = rt::place_of(&self.name, arrays).map_err(to_py)?;
        let place = || self.place.unwrap_or_else(device::current);
        Ok(found.unwrap_or_else(place))
    }

    fn trains(&self, is_train: Option<bool>) -> bool {
        is_train.unwrap_or_else(|| self.uses_train_mode && tape::is_training())
    }

    fn find(
        &self,
        py: Python<'_>,
        inputs: &[&Array],
        is_train: bool,
        place: Context,
    ) -> PyResult<Arc<Entry>> {
        let device = if place.is_host() {
            Context::cpu()
        } else {
            place
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = entries
            .iter()
            .position(|e| e.fits(inputs, is_train, device))
        {
            entries[..=place].rotate_right(1);
            return Ok(entries[0].clone());
        }
        drop(entries);
        let entry = Arc::new(self.ask(py, inputs, is_train, device)?);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let most = if entry.work.is_python() {
            MOST_OWN
        } else {
            MOST
        };
        let oldest = (entries.len() >= most).then(|| entries.pop());
        entries.insert(0, entry.clone());
        drop(entries);
        drop(oldest); // may run Python code, so not under the lock
        Ok(entry)
    }

    fn ask(
        &self,
        py: Python<'_>,
        inputs: &[&Array],
        is_train: bool,
        device: Context,
    ) -> PyResult<Entry> {
        let described = inputs
            .iter()
            .map(|a| Ok((PyTuple::new(py, a.0.shape())?, a.0.dtype().name())))
            .collect::<PyResult<Vec<_>>>()?;
        let described = PyTuple::new(py, described)?;
        let (work, outputs, changed, change, in_place) =
            py.prepare(&self.card, described, is_train, device)?;
        if changed.iter().any(|&i| i >= inputs.len())
            || in_place.iter().any(|p| p.0 >= inputs.len())
        {
            return Err(to_py(Error::internal(format!(
                "operator {}: its card names an input that it does not have",
                self.name
            ))));
        }
        Ok(Entry {
            is_train,
            device,
            work,
            outputs: outputs.into_iter().map(desc).collect::<PyResult<_>>()?,
            changed,
            change: req(change)?,
            in_place,
        })
    }

    /// What was given as `out` is no array, nor several.
    pub(crate) fn no_arrays(&self, out: &Bound<'_, PyAny>) -> PyErr {
        PyTypeError::new_err(format!(
            "{}: out must be an NDArray, or a list of them, got {out:?}",
            self.name
        ))
    }

    fn too_many(&self, outputs: usize, given: usize) -> PyErr {
        to_py(Error::value(format!(
            "{}: has {outputs} outputs, got {given} arrays for them",
            self.name
        )))
    }
}
