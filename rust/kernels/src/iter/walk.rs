//! Iteration spaces of operators on strided operands: axes are dropped, reordered and merged until
//! as few and as long runs as possible remain. Pure index arithmetic; memory is touched elsewhere.

use ferromix_base::{Error, Result, Strides};
use smallvec::{SmallVec, smallvec};

/// The merged axes of `N` operands that are visited in step, slowest first. Never empty: a single
/// element is one axis of extent 1.
#[derive(Clone, Debug)]
pub(crate) struct Walk<const N: usize> {
    /// Extents.
    pub(crate) dims: SmallVec<[usize; 6]>,
    /// Steps of each operand along each axis, in elements.
    pub(crate) strides: SmallVec<[[isize; N]; 6]>,
    /// Where each operand starts, in elements from its address.
    pub(crate) offsets: [isize; N],
    /// Number of positions.
    pub(crate) total: usize,
}

/// Whether the order of the positions may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Last axis fastest, as the shape says.
    Kept,
    /// Whatever suits the memory of operand 0 best.
    Free,
}

impl<const N: usize> Walk<N> {
    /// The walk over `shape`; `strides` has one entry per axis for each operand.
    pub(crate) fn new(shape: &[usize], strides: [&[isize]; N], order: Order) -> Self {
        let mut walk = Walk {
            dims: SmallVec::new(),
            strides: SmallVec::new(),
            offsets: [0; N],
            total: shape.iter().product(),
        };
        for (axis, &d) in shape.iter().enumerate() {
            if d != 1 {
                walk.dims.push(d);
                walk.strides.push(std::array::from_fn(|j| strides[j][axis]));
            }
        }
        if walk.total != 0 {
            if order == Order::Free {
                walk.flip();
                walk.sort();
            }
            walk.merge();
        }
        if walk.dims.is_empty() || walk.total == 0 {
            walk.dims = smallvec![walk.total];
            walk.strides = smallvec![[1; N]];
        }
        walk
    }

    /// Turns the axes along which operand 0 runs backwards.
    fn flip(&mut self) {
        for (&d, strides) in self.dims.iter().zip(&mut self.strides) {
            if strides[0] < 0 {
                for (offset, s) in self.offsets.iter_mut().zip(strides) {
                    *offset += *s * (d as isize - 1);
                    *s = -*s;
                }
            }
        }
    }

    /// Orders axes by falling stride of operand 0 (insertion sort: there are few, and it is
    /// stable).
    fn sort(&mut self) {
        for i in 1..self.dims.len() {
            let mut j = i;
            while j > 0 && self.strides[j - 1][0].abs() < self.strides[j][0].abs() {
                self.dims.swap(j - 1, j);
                self.strides.swap(j - 1, j);
                j -= 1;
            }
        }
    }

    /// Merges neighbouring axes that every operand walks evenly.
    fn merge(&mut self) {
        let mut last = 0;
        for i in 1..self.dims.len() {
            let inner = self.dims[i] as isize;
            let even = (0..N).all(|j| self.strides[last][j] == self.strides[i][j] * inner);
            if even {
                self.dims[last] *= self.dims[i];
                self.strides[last] = self.strides[i];
            } else {
                last += 1;
                self.dims[last] = self.dims[i];
                self.strides[last] = self.strides[i];
            }
        }
        self.dims.truncate(last + 1);
        self.strides.truncate(last + 1);
    }

    /// Extent of the fastest axis.
    pub(crate) fn inner(&self) -> usize {
        self.dims[self.dims.len() - 1]
    }

    /// Steps along the fastest axis.
    pub(crate) fn inner_strides(&self) -> [isize; N] {
        self.strides[self.strides.len() - 1]
    }

    /// Whether operand `j` lies without gaps in the order of the walk.
    pub(crate) fn flat(&self, j: usize) -> bool {
        let mut expected = 1;
        self.dims.iter().zip(&self.strides).rev().all(|(&d, s)| {
            let fits = s[j] == expected;
            expected *= d as isize;
            fits
        })
    }

    /// The place of position `flat`.
    #[inline]
    pub(crate) fn cursor(&self, flat: usize) -> Cursor<'_, N> {
        let axes = self.dims.len();
        let mut index = if axes <= 6 {
            SmallVec::from_buf_and_len([0; 6], axes)
        } else {
            smallvec![0; axes]
        };
        let mut place = self.offsets;
        let mut rest = flat;
        // Most walks start with the first position, which needs no division.
        let axes = if flat == 0 { 0 } else { axes };
        for axis in (0..axes).rev() {
            let d = self.dims[axis].max(1);
            index[axis] = rest % d;
            rest /= d;
            for (p, s) in place.iter_mut().zip(self.strides[axis]) {
                *p += index[axis] as isize * s;
            }
        }
        Cursor {
            walk: self,
            index,
            place,
        }
    }
}

/// A position of a walk.
#[derive(Clone)]
pub(crate) struct Cursor<'a, const N: usize> {
    walk: &'a Walk<N>,
    index: SmallVec<[usize; 6]>,
    /// Each operand's element, as an offset from its address.
    pub(crate) place: [isize; N],
}

