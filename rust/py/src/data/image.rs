//! Images, decoded and resized without the interpreter.

use crate::support::errors::{misuse, to_py};
use ferromix_io::{Color, ImageDecoder, Interpolation, Sample, resize};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Extents and samples, height by width by channels, of a JPEG or PNG, which errors call `name`.
#[pyfunction]
fn decode_image<'py>(
    py: Python<'py>,
    name: &str,
    data: &[u8],
    is_color: bool,
) -> PyResult<([usize; 3], Bound<'py, PyBytes>)> {
    let color = if is_color { Color::Rgb } else { Color::Gray };
    let decoder = py
        .detach(|| ImageDecoder::new(name, data, color))
        .map_err(to_py)?;
    let shape = decoder.shape();
    let samples = PyBytes::new_with(py, shape.iter().product(), |out| {
        py.detach(|| decoder.decode_into(out)).map_err(to_py)
    })?;
    Ok((shape, samples))
}

/// Fills `target` with `source` in another size, by a number of OpenCV's for the interpolation.
#[pyfunction]
fn resize_image(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    interpolation: i64,
) -> PyResult<()> {
    let unknown = || {
        misuse(&format!(
            "no way to interpolate has the number {interpolation}: 0 is nearest, 1 linear, 2 cubic, \
             3 area, 4 Lanczos"
        ))
    };
    let how = Interpolation::from_number(interpolation).ok_or_else(unknown)?;
    if let (Ok(source), Ok(target)) = (PyBuffer::<u8>::get(source), PyBuffer::<u8>::get(target)) {
        run(py, &source, &target, how)
    } else if let (Ok(source), Ok(target)) =
        (PyBuffer::<f32>::get(source), PyBuffer::<f32>::get(target))
    {
        run(py, &source, &target, how)
    } else {
        run(
            py,
            &PyBuffer::<f64>::get(source)?,
            &PyBuffer::<f64>::get(target)?,
            how,
        )
    }
}

fn run<T: Sample + Element + Send + Sync>(
    py: Python<'_>,
    source: &PyBuffer<T>,
    target: &PyBuffer<T>,
    how: Interpolation,
) -> PyResult<()> {
    let (&[height, width, channels], &[rows, columns, _]) = (source.shape(), target.shape()) else {
        return Err(misuse(
            "images have three dimensions: height, width and channels",
        ));
    };
    let image = source.to_vec(py)?;
    let mut out = vec![T::default(); target.item_count()];
    py.detach(|| {
        resize(
            &image,
            [height, width],
            &mut out,
            [rows, columns],
            channels,
            how,
        )
    })
    .map_err(to_py)?;
    target.copy_from_slice(py, &out)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(decode_image, m)?)?;
    m.add_function(wrap_pyfunction!(resize_image, m)?)
}
