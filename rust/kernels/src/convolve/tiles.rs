//! The innermost loop of products whose columns are gathered: a tile is a few rows of the result by a panel
//! of positions. A panel that reads neighbours is read where it lies by the first tile that needs it, which
//! puts it where the others find it: what the data take to arrive passes while the tile multiplies.

use super::field::Run;
use crate::blocks::raw::fetch_near;
use crate::linalg::ends::{End, Part};
use crate::linalg::lanes::Lanes;
use crate::linalg::results::Results;
use crate::linalg::tile::Lines;
use crate::math::real::{Float, Real};

/// Vectors of a panel.
pub(super) const VECTORS: usize = 2;

/// Panels of runs, and the parts in which each of them goes to memory.
pub(super) struct Cut {
    parts: Vec<Part>,
    panels: Vec<Panel>,
}

/// A panel of positions.
#[derive(Clone, Copy)]
struct Panel {
    /// Where its parts end.
    end: usize,
    /// Which of its positions there are.
    places: u32,
    whole: bool,
    narrow: bool,
}

impl Cut {
    /// Those of `width` positions each.
    pub(super) fn of(runs: &[Run], width: usize) -> Self {
        let (mut parts, mut panels): (Vec<Part>, Vec<Panel>) = (Vec::new(), Vec::new());
        for run in runs {
            let (number, first) = (run.at / width, run.at % width);
            // A position is never written before so many places: rows do not run backwards.
            let at = run.target - first;
            let mut places = (u32::MAX >> (u32::BITS as usize - run.len)) << first;
            let mut whole = number == panels.len();
            match (panels.get(number), parts.last_mut()) {
                (Some(panel), Some(last)) if last.at == at => {
                    last.places |= places;
                    (places, whole) = (panel.places | places, panel.whole);
                }
                (panel, _) => {
                    parts.push(Part { at, places });
                    places |= panel.map_or(0, |panel| panel.places);
                }
            }
            panels.truncate(number);
            panels.push(Panel {
                end: parts.len(),
                places,
                whole,
                narrow: places >> (width / VECTORS) == 0,
            });
        }
        for panel in &mut panels {
            let all = if panel.narrow { width / VECTORS } else { width };
            panel.whole &= panel.places.count_ones() as usize == all;
        }
        Cut { parts, panels }
    }

    pub(super) fn panels(&self) -> usize {
        self.panels.len()
    }

    pub(super) fn parts(&self, panel: usize) -> &[Part] {
        let start = if panel == 0 {
            0
        } else {
            self.panels[panel - 1].end
        };
        &self.parts[start..self.panels[panel].end]
    }

    /// Whether all of a panel goes to neighbouring places, or its first vector, which is all that there is then.
    pub(super) fn is_whole(&self, panel: usize) -> bool {
        self.panels[panel].whole
    }

    /// Whether there is nothing but the first vector of a panel.
    pub(super) fn is_narrow(&self, panel: usize) -> bool {
        self.panels[panel].narrow
    }
}

/// The panel of what `taps`, which are equally far apart, read of neighbours from `from` on.
///
/// # Panics
/// A source that is too short.
pub(super) fn lines<T>(source: &[T], from: usize, taps: &[usize], width: usize) -> Lines<T> {
    let step = if taps.len() > 1 { taps[1] - taps[0] } else { 0 };
    let line = &source[from + taps[0]..];
    assert!(line.len() >= (taps.len() - 1) * step + width);
    (line.as_ptr(), step)
}

/// What a tile multiplies.
pub(crate) struct Factors<T> {
    pub(super) depth: usize,
    /// Element `(r, k)` of the rows at `k * n + r`.
    pub(super) a: *const T,
    /// The rows of the panel.
    pub(super) b: Lines<T>,
    /// Where these are put side by side; or null.
    pub(super) keep: *mut T,
}

impl<T> Factors<T> {
    /// Those of `n` packed rows of `depth`, and of a panel with the distance between its rows.
    ///
    /// # Panics
    /// Rows that are too short.
    pub(super) fn of((depth, n): (usize, usize), a: &[T], b: (*mut T, usize)) -> Self {
        assert!(n >= 1 && a.len() >= depth * n);
        Factors {
            depth,
            a: a.as_ptr(),
            b: (b.0.cast_const(), b.1),
            keep: std::ptr::null_mut(),
        }
    }
}

/// Where the sums of a tile come from and go to.
pub(crate) struct Tile<'a, T: Float> {
    /// What they begin with; zero where there is no address.
    pub(super) start: Lines<T::Real>,
    /// Where whole rows of unfinished sums go, with the distance between them; or null.
    pub(super) sums: (*mut T::Real, usize),
    /// Else where rows of results begin, and the distance between them.
    pub(super) c: (*mut T, usize),
    /// Parts of the panel by where they go, from the beginning of a row on.
    pub(super) parts: &'a [Part],
    /// What becomes of the sums, if this is the end of them.
    pub(super) end: Option<End<T>>,
    /// What is written next, of which the cache is told; or null.
    pub(super) next: Lines<T>,
}

