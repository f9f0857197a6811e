//! The transforms of Winograd's F(4x4, 3x3) on vectors of channels: of inputs, of weights and of
//! outputs, by the points 0, 1, -1, 2, -2 and infinity.

use super::apply::summed::Summed;
use super::direct::Direct;
use crate::linalg::lanes::Lanes;
use crate::linalg::plain::Plain;
use crate::linalg::results::Results;
use crate::math::real::{Float, Real};
use crate::simd::vector::{Level, level};
use ferromix_base::bf16;

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

/// So many channels, from lines and to lines.
type Loop<T> = unsafe fn(usize, From<T>, To<<T as Float>::Real>);

/// The loops for this CPU.
pub(crate) struct Transforms<T: Real> {
    input: Loop<T>,
    weights: Loop<T>,
    output: Loop<T>,
    head: Loop<T>,
    sums: Loop<T>,
    lanes: usize,
}

/// Types that there are transforms for.
pub(crate) trait Transformed: Direct + Summed {
    /// The transforms for this CPU.
    fn transforms() -> Transforms<Self>;
}

impl<T: Transformed> Transforms<T> {
    /// A tile of `channels`, which are neighbours, from lines of pixels that stand `from.1` apart, to a
    /// line of each matrix.
    ///
    /// # Safety
    /// The lines can be written, and nobody else uses them meanwhile.
    ///
    /// # Panics
    /// A slice that is too short, or channels that do not fill vectors: a fault of the caller.
    pub(crate) unsafe fn input(&self, channels: usize, from: (&[T], usize), to: To<T>) {
        assert!(channels.is_multiple_of(self.lanes));
        assert!(from.0.len() >= (SIDE - 1) * from.1 + SIDE * channels);
        let from = (from.0.as_ptr(), from.1);
        // SAFETY: the table is for this CPU; the rest was checked, or is as the caller vouches.
        unsafe { (self.input)(channels, from, to) };
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
        unsafe { (self.weights)(filters, (taps.as_flattened().as_ptr(), MOST), to) };
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

    /// The gradient of a tile's outputs, as [`Transforms::input`].
    ///
    /// # Safety
    /// As [`Transforms::input`].
    ///
    /// # Panics
    /// As [`Transforms::input`].
    pub(crate) unsafe fn head(&self, filters: usize, from: (&[T], usize), to: To<T>) {
        assert!(filters.is_multiple_of(self.lanes));
        assert!(from.0.len() >= (STEP - 1) * from.1 + STEP * filters);
        let from = (from.0.as_ptr(), from.1);
        // SAFETY: as above.
        unsafe { (self.head)(filters, from, to) };
    }

    /// The gradient of the weights for `channels`, from a line of each matrix to nine lines.
    ///
    /// # Panics
    /// As [`Transforms::input`].
    pub(crate) fn sums(&self, channels: usize, from: (&[T], usize), to: &mut [T]) {
        assert!(channels.is_multiple_of(self.lanes));
        assert!(from.0.len() >= (POINTS - 1) * from.1 + channels);
        assert!(to.len() >= 9 * channels);
        let (from, to) = ((from.0.as_ptr(), from.1), (to.as_mut_ptr(), channels));
        // SAFETY: the table is for this CPU; the lengths were checked.
        unsafe { (self.sums)(channels, from, to) };
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
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn head_line<T: Real, V: Lanes<T>>(d: [V; STEP]) -> [V; SIDE] {
    // SAFETY: as the caller vouches.
    unsafe {
        let (even, odd) = (plus(d[0], 1.0, d[2]), plus(d[1], 1.0, d[3]));
        let (wide, far) = (plus(d[0], 4.0, d[2]), plus(d[1], 4.0, d[3]));
        [
            d[0],
            plus(even, 1.0, odd),
            plus(even, -1.0, odd),
            plus(wide, 2.0, far),
            plus(wide, -2.0, far),
            d[3],
        ]
    }
}

/// # Safety
/// The CPU has the instructions of `V`.
#[inline(always)]
unsafe fn sums_line<T: Real, V: Lanes<T>>(m: [V; SIDE]) -> [V; 3] {
    // SAFETY: as the caller vouches.
    unsafe {
        let (sum, difference) = (plus(m[1], 1.0, m[2]), plus(m[2], -1.0, m[1]));
        let (far_sum, far) = (plus(m[3], 1.0, m[4]), plus(m[3], -1.0, m[4]));
        [
            plus(
                plus(times(m[0], 1.0 / 4.0), -1.0 / 6.0, sum),
                1.0 / 24.0,
                far_sum,
            ),
            plus(times(difference, 1.0 / 6.0), 1.0 / 12.0, far),
            plus(plus(m[5], -1.0 / 6.0, sum), 1.0 / 6.0, far_sum),
        ]
    }
}

/// A transform of columns and of lines: from as many vectors a side as the first list has numbers, which `$load`
/// reads, to as many as the second one has. Written out, as loops that stay loops keep what is between in memory.
macro_rules! transform {
    ($name:ident, $line:ident, [$($x:literal)*], [$($y:literal)*], $load:expr) => {
        /// # Safety
        /// The CPU has the instructions of `V`; the memory is as the method of this name checks it.
        #[inline(always)]
        unsafe fn $name<T: Float, V: Results<T>>(channels: usize, from: From<T>, to: To<T::Real>) {
            const OUT: usize = [$($y),*].len();
            let place: fn(usize, usize, usize, usize) -> usize = $load;
            for c in (0..channels).step_by(V::N) {
                // SAFETY: as the caller vouches.
                unsafe {
                    let columns = [$({
                        let load = |y| V::read(from.0.add(place(y, $x, from.1, channels) + c));
                        $line::<T::Real, V>(std::array::from_fn(load))
                    }),*];
                    $(
                        let line = $line::<T::Real, V>(columns.map(|column| column[$y]));
                        for (x, v) in line.into_iter().enumerate() {
                            v.store(to.0.add(($y * OUT + x) * to.1 + c));
                        }
                    )*
                }
            }
        }
    };
}
transform!(input, input_line, [0 1 2 3 4 5], [0 1 2 3 4 5], |y, x, step, n| y * step + x * n);
transform!(head, head_line, [0 1 2 3], [0 1 2 3 4 5], |y, x, step, n| y * step + x * n);
transform!(weights, weight_line, [0 1 2], [0 1 2 3 4 5], |y, x, step, _| (y * 3 + x) * step);
transform!(output, output_line, [0 1 2 3 4 5], [0 1 2 3], |y, x, step, _| (y * SIDE + x) * step);
transform!(sums, sums_line, [0 1 2 3 4 5], [0 1 2], |y, x, step, _| (y * SIDE + x) * step);

macro_rules! compiled_for {
    ($($level:ident: $features:literal, [$($name:ident),*];)*) => {$(
        #[cfg(target_arch = "x86_64")]
        mod $level {
            use super::{Float, From, Results, To};

            $(
                /// # Safety
                /// As the loop of this name outside.
                #[target_feature(enable = $features)]
                pub(super) unsafe fn $name<T: Float, V: Results<T>>(
                    n: usize,
                    from: From<T>,
                    to: To<T::Real>,
                ) {
                    // SAFETY: as the caller vouches.
                    unsafe { super::$name::<T, V>(n, from, to) }
                }
            )*
        }
    )*};
}
compiled_for! {
    v4: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma", [input, weights, output, head, sums];
    v3: "avx2,fma", [input, weights, output, head, sums];
}

macro_rules! transforms {
    ($t:ty, $v:ty, $at:ident) => {{
        use self::$at as at;
        Transforms {
            input: at::input::<$t, $v>,
            weights: at::weights::<$t, $v>,
            output: at::output::<$t, $v>,
            head: at::head::<$t, $v>,
            sums: at::sums::<$t, $v>,
            lanes: <$v as Lanes<$t>>::N,
        }
    }};
}

/// [`Transforms::input`] of bfloat16, to numbers of single precision.
///
/// # Safety
/// As there.
///
/// # Panics
/// As there.
pub(crate) unsafe fn half_input(channels: usize, from: (&[bf16], usize), to: To<f32>) {
    let (lanes, run): (usize, Loop<bf16>) = match level() {
        #[cfg(target_arch = "x86_64")]
        Level::V4 => (16, v4::input::<bf16, std::arch::x86_64::__m512>),
        _ => (4, input::<bf16, Plain<f32, 4>>),
    };
    assert!(channels.is_multiple_of(lanes));
    assert!(from.0.len() >= (SIDE - 1) * from.1 + SIDE * channels);
    // SAFETY: the loop is for this CPU; the rest was checked, or is as the caller vouches.
    unsafe { run(channels, (from.0.as_ptr(), from.1), to) };
}

/// For CPUs without these instructions.
mod base {
    pub(super) use super::{head, input, output, sums, weights};
}

macro_rules! transformed {
    ($($t:ty: $v4:ident, $v3:ident, $lanes:literal);*) => {$(
        impl Transformed for $t {
            fn transforms() -> Transforms<$t> {
                match level() {
                    #[cfg(target_arch = "x86_64")]
                    Level::V4 => transforms!($t, std::arch::x86_64::$v4, v4),
                    #[cfg(target_arch = "x86_64")]
                    Level::V3 => transforms!($t, std::arch::x86_64::$v3, v3),
                    Level::Base => transforms!($t, Plain<$t, $lanes>, base),
                }
            }
        }
    )*};
}
transformed!(f32: __m512, __m256, 4; f64: __m512d, __m256d, 2);
