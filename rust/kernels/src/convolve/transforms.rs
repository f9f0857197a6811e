//! The transforms of Winograd's F(4x4, 3x3) on vectors of channels: of inputs, of weights and of
//! outputs, by the points 0, 1, -1, 2, -2 and infinity.

use super::direct::Direct;
use crate::linalg::lanes::{Lanes, Plain};
use crate::math::real::Real;
use crate::simd::vector::{Level, level};

/// Outputs of a tile along an axis.
pub(crate) const STEP: usize = 4;
/// What it reads along an axis.
pub(crate) const SIDE: usize = 6;
/// Products of a tile.
pub(crate) const POINTS: usize = SIDE * SIDE;
/// Most filters whose weights are transformed at once.
const MOST: usize = 32;

/// A first number, and the distance from a line, or a matrix, to the next.
type From<T> = (*const T, usize);
type To<T> = (*mut T, usize);

/// The loops for this CPU.
pub(crate) struct Transforms<T> {
    input: unsafe fn([usize; 2], From<T>, To<T>),
    weights: unsafe fn(usize, &[[T; MOST]; 9], To<T>),
    output: unsafe fn(usize, From<T>, To<T>),
    lanes: usize,
}

/// Types that there are transforms for.
pub(crate) trait Transformed: Direct {
    /// The transforms for this CPU.
    fn transforms() -> Transforms<Self>;
}

impl<T: Transformed> Transforms<T> {
    /// A tile of `channels`, which are neighbours, from lines of pixels that stand `from.1` apart, to a
    /// line of each matrix.
    ///
    /// # Panics
    /// Slices that are too short, or channels that do not fill vectors: a fault of the caller.
    pub(crate) fn input(&self, channels: usize, from: (&[T], usize), to: (&mut [T], usize)) {
        assert!(channels.is_multiple_of(self.lanes));
        assert!(from.0.len() >= (SIDE - 1) * from.1 + SIDE * channels);
        assert!(to.0.len() >= (POINTS - 1) * to.1 + channels);
        let (from, to) = ((from.0.as_ptr(), from.1), (to.0.as_mut_ptr(), to.1));
        // SAFETY: the table is for this CPU; the lengths were checked.
        unsafe { (self.input)([channels, channels], from, to) };
    }

    /// The weights of a channel for `filters`, to a line of each matrix.
    ///
    /// # Safety
    /// The lines can be written, and nobody else uses them meanwhile.
    ///
    /// # Panics
    /// Filters that do not fill vectors, or are too many, which is a fault of the caller.
    pub(crate) unsafe fn weights(&self, filters: usize, taps: &[[T; MOST]; 9], to: To<T>) {
        assert!(filters.is_multiple_of(self.lanes) && filters <= MOST);
        // SAFETY: the table is for this CPU; the rest as the caller vouches.
        unsafe { (self.weights)(filters, taps, to) };
    }

