//! Batches of images that operations of the engine make.

use super::recipe::read_task;
use crate::array::Array;
use crate::callback::push;
use crate::support::convert::{dtype, runtime};
use crate::support::errors::to_py;
use crate::support::site;
use ferromix_runtime::loader::{self, Labels, Pick, Records, Task};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// Makes batches of images.
#[pyclass(frozen, module = "ferromix._core")]
struct ImageLoader(Arc<loader::ImageLoader>);

#[pymethods]
impl ImageLoader {
    /// A loader of the images of a file, of those that begin at `starts`, or all; of these, of the part
    /// number `part` out of some. Labels of objects are as wide as
    /// the widest record's at least; each record has `each` of them, if that is given.
    #[new]
    #[pyo3(signature = (path, starts, part, recipe, label_width, labels, seed, each=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "called by one Python class, by name"
    )]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        starts: Option<Vec<u64>>,
        part: (u64, u64),
        recipe: &Bound<'_, PyDict>,
        label_width: usize,
        labels: Option<Labels>,
        seed: u64,
        each: Option<usize>,
    ) -> PyResult<Self> {
        let task = read_task(recipe, label_width)?;
        let opened = py.detach(|| {
            let records = open(&path, starts, part)?;
            let task = match task {
                Task::Detection(recipe, width) if labels.is_none() => {
                    let most = records.most_labels(each)?;
                    Task::Detection(recipe, most.max(width))
                }
                task => task,
            };
            Ok((records, task))
        });
        let (records, task) = opened.map_err(to_py)?;
        let loader = loader::ImageLoader::new(records, task, labels, seed);
        Ok(ImageLoader(loader))
    }

    /// How many images there are.
    fn __len__(&self) -> usize {
        self.0.records().len()
    }

    /// Samples and labels of images, by number and epoch, which an operation makes; and how it went.
    fn batch(
        &self,
        py: Python<'_>,
        picks: Vec<(usize, u64)>,
        dtype: &str,
    ) -> PyResult<(Array, Array, ImageOutcome)> {
        let (runtime, dtype) = (runtime()?, self::dtype(dtype)?);
        let picks = picks
            .into_iter()
            .map(|(record, epoch)| Pick { record, epoch });
        let (picks, site) = (picks.collect(), site::current(py));
        let (data, label, outcome) = push(py, || self.0.push(runtime, picks, dtype, site))?;
        Ok((data.into(), label.into(), ImageOutcome(outcome)))
    }

    /// Numbers of a sample's label.
    #[getter]
    fn label_width(&self) -> usize {
        self.0.task().label_width()
    }

    /// Images, batches, and seconds in which some were made.
    fn progress(&self) -> (u64, u64, f64) {
        let counts = self.0.progress().read();
        (counts.images, counts.batches, counts.busy.as_secs_f64())
    }
}

/// How a batch went.
#[pyclass(frozen, module = "ferromix._core")]
struct ImageOutcome(loader::Outcome);

#[pymethods]
impl ImageOutcome {
    /// Raises the failure of a batch whose arrays have been waited for.
    fn check(&self) -> PyResult<()> {
        self.0.check().map_err(to_py)
    }
}

/// The records of a part: by their numbers where an index lists them, and otherwise by where they are
/// in the file, as MXNet divides both.
fn open(
    path: &std::path::Path,
    starts: Option<Vec<u64>>,
    (part, parts): (u64, u64),
) -> ferromix_base::Result<Records> {
    let listed = starts.is_some();
    let mut records = Records::open(path, starts)?;
    let whole = if listed {
        records.len() as u64
    } else {
        records.file_size()?
    };
    let step = whole.div_ceil(parts);
    let step = if listed {
        step
    } else {
        step.next_multiple_of(4)
    };
    let bounds = step.saturating_mul(part)..step.saturating_mul(part + 1);
    records.keep(|number, start| bounds.contains(&if listed { number as u64 } else { start }));
    Ok(records)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<ImageLoader>()?;
    m.add_class::<ImageOutcome>()
}
