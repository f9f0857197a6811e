//! Loops over functions that are computed in stages ([`Staged`]), some elements at a time: what the
//! stages hand over stays in the cache. And the loop of powers, which has a third stage for arguments
//! that are rare.

use crate::body::{Body, Run};
use crate::math::{Staged, power};
use crate::vector::versions;
use std::marker::PhantomData;

/// Elements that go through a stage before the next.
const BLOCK: usize = 256;

versions! {
    fn stages[F: Staged](d: &mut [f32], s: &[f32]) [F] {
        let mut room = [0.0; BLOCK];
        for (d, s) in d.chunks_mut(BLOCK).zip(s.chunks(BLOCK)) {
            room.iter_mut().zip(s).for_each(|(r, &x)| *r = F::first(x));
            d.iter_mut().zip(s).zip(&room).for_each(|((d, &x), &r)| *d = F::second(r, x));
        }
    }
}

versions! {
    fn stages_in_place[F: Staged](d: &mut [f32]) [F] {
        let mut room = [0.0; BLOCK];
        for d in d.chunks_mut(BLOCK) {
            room.iter_mut().zip(&*d).for_each(|(r, &x)| *r = F::first(x));
            d.iter_mut().zip(&room).for_each(|(d, &r)| *d = F::second(r, *d));
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

/// The loop of powers in single precision.
pub(crate) struct Powers;

/// One of the operands of [`powers`]: a run, or a number.
#[derive(Clone, Copy)]
enum Side<'a> {
    Each(&'a [f32]),
    All(f32),
}

impl Side<'_> {
    /// The elements from `start` on, `n` of them.
    #[inline(always)]
    fn part(&self, start: usize, n: usize) -> Self {
        match self {
            Side::Each(x) => Side::Each(&x[start..start + n]),
            Side::All(x) => Side::All(*x),
        }
    }
}

/// `*d = f(*d, a, b)` for each element.
#[inline(always)]
fn each<D: Copy>(d: &mut [D], a: Side<'_>, b: Side<'_>, f: impl Fn(D, f32, f32) -> D) {
    let d = d.iter_mut();
    match (a, b) {
        (Side::Each(a), Side::Each(b)) => {
            d.zip(a).zip(b).for_each(|((d, &a), &b)| *d = f(*d, a, b));
        }
        (Side::Each(a), Side::All(b)) => d.zip(a).for_each(|(d, &a)| *d = f(*d, a, b)),
        (Side::All(a), Side::Each(b)) => d.zip(b).for_each(|(d, &b)| *d = f(*d, a, b)),
        (Side::All(a), Side::All(b)) => d.for_each(|d| *d = f(*d, a, b)),
    }
}

versions! {
    fn powers[](d: &mut [f32], a: Side<'_>, b: Side<'_>) [] {
        let mut room = [0.0; BLOCK];
        for (i, d) in d.chunks_mut(BLOCK).enumerate() {
            let (start, n) = (i * BLOCK, d.len());
            let (a, b) = (a.part(start, n), b.part(start, n));
            each(&mut room[..n], a, b, |_, a, b| power::first(a, b));
            d.iter_mut().zip(&room).for_each(|(d, &r)| *d = power::second(r));
            let mut rare = [0_u32; BLOCK];
            each(&mut rare[..n], a, b, |_, a, b| u32::from(power::is_rare(a, b)));
            if rare.iter().fold(0, |any, r| any | r) != 0 {
                each(d, a, b, |d, a, b| if power::is_rare(a, b) { power::third(a, b) } else { d });
            }
        }
    }
}

impl Body<3> for Powers {
    unsafe fn run(&self, [d, a, b]: [Run; 3], n: usize) {
        // SAFETY: the caller vouches for `n` elements that overlap no other operand.
        let out = unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<f32>(), n) };
        // SAFETY: the caller vouches for `n` elements, or one where uniform.
        let side = |r: Run| unsafe {
            if r.uniform {
                Side::All(*r.ptr.cast())
            } else {
                Side::Each(std::slice::from_raw_parts(r.ptr.cast(), n))
            }
        };
        powers(out, side(a), side(b));
    }
}