    /// The outputs of a tile for `filters`, from a line of each matrix to 16 lines.
    ///
    /// # Panics
    /// As [`Transforms::input`].
    pub(crate) fn output(&self, filters: usize, from: (&[T], usize), to: &mut [T]) {
        assert!(filters.is_multiple_of(self.lanes));
        assert!(from.0.len() >= (POINTS - 1) * from.1 + filters);
        assert!(to.len() >= STEP * STEP * filters);
        let (from, to) = ((from.0.as_ptr(), from.1), (to.as_mut_ptr(), filters));
        // SAFETY: the table is for this CPU; the lengths were checked.
        unsafe { (self.output)(filters, from, to) };
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn times<T: Real, V: Lanes<T>>(x: V, by: f64) -> V {
    // SAFETY: as the caller vouches.
    unsafe { V::zero().fma(x, V::splat(T::of(by))) }
}

/// `x + by y`.
///
/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn plus<T: Real, V: Lanes<T>>(x: V, by: f64, y: V) -> V {
    // SAFETY: as the caller vouches.
    unsafe { x.fma(y, V::splat(T::of(by))) }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn input_line<T: Real, V: Lanes<T>>(d: [V; SIDE]) -> [V; SIDE] {
    // SAFETY: as the caller vouches.
    unsafe {
        let (even, odd) = (plus(d[4], -4.0, d[2]), plus(d[3], -4.0, d[1]));
        let (near, far) = (plus(d[4], -1.0, d[2]), plus(d[3], -1.0, d[1]));
        [
            plus(plus(d[4], -5.0, d[2]), 4.0, d[0]),
            plus(even, 1.0, odd),
            plus(even, -1.0, odd),
            plus(near, 2.0, far),
            plus(near, -2.0, far),
            plus(plus(d[5], -5.0, d[3]), 4.0, d[1]),
        ]
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn weight_line<T: Real, V: Lanes<T>>(g: [V; 3]) -> [V; SIDE] {
    // SAFETY: as the caller vouches.
    unsafe {
        let (ends, wide) = (plus(g[0], 1.0, g[2]), plus(g[0], 4.0, g[2]));
        [
            times(g[0], 1.0 / 4.0),
            times(plus(ends, 1.0, g[1]), -1.0 / 6.0),
            times(plus(ends, -1.0, g[1]), -1.0 / 6.0),
            times(plus(wide, 2.0, g[1]), 1.0 / 24.0),
            times(plus(wide, -2.0, g[1]), 1.0 / 24.0),
            g[2],
        ]
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn output_line<T: Real, V: Lanes<T>>(m: [V; SIDE]) -> [V; STEP] {
    // SAFETY: as the caller vouches.
    unsafe {
        let (sum, difference) = (plus(m[1], 1.0, m[2]), plus(m[1], -1.0, m[2]));
        let (far_sum, far) = (plus(m[3], 1.0, m[4]), plus(m[3], -1.0, m[4]));
        [
            plus(plus(sum, 1.0, far_sum), 1.0, m[0]),
            plus(difference, 2.0, far),
            plus(sum, 4.0, far_sum),
            plus(plus(difference, 8.0, far), 1.0, m[5]),
        ]
    }
}

/// # Safety
/// The CPU has the instructions of `V`; the memory is as [`Transforms::input`] checks it.
#[inline(always)]
unsafe fn input<T: Real, V: Lanes<T>>([channels, step]: [usize; 2], from: From<T>, to: To<T>) {
    for c in (0..channels).step_by(V::N) {
        // SAFETY: as the caller vouches.
        unsafe {
            let columns: [_; SIDE] = std::array::from_fn(|x| {
                let at = from.0.add(x * step + c);
                input_line::<T, V>(std::array::from_fn(|y| V::load(at.add(y * from.1))))
            });
            for y in 0..SIDE {
                let line = columns.map(|column| column[y]);
                for (x, v) in input_line(line).into_iter().enumerate() {
                    v.store(to.0.add((y * SIDE + x) * to.1 + c));
                }
            }
        }
    }
}

/// # Safety
/// The CPU has the instructions of `V`; the memory is as [`Transforms::weights`] says.
#[inline(always)]
unsafe fn weights<T: Real, V: Lanes<T>>(filters: usize, taps: &[[T; MOST]; 9], to: To<T>) {
    for f in (0..filters).step_by(V::N) {
        // SAFETY: as the caller vouches.
        unsafe {
            let columns: [_; 3] = std::array::from_fn(|x| {
                let load = |y: usize| V::load(taps[y * 3 + x].as_ptr().add(f));
                weight_line::<T, V>(std::array::from_fn(load))
            });
            for y in 0..SIDE {
                let line = columns.map(|column| column[y]);
                for (x, v) in weight_line(line).into_iter().enumerate() {
                    v.store(to.0.add((y * SIDE + x) * to.1 + f));
                }
            }
        }
    }
}

/// # Safety
/// The CPU has the instructions of `V`; the memory is as [`Transforms::output`] checks it.
#[inline(always)]
unsafe fn output<T: Real, V: Lanes<T>>(filters: usize, from: From<T>, to: To<T>) {
    for f in (0..filters).step_by(V::N) {
        // SAFETY: as the caller vouches.
        unsafe {
            let columns: [_; SIDE] = std::array::from_fn(|x| {
                let load = |y: usize| V::load(from.0.add((y * SIDE + x) * from.1 + f));
                output_line::<T, V>(std::array::from_fn(load))
            });
            for y in 0..STEP {
                let line = columns.map(|column| column[y]);
                for (x, v) in output_line(line).into_iter().enumerate() {
                    v.store(to.0.add((y * STEP + x) * to.1 + f));
                }
            }
        }
    }
}

macro_rules! compiled_for {
    ($($name:ident: $features:literal),*) => {$(
        #[cfg(target_arch = "x86_64")]
        mod $name {
            use super::{From, Lanes, MOST, Real, To};

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn input<T: Real, V: Lanes<T>>(n: [usize; 2], from: From<T>, to: To<T>) {
                // SAFETY: as the caller vouches.
                unsafe { super::input::<T, V>(n, from, to) }
            }

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn weights<T: Real, V: Lanes<T>>(n: usize, taps: &[[T; MOST]; 9], to: To<T>) {
                // SAFETY: as the caller vouches.
                unsafe { super::weights::<T, V>(n, taps, to) }
            }

            /// # Safety
            /// As the loop of this name outside.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn output<T: Real, V: Lanes<T>>(n: usize, from: From<T>, to: To<T>) {
                // SAFETY: as the caller vouches.
                unsafe { super::output::<T, V>(n, from, to) }
            }
        }
    )*};
}
compiled_for!(v4: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma", v3: "avx2,fma");

macro_rules! transforms {
    ($t:ty, $v:ty, $($at:ident)::+) => {
        Transforms {
            input: $($at)::+::input::<$t, $v>,
            weights: $($at)::+::weights::<$t, $v>,
            output: $($at)::+::output::<$t, $v>,
            lanes: <$v as Lanes<$t>>::N,
        }
    };
}

macro_rules! transformed {
    ($($t:ty: $v4:ident, $v3:ident, $lanes:literal);*) => {$(
        impl Transformed for $t {
            fn transforms() -> Transforms<$t> {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::V4 => transforms!($t, std::arch::x86_64::$v4, self::v4),
                    #[cfg(target_arch = "x86_64")]
                    Level::V3 => transforms!($t, std::arch::x86_64::$v3, self::v3),
                    Level::Base => Transforms {
                        input: input::<$t, Plain<$t, $lanes>>,
                        weights: weights::<$t, Plain<$t, $lanes>>,
                        output: output::<$t, Plain<$t, $lanes>>,
                        lanes: $lanes,
                    },
                }
            }
        }
    )*};
}
transformed!(f32: __m512, __m256, 4; f64: __m512d, __m256d, 2);
