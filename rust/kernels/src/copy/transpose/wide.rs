//! Transposition of elements of 4 bytes in registers of AVX-512: a tile takes half the instructions of AVX2's,
//! so that the processor sees further ahead what is to be read.

use super::words::{SIDE, four};
use super::{Place, edge};
use std::arch::x86_64::{
    __m512, _mm512_castpd_ps, _mm512_castps_pd, _mm512_loadu_ps, _mm512_setzero_ps,
    _mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_unpackhi_pd, _mm512_unpackhi_ps,
    _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};

/// As `transpose`, for so many rows and columns of the target.
///
/// # Safety
/// The CPU has AVX-512; the rows of both are there.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
pub(super) unsafe fn matrix(
    to: Place<*mut u32>,
    from: Place<*const u32>,
    (height, width): (usize, usize),
) {
    for column in (0..width).step_by(SIDE) {
        let across = SIDE.min(width - column);
        let source = from.0.wrapping_offset(column as isize * from.1);
        for start in (0..height).step_by(SIDE) {
            let along = SIDE.min(height - start);
            let target = to.0.wrapping_offset(start as isize * to.1);
            let target = (target.wrapping_add(column), to.1);
            let source = (source.wrapping_add(start), from.1);
            // SAFETY: as the caller vouches.
            unsafe {
                if (along, across) == (SIDE, SIDE) {
                    tile(target, source);
                } else {
                    edge((target, source), (along, across), |to, from| four(to, from));
                }
            }
        }
    }
}

/// Transposes a tile between places and their steps: pairs of rows, pairs of these, and so on.
///
/// # Safety
/// SIDE elements without gaps lie at each of SIDE places on either side, a step apart.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
#[inline]
unsafe fn tile(to: Place<*mut u32>, from: Place<*const u32>) {
    let row = |i: usize| from.0.wrapping_offset(i as isize * from.1).cast();
    // SAFETY: as the caller vouches.
    let rows: [__m512; SIDE] = std::array::from_fn(|i| unsafe { _mm512_loadu_ps(row(i)) });
    let mut pairs = [_mm512_setzero_ps(); SIDE];
    let mut fours = [_mm512_setzero_ps(); SIDE];
    for i in 0..SIDE / 2 {
        pairs[2 * i] = _mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]);
    }
    for i in 0..SIDE / 4 {
        for half in 0..2 {
            let [a, b] = [4 * i + half, 4 * i + half + 2].map(|j| _mm512_castps_pd(pairs[j]));
            fours[4 * i + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            fours[4 * i + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    }
    // Quarter `q` of `fours[4 * i + j]` is column `4 * q + j` of rows `4 * i` to `4 * i + 3`.
    for j in 0..4 {
        let [a, b, c, d] = std::array::from_fn(|i| fours[4 * i + j]);
        let (ab, ab_odd) = (
            _mm512_shuffle_f32x4::<0x88>(a, b),
            _mm512_shuffle_f32x4::<0xDD>(a, b),
        );
        let (cd, cd_odd) = (
            _mm512_shuffle_f32x4::<0x88>(c, d),
            _mm512_shuffle_f32x4::<0xDD>(c, d),
        );
        let lines = [
            _mm512_shuffle_f32x4::<0x88>(ab, cd),
            _mm512_shuffle_f32x4::<0x88>(ab_odd, cd_odd),
            _mm512_shuffle_f32x4::<0xDD>(ab, cd),
            _mm512_shuffle_f32x4::<0xDD>(ab_odd, cd_odd),
        ];
        for (q, line) in lines.into_iter().enumerate() {
            let place = to.0.wrapping_offset((4 * q + j) as isize * to.1);
            // SAFETY: as the caller vouches.
            unsafe { _mm512_storeu_ps(place.cast(), line) };
        }
    }
}
