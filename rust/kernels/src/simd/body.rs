//! The innermost loops: a scalar function over gapless runs of elements, with no strides, types
//! or requests left to decide.

use crate::simd::vector::versions;
use std::marker::PhantomData;

/// A run of one operand.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// The first element.
    pub(crate) ptr: *mut u8,
    /// Whether the first element stands for all.
    pub(crate) uniform: bool,
}

/// A loop over `N` operands, of which the first is written and the others are read.
pub(crate) trait Body<const N: usize>: Send + Sync {
    /// Runs over `n` elements.
    ///
    /// # Safety
    /// `args[0]` is valid for writing `n` elements, every other for reading `n` (one, where
    /// uniform), all of the types that the loop was made for and aligned. `args[0]` overlaps
    /// another only in a loop of two operands of one type, and then is the same address.
    unsafe fn run(&self, args: [Run; N], n: usize);

    /// Whether the loop only copies.
    fn is_copy(&self) -> bool {
        false
    }

    /// Whether the loop has a form that writes by non-temporal stores.
    fn streams(&self) -> bool {
        false
    }

    /// Runs over `n` elements, which need not be in the caches afterwards;
    /// [`finish_stream`](crate::iter::memory::finish_stream) is to follow, as for [`stream`](crate::iter::memory::stream).
    ///
    /// # Safety
    /// As [`Body::run`].
    unsafe fn run_streamed(&self, args: [Run; N], n: usize) {
        // SAFETY: as the caller vouches.
        unsafe { self.run(args, n) };
    }

    /// Runs over `rows` runs of `n` elements that are `steps` bytes apart; the output's do not overlap.
    ///
    /// # Safety
    /// As [`Body::run`], for every row.
    unsafe fn run_rows(&self, mut args: [Run; N], steps: [isize; N], n: usize, rows: usize) {
        for _ in 0..rows {
            // SAFETY: as the caller vouches.
            unsafe { self.run(args, n) };
            for (arg, step) in args.iter_mut().zip(steps) {
                arg.ptr = arg.ptr.wrapping_offset(step);
            }
        }
    }
}

versions! {
    fn map_in_place[T: Copy, F: Fn(T) -> T](d: &mut [T], f: &F) [T, F] {
        for x in d {
            *x = f(*x);
        }
    }
}

versions! {
    fn map1[S: Copy, D, F: Fn(S) -> D](d: &mut [D], s: &[S], f: &F) [S, D, F] {
        for (d, s) in d.iter_mut().zip(s) {
            *d = f(*s);
        }
    }
}

versions! {
    fn map2[S: Copy, D, F: Fn(S, S) -> D](d: &mut [D], a: &[S], b: &[S], f: &F) [S, D, F] {
        let n = d.len();
        let (a, b) = (&a[..n], &b[..n]);
        for i in 0..n {
            d[i] = f(a[i], b[i]);
        }
    }
}

versions! {
    fn map2_left[S: Copy, D, F: Fn(S, S) -> D](d: &mut [D], a: S, b: &[S], f: &F) [S, D, F] {
        for (d, b) in d.iter_mut().zip(b) {
            *d = f(a, *b);
        }
    }
}

versions! {
    fn map2_right[S: Copy, D, F: Fn(S, S) -> D](d: &mut [D], a: &[S], b: S, f: &F) [S, D, F] {
        for (d, a) in d.iter_mut().zip(a) {
            *d = f(*a, b);
        }
    }
}

/// A row of [`rows2`], whose first `whole` elements are taken in pieces.
///
/// # Safety
/// `n` elements can be written at `d` and read from `a` and `b`, one where these are uniform.
#[inline(always)]
unsafe fn row2<T: Copy, F: Fn(T, T) -> T, const A: bool, const B: bool>(
    [d, a, b]: [*mut T; 3],
    [whole, n]: [usize; 2],
    f: &F,
) {
    let mut at = 0;
    // SAFETY: as the caller vouches.
    unsafe {
        // Read before they are written: the compiler need not find out whether operands overlap.
        while at < whole {
            let piece = |p: *mut T| p.add(at).cast::<[T; PIECE]>();
            let x = if A { [*a; PIECE] } else { *piece(a) };
            let y = if B { [*b; PIECE] } else { *piece(b) };
            *piece(d) = std::array::from_fn(|j| f(x[j], y[j]));
            at += PIECE;
        }
        for j in whole..n {
            *d.add(j) = f(*a.add(if A { 0 } else { j }), *b.add(if B { 0 } else { j }));
        }
    }
}

