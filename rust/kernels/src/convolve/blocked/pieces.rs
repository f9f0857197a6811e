//! The tiles that an image of the result is cut into, and the taps of the kernel that read anything from them but
//! the border: far apart, most do not.

use crate::convolve::geometry::Geometry;
use crate::linalg::tile::tile_rows;

/// Part of the multiplications with nothing but zeros of the border from which on these are left out.
const WORTH: usize = 16;
/// Steps of a sum that take about as long as its way to memory and back, which it goes between two places of the kernel.
const AWAY: usize = 2;

/// Neighbouring positions of a row.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    /// The number of the first one in its image, and how many there are.
    pub(super) at: usize,
    pub(super) len: usize,
    /// The word that the first one reads by a tap at place 0.
    pub(super) source: usize,
    /// The first and the last part of the taps that are multiplied.
    pub(super) ends: [usize; 2],
    /// The first position, along both axes.
    first: [usize; 2],
    /// Along both axes the taps, from one to before another, by which a position reads the image.
    taps: [[usize; 2]; 2],
}

/// Taps that are multiplied with some weights before the next ones.
pub(super) struct Part {
    /// The first of them, and where they end.
    pub(super) taps: [usize; 2],
    /// Where all of them stand in the kernel, if pieces leave out what reads nothing.
    pub(super) tap: Option<[usize; 2]>,
}

/// The pieces of an image, and the border that they read.
pub(super) struct Cut {
    pub(super) pieces: Vec<Piece>,
    pub(super) border: [[usize; 2]; 2],
    /// Whether taps are left out.
    pub(super) skips: bool,
}

impl Piece {
    /// Whether it reads the image by these taps.
    pub(super) fn reads(&self, part: &Part) -> bool {
        let within = |i: usize, at: usize| (self.taps[i][0]..self.taps[i][1]).contains(&at);
        part.tap.is_none_or(|[y, x]| within(0, y) && within(1, x))
    }

    /// Notes the first and the last of the parts by which it reads the image, or the first one where there is none.
    pub(super) fn note(&mut self, parts: &[Part]) {
        let mut reading = (0..parts.len()).filter(|&i| self.reads(&parts[i]));
        let first = reading.next().unwrap_or(0);
        self.ends = [first, reading.next_back().unwrap_or(first)];
    }

    /// Where it reads, in rows and columns that are so far apart.
    pub(super) fn place(&mut self, steps: [usize; 2]) {
        self.source = self.first[0] * steps[0] + self.first[1] * steps[1];
    }

    /// In parts of at most so many positions: where each begins, and how many it has.
    pub(super) fn tiles(&self, most: usize) -> impl Iterator<Item = (&Piece, usize, usize)> {
        tile_rows(self.len, most).map(move |(start, len)| (self, start, len))
    }

    /// The first and the last position along an axis.
    fn span(&self, i: usize) -> [usize; 2] {
        [self.first[i], self.first[i] + [0, self.len - 1][i]]
    }
}

/// The taps along an axis, from one to before another, by which one of these positions reads the image.
fn reading(g: &Geometry, i: usize, [first, last]: [usize; 2]) -> [usize; 2] {
    let [pad, dilate, stride] = [g.pad[i], g.dilate[i], g.stride[i]];
    let from = pad.saturating_sub(last * stride).div_ceil(dilate);
    let to = (pad + g.input[i]).saturating_sub(first * stride);
    let to = to.div_ceil(dilate).min(g.kernel[i]);
    [from.min(to), to]
}

impl Cut {
    /// Pieces of at most so many positions: of one row, or of all, where a position reads what stands at its own
    /// place. Taps may be left out where so many steps at a time are told.
    pub(super) fn of(g: &Geometry, most: usize, steps: Option<usize>) -> Self {
        let [_, high, wide] = g.output;
        let [rows, columns] = if g.pointwise() {
            [1, high * wide]
        } else {
            [high, wide]
        };
        let all = [[0, g.kernel[1]], [0, g.kernel[2]]];
        let of_row = |y: usize| {
            tile_rows(columns, most).map(move |(x, len)| Piece {
                at: y * columns + x,
                len,
                source: 0,
                ends: [0; 2],
                first: [y, x],
                taps: all,
            })
        };
        let mut pieces: Vec<_> = (0..rows).flat_map(of_row).collect();
        let skips = match steps {
            Some(steps) if !g.pointwise() => leave_out(g, &mut pieces, steps),
            _ => false,
        };
        let mut border = [0, 1].map(|i| match g.pointwise() {
            true => [0; 2],
            false => border(g, &pieces, i),
        });
        if border == [[0; 2]; 2] && g.pad != [0; 3] {
            // With padding the result may take the place of the data, which are copied for that, with a border of any size.
            border[1][1] = 1;
        }
        Cut {
            pieces,
            border,
            skips,
        }
    }
}

/// Has pieces leave out the taps by which they read nothing, if these are a good part of all.
fn leave_out(g: &Geometry, pieces: &mut [Piece], steps: usize) -> bool {
    let [_, high, wide] = g.kernel;
    let of = |piece: &Piece| [0, 1].map(|i| reading(g, i + 1, piece.span(i)));
    let read: Vec<_> = pieces.iter().map(of).collect();
    let (mut multiplied, mut whole) = (0, 0);
    for (piece, [down, across]) in pieces.iter().zip(&read) {
        multiplied += piece.len * (down[1] - down[0]) * (across[1] - across[0]);
        whole += piece.len * high * wide;
    }
    let skips = (whole - multiplied) * WORTH * steps >= whole * (steps + AWAY * WORTH) && whole > 0;
    if skips {
        let both = pieces.iter_mut().zip(read);
        both.for_each(|(piece, taps)| piece.taps = taps);
    }
    skips
}

/// Zeros in front of the image and behind it that pieces read along an axis.
fn border(g: &Geometry, pieces: &[Piece], i: usize) -> [usize; 2] {
    let [pad, dilate, stride, input] = [g.pad, g.dilate, g.stride, g.input].map(|x| x[i + 1]);
    let mut border = [0; 2];
    for piece in pieces
        .iter()
        .filter(|piece| piece.taps[i][0] < piece.taps[i][1])
    {
        let ([first, last], [from, to]) = (piece.span(i), piece.taps[i]);
        let before = pad.saturating_sub(first * stride + from * dilate);
        let after = (last * stride + (to - 1) * dilate + 1).saturating_sub(pad + input);
        border = [border[0].max(before), border[1].max(after)];
    }
    border
}
