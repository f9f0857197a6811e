//! Images whose channels are neighbours in memory.

use crate::blocks::raw::Target;
use crate::convolve::apply::summed::Summed;
use crate::copy::transpose::transpose;
use crate::linalg::halves::side_by_side;
use crate::linalg::pairs::PAIR;
use crate::linalg::tile::Tiled;
use crate::par;
use ferromix_base::bf16;

/// Copies images with a border, channels last.
pub(in crate::convolve) fn channels_last<T: Summed>(
    data: &[T],
    (c, [rows, columns]): (usize, [usize; 2]),
    border: ([usize; 2], [usize; 2]),
    field: &mut [T],
) {
    bordered((c, [rows, columns]), border, field, |image, y, to| {
        let from = &data[(image * c * rows + y) * columns..];
        T::turn((from, rows * columns), (columns, c), to);
    });
}

/// Fills images with channels last, which begin so far within a border and have such extents with it: zeros, and
/// in each row of an image what `fill` makes of it.
pub(in crate::convolve) fn bordered<T: Summed>(
    (c, [rows, columns]): (usize, [usize; 2]),
    (pad, [high, wide]): ([usize; 2], [usize; 2]),
    field: &mut [T],
    fill: impl Fn(usize, usize, &mut [T]) + Sync + Send,
) {
    let lines = field.len() / (wide * c).max(1);
    let field = Target::of_slice(field);
    par::for_ranges(lines, (16_384 / (wide * c).max(1)).max(1), |lines| {
        for line in lines {
            // SAFETY: lines belong to one task each.
            let to = unsafe { field.slice(line * wide * c..(line + 1) * wide * c) };
            let (image, y) = (line / high, line % high);
            let Some(y) = y.checked_sub(pad[0]).filter(|&y| y < rows) else {
                to.fill(T::zero());
                continue;
            };
            let (before, rest) = to.split_at_mut(pad[1] * c);
            let (inner, after) = rest.split_at_mut(columns * c);
            before.fill(T::zero());
            after.fill(T::zero());
            fill(image, y, inner);
        }
    });
}

/// [`transpose`] of bfloat16, to rows without gaps: by words of two channels, where there are whole ones.
pub(in crate::convolve) fn turn_halves(
    (from, step): (&[bf16], usize),
    (columns, channels): (usize, usize),
    to: &mut [bf16],
) {
    // SAFETY: two elements are as many bits as a number, which is moved and not computed with.
    let (before, words, _) = unsafe { to.align_to_mut::<f32>() };
    if !before.is_empty() || !channels.is_multiple_of(PAIR) {
        return transpose((from, step), (columns, channels), (to, channels));
    }
    let pairs = channels / PAIR;
    let mut room = f32::borrow_room(pairs * columns);
    let rows = room[..pairs * columns].chunks_exact_mut(columns.max(1));
    for (p, row) in rows.enumerate() {
        let two = [0, 1].map(|i| &from[(p * PAIR + i) * step..][..columns]);
        side_by_side(two[0], two[1], row);
    }
    transpose((&room, columns), (columns, pairs), (words, pairs));
    f32::return_room(room);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_turned_by_words_and_one_by_one() {
        for (columns, channels, first) in [(5, 6, 0), (40, 16, 0), (7, 3, 0), (9, 34, 1), (0, 2, 0)]
        {
            let step = columns + 3;
            let from: Vec<_> = (0..channels * step)
                .map(|i| bf16::from_bits(i as u16))
                .collect();
            let mut to = vec![bf16::ONE; first + columns * channels];
            turn_halves((&from, step), (columns, channels), &mut to[first..]);
            for (i, x) in to[first..].iter().enumerate() {
                assert_eq!(*x, from[i % channels * step + i / channels]);
            }
        }
    }
}
