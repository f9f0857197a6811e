//! Transposition of elements of 4 bytes in registers of AVX2.

use super::{Tiles, edge};
use crate::memory::finish_stream;
use std::arch::x86_64::{
    __m256, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_shuffle_ps,
    _mm256_storeu_ps, _mm256_stream_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
};

/// Rows and columns of a tile: those of a cache line.
pub(super) const SIDE: usize = 16;

/// Elements of a register.
const HALF: usize = 8;

/// Copies one tile along `along` from `start` on, or two where all is large, for all positions across.
/// Two take two lines of the source side by side, as processors fetch them.
///
/// # Safety
/// As `Tiles::band`.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn band(tiles: &Tiles, to: *mut u32, from: *const u32, start: usize) {
    let (across, from_step) = tiles.across;
    let (along, to_step) = tiles.along;
    let end = along.min(start + if tiles.large { 2 * SIDE } else { SIDE });
    let row = to.wrapping_offset(start as isize * to_step);
    let lines = [row.addr(), to_step as usize * 4];
    let past = tiles.large && lines.iter().all(|x| x.is_multiple_of(4 * SIDE));
    for column in (0..across).step_by(SIDE) {
        let width = SIDE.min(across - column);
        let source = from.wrapping_offset(column as isize * from_step);
        if tiles.large {
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
                match (height, width, past) {
                    (SIDE, SIDE, true) => tile::<true>(to, from),
                    (SIDE, SIDE, false) => tile::<false>(to, from),
                    _ => edge(to, from, (height, width)),
                }
            }
        }
    }
    if past {
        finish_stream();
    }
}

/// Transposes a tile between places and their steps, past the caches if so asked.
///
/// # Safety
/// SIDE elements without gaps lie at each of SIDE places on either side, a step apart; those of the
/// target are whole cache lines if they go past the caches.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn tile<const PAST: bool>(to: (*mut u32, isize), from: (*const u32, isize)) {
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
        let [upper, lower] = [0, HALF].map(|i| {
            // SAFETY: 8 rows of the tile, of which each has 8 elements from `first` on.
            unsafe { eight(rows[i].as_ptr().add(first)) }
        });
        for (i, (left, right)) in upper.into_iter().zip(lower).enumerate() {
            let line =
                to.0.wrapping_offset((first + i) as isize * to.1)
                    .cast::<f32>();
            // SAFETY: as the caller vouches.
            unsafe {
                if PAST {
                    _mm256_stream_ps(line, left);
                    _mm256_stream_ps(line.add(HALF), right);
                } else {
                    _mm256_storeu_ps(line, left);
                    _mm256_storeu_ps(line.add(HALF), right);
                }
            }
        }
    }
}

/// Transposes 8 by 8 elements in registers: pairs, then pairs of pairs, then halves.
///
/// # Safety
/// 8 elements lie at each of 8 places, SIDE elements apart.
#[target_feature(enable = "avx2,fma")]
#[inline]
unsafe fn eight(from: *const f32) -> [__m256; 8] {
    // SAFETY: as the caller vouches.
    let row = |i: usize| unsafe { _mm256_loadu_ps(from.add(i * SIDE)) };
    let pairs = [0, 2, 4, 6].map(|i| {
        let (a, b) = (row(i), row(i + 1));
        [_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)]
    });
    let [upper, lower] = [0, 2].map(|i| {
        let (a, b) = (pairs[i], pairs[i + 1]);
        [
            _mm256_shuffle_ps::<0x44>(a[0], b[0]),
            _mm256_shuffle_ps::<0xEE>(a[0], b[0]),
            _mm256_shuffle_ps::<0x44>(a[1], b[1]),
            _mm256_shuffle_ps::<0xEE>(a[1], b[1]),
        ]
    });
    std::array::from_fn(|i| {
        let (a, b) = (upper[i % 4], lower[i % 4]);
        if i < 4 {
            _mm256_permute2f128_ps::<0x20>(a, b)
        } else {
            _mm256_permute2f128_ps::<0x31>(a, b)
        }
    })
}