/// Computes a tile.
pub(crate) type Loop<T> = unsafe fn(&Factors<<T as Float>::Real>, &Tile<'_, T>);

/// A tile of `N` rows by `W` vectors, of a panel of [`VECTORS`].
///
/// # Safety
/// The CPU has the instructions of `V`; `N` rows of `depth` can be read at `a`, and whole vectors of the panel
/// at `b` and of what sums begin with; rows fit where they are kept; each position of the panel is in one part,
/// at most, and nobody else uses meanwhile where these go in `N` rows of `c`. What `end` names of these can
/// be read. As many numbers as the panel has can be written to `N` rows of unfinished sums, if these go there.
#[inline(always)]
pub(super) unsafe fn product<T: Float, V: Results<T>, const N: usize, const W: usize>(
    factors: &Factors<T::Real>,
    tile: &Tile<'_, T>,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut acc = [[V::zero(); W]; N];
        if !tile.start.0.is_null() {
            for (r, acc) in acc.iter_mut().enumerate() {
                let row = tile.start.0.add(r * tile.start.1);
                *acc = std::array::from_fn(|j| V::load(row.add(j * V::N)));
            }
        }
        let size = size_of::<T>();
        let next = (
            tile.next.0.cast(),
            tile.next.1 * size,
            VECTORS * V::N * size,
        );
        if factors.keep.is_null() {
            sums::<T::Real, V, N, W, false>(factors, next, &mut acc);
        } else {
            sums::<T::Real, V, N, W, true>(factors, next, &mut acc);
        }
        finish::<T, V, N, W>(acc, tile);
    }
}

/// Adds the products of all steps; meanwhile the cache is told of lines: where they begin, how far
/// apart they are, and of how many bytes.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn sums<T: Real, V: Lanes<T>, const N: usize, const W: usize, const KEEP: bool>(
    factors: &Factors<T>,
    next: (*const u8, usize, usize),
    acc: &mut [[V; W]; N],
) {
    let depth = factors.depth;
    // A row at every second step, where there are as many.
    let every = usize::from(depth >= 2 * N);
    let late = depth.saturating_sub((1 + every) * N);
    let (mut ahead, mut rows) = (next.0, if next.0.is_null() { 0 } else { N });
    for k in 0..depth {
        if rows > 0 && k >= late && k & every == 0 {
            fetch_near(ahead, next.2);
            ahead = ahead.wrapping_add(next.1);
            rows -= 1;
        }
        // SAFETY: as the caller vouches.
        unsafe {
            let b = factors.b.0.add(k * factors.b.1);
            let b: [V; W] = std::array::from_fn(|j| V::load(b.add(j * V::N)));
            if KEEP {
                let keep = factors.keep.add(k * VECTORS * V::N);
                for (j, b) in b.iter().enumerate() {
                    b.store(keep.add(j * V::N));
                }
            }
            let a = factors.a.add(k * N);
            for (r, acc) in acc.iter_mut().enumerate() {
                let x = V::splat(*a.add(r));
                for (acc, &b) in acc.iter_mut().zip(&b) {
                    *acc = acc.fma(x, b);
                }
            }
        }
    }
}

/// Writes the sums.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn finish<T: Float, V: Results<T>, const N: usize, const W: usize>(
    mut acc: [[V; W]; N],
    tile: &Tile<'_, T>,
) {
    if !tile.sums.0.is_null() {
        for (r, acc) in acc.iter().enumerate() {
            for (j, acc) in acc.iter().enumerate() {
                // SAFETY: as the caller vouches.
                unsafe { acc.store(tile.sums.0.add(r * tile.sums.1 + j * V::N)) };
            }
        }
        return;
    }
    let (c, stride) = tile.c;
    let whole = u32::MAX >> (u32::BITS as usize - W * V::N);
    // SAFETY: as the caller vouches.
    unsafe {
        let [Part { at, places }] = *tile.parts else {
            return scatter::<T, V, N, W>(&acc, tile);
        };
        if places & whole != whole {
            return scatter::<T, V, N, W>(&acc, tile);
        }
        if let Some(end) = &tile.end {
            for (r, acc) in acc.iter_mut().enumerate() {
                *acc = end.of(*acc, r, std::array::from_fn(|j| at + j * V::N), stride);
            }
        }
        for (r, acc) in acc.iter().enumerate() {
            let c = c.add(r * stride + at);
            for (j, acc) in acc.iter().enumerate() {
                acc.write(c.add(j * V::N));
            }
        }
    }
}

