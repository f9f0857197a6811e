//! Conversions between all element types, as loops.

use crate::simd::body::{Body, Run, change};
use crate::simd::number::{Convert, to_odd};
use ferromix_base::{DType, Element, f16};
use half::slice::HalfFloatSliceExt;

/// Runs `$go!(T)` for the Rust type T of a dtype.
macro_rules! with_type {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            ferromix_base::DType::F32 => {
                type $T = f32;
                $body
            }
            ferromix_base::DType::F64 => {
                type $T = f64;
                $body
            }
            ferromix_base::DType::F16 => {
                type $T = ferromix_base::f16;
                $body
            }
            ferromix_base::DType::U8 => {
                type $T = u8;
                $body
            }
            ferromix_base::DType::I32 => {
                type $T = i32;
                $body
            }
            ferromix_base::DType::I8 => {
                type $T = i8;
                $body
            }
            ferromix_base::DType::I64 => {
                type $T = i64;
                $body
            }
            ferromix_base::DType::Bool => {
                type $T = bool;
                $body
            }
            ferromix_base::DType::BF16 => {
                type $T = ferromix_base::bf16;
                $body
            }
        }
    };
}

pub(crate) use with_type;

/// The loop that changes elements of `from` to `to`; a copy where they are the same.
pub(crate) fn converter(from: DType, to: DType) -> &'static dyn Body<2> {
    match (from, to) {
        _ if from == to => mover(from.size()),
        (DType::F16, DType::F32) => &FromHalf,
        (DType::F32, DType::F16) => &ToHalf,
        (DType::F64, DType::F16) => &DoubleToHalf,
        _ => with_type!(from, S => to_any::<S>(to)),
    }
}

fn to_any<S: Convert>(to: DType) -> &'static dyn Body<2> {
    with_type!(to, D => const { &change(<S as Convert>::convert::<D>) })
}

/// The loop that copies elements of `size` bytes.
pub(crate) fn mover(size: usize) -> &'static dyn Body<2> {
    match size {
        1 => &Move::<u8>(std::marker::PhantomData),
        2 => &Move::<u16>(std::marker::PhantomData),
        4 => &Move::<u32>(std::marker::PhantomData),
        _ => &Move::<u64>(std::marker::PhantomData),
    }
}

struct Move<T>(std::marker::PhantomData<fn(T)>);

impl<T: Copy> Body<2> for Move<T> {
    fn is_copy(&self) -> bool {
        true
    }

    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        // SAFETY: the caller vouches for one element to read and `n` to write, or `n` of both;
        // `copy` allows the same address.
        unsafe {
            if s.uniform {
                std::slice::from_raw_parts_mut(d.ptr.cast::<T>(), n).fill(*s.ptr.cast());
            } else {
                std::ptr::copy(s.ptr.cast::<T>(), d.ptr.cast::<T>(), n);
            }
        }
    }
}

/// Conversions of IEEE halves have instructions of their own, which the `half` crate knows.
struct FromHalf;

impl Body<2> for FromHalf {
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        // SAFETY: the caller vouches for the runs, which differ in type and do not overlap.
        let (out, src) = unsafe { halves::<f32, f16>(d, s, n) };
        if let (true, [x, ..]) = (s.uniform, src) {
            out.fill(x.to_f32());
        } else {
            src.convert_to_f32_slice(out);
        }
    }
}

struct ToHalf;

impl Body<2> for ToHalf {
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        // SAFETY: as for FromHalf.
        let (out, src) = unsafe { halves::<f16, f32>(d, s, n) };
        if let (true, [x, ..]) = (s.uniform, src) {
            out.fill(f16::from_f32(*x));
        } else {
            out.convert_from_f32_slice(src);
        }
    }
}

/// By way of float32, from which halves round as from the number itself.
struct DoubleToHalf;

impl Body<2> for DoubleToHalf {
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        // SAFETY: as for FromHalf.
        let (out, src) = unsafe { halves::<f16, f64>(d, s, n) };
        if let (true, [x, ..]) = (s.uniform, src) {
            return out.fill(x.convert());
        }
        let mut odd = [0.0; 64];
        for (out, src) in out.chunks_mut(odd.len()).zip(src.chunks(odd.len())) {
            let odd = &mut odd[..src.len()];
            odd.iter_mut().zip(src).for_each(|(y, x)| *y = to_odd(*x));
            out.convert_from_f32_slice(odd);
        }
    }
}

/// # Safety
/// As [`Body::run`].
unsafe fn halves<'a, D: Element, S: Element>(d: Run, s: Run, n: usize) -> (&'a mut [D], &'a [S]) {
    let count = if s.uniform { 1 } else { n };
    // SAFETY: the caller vouches for both runs.
    unsafe {
        (
            std::slice::from_raw_parts_mut(d.ptr.cast(), n),
            std::slice::from_raw_parts(s.ptr.cast(), count),
        )
    }
}
