//! Pooling: the mean or the most of each window.

use super::check_ends;
use super::windows::Windows;
use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel};
use crate::blocks::staged::Staged;
use crate::levels::{Range, Whole, by_byte};
use crate::par;
use ferromix_base::{Error, Result};

/// Elements of windows of a task, roughly.
const GRAIN: usize = 1 << 20;

fn pooled<T: Whole>(
    windows: Windows,
    (average, padded): (bool, bool),
    call: &mut Call<'_>,
) -> Result<()> {
    let data = call.inputs[0].read::<T>()?;
    let range = Range::of(&call.inputs[1], &call.inputs[2])?;
    let mut staged = Staged::all(call);
    if let Some(target) = Staged::target::<T>(&mut staged[0])? {
        let places = windows.places().max(1);
        let size: usize = windows.from.iter().product();
        let all: usize = windows.kernel.iter().product();
        par::for_ranges(
            target.len() / places,
            GRAIN / (places * all).max(1),
            |planes| {
                for plane in planes {
                    let data = &data[plane * size..(plane + 1) * size];
                    // SAFETY: a plane of this task alone.
                    let out = unsafe { target.slice(plane * places..(plane + 1) * places) };
                    for (place, out) in out.iter_mut().enumerate() {
                        let (mut sum, mut most, mut count) = (0_i64, f32::MIN, 0);
                        windows.visit(place, |_, found| {
                            if let Some(x) = found.map(|at| data[at]) {
                                sum += i64::from(x.wide());
                                most = most.max(x.real());
                                count += 1;
                            }
                        });
                        let count = if padded { all } else { count };
                        *out = T::nearest(if average {
                            sum as f32 / count as f32
                        } else {
                            most
                        });
                    }
                }
            },
        );
    }
    range.put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

pub(super) fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_pooling";
    check_count(name, (i, 3), (o, 3))?;
    check_ends(name, i, 1, o)?;
    let average = match attrs.str("pool_type")? {
        "max" => false,
        "avg" => true,
        other => {
            return Err(Error::value(format!(
                "{name}: pool_type must be 'max' or 'avg', got '{other}'"
            )));
        }
    };
    let padded = !attrs.has("count_include_pad") || attrs.bool("count_include_pad")?;
    let global = attrs.bool("global_pool")?;
    let windows = Windows::of(name, attrs, &i[0], &o[0], global)?;
    if i[0].shape[..2] != o[0].shape[..2] || i[0].dtype != o[0].dtype {
        return Err(Error::value(format!(
            "{name}: data of {:?} do not become {:?}",
            &i[0].shape[..],
            &o[0].shape[..]
        )));
    }
    by_byte!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        pooled::<T>(windows, (average, padded), call)
    }))
}
