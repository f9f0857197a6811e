//! Sums of products of bytes, one side with a sign and one without, in 32 bits that wrap around. Four
//! bytes of a row meet four of a column at a time, as vector instructions for neural networks have it.

/// Columns of a tile.
pub(crate) const COLUMNS: usize = 32;
/// Most rows of a tile.
pub(crate) const ROWS: usize = 12;
/// Bytes of one step of all columns of a tile.
pub(crate) const STEP: usize = 4 * COLUMNS;

/// Sums of a tile, by row.
pub(crate) type Sums = [[i32; COLUMNS]; ROWS];

/// Where the columns of each step begin.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    places: Vec<usize>,
    /// Behind all columns.
    end: usize,
}

impl Steps {
    pub(crate) fn new(places: Vec<usize>) -> Self {
        let end = places.iter().max().map_or(0, |place| place + STEP);
        Steps { places, end }
    }

    /// So many steps whose columns follow each other.
    pub(crate) fn in_a_row(count: usize) -> Self {
        Steps::new((0..count).map(|step| step * STEP).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of columns that are read, from the first one on.
    pub(crate) fn end(&self) -> usize {
        self.end
    }
}

/// What a tile multiplies: rows of four bytes a step, one behind the other, and columns that lie side
/// by side, four bytes each.
#[derive(Clone, Copy)]
pub(crate) struct Sides<'a> {
    pub(crate) rows: &'a [u8],
    pub(crate) columns: &'a [u8],
    pub(crate) steps: &'a Steps,
}

impl Sides<'_> {
    /// Bytes of a row.
    fn apart(&self) -> usize {
        4 * self.steps.len()
    }

    /// Whether all that `n` rows and all columns take is there.
    fn are_whole(&self, n: usize) -> bool {
        n * self.apart() <= self.rows.len() && self.steps.end <= self.columns.len()
    }
}

/// The sums of `n` rows. The rows have signs and the columns have none, or the other way around.
pub(crate) fn tile<const SIGNED_ROWS: bool>(n: usize, sides: Sides<'_>, sums: &mut Sums) {
    assert!(n <= ROWS && sides.are_whole(n));
    #[cfg(target_arch = "x86_64")]
    match instructions() {
        // SAFETY: the instructions are there, and so is all that is read.
        Instructions::Vnni => return unsafe { x86::vnni::<SIGNED_ROWS>(n, sides, sums) },
        // SAFETY: as above.
        Instructions::Avx2 => return unsafe { x86::avx2::<SIGNED_ROWS>(n, sides, sums) },
        Instructions::None => {}
    }
    plain::<SIGNED_ROWS>(n, sides, sums);
}

