//! The way of a convolution's sums to memory: a shift for each filter, what is added of another tensor, and
//! zero in place of what is negative, while the sums are in the cache.

use super::field::Run;
use crate::api::{Req, View};
use crate::blocks::raw::{Source, Target};
use crate::math::real::{Float, Real};
use crate::par;
use crate::simd::vector::{Level, level};
use ferromix_base::Result;
use std::ops::Range;

/// What is added to the sums, element by element.
#[derive(Clone, Copy)]
pub(crate) enum Addend<T> {
    Nothing,
    /// What the target holds.
    Held,
    /// A tensor that lies as the target does.
    Of(Source<T>),
}

/// What becomes of sums, and where.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a, T: Float> {
    /// By which the weights of each filter are multiplied before.
    pub(crate) scale: Option<&'a [T::Real]>,
    /// By which the sums of each filter are multiplied.
    pub(crate) factor: Option<&'a [T::Real]>,
    /// What is added to them then.
    pub(crate) shift: Option<&'a [T::Real]>,
    pub(crate) addend: Addend<T>,
    /// Whether what is negative becomes 0.
    pub(crate) relu: bool,
    pub(crate) target: Target<T>,
    pub(crate) req: Req,
}

/// Numbers that a task clears.
const CLEARED: usize = 1 << 16;

/// Where rows of sums go: the first one, the distance to the next, and that of neighbours.
pub(crate) type Places = (usize, usize, usize);

impl<'a, T: Float> Finish<'a, T> {
    /// Sums that go to `out` as they are; nothing where nothing is wanted.
    ///
    /// # Errors
    /// An output of another element type, or with gaps.
    pub(crate) fn of(out: &mut View, req: Req) -> Result<Option<Self>> {
        if req == Req::Null || out.is_empty() {
            return Ok(None);
        }
        Ok(Some(Finish {
            scale: None,
            factor: None,
            shift: None,
            addend: Addend::Nothing,
            relu: false,
            target: Target::of(out)?,
            req,
        }))
    }

    /// The same sums with these shifts.
    pub(crate) fn shifted(self, shift: Option<&'a [T::Real]>) -> Self {
        Finish { shift, ..self }
    }

    /// Whether sums stay as they are, but that they may be added to what there is.
    pub(crate) fn is_plain(&self) -> bool {
        let bare = self.factor.is_none() && self.shift.is_none();
        bare && matches!(self.addend, Addend::Nothing) && !self.relu
    }

    /// Fills the target with zeros, of which it is ours to write all.
    pub(crate) fn clear(&self) {
        par::for_ranges(self.target.len(), CLEARED, |range| {
            // SAFETY: each task has its own numbers.
            unsafe { self.target.slice(range) }.fill(T::zero());
        });
    }

    /// Goes on with sums of nothing at all `positions` of each of so many filters, and says what sums go on with that
    /// are not nothing. Nothing is added of another tensor.
    pub(crate) fn of_nothing(&self, [filters, positions]: [usize; 2]) -> Self {
        let add = self.req == Req::Add;
        let planes = self.target.len().checked_div(positions).unwrap_or(0);
        par::for_ranges(planes, CLEARED / positions.max(1) + 1, |planes| {
            for plane in planes {
                let shift = self.shift.map_or(T::Real::ZERO, |s| s[plane % filters]);
                let value = match self.relu && shift <= T::Real::ZERO {
                    true => T::Real::ZERO,
                    false => shift,
                };
                // SAFETY: each task has its own planes.
                let to = unsafe {
                    self.target
                        .slice(plane * positions..(plane + 1) * positions)
                };
                match add {
                    true => to.iter_mut().for_each(|x| *x = T::down(x.up() + value)),
                    false => to.fill(T::down(value)),
                }
            }
        });
        let shift = if add { None } else { self.shift };
        Finish { shift, ..*self }
    }

    /// What the weights of a filter are multiplied by.
    pub(crate) fn scale(&self, filter: usize) -> T::Real {
        self.scale.map_or(T::Real::ONE, |s| s[filter])
    }

