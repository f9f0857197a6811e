//! Elements in order along an axis. Equal ones keep the order of their places, and NaN counts as greater
//! than all, so that each order is the only one, whatever sorts and on however many threads.

use crate::api::check::{NUMBERS, arity, unsupported};
use crate::api::prepared::axis;
use crate::api::{Attrs, Call, Desc, Kernel, Row, Value, View};
use crate::blocks::along_axis::AlongAxis;
use crate::blocks::radix;
use crate::blocks::raw::Target;
use crate::blocks::staged::Staged;
use crate::iter::convert::with_type;
use crate::par;
use crate::simd::number::From3;
use ferromix_base::{DType, Element, Error, Result, bf16, element_count, f16};
use rayon::slice::ParallelSliceMut;

/// Elements per task, roughly.
const GRAIN: usize = 4096;

/// Elements of a single line that are worth several threads.
const LONG: usize = 1 << 16;

/// Elements as integers of the same order.
trait Key: Element + From3 {
    /// Whether 32 bits hold the keys.
    const SHORT: bool;
    fn key(self) -> u64;
}

macro_rules! keys {
    ($($t:ty: $x:ident => $key:expr;)*) => { $(impl Key for $t {
        const SHORT: bool = size_of::<$t>() < 8;
        #[inline(always)]
        fn key(self) -> u64 { let $x = self; $key }
    })* };
}

keys! {
    f32: x => radix::short(x);
    f64: x => radix::long(x);
    f16: x => radix::short(x.to_f32());
    bf16: x => radix::short(x.to_f32());
    u8: x => u64::from(x);
    i8: x => u64::from(x as u8 ^ 1 << 7);
    i32: x => u64::from(x as u32 ^ 1 << 31);
    i64: x => x as u64 ^ 1 << 63;
}

/// What is made of the order, each with the number of its output.
#[derive(Clone, Copy, Default)]
struct Wanted {
    values: Option<usize>,
    places: Option<usize>,
    mask: Option<usize>,
}

/// The first `most` elements of each line in order.
struct Ordering {
    lines: AlongAxis,
    most: usize,
    descending: bool,
    wanted: Wanted,
}

/// Leaves the `most` least of `keys`, in any order.
fn select<K: Ord>(keys: &mut Vec<K>, most: usize) {
    if most < keys.len() {
        if most > 0 {
            keys.select_nth_unstable(most - 1);
        }
        keys.truncate(most);
    }
}

fn sort<K: Ord + Copy + Send>(keys: &mut [K], alone: bool) {
    if alone && keys.len() >= LONG {
        par::install(|| keys.par_sort_unstable());
    } else {
        keys.sort_unstable();
    }
}

impl Ordering {
    /// The places of the first elements of a line, in order; `line` is the place of its first element.
    fn order<T: Key>(&self, data: &[T], line: usize, scratch: &mut Scratch) {
        let AlongAxis { outer, k, inner } = self.lines;
        let alone = outer * inner == 1;
        scratch.places.clear();
        if T::SHORT && u32::try_from(k).is_ok() {
            let flip = if self.descending {
                u64::from(u32::MAX)
            } else {
                0
            };
            let keys = &mut scratch.short;
            let key = |(x, place): (&T, u64)| (x.key() ^ flip) << 32 | place;
            keys.clear();
            if inner == 1 {
                keys.extend(data[line..line + k].iter().zip(0..).map(key));
            } else {
                let elements = data[line..].iter().step_by(inner).take(k);
                keys.extend(elements.zip(0..).map(key));
            }
            // Places grow, so that equal elements stay in order.
            if self.most == k && k >= radix::LEAST {
                radix::sort_by_upper(keys, &mut scratch.spare);
            } else {
                select(keys, self.most);
                sort(keys, alone);
            }
            let places = keys.iter().map(|key| (key & u64::from(u32::MAX)) as usize);
            scratch.places.extend(places);
        } else {
            let flip = if self.descending { u64::MAX } else { 0 };
            let keys = &mut scratch.long;
            keys.clear();
            let elements = data[line..].iter().step_by(inner).take(k).zip(0_u64..);
            keys.extend(elements.map(|(x, place)| (x.key() ^ flip, place)));
            select(keys, self.most);
            sort(keys, alone);
            scratch
                .places
                .extend(keys.iter().map(|(_, place)| *place as usize));
        }
    }

