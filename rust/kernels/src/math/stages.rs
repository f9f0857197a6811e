//! Loops over functions that are computed in stages ([`Staged`]), some elements at a time: what the
//! stages hand over stays in the cache.

use crate::math::Staged;
use crate::simd::body::{Body, Run};
use crate::simd::vector::versions;
use std::marker::PhantomData;

/// Elements that go through a stage before the next.
const BLOCK: usize = 256;

versions! {
    fn stages[F: Staged](d: &mut [f32], s: &[f32]) [F] {
        let mut scratch = [0.0; BLOCK];
        for (d, s) in d.chunks_mut(BLOCK).zip(s.chunks(BLOCK)) {
            scratch.iter_mut().zip(s).for_each(|(r, &x)| *r = F::first(x));
            d.iter_mut().zip(s).zip(&scratch).for_each(|((d, &x), &r)| *d = F::second(r, x));
        }
    }
}

versions! {
    fn stages_in_place[F: Staged](d: &mut [f32]) [F] {
        let mut scratch = [0.0; BLOCK];
        for d in d.chunks_mut(BLOCK) {
            scratch.iter_mut().zip(&*d).for_each(|(r, &x)| *r = F::first(x));
            d.iter_mut().zip(&scratch).for_each(|(d, &r)| *d = F::second(r, *d));
        }
    }
}

/// The loop of `F`.
pub(crate) struct Stages<F>(PhantomData<fn() -> F>);

/// Boxes the loop of `F`.
pub(crate) fn staged<F: Staged>() -> Box<dyn Body<2>> {
    Box::new(Stages::<F>(PhantomData))
}

impl<F: Staged> Body<2> for Stages<F> {
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        // SAFETY: the caller vouches for `n` elements.
        let out = unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<f32>(), n) };
        if s.uniform {
            // SAFETY: the caller vouches for one element.
            let x = unsafe { *s.ptr.cast::<f32>() };
            let mut y = [x];
            stages_in_place::<F>(&mut y);
            out.fill(y[0]);
        } else if d.ptr == s.ptr {
            stages_in_place::<F>(out);
        } else {
            // SAFETY: as above, and the addresses differ, so that the runs do not overlap.
            let s = unsafe { std::slice::from_raw_parts(s.ptr.cast::<f32>(), n) };
            stages::<F>(out, s);
        }
    }
}
