//! Batches of images that operations of the engine make.

use crate::array::Array;
use crate::callback::push;
use crate::support::convert::{dtype, runtime};
use crate::support::errors::{misuse, to_py};
use crate::support::site;
use ferromix_io::{Crop, Recipe};
use ferromix_runtime::loader::{self, Labels, Pick, Records};
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
    /// number `part` out of some.
    #[new]
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
    ) -> PyResult<Self> {
        let recipe = read_recipe(recipe)?;
        let records = py.detach(|| open(&path, starts, part)).map_err(to_py)?;
        Ok(ImageLoader(loader::ImageLoader::new(
            records,
            recipe,
            label_width,
            labels,
            seed,
        )))
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

    /// Images, batches, and nanoseconds that these took.
    fn progress(&self) -> [u64; 3] {
        self.0.progress().read()
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

fn read_recipe(given: &Bound<'_, PyDict>) -> PyResult<Recipe> {
    fn get<'py, T: for<'a> FromPyObject<'a, 'py>>(
        given: &Bound<'py, PyDict>,
        name: &str,
    ) -> PyResult<T> {
        let missing = || misuse(&format!("ImageLoader: the recipe has no {name}"));
        let value = given.get_item(name)?.ok_or_else(missing)?;
        value.extract().map_err(Into::into)
    }
    let crop = match get::<String>(given, "crop")?.as_str() {
        "centre" => Crop::Centre,
        "random" => Crop::Random,
        "square" => Crop::Square {
            side: get(given, "side")?,
        },
        _ => Crop::Resized {
            area: get(given, "area")?,
            aspect: get(given, "aspect")?,
        },
    };
    Ok(Recipe {
        shape: get(given, "shape")?,
        resize: get(given, "resize")?,
        pad: get(given, "pad")?,
        crop,
        interpolation: get(given, "interpolation")?,
        mirror: get(given, "mirror")?,
        mean: get(given, "mean")?,
        deviation: get(given, "deviation")?,
        scale: get(given, "scale")?,
        contrast: get(given, "contrast")?,
        illumination: get(given, "illumination")?,
        colors: get(given, "colors")?,
        noise: get(given, "noise")?,
    })
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<ImageLoader>()?;
    m.add_class::<ImageOutcome>()
}