impl<const N: usize> Cursor<'_, N> {
    /// Positions from here to the end of the fastest axis.
    pub(crate) fn row_left(&self) -> usize {
        self.walk.inner() - self.index[self.index.len() - 1]
    }

    /// Steps along the fastest axis.
    pub(crate) fn row_strides(&self) -> [isize; N] {
        self.walk.inner_strides()
    }

    /// Moves `n` positions on, at most to the start of the next row.
    pub(crate) fn advance_in_row(&mut self, n: usize) {
        let axis = self.index.len() - 1;
        self.step(axis, n as isize);
        self.carry(axis);
    }

    /// Goes on along slower axes where `axis` has come to its end.
    fn carry(&mut self, mut axis: usize) {
        while axis > 0 && self.index[axis] == self.walk.dims[axis] {
            self.step(axis, -(self.walk.dims[axis] as isize));
            axis -= 1;
            self.step(axis, 1);
        }
    }

    /// Rows from here to the end of the second fastest axis, and each operand's step from row to row;
    /// none unless this is the start of a row.
    pub(crate) fn rows(&self) -> (usize, [isize; N]) {
        match self.index[..] {
            [.., at, 0] => {
                let axis = self.index.len() - 2;
                (self.walk.dims[axis] - at, self.walk.strides[axis])
            }
            _ => (0, [0; N]),
        }
    }

    /// Moves `n` rows on, at most to the end of the second fastest axis.
    pub(crate) fn advance_rows(&mut self, n: usize) {
        let axis = self.index.len() - 2;
        self.step(axis, n as isize);
        self.carry(axis);
    }

    fn step(&mut self, axis: usize, n: isize) {
        self.index[axis] = self.index[axis].wrapping_add_signed(n);
        for (p, s) in self.place.iter_mut().zip(self.walk.strides[axis]) {
            *p += n * s;
        }
    }
}

/// The strides with which a tensor of `from` reads as one of `to` by NumPy's broadcasting rules.
///
/// # Errors
/// Shapes that do not broadcast.
pub(crate) fn broadcast_strides(
    from: &[usize],
    strides: &[isize],
    to: &[usize],
) -> Result<Strides> {
    let mismatch = || Error::value(format!("shape {from:?} does not broadcast to {to:?}"));
    let lead = to.len().checked_sub(from.len()).ok_or_else(mismatch)?;
    let mut out: Strides = smallvec![0; to.len()];
    for (axis, (&d, &s)) in from.iter().zip(strides).enumerate() {
        let target = to[lead + axis];
        out[lead + axis] = match d {
            _ if d == target => s,
            1 => 0,
            _ => return Err(mismatch()),
        };
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_operands_become_one_run() {
        let w = Walk::new(
            &[2, 1, 3, 4],
            [&[12, 7, 4, 1], &[12, 12, 4, 1]],
            Order::Kept,
        );
        assert_eq!((&w.dims[..], w.total), (&[24][..], 24));
        assert!(w.flat(0) && w.flat(1));
    }

    #[test]
    fn transposed_pairs_merge_when_order_is_free() {
        let w = Walk::new(&[3, 4], [&[1, 3], &[1, 3]], Order::Free);
        assert_eq!(&w.dims[..], &[12]);
        let w = Walk::new(&[3, 4], [&[1, 3], &[1, 3]], Order::Kept);
        assert_eq!(&w.dims[..], &[3, 4]);
    }

    #[test]
    fn cursors_visit_every_element_in_order() {
        let w = Walk::new(&[2, 3, 2], [&[-6, 4, 1]], Order::Kept);
        let expected: Vec<isize> = (0..2)
            .flat_map(|i| (0..3).flat_map(move |j| (0..2).map(move |k| -6 * i + 4 * j + k)))
            .collect();
        for step in 1..5 {
            let mut c = w.cursor(0);
            for start in (0..12).step_by(step) {
                assert_eq!(c.place[0], expected[start]);
                assert_eq!(w.cursor(start).place, c.place);
                let mut left = step.min(12 - start);
                while left > 0 {
                    let n = left.min(c.row_left());
                    c.advance_in_row(n);
                    left -= n;
                }
            }
        }
    }

    #[test]
    fn rows_are_passed_together() {
        let w = Walk::new(&[2, 3, 4], [&[100, 10, 1]], Order::Kept);
        let mut c = w.cursor(5);
        assert_eq!(c.rows(), (0, [0]));
        c.advance_in_row(3);
        assert_eq!(c.rows(), (1, [10]));
        c.advance_rows(1);
        assert_eq!((c.place, c.rows()), ([100], (3, [10])));
        assert_eq!(w.cursor(12).place, c.place);
        c.advance_rows(2);
        assert_eq!((c.place, c.row_left()), (w.cursor(20).place, 4));
        assert_eq!(
            Walk::new(&[7], [&[1]], Order::Kept).cursor(0).rows(),
            (0, [0])
        );
    }

    #[test]
    fn broadcasting_follows_numpy() {
        assert_eq!(
            broadcast_strides(&[3, 1], &[5, 9], &[2, 3, 4]).unwrap()[..],
            [0, 5, 0]
        );
        assert_eq!(broadcast_strides(&[1], &[1], &[0]).unwrap()[..], [0]);
        assert!(broadcast_strides(&[3], &[1], &[4]).is_err());
        assert!(broadcast_strides(&[1, 1], &[1, 1], &[4]).is_err());
    }
}