    /// Has the cache fetch what [`Finish::store`] will write of a run, in some of the rows.
    pub(crate) fn fetch(&self, rows: Range<usize>, run: &Run, (start, row, _): Places) {
        for r in rows {
            let at = start + r * row + run.target;
            self.target.fetch(at..at + run.len);
        }
    }

    /// Writes sums of `filters` to their places: a row of each, of which the next begins `sums.1` later,
    /// at the positions of `runs`.
    ///
    /// # Safety
    /// Nobody else uses these places of the target meanwhile, or writes those of the addend.
    pub(crate) unsafe fn store(
        &self,
        filters: Range<usize>,
        sums: (&[T::Real], usize),
        runs: &[Run],
        places: Places,
    ) {
        // SAFETY: `level` found the instructions on this CPU; the rest as the caller vouches.
        unsafe {
            match level() {
                #[cfg(target_arch = "x86_64")]
                Level::V4 => v4(self, filters, sums, runs, places),
                #[cfg(target_arch = "x86_64")]
                Level::V3 => v3(self, filters, sums, runs, places),
                Level::Base => body(self, filters, sums, runs, places),
            }
        }
    }
}

/// Goes through a run in pieces of known lengths: runs are mostly shorter than what a loop over vectors
/// of any number is compiled for.
#[inline(always)]
fn each<T: Float>(from: &[T::Real], other: &[T], to: &mut [T], f: impl Fn(T::Real, T, T) -> T) {
    match from.len() {
        16.. => pieces::<T, 16>(from, other, to, f),
        8.. => pieces::<T, 8>(from, other, to, f),
        4.. => pieces::<T, 4>(from, other, to, f),
        _ => {
            let pairs = to.iter_mut().zip(from).zip(other);
            pairs.for_each(|((o, &v), &x)| *o = f(v, x, *o));
        }
    }
}

/// As [`each`] for `N` numbers.
#[inline(always)]
fn piece<T: Float, const N: usize>(
    from: &[T::Real],
    other: &[T],
    to: &mut [T],
    f: impl Fn(T::Real, T, T) -> T,
) {
    if let (Some(a), Some(b), Some(c)) = (
        from.first_chunk::<N>(),
        other.first_chunk::<N>(),
        to.first_chunk_mut::<N>(),
    ) {
        *c = std::array::from_fn(|i| f(a[i], b[i], c[i]));
    }
}

/// As [`each`] for `N` numbers or more. The last piece ends with the run; it is computed first, since what
/// it reads of `to` may be in the piece before, too.
#[inline(always)]
fn pieces<T: Float, const N: usize>(
    from: &[T::Real],
    other: &[T],
    to: &mut [T],
    f: impl Fn(T::Real, T, T) -> T,
) {
    let piece = |a: &[T::Real; N], b: &[T; N], c: &[T; N]| -> [T; N] {
        std::array::from_fn(|i| f(a[i], b[i], c[i]))
    };
    let (Some(a), Some(b), Some(c)) = (from.last_chunk(), other.last_chunk(), to.last_chunk())
    else {
        return;
    };
    let last = piece(a, b, c);
    let rest = from.len() - N;
    let before = from.chunks_exact(N).zip(other.chunks_exact(N));
    for ((a, b), c) in before.zip(to.chunks_exact_mut(N)).take(rest.div_ceil(N)) {
        if let (Ok(a), Ok(b), Ok(c)) = (a.try_into(), b.try_into(), <&mut [T; N]>::try_from(c)) {
            *c = piece(a, b, c);
        }
    }
    if let Some(c) = to.last_chunk_mut() {
        *c = last;
    }
}

/// # Safety
/// As [`Finish::store`].
#[inline(always)]
unsafe fn body<T: Float>(
    f: &Finish<'_, T>,
    filters: Range<usize>,
    sums: (&[T::Real], usize),
    runs: &[Run],
    places: Places,
) {
    // Gradients are written at strides, and nothing is added to these; what the target holds is added once.
    debug_assert!(places.2 == 1 || matches!(f.addend, Addend::Nothing));
    debug_assert!(f.req != Req::Add || !matches!(f.addend, Addend::Held));
    // Tiles of Winograd's, but for those at the edges, have rows of four.
    let fours = places.2 == 1 && runs.iter().all(|run| run.len == FOUR);
    let from = (filters, sums, runs, places);
    let zero = T::Real::ZERO;
    let relu = |x: T::Real| if x <= zero { zero } else { x };
    // SAFETY: as the caller vouches.
    unsafe {
        match (f.relu, fours) {
            (true, true) => sums_of::<T, FOUR>(f, from, relu),
            (true, false) => sums_of::<T, 0>(f, from, relu),
            (false, true) => sums_of::<T, FOUR>(f, from, |x| x),
            (false, false) => sums_of::<T, 0>(f, from, |x| x),
        }
    }
}

