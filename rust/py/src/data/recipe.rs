//! What becomes of images, from dicts.

use crate::support::errors::misuse;
use ferromix_io::{Colors, Crop, Detection, Emit, Fit, Overlap, Recipe, Sampler, Warp};
use ferromix_runtime::loader::Task;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn get<'py, T: for<'a> FromPyObject<'a, 'py>>(
    given: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<T> {
    let missing = || misuse(&format!("ImageLoader: the recipe has no {name}"));
    let value = given.get_item(name)?.ok_or_else(missing)?;
    value.extract().map_err(Into::into)
}

/// A recipe, of ImageDetRecordIter if it says how objects are left out, else of ImageRecordIter.
pub(super) fn read_task(given: &Bound<'_, PyDict>, label_width: usize) -> PyResult<Task> {
    Ok(if given.contains("emit")? {
        Task::Detection(Box::new(read_detection(given)?), label_width)
    } else {
        Task::Sample(Box::new(read_recipe(given)?), label_width)
    })
}

fn read_recipe(given: &Bound<'_, PyDict>) -> PyResult<Recipe> {
    let crop = match get::<String>(given, "crop")?.as_str() {
        "centre" => Crop::Centre,
        "random" => Crop::Random,
        "square" => Crop::Square {
            side: get(given, "side")?,
            anywhere: get(given, "anywhere")?,
        },
        _ => Crop::Resized {
            area: get(given, "area")?,
            aspect: get(given, "aspect")?,
        },
    };
    let warp: Option<Bound<'_, PyDict>> = get(given, "warp")?;
    Ok(Recipe {
        shape: get(given, "shape")?,
        resize: get(given, "resize")?,
        warp: warp.as_ref().map(read_warp).transpose()?,
        pad: get(given, "pad")?,
        fill: get(given, "fill")?,
        crop,
        interpolation: get(given, "interpolation")?,
        mirror: get(given, "mirror")?,
        mean: get(given, "mean")?,
        deviation: get(given, "deviation")?,
        scale: get(given, "scale")?,
        contrast: get(given, "contrast")?,
        illumination: get(given, "illumination")?,
        colors: Colors {
            shifts: get(given, "shifts")?,
            factors: get(given, "colors")?,
            noise: get(given, "noise")?,
        },
    })
}

fn read_warp(given: &Bound<'_, PyDict>) -> PyResult<Warp> {
    Ok(Warp {
        rotate: get(given, "rotate")?,
        angle: get(given, "angle")?,
        shear: get(given, "shear")?,
        scale: get(given, "scale")?,
        aspect: get(given, "aspect")?,
        limits: get(given, "limits")?,
    })
}

fn read_detection(given: &Bound<'_, PyDict>) -> PyResult<Detection> {
    let samplers: Vec<Bound<'_, PyDict>> = get(given, "samplers")?;
    Ok(Detection {
        shape: get(given, "shape")?,
        resize: get(given, "resize")?,
        shifts: get(given, "shifts")?,
        contrast: get(given, "contrast")?,
        mirror: get(given, "mirror")?,
        pad: get(given, "pad")?,
        fill: get(given, "fill")?,
        crop: get(given, "crop")?,
        samplers: samplers.iter().map(read_sampler).collect::<PyResult<_>>()?,
        emit: get::<Option<f32>>(given, "emit")?.map_or(Emit::Centre, Emit::Overlap),
        fit: match get::<String>(given, "fit")?.as_str() {
            "shrink" => Fit::Shrink,
            "fit" => Fit::Fit,
            _ => Fit::Force,
        },
        interpolation: get(given, "interpolation")?,
        mean: get(given, "mean")?,
        deviation: get(given, "deviation")?,
        scale: get(given, "scale")?,
        label_fill: get(given, "label_fill")?,
    })
}

fn read_sampler(given: &Bound<'_, PyDict>) -> PyResult<Sampler> {
    Ok(Sampler {
        scale: get(given, "scales")?,
        aspect: get(given, "aspect_ratios")?,
        overlap: Overlap {
            both: get(given, "overlaps")?,
            sample: get(given, "sample_coverages")?,
            object: get(given, "object_coverages")?,
        },
        trials: get(given, "trials")?,
    })
}