/// Writes the sums of a panel that is in several parts, or not whole.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn scatter<T: Float, V: Results<T>, const N: usize, const W: usize>(
    acc: &[[V; W]; N],
    tile: &Tile<'_, T>,
) {
    let (c, stride) = tile.c;
    for (r, &acc) in acc.iter().enumerate() {
        // SAFETY: as the caller vouches.
        unsafe {
            let mut sums = acc;
            if let Some(end) = &tile.end {
                sums = end.of_parts(sums, r, tile.parts, stride);
            }
            for part in tile.parts {
                let to = c.wrapping_add(r * stride + part.at);
                for (j, sums) in sums.iter().enumerate() {
                    let to = to.wrapping_add(j * V::N);
                    match part.of_vector::<T::Real, V>(j) {
                        0 => {}
                        places if places.count_ones() as usize == V::N => sums.write(to),
                        places => sums.write_places(to, places),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::direct::Direct;
    use super::*;
    use crate::linalg::tile::Tiled;

    #[test]
    fn panels_are_cut_where_their_places_are_no_neighbours() {
        let run = |at, len, target| Run {
            at,
            len,
            source: 0,
            target,
        };
        // Two rows that follow each other, and the next plane; the second panel is not whole.
        let cut = Cut::of(
            &[run(0, 3, 7), run(3, 3, 10), run(6, 2, 40), run(8, 5, 42)],
            8,
        );
        let part = |at, places| Part { at, places };
        assert_eq!(cut.panels(), 2);
        assert_eq!(cut.parts(0), [part(7, 0b11_1111), part(34, 0b1100_0000)]);
        assert_eq!(cut.parts(1), [part(42, 0b1_1111)]);
        let whole = Cut::of(&[run(0, 5, 20), run(5, 3, 25)], 8);
        assert!(whole.is_whole(0) && !cut.is_whole(0) && !cut.is_whole(1));
        // Half of a panel, and less.
        let half = Cut::of(&[run(0, 4, 3)], 8);
        assert!(half.is_narrow(0) && half.is_whole(0));
        let less = Cut::of(&[run(0, 3, 3)], 8);
        assert!(less.is_narrow(0) && !less.is_whole(0) && !cut.is_narrow(1));
    }

    /// Tiles of all numbers of rows, in parts, with all that may become of the sums.
    fn check<T: Direct>() {
        let (width, most) = (T::tiles().width, T::tiles().most_rows);
        let number = |i: usize| T::of(((i * 29) % 17) as f64 - 8.0);
        let numbers = |n: usize, seed: usize| (0..n).map(|i| number(i + seed)).collect::<Vec<T>>();
        let (low, all) = (0b101_u32, u32::MAX >> (32 - width));
        let (depth, stride, lie) = (5, 3 * width, width + 3);
        let part = |at, places| Part { at, places };
        let ways = [
            vec![part(3, all)],
            vec![part(1, low), part(width, all & !low)],
            vec![part(2, low)],
        ];
        for (n, parts) in (1..=most).flat_map(|n| ways.iter().map(move |w| (n, w))) {
            let (a, b) = (numbers(depth * n, 1), numbers(depth * lie, 2));
            let (shift, other, start) =
                (numbers(n, 3), numbers(n * stride, 4), numbers(n * width, 5));
            for begun in [false, true] {
                let (mut c, mut keep) = (numbers(n * stride, 6), vec![T::ZERO; depth * width]);
                let before = c.clone();
                let factors = Factors {
                    depth,
                    a: a.as_ptr(),
                    b: (b.as_ptr(), lie),
                    keep: if begun {
                        std::ptr::null_mut()
                    } else {
                        keep.as_mut_ptr()
                    },
                };
                let end = End {
                    factor: std::ptr::null(),
                    shift: shift.as_ptr(),
                    addend: other.as_ptr(),
                    relu: true,
                };
                let tile = Tile {
                    start: if begun {
                        (start.as_ptr(), width)
                    } else {
                        (std::ptr::null(), 0)
                    },
                    sums: (std::ptr::null_mut(), 0),
                    c: (c.as_mut_ptr(), stride),
                    parts,
                    end: Some(end),
                    next: (c.as_ptr(), stride),
                };
                let narrow = parts
                    .iter()
                    .all(|part| part.places >> (width / VECTORS) == 0);
                let narrow = narrow && begun;
                // SAFETY: there is room for all rows, and the parts are within them.
                unsafe { T::loops().tiles[usize::from(narrow)][n - 1](&factors, &tile) };
                let mut want = before;
                for (r, j) in (0..n).flat_map(|r| (0..width).map(move |j| (r, j))) {
                    let Some(part) = parts.iter().find(|p| p.places >> j & 1 > 0) else {
                        continue;
                    };
                    let dot: f64 = (0..depth)
                        .map(|k| (a[k * n + r] * b[k * lie + j]).f64())
                        .sum();
                    let first = if begun {
                        start[r * width + j].f64()
                    } else {
                        0.0
                    };
                    let at = r * stride + part.at + j;
                    want[at] = T::of((first + dot + shift[r].f64() + other[at].f64()).max(0.0));
                }
                assert_eq!(c, want);
                let kept = |k: usize, j: usize| if begun { T::ZERO } else { b[k * lie + j] };
                let want = (0..depth * width).map(|i| kept(i / width, i % width));
                assert!(keep.into_iter().eq(want));
            }
        }
    }

    #[test]
    fn tiles_agree_with_the_definition() {
        check::<f32>();
        check::<f64>();
    }
}