fn plain<const SIGNED_ROWS: bool>(n: usize, sides: Sides<'_>, sums: &mut Sums) {
    for (r, sums) in sums[..n].iter_mut().enumerate() {
        *sums = [0; COLUMNS];
        let row = sides.rows[r * sides.apart()..].chunks_exact(4);
        for (row, &place) in row.zip(&sides.steps.places) {
            let columns = sides.columns[place..place + STEP].chunks_exact(4);
            for (sum, column) in sums.iter_mut().zip(columns) {
                for (&a, &b) in row.iter().zip(column) {
                    let (signed, unsigned) = if SIGNED_ROWS { (a, b) } else { (b, a) };
                    let product = i32::from(signed.cast_signed()) * i32::from(unsigned);
                    *sum = sum.wrapping_add(product);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
enum Instructions {
    None,
    Avx2,
    Vnni,
}

/// What this CPU has for it.
#[cfg(target_arch = "x86_64")]
fn instructions() -> Instructions {
    use crate::simd::vector::{Level, level};
    match level() {
        Level::V4 if is_x86_feature_detected!("avx512vnni") => Instructions::Vnni,
        Level::V4 | Level::V3 => Instructions::Avx2,
        Level::Base => Instructions::None,
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{COLUMNS, ROWS, Sides, Sums};
    use std::arch::x86_64::*;

    /// # Safety
    /// The CPU has these instructions, and all that `n` rows and the columns take is there.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) unsafe fn vnni<const SIGNED_ROWS: bool>(
        n: usize,
        sides: Sides<'_>,
        sums: &mut Sums,
    ) {
        macro_rules! by_rows {
            ($($n:literal)*) => {
                match n {
                    // SAFETY: as the caller vouches.
                    $($n => unsafe { vnni_rows::<$n, SIGNED_ROWS>(sides, sums) },)*
                    _ => {}
                }
            };
        }
        by_rows!(1 2 3 4 5 6 7 8 9 10 11 12);
    }

    /// # Safety
    /// As above, for `N` rows.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    unsafe fn vnni_rows<const N: usize, const SIGNED_ROWS: bool>(
        sides: Sides<'_>,
        sums: &mut Sums,
    ) {
        let mut found = [[_mm512_setzero_si512(); 2]; N];
        let (rows, columns) = (sides.rows.as_ptr(), sides.columns.as_ptr());
        for (step, &place) in sides.steps.places.iter().enumerate() {
            // SAFETY: the columns of the step are there.
            let b = unsafe {
                let at = columns.add(place);
                [
                    _mm512_loadu_si512(at.cast()),
                    _mm512_loadu_si512(at.add(64).cast()),
                ]
            };
            for (r, found) in found.iter_mut().enumerate() {
                // SAFETY: the step of the row is there.
                let a = unsafe {
                    rows.add(r * sides.apart() + 4 * step)
                        .cast::<i32>()
                        .read_unaligned()
                };
                let a = _mm512_set1_epi32(a);
                for (found, &b) in found.iter_mut().zip(&b) {
                    *found = if SIGNED_ROWS {
                        _mm512_dpbusd_epi32(*found, b, a)
                    } else {
                        _mm512_dpbusd_epi32(*found, a, b)
                    };
                }
            }
        }
        for (found, sums) in found.iter().zip(sums) {
            let to = sums.as_mut_ptr();
            // SAFETY: the two halves of a row of sums.
            unsafe {
                _mm512_storeu_si512(to.cast(), found[0]);
                _mm512_storeu_si512(to.add(16).cast(), found[1]);
            }
        }
    }

    /// Rows and columns, in vectors of eight, of a tile without instructions for bytes.
    const PART: (usize, usize) = (4, 8);

    /// # Safety
    /// The CPU has these instructions, and all that `n` rows and the columns take is there.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn avx2<const SIGNED_ROWS: bool>(
        n: usize,
        sides: Sides<'_>,
        sums: &mut Sums,
    ) {
        for first in (0..n).step_by(PART.0) {
            let part = Sides {
                rows: &sides.rows[first * sides.apart()..],
                ..sides
            };
            let most = (n - first).min(PART.0);
            let sums = &mut sums[first..];
            for column in (0..COLUMNS).step_by(PART.1) {
                // SAFETY: as the caller vouches.
                unsafe {
                    match most {
                        1 => avx2_rows::<1, SIGNED_ROWS>(part, column, sums),
                        2 => avx2_rows::<2, SIGNED_ROWS>(part, column, sums),
                        3 => avx2_rows::<3, SIGNED_ROWS>(part, column, sums),
                        _ => avx2_rows::<4, SIGNED_ROWS>(part, column, sums),
                    }
                }
            }
        }
    }

    /// The even and the odd bytes as numbers of 16 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn apart(signed: bool, bytes: __m256i) -> [__m256i; 2] {
        if signed {
            let even = _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(bytes));
            [even, _mm256_srai_epi16::<8>(bytes)]
        } else {
            let low = _mm256_set1_epi16(0xff);
            [_mm256_and_si256(bytes, low), _mm256_srli_epi16::<8>(bytes)]
        }
    }

    /// # Safety
    /// As above, for `N` rows and eight columns from `first` on.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn avx2_rows<const N: usize, const SIGNED_ROWS: bool>(
        sides: Sides<'_>,
        first: usize,
        sums: &mut [[i32; COLUMNS]],
    ) {
        let mut found = [_mm256_setzero_si256(); N];
        let (rows, columns) = (sides.rows.as_ptr(), sides.columns.as_ptr());
        for (step, &place) in sides.steps.places.iter().enumerate() {
            // SAFETY: the columns of the step are there.
            let b = unsafe { _mm256_loadu_si256(columns.add(place + 4 * first).cast()) };
            let [even, odd] = apart(!SIGNED_ROWS, b);
            for (r, found) in found.iter_mut().enumerate() {
                // SAFETY: the step of the row is there.
                let a = unsafe {
                    rows.add(r * sides.apart() + 4 * step)
                        .cast::<i32>()
                        .read_unaligned()
                };
                let a = apart(SIGNED_ROWS, _mm256_set1_epi32(a));
                // Two products of numbers of 9 bits at most, twice, are exact.
                let pairs = [_mm256_madd_epi16(even, a[0]), _mm256_madd_epi16(odd, a[1])];
                *found = _mm256_add_epi32(*found, _mm256_add_epi32(pairs[0], pairs[1]));
            }
        }
        for (&found, sums) in found.iter().zip(sums) {
            // SAFETY: eight sums of a row.
            unsafe { _mm256_storeu_si256(sums[first..first + 8].as_mut_ptr().cast(), found) };
        }
    }

    const _: () = assert!(ROWS == 12 && COLUMNS.is_multiple_of(16));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<u8> {
        let mut state = seed;
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..count).map(next).collect()
    }

    fn agree<const SIGNED_ROWS: bool>(n: usize, steps: usize) {
        let rows = numbers(n * 4 * steps, 1);
        let columns = numbers((steps + 1) * STEP, 2);
        let places = (0..steps).map(|s| (steps - 1 - s) * STEP + s % 5);
        let steps = Steps::new(places.collect());
        let sides = Sides {
            rows: &rows,
            columns: &columns,
            steps: &steps,
        };
        let (mut wanted, mut found) = ([[7; COLUMNS]; ROWS], [[7; COLUMNS]; ROWS]);
        plain::<SIGNED_ROWS>(n, sides, &mut wanted);
        tile::<SIGNED_ROWS>(n, sides, &mut found);
        assert_eq!(found, wanted, "{n} rows, {steps:?}");
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            found = [[7; COLUMNS]; ROWS];
            // SAFETY: the instructions are there, and so are rows and columns.
            unsafe { x86::avx2::<SIGNED_ROWS>(n, sides, &mut found) };
            assert_eq!(found, wanted, "{n} rows, {steps:?}, AVX2");
        }
    }

    #[test]
    fn all_instructions_give_the_same_sums() {
        for n in 0..=ROWS {
            for steps in [0, 1, 2, 5, 33] {
                agree::<true>(n, steps);
                agree::<false>(n, steps);
            }
        }
    }

    #[test]
    fn sums_of_the_largest_products_are_exact() {
        let (rows, columns) = (vec![0x80; 4 * 9], vec![0xff; STEP]);
        let steps = Steps::new(vec![0; 9]);
        let sides = Sides {
            rows: &rows,
            columns: &columns,
            steps: &steps,
        };
        let mut sums = [[0; COLUMNS]; ROWS];
        tile::<true>(1, sides, &mut sums);
        assert_eq!(sums[0], [-128 * 255 * 36; COLUMNS]);
        tile::<false>(1, sides, &mut sums);
        assert_eq!(sums[0], [-128 * 36; COLUMNS]);
    }

    #[test]
    #[should_panic = "are_whole"]
    fn columns_that_are_not_there_are_not_read() {
        let steps = Steps::new(vec![1]);
        let sides = Sides {
            rows: &[0; 4],
            columns: &[0; STEP],
            steps: &steps,
        };
        tile::<true>(1, sides, &mut [[0; COLUMNS]; ROWS]);
    }
}