/// Where sums come from and go to: as [`Finish::store`] has it.
type Sums<'a, R> = (Range<usize>, (&'a [R], usize), &'a [Run], Places);

/// Length of rows that most calls have.
const FOUR: usize = 4;

/// Writes what `act` makes of each sum with what is added to it. Loops are compiled for each `act`, as a
/// choice within them would be made for each number by itself, and for runs of `N` neighbours, or of any
/// length where that is 0.
///
/// # Safety
/// As [`Finish::store`].
#[inline(always)]
unsafe fn sums_of<T: Float, const N: usize>(
    f: &Finish<'_, T>,
    from: Sums<'_, T::Real>,
    act: impl Fn(T::Real) -> T::Real,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        match (f.addend, f.req == Req::Add) {
            (Addend::Nothing, false) => rows::<T, N>(f, from, None, |v, _, _| act(v)),
            (Addend::Nothing, true) => rows::<T, N>(f, from, None, |v, _, o| o + act(v)),
            (Addend::Held, _) => rows::<T, N>(f, from, None, |v, _, o| act(v + o)),
            (Addend::Of(x), false) => rows::<T, N>(f, from, Some(x), |v, x, _| act(v + x)),
            (Addend::Of(x), true) => rows::<T, N>(f, from, Some(x), |v, x, o| o + act(v + x)),
        }
    }
}

/// Writes what `op` makes of each shifted sum, of what is added to it and of what the target holds.
///
/// # Safety
/// As [`Finish::store`].
#[inline(always)]
unsafe fn rows<T: Float, const N: usize>(
    f: &Finish<'_, T>,
    (filters, (sums, apart), runs, (start, row, step)): Sums<'_, T::Real>,
    other: Option<Source<T>>,
    op: impl Fn(T::Real, T::Real, T::Real) -> T::Real,
) {
    for (r, filter) in filters.enumerate() {
        let shift = f.shift.map_or(T::Real::ZERO, |s| s[filter]);
        let factor = f.factor.map_or(T::Real::ONE, |s| s[filter]);
        let op = |v: T::Real, x: T, o: T| T::down(op(v * factor + shift, x.up(), o.up()));
        let sums = &sums[r * apart..];
        for run in runs {
            let at = start + r * row + run.target;
            let (len, step) = if N > 0 { (N, 1) } else { (run.len, step) };
            let from = &sums[run.at..run.at + len];
            // SAFETY: as the caller vouches.
            let to = unsafe { f.target.slice(at..at + (len - 1) * step + 1) };
            if step != 1 {
                let pairs = to.iter_mut().step_by(step).zip(from);
                pairs.for_each(|(o, &v)| *o = op(v, T::zero(), *o));
                continue;
            }
            let other = match &other {
                // SAFETY: as the caller vouches.
                Some(x) => unsafe { x.slice(at..at + len) },
                // What is not looked at. SAFETY: elements are no larger, and any bits are one.
                None => unsafe { std::slice::from_raw_parts(from.as_ptr().cast(), len) },
            };
            if N > 0 {
                piece::<T, N>(from, other, to, op);
            } else {
                each(from, other, to, op);
            }
        }
    }
}

macro_rules! compiled_for {
    ($($name:ident: $features:literal),*) => {$(
        /// # Safety
        /// As [`body`]; the CPU has these instructions.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name<T: Float>(
            f: &Finish<'_, T>,
            filters: Range<usize>,
            sums: (&[T::Real], usize),
            runs: &[Run],
            places: Places,
        ) {
            // SAFETY: as the caller vouches.
            unsafe { body(f, filters, sums, runs, places) }
        }
    )*};
}
compiled_for!(v4: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma", v3: "avx2,fma");