versions! {
    /// [`Body::run_rows`] of a function of two operands; A and B say which are uniform.
    ///
    /// # Safety
    /// As there.
    unsafe fn rows2[T: Copy, F: Fn(T, T) -> T, const A: bool, const B: bool](
        args: [Run; 3], steps: [isize; 3], n: usize, rows: usize, f: &F,
    ) [T, F, A, B] {
        let whole = if n < LONG_ROW { n / PIECE * PIECE } else { 0 };
        let mut at = args.map(|run| run.ptr.cast::<T>());
        for _ in 0..rows {
            // SAFETY: as the caller vouches.
            unsafe {
                // Two loops, as whole pieces need few registers.
                if whole == n {
                    row2::<T, F, A, B>(at, [n, n], f);
                } else {
                    row2::<T, F, A, B>(at, [whole, n], f);
                }
            }
            for (at, step) in at.iter_mut().zip(steps) {
                *at = at.wrapping_byte_offset(step);
            }
        }
    }
}

/// Elements that loops over short rows take at once.
pub(crate) const PIECE: usize = 16;
/// Rows of at least so many elements are worth a loop of their own.
pub(crate) const LONG_ROW: usize = 128;

/// A function of two operands that must become part of its loops, being too long for the compiler to
/// do so by itself: a fused multiplication is one instruction there, and a call to a library outside.
/// `apply` is to be `#[inline(always)]`.
pub(crate) trait Inlined<T>: 'static {
    /// The function.
    fn apply(a: T, b: T) -> T;
}

versions! {
    fn inlined[T: Copy, F: Inlined<T>](d: &mut [T], a: &[T], b: &[T]) [T, F] {
        match (a.len() == d.len(), b.len() == d.len()) {
            (true, true) => {
                for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                    *d = F::apply(*a, *b);
                }
            }
            (true, false) => d.iter_mut().zip(a).for_each(|(d, a)| *d = F::apply(*a, b[0])),
            _ => {
                let step = usize::from(b.len() == d.len());
                for (i, d) in d.iter_mut().enumerate() {
                    *d = F::apply(a[0], b[i * step]);
                }
            }
        }
    }
}

/// The loop of a function that is a part of it.
struct Whole<T, F>(PhantomData<fn(T) -> F>);

/// Boxes the loop of `F`.
pub(crate) fn whole<T: Copy + 'static, F: Inlined<T>>() -> Box<dyn Body<3>> {
    Box::new(Whole::<T, F>(PhantomData))
}

impl<T: Copy, F: Inlined<T>> Body<3> for Whole<T, F> {
    unsafe fn run(&self, [d, a, b]: [Run; 3], n: usize) {
        // SAFETY: the caller vouches for `n` elements of T that overlap no other operand.
        let out = unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<T>(), n) };
        // SAFETY: the caller vouches for `n` elements, or one where uniform.
        let slice = |r: Run| unsafe {
            std::slice::from_raw_parts(r.ptr.cast::<T>(), if r.uniform { 1 } else { n })
        };
        inlined::<T, F>(out, slice(a), slice(b));
    }
}

/// The loop of a function of one operand.
pub(crate) struct Unary<T, F>(F, PhantomData<fn(T) -> T>);

/// Boxes the loop of `f`.
pub(crate) fn unary<T: Copy + 'static, F>(f: F) -> Box<dyn Body<2>>
where
    F: Fn(T) -> T + Send + Sync + 'static,
{
    Box::new(Unary(f, PhantomData))
}

impl<T: Copy, F: Fn(T) -> T + Send + Sync> Body<2> for Unary<T, F> {
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        // SAFETY: the caller vouches for `n` elements of T.
        let out = unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<T>(), n) };
        if s.uniform {
            // SAFETY: the caller vouches for one element of T.
            out.fill((self.0)(unsafe { *s.ptr.cast::<T>() }));
        } else if d.ptr == s.ptr {
            map_in_place(out, &self.0);
        } else {
            // SAFETY: as above, and the addresses differ, so that the runs do not overlap.
            map1(
                out,
                unsafe { std::slice::from_raw_parts(s.ptr.cast::<T>(), n) },
                &self.0,
            );
        }
    }
}

/// The loop of a function of one operand that has a quick form for most arguments.
pub(crate) struct Guarded<T, F, R, S> {
    quick: F,
    rare: R,
    slow: S,
    marker: PhantomData<fn(T) -> T>,
}

/// Boxes the loop of `quick`, and of `slow` for arguments that are `rare`.
pub(crate) fn guarded<T, F, R, S>(quick: F, rare: R, slow: S) -> Box<dyn Body<2>>
where
    T: Copy + Default + 'static,
    F: Fn(T) -> T + Send + Sync + 'static,
    R: Fn(T) -> bool + Send + Sync + 'static,
    S: Fn(T) -> T + Send + Sync + 'static,
{
    Box::new(Guarded {
        quick,
        rare,
        slow,
        marker: PhantomData,
    })
}

versions! {
    /// `quick` of each element; whether one is rare.
    fn map_quick[T: Copy, F: Fn(T) -> T, R: Fn(T) -> bool](
        d: &mut [T], s: &[T], quick: &F, rare: &R,
    ) -> bool [T, F, R] {
        let mut found = false;
        for (d, &x) in d.iter_mut().zip(s) {
            *d = quick(x);
            found |= rare(x);
        }
        found
    }
}

