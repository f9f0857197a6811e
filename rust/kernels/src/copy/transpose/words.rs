//! Transposition of elements of 4 bytes in registers of AVX2.

use super::{Place, Sheet, edge};
use crate::iter::memory::finish_stream;
use std::arch::x86_64::{
    __m256, _MM_HINT_T0, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_prefetch, _mm_storeu_ps,
    _mm_unpackhi_ps, _mm_unpacklo_ps, _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_setzero_ps,
    _mm256_shuffle_ps, _mm256_storeu_ps, _mm256_stream_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
};

/// Rows and columns of a tile: those of a cache line.
pub(super) const SIDE: usize = 16;

/// Elements of a register.
const HALF: usize = 8;

/// Copies one tile along `along` from `start` on, or two where all is large, for all positions across.
/// Two take two lines of the source side by side, as processors fetch them.
///
/// # Safety
/// As `Sheet::band`.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn band(sheet: &Sheet, to: *mut u32, from: *const u32, start: usize) {
    let (across, from_step) = sheet.across;
    let (along, to_step) = sheet.along;
    let end = along.min(start + if sheet.large { 2 * SIDE } else { SIDE });
    let row = to.wrapping_offset(start as isize * to_step);
    let lines = [row.addr(), to_step as usize * 4];
    let streamed = sheet.large && lines.iter().all(|x| x.is_multiple_of(4 * SIDE));
    for column in (0..across).step_by(SIDE) {
        let width = SIDE.min(across - column);
        let source = from.wrapping_offset(column as isize * from_step);
        if sheet.large {
            // The processor does not see by itself what comes next, so far apart.
            for i in 0..2 * SIDE {
                let place = source.wrapping_offset((SIDE + i / 2) as isize * from_step);
                _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(start + i % 2 * SIDE).cast());
            }
        }
        for start in (start..end).step_by(SIDE) {
            let height = SIDE.min(end - start);
            let target = to
                .wrapping_offset(start as isize * to_step)
                .wrapping_add(column);
            let (to, from) = ((target, to_step), (source.wrapping_add(start), from_step));
            // SAFETY: within the band.
            unsafe {
                match (height, width, streamed) {
                    (SIDE, SIDE, true) => tile::<true>(to, from),
                    (SIDE, SIDE, false) => tile::<false>(to, from),
                    _ => edge((to, from), (height, width), |to, from| four(to, from)),
                }
            }
        }
    }
    if streamed {
        finish_stream();
    }
}

/// Transposes a tile between places and their steps, by non-temporal stores if so asked.
///
/// # Safety
/// SIDE elements without gaps lie at each of SIDE places on either side, a step apart; those of the
/// target are whole cache lines for non-temporal stores.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn tile<const PAST: bool>(to: Place<*mut u32>, from: Place<*const u32>) {
    // Lines that are a power of two apart push each other out of the cache: each is read once.
    let mut rows = [[0f32; SIDE]; SIDE];
    for (i, row) in rows.iter_mut().enumerate() {
        let place = from.0.wrapping_offset(i as isize * from.1).cast::<f32>();
        for half in [0, HALF] {
            // SAFETY: as the caller vouches; in registers as large as those that read them again.
            unsafe {
                _mm256_storeu_ps(row.as_mut_ptr().add(half), _mm256_loadu_ps(place.add(half)))
            };
        }
    }
    for first in [0, HALF] {
        // SAFETY: 8 rows of the tile each, which have 8 elements from `first` on.
        let (left, right) = unsafe {
            (
                eight(rows[0].as_ptr().add(first)),
                eight(rows[HALF].as_ptr().add(first)),
            )
        };
        for i in 0..HALF {
            let step = (first + i) as isize * to.1;
            let line = to.0.wrapping_offset(step).cast::<f32>();
            // SAFETY: as the caller vouches.
            unsafe {
                if PAST {
                    _mm256_stream_ps(line, left[i]);
                    _mm256_stream_ps(line.add(HALF), right[i]);
                } else {
                    _mm256_storeu_ps(line, left[i]);
                    _mm256_storeu_ps(line.add(HALF), right[i]);
                }
            }
        }
    }
}

/// Transposes 4 by 4 elements in registers: pairs, then halves.
///
/// # Safety
/// 4 elements without gaps lie at each of 4 places on either side, a step apart.
#[target_feature(enable = "avx2,fma")]
#[inline]
pub(super) unsafe fn four(to: Place<*mut u32>, from: Place<*const u32>) {
    // SAFETY: as the caller vouches.
    let row = |i: isize| unsafe { _mm_loadu_ps(from.0.wrapping_offset(i * from.1).cast()) };
    let (a, b, c, d) = (row(0), row(1), row(2), row(3));
    let (low, high) = (_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
    let (low_2, high_2) = (_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
    let lines = [
        _mm_movelh_ps(low, low_2),
        _mm_movehl_ps(low_2, low),
        _mm_movelh_ps(high, high_2),
        _mm_movehl_ps(high_2, high),
    ];
    for (i, line) in lines.into_iter().enumerate() {
        // SAFETY: as the caller vouches.
        unsafe { _mm_storeu_ps(to.0.wrapping_offset(i as isize * to.1).cast(), line) };
    }
}

/// Transposes 8 by 8 elements in registers: pairs, then pairs of pairs, then halves.
///
/// # Safety
/// 8 elements lie at each of 8 places, SIDE elements apart.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn eight(from: *const f32) -> [__m256; HALF] {
    let mut halves = [[_mm256_setzero_ps(); 4]; 2];
    for (half, out) in halves.iter_mut().enumerate() {
        let first = from.wrapping_add(4 * half * SIDE);
        // SAFETY: as the caller vouches.
        let (a, b, c, d) = unsafe {
            (
                _mm256_loadu_ps(first),
                _mm256_loadu_ps(first.add(SIDE)),
                _mm256_loadu_ps(first.add(2 * SIDE)),
                _mm256_loadu_ps(first.add(3 * SIDE)),
            )
        };
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (ab_2, cd_2) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        *out = [
            _mm256_shuffle_ps::<0x44>(ab, cd),
            _mm256_shuffle_ps::<0xEE>(ab, cd),
            _mm256_shuffle_ps::<0x44>(ab_2, cd_2),
            _mm256_shuffle_ps::<0xEE>(ab_2, cd_2),
        ];
    }
    let mut out = [_mm256_setzero_ps(); HALF];
    for i in 0..4 {
        out[i] = _mm256_permute2f128_ps::<0x20>(halves[0][i], halves[1][i]);
        out[i + 4] = _mm256_permute2f128_ps::<0x31>(halves[0][i], halves[1][i]);
    }
    out
}
