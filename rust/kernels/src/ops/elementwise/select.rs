//! Choices between the elements of two tensors.

use crate::api::check::{arity, one_dtype, one_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row, View};
use crate::loops::{GRAIN, Loop};
use crate::simd::body::{Body, Run};
use crate::simd::vector::versions;
use ferromix_base::{DType, Error, Result};
use std::marker::PhantomData;

/// The loop that chooses between elements of the size of T by bytes that are 0 or 1.
struct Select<T>(PhantomData<fn(T)>);

versions! {
    fn select[T: Copy](out: &mut [T], truth: &[u8], a: &[T], b: &[T]) [T] {
        let n = out.len();
        let (truth, a, b) = (&truth[..n], &a[..n], &b[..n]);
        for i in 0..n {
            out[i] = if truth[i] != 0 { a[i] } else { b[i] };
        }
    }
}

impl<T: Copy> Body<4> for Select<T> {
    unsafe fn run(&self, [d, c, a, b]: [Run; 4], n: usize) {
        let count = |r: Run| if r.uniform { 1 } else { n };
        // SAFETY: the caller vouches for `n` elements, or one where uniform, of bools and of T's
        // size; the output overlaps no other operand.
        let (out, truth, a_run, b_run) = unsafe {
            (
                std::slice::from_raw_parts_mut(d.ptr.cast::<T>(), n),
                std::slice::from_raw_parts(c.ptr, count(c)),
                std::slice::from_raw_parts(a.ptr.cast::<T>(), count(a)),
                std::slice::from_raw_parts(b.ptr.cast::<T>(), count(b)),
            )
        };
        if !(c.uniform | a.uniform | b.uniform) {
            return select(out, truth, a_run, b_run);
        }
        let at = |r: Run, i: usize| if r.uniform { 0 } else { i };
        for (i, out) in out.iter_mut().enumerate() {
            let chosen = truth[at(c, i)] != 0;
            *out = if chosen {
                a_run[at(a, i)]
            } else {
                b_run[at(b, i)]
            };
        }
    }
}

struct Where(Loop<4>);

impl Kernel for Where {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let [condition, a, b] = [&call.inputs[0], &call.inputs[1], &call.inputs[2]];
        let out = &call.outputs[0];
        let condition = spread(condition, out.shape());
        self.0.run([out, &condition, a, b], call.reqs[0])
    }
}

/// A condition of one dimension tells for each element of the first axis; others are as they are.
fn spread(condition: &View, shape: &[usize]) -> View {
    if condition.shape() == shape {
        return condition.clone();
    }
    let mut strides: ferromix_base::Strides = shape.iter().map(|_| 0).collect();
    strides[0] = condition.strides()[0];
    // SAFETY: the elements are those of the condition, some of them several times.
    unsafe { View::from_raw(condition.ptr(), condition.dtype(), shape.into(), strides) }
}

fn prepare(_: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "where";
    let ([condition, a, b], [out]) = arity(name, inputs, outputs)?;
    one_shape(name, &[a, b, out])?;
    let dtype = one_dtype(name, &[a, b, out])?;
    let rows = out.shape.first().copied();
    if condition.shape != out.shape
        && (condition.shape.len() != 1 || Some(condition.shape[0]) != rows)
    {
        return Err(Error::value(format!(
            "{name}: the condition has shape {:?}, expected that of the data, {:?}, or one \
             dimension as long as their first",
            condition.shape, out.shape
        )));
    }
    let body: Box<dyn Body<4>> = match dtype.size() {
        1 => Box::new(Select::<u8>(PhantomData)),
        2 => Box::new(Select::<u16>(PhantomData)),
        4 => Box::new(Select::<u32>(PhantomData)),
        _ => Box::new(Select::<u64>(PhantomData)),
    };
    let types = [dtype, DType::Bool, dtype, dtype];
    Ok(Box::new(Where(Loop::new(types, body, GRAIN))))
}

pub(crate) const ROWS: &[Row] = &[Row::new("where", prepare).strided()];