/// Elements that are looked through for rare arguments at once.
const GUARDED: usize = 256;

impl<T, F, R, S> Guarded<T, F, R, S>
where
    T: Copy,
    F: Fn(T) -> T,
    R: Fn(T) -> bool,
    S: Fn(T) -> T,
{
    fn map(&self, out: &mut [T], args: &[T]) {
        if map_quick(out, args, &self.quick, &self.rare) {
            for (o, &x) in out.iter_mut().zip(args).filter(|(_, x)| (self.rare)(**x)) {
                *o = (self.slow)(x);
            }
        }
    }
}

impl<T, F, R, S> Body<2> for Guarded<T, F, R, S>
where
    T: Copy + Default,
    F: Fn(T) -> T + Send + Sync,
    R: Fn(T) -> bool + Send + Sync,
    S: Fn(T) -> T + Send + Sync,
{
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        // SAFETY: the caller vouches for `n` elements of T.
        let out = unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<T>(), n) };
        if s.uniform {
            // SAFETY: the caller vouches for one element of T.
            let x = unsafe { *s.ptr.cast::<T>() };
            let mut y = [x];
            self.map(&mut y, &[x]);
            out.fill(y[0]);
        } else if d.ptr == s.ptr {
            for out in out.chunks_mut(GUARDED) {
                let mut kept = [T::default(); GUARDED];
                let kept = &mut kept[..out.len()];
                kept.copy_from_slice(out);
                self.map(out, kept);
            }
        } else {
            // SAFETY: as above, and the addresses differ, so that the runs do not overlap.
            let args = unsafe { std::slice::from_raw_parts(s.ptr.cast::<T>(), n) };
            for (out, args) in out.chunks_mut(GUARDED).zip(args.chunks(GUARDED)) {
                self.map(out, args);
            }
        }
    }
}

/// The loop of a conversion.
pub(crate) struct Change<S, D, F>(F, PhantomData<fn(S) -> D>);

/// A loop that changes elements of type S to D.
pub(crate) const fn change<S, D, F: Fn(S) -> D>(f: F) -> Change<S, D, F> {
    Change(f, PhantomData)
}

impl<S: Copy, D: Copy, F: Fn(S) -> D + Send + Sync> Body<2> for Change<S, D, F> {
    unsafe fn run(&self, [d, s]: [Run; 2], n: usize) {
        // SAFETY: the caller vouches for `n` elements of D.
        let out = unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<D>(), n) };
        if s.uniform {
            // SAFETY: the caller vouches for one element of S.
            out.fill((self.0)(unsafe { *s.ptr.cast::<S>() }));
        } else {
            // SAFETY: as above; operands of two types never overlap.
            map1(
                out,
                unsafe { std::slice::from_raw_parts(s.ptr.cast::<S>(), n) },
                &self.0,
            );
        }
    }
}

/// The loop of a function of two operands.
pub(crate) struct Binary<T, F>(F, PhantomData<fn(T) -> T>);

/// Boxes the loop of `f`.
pub(crate) fn binary<T: Copy + 'static, F>(f: F) -> Box<dyn Body<3>>
where
    F: Fn(T, T) -> T + Send + Sync + 'static,
{
    Box::new(Binary(f, PhantomData))
}

impl<T: Copy, F: Fn(T, T) -> T + Send + Sync> Body<3> for Binary<T, F> {
    unsafe fn run(&self, [d, a, b]: [Run; 3], n: usize) {
        // SAFETY: the caller vouches for `n` elements of T that overlap no other operand.
        let out = unsafe { std::slice::from_raw_parts_mut(d.ptr.cast::<T>(), n) };
        // SAFETY: the caller vouches for `n` elements, or one where uniform.
        let slice = |r: Run| unsafe {
            std::slice::from_raw_parts(r.ptr.cast::<T>(), if r.uniform { 1 } else { n })
        };
        let (x, y) = (slice(a), slice(b));
        match (a.uniform, b.uniform) {
            (false, false) => map2(out, x, y, &self.0),
            (true, false) => map2_left(out, x[0], y, &self.0),
            (false, true) => map2_right(out, x, y[0], &self.0),
            (true, true) => out.fill((self.0)(x[0], y[0])),
        }
    }

    unsafe fn run_rows(&self, args: [Run; 3], steps: [isize; 3], n: usize, rows: usize) {
        let f = &self.0;
        // SAFETY: as the caller vouches.
        unsafe {
            match (args[1].uniform, args[2].uniform) {
                (false, false) => rows2::<T, F, false, false>(args, steps, n, rows, f),
                (true, false) => rows2::<T, F, true, false>(args, steps, n, rows, f),
                (false, true) => rows2::<T, F, false, true>(args, steps, n, rows, f),
                (true, true) => rows2::<T, F, true, true>(args, steps, n, rows, f),
            }
        }
    }
}