    fn run_as<T: Key>(&self, call: &mut Call<'_>) -> Result<()> {
        let data = call.inputs[0].read::<T>()?;
        let stage = |k: Option<usize>| {
            k.and_then(|k| Staged::new(&call.outputs[k], call.reqs[k]).map(|staged| (k, staged)))
        };
        let Wanted {
            values,
            places,
            mask,
        } = self.wanted;
        let [mut values, places, mut mask] = [values, places, mask].map(stage);
        if values.is_none() && places.is_none() && mask.is_none() {
            return Ok(());
        }
        let target = |staged: &mut Option<(usize, Staged)>| match staged {
            Some((_, staged)) => Target::<T>::of(&mut staged.view).map(Some),
            None => Ok(None),
        };
        let (sorted, chosen) = (target(&mut values)?, target(&mut mask)?);
        let AlongAxis { outer, k, inner } = self.lines;
        par::for_ranges(outer * inner, GRAIN / k.max(1), |range| {
            let mut scratch = Scratch::default();
            for line in range {
                let (start, step) = (line / inner * k * inner + line % inner, inner);
                self.order(data, start, &mut scratch);
                let first = line / inner * self.most * inner + line % inner;
                if let Some(sorted) = sorted {
                    for (j, place) in scratch.places.iter().enumerate() {
                        // SAFETY: an element of the line's own results.
                        unsafe { *sorted.at(first + j * step) = data[start + place * step] };
                    }
                }
                if let Some((_, staged)) = &places {
                    put(&staged.view, first, step, &scratch.places);
                }
                if let Some(chosen) = chosen {
                    let set = |place: usize, x| {
                        // SAFETY: an element of the line, which this task alone writes.
                        unsafe { *chosen.at(start + place * step) = T::from_i64(x) };
                    };
                    (0..k).for_each(|place| set(place, 0));
                    scratch.places.iter().for_each(|place| set(*place, 1));
                }
            }
        });
        for (k, staged) in [values, places, mask].into_iter().flatten() {
            staged.finish(&call.outputs[k])?;
        }
        Ok(())
    }
}

/// Memory of a task for one line at a time.
#[derive(Default)]
struct Scratch {
    short: Vec<u64>,
    spare: Vec<u64>,
    long: Vec<(u64, u64)>,
    places: Vec<usize>,
}

/// Writes places to every `step`-th element of the contiguous `out` from `first` on.
fn put(out: &View, first: usize, step: usize, places: &[usize]) {
    assert!(places.is_empty() || first + (places.len() - 1) * step < out.len());
    with_type!(out.dtype(), T => {
        let to = out.ptr().cast::<T>();
        for (j, place) in places.iter().enumerate() {
            // SAFETY: within the output, as asserted; each line has elements of its own.
            unsafe { *to.add(first + j * step) = T::from_i64(*place as i64) };
        }
    });
}

impl Kernel for Ordering {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        match call.inputs[0].dtype() {
            DType::F32 => self.run_as::<f32>(call),
            DType::F64 => self.run_as::<f64>(call),
            DType::F16 => self.run_as::<f16>(call),
            DType::BF16 => self.run_as::<bf16>(call),
            DType::U8 => self.run_as::<u8>(call),
            DType::I8 => self.run_as::<i8>(call),
            DType::I32 => self.run_as::<i32>(call),
            DType::I64 => self.run_as::<i64>(call),
            DType::Bool => Err(unsupported("topk", DType::Bool, &NUMBERS)),
        }
    }
}

/// The kernel for the outputs that are wanted; `first` is how many elements of each line.
fn prepare(
    name: &str,
    attrs: &Attrs,
    (data, outputs): (&Desc, &[Desc]),
    (first, wanted): (i64, Wanted),
) -> Result<Box<dyn Kernel>> {
    if !NUMBERS.contains(&data.dtype) {
        return Err(unsupported(name, data.dtype, &NUMBERS));
    }
    let lines = match attrs.get("axis") {
        Some(Value::Int(given)) => {
            AlongAxis::new(&data.shape, axis(name, *given, data.shape.len())?)
        }
        _ => AlongAxis::new(&[element_count(&data.shape)?], 0),
    };
    let most = if first < 1 { lines.k } else { first as usize };
    let results = lines.outer * lines.inner * most;
    let fits = |k: usize, len: usize| element_count(&outputs[k].shape).is_ok_and(|n| n == len);
    let right = most <= lines.k
        && wanted
            .values
            .is_none_or(|k| fits(k, results) && outputs[k].dtype == data.dtype)
        && wanted.places.is_none_or(|k| fits(k, results))
        && wanted
            .mask
            .is_none_or(|k| outputs[k].shape == data.shape && outputs[k].dtype == data.dtype);
    if !right {
        return Err(Error::value(format!(
            "{name}: {most} of each line of shape {:?} do not fit the outputs",
            &data.shape[..]
        )));
    }
    Ok(Box::new(Ordering {
        lines,
        most,
        descending: !attrs.bool("is_ascend")?,
        wanted,
    }))
}

fn prepare_sort(attrs: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [_]) = arity("sort", inputs, outputs)?;
    let wanted = Wanted {
        values: Some(0),
        ..Wanted::default()
    };
    prepare("sort", attrs, (data, outputs), (0, wanted))
}

fn prepare_argsort(attrs: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [_]) = arity("argsort", inputs, outputs)?;
    let wanted = Wanted {
        places: Some(0),
        ..Wanted::default()
    };
    prepare("argsort", attrs, (data, outputs), (0, wanted))
}

fn prepare_topk(attrs: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "topk";
    let kind = attrs.str("ret_typ")?;
    let both = kind == "both";
    let wanted = Wanted {
        values: (both || kind == "value").then_some(0),
        places: (both || kind == "indices").then_some(usize::from(both)),
        mask: (kind == "mask").then_some(0),
    };
    if inputs.len() != 1 || outputs.len() != 1 + usize::from(both) {
        return Err(Error::internal(format!(
            "{name}: wrong number of arguments"
        )));
    }
    prepare(
        name,
        attrs,
        (&inputs[0], outputs),
        (attrs.int("k")?, wanted),
    )
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("sort", prepare_sort).unknown_cost(),
    Row::new("argsort", prepare_argsort).unknown_cost(),
    Row::new("topk", prepare_topk).unknown_cost(),
];
