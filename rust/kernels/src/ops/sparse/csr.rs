//! Products and conversions of compressed sparse rows. The parts are `data` and `indices`, which may be
//! longer than what is stored, and `indptr`; nothing about them is taken on trust. Sums run in the order
//! in which the elements are stored, or in that of the rows for transposed products.

use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::raw::Target;
use crate::copy::assign;
use crate::math::real::{Real, by_real, unsupported};
use crate::par;
use crate::simd::vector::versions;
use ferromix_base::{DType, Element, Error, Result, bf16, f16};
use std::ops::Range;
use std::sync::OnceLock;

pub(crate) const ROWS: &[Row] = &[
    Row::new("_csr_dot", prepare_dot).unknown_cost(),
    Row::new("_csr_dot_rows", prepare_dot_rows).unknown_cost(),
    Row::new("_csr_to_dense", prepare_to_dense),
    Row::new("_csr_sample", prepare_sample),
];

/// Multiplications per task, roughly.
const GRAIN: usize = 1 << 16;
/// Columns of a dense operand that are computed at a time.
const WIDTH: usize = 16;

/// The structure of a matrix.
#[derive(Clone, Copy)]
struct Pattern<'a> {
    indices: &'a [i64],
    indptr: &'a [i64],
    columns: usize,
}

impl<'a> Pattern<'a> {
    fn of(indices: &'a View, indptr: &'a View, columns: usize) -> Result<Self> {
        Ok(Pattern {
            indices: indices.read()?,
            indptr: indptr.read()?,
            columns,
        })
    }

    fn rows(&self) -> usize {
        self.indptr.len().saturating_sub(1)
    }

    /// Where the elements of a row are; None for offsets that are none.
    #[inline(always)]
    fn row(&self, row: usize) -> Option<Range<usize>> {
        let start = usize::try_from(self.indptr[row]).ok()?;
        let end = usize::try_from(self.indptr[row + 1]).ok()?;
        (start <= end && end <= self.indices.len()).then_some(start..end)
    }

    /// The error for the structure, of which something is known to be wrong in `row`.
    fn refuse(&self, name: &str, row: usize) -> Error {
        let Some(range) = self.row(row) else {
            return Error::value(format!(
                "{name}: row {row} of the csr array is stored from {} to {}, which is no range \
                 within its {} elements; check_format() tells whether a structure is right",
                self.indptr[row],
                self.indptr[row + 1],
                self.indices.len()
            ));
        };
        let columns = self.columns;
        let wrong = |c: &&i64| usize::try_from(**c).map_or(true, |c| c >= columns);
        let found = self.indices[range].iter().find(wrong).copied();
        Error::value(format!(
            "{name}: row {row} of the csr array has an element in column {}, but there are {columns} \
             columns; check_format() tells whether a structure is right",
            found.unwrap_or_default()
        ))
    }

    /// Checks every offset and every column.
    fn check(&self, name: &str) -> Result<()> {
        let columns = self.columns as u64;
        for row in 0..self.rows() {
            let range = self.row(row).ok_or_else(|| self.refuse(name, row))?;
            // A negative column is a large one.
            if self.indices[range].iter().any(|&c| c as u64 >= columns) {
                return Err(self.refuse(name, row));
            }
        }
        Ok(())
    }
}

versions! {
    /// Rows of a product with a matrix of `width` columns; the first row that is wrong, or none.
    fn product[T: Real](
        data: &[T],
        pattern: Pattern<'_>,
        rows: Range<usize>,
        rhs: &[T],
        width: usize,
        out: &mut [T],
    ) -> Option<usize> [T] {
        let columns = pattern.columns as u64;
        for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
            let Some(range) = pattern.row(row) else { return Some(row) };
            let (values, places) = (&data[range.clone()], &pattern.indices[range]);
            if places.iter().any(|&c| c as u64 >= columns) {
                return Some(row);
            }
            if width == 1 {
                let mut sums = [T::ZERO; 4];
                let (quads, rest) = values.as_chunks::<4>();
                let (near, last) = places.as_chunks::<4>();
                for (x, c) in quads.iter().zip(near) {
                    for lane in 0..4 {
                        sums[lane] += x[lane] * rhs[c[lane] as usize];
                    }
                }
                for (lane, (&x, &c)) in rest.iter().zip(last).enumerate() {
                    sums[lane] += x * rhs[c as usize];
                }
                out[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
                continue;
            }
            for (block, out) in out.chunks_mut(WIDTH).enumerate() {
                let mut sums = [T::ZERO; WIDTH];
                let start = block * WIDTH;
                for (&x, &c) in values.iter().zip(places) {
                    let from = &rhs[c as usize * width + start..][..out.len()];
                    if let Ok(from) = <&[T; WIDTH]>::try_from(from) {
                        for lane in 0..WIDTH {
                            sums[lane] += x * from[lane];
                        }
                    } else {
                        for (sum, &y) in sums.iter_mut().zip(from) {
                            *sum += x * y;
                        }
                    }
                }
                out.copy_from_slice(&sums[..out.len()]);
            }
        }
        None
    }
}

/// `csr · rhs`.
fn multiply<T: Real>(
    name: &str,
    data: &[T],
    pattern: Pattern<'_>,
    rhs: &[T],
    width: usize,
    out: &mut [T],
) -> Result<()> {
    let rows = pattern.rows();
    let work = pattern.indices.len() * width / rows.max(1);
    let target = Target::of_slice(out);
    let wrong = OnceLock::new();
    par::for_ranges(rows, (GRAIN / work.max(1)).max(8), |range| {
        // SAFETY: the rows of tasks are disjoint.
        let out = unsafe { target.slice(range.start * width..range.end * width) };
        if let Some(row) = product(data, pattern, range, rhs, width, out) {
            wrong.get_or_init(|| row);
        }
    });
    match wrong.into_inner() {
        None => Ok(()),
        Some(row) => Err(pattern.refuse(name, row)),
    }
}

/// Adds `csrᵀ · rhs` to rows of `out`; `place` says which row a column has. The structure was checked.
fn scatter<T: Real>(
    data: &[T],
    pattern: Pattern<'_>,
    rhs: &[T],
    width: usize,
    out: &mut [T],
    place: impl Fn(usize) -> usize + Sync,
) {
    let target = Target::of_slice(out);
    let stored = |row: usize| {
        let range = pattern.row(row).unwrap_or(0..0);
        data[range.clone()].iter().zip(&pattern.indices[range])
    };
    if width == 1 {
        for (row, &y) in rhs.iter().enumerate().take(pattern.rows()) {
            for (&x, &c) in stored(row) {
                let at = place(c as usize);
                // SAFETY: nobody else has the memory.
                unsafe { target.slice(at..at + 1)[0] += x * y };
            }
        }
        return;
    }
    let work = pattern.indices.len().max(1);
    par::for_ranges(width, (GRAIN / work).max(4 * WIDTH), |part| {
        for row in 0..pattern.rows() {
            let from = &rhs[row * width..][part.clone()];
            for (&x, &c) in stored(row) {
                let at = place(c as usize) * width;
                // SAFETY: tasks have different columns.
                let to = unsafe { target.slice(at + part.start..at + part.end) };
                for (sum, &y) in to.iter_mut().zip(from) {
                    *sum += x * y;
                }
            }
        }
    });
}

/// Runs `write` on the output, or on memory that is added to it after.
fn as_requested<T: Real>(
    out: &mut View,
    req: Req,
    write: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    match req {
        Req::Null => Ok(()),
        Req::Write | Req::Inplace => write(out.write::<T>()?),
        Req::Add => {
            let mut sums = vec![T::ZERO; out.len()];
            write(&mut sums)?;
            assign(&View::of_slice(&mut sums, out.shape())?, out, req)
        }
    }
}

fn columns(attrs: &Attrs) -> Result<usize> {
    usize::try_from(attrs.int("columns")?).map_err(|_| Error::value("columns must not be negative"))
}

/// Checks types and lengths of the parts and of a dense operand with so many rows; the width of that.
fn dense_width(name: &str, ins: &[Desc], rows: usize) -> Result<usize> {
    let indices = [&ins[1], &ins[2]];
    let fits = ins[0].shape == ins[1].shape
        && ins[0].shape.len() == 1
        && ins[2].shape.len() == 1
        && ins[2].shape[0] > 0
        && indices.iter().all(|d| d.dtype == DType::I64)
        && ins[0].dtype == ins[3].dtype
        && ins[3].shape.first() == Some(&rows);
    if !fits {
        let shapes: Vec<_> = ins.iter().map(|d| &d.shape[..]).collect();
        return Err(Error::value(format!(
            "{name}: parts and operand of shapes {shapes:?} do not go together"
        )));
    }
    Ok(ins[3].shape[1..].iter().product())
}

fn prepare_dot(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_csr_dot";
    check_count(NAME, (ins, 4), (outs, 1))?;
    let (columns, transpose) = (columns(attrs)?, attrs.bool("transpose")?);
    let rows = ins[2].shape.first().map_or(0, |n| n.saturating_sub(1));
    let (own, other) = if transpose {
        (columns, rows)
    } else {
        (rows, columns)
    };
    let width = dense_width(NAME, ins, other)?;
    if outs[0].shape.iter().product::<usize>() != own * width {
        return Err(Error::value(format!(
            "{NAME}: wrong output {:?}",
            &outs[0].shape[..]
        )));
    }
    by_real!(NAME, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let pattern = Pattern::of(&i[1], &i[2], columns)?;
        let (data, rhs) = (i[0].read::<T>()?, i[3].read::<T>()?);
        as_requested::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            if width == 0 {
                return Ok(());
            }
            if !transpose {
                return multiply(NAME, data, pattern, rhs, width, out);
            }
            pattern.check(NAME)?;
            out.fill(T::ZERO);
            scatter(data, pattern, rhs, width, out, |c| c);
            Ok(())
        })
    }))
}

/// Which columns a matrix has elements in, and which of those is which.
enum Used {
    /// A bit for each column, and how many columns come before those of each word.
    Bits { words: Vec<u64>, before: Vec<usize> },
    /// Their numbers, where most columns have none.
    Few(Vec<i64>),
}

impl Used {
    /// Columns for each element from which on a list takes less memory than bits.
    const SPARSE: usize = 64;

    fn of(pattern: Pattern<'_>) -> (Self, usize) {
        let stored = pattern.indices.len() + 1024;
        if pattern.columns / Self::SPARSE > stored {
            let rows = (0..pattern.rows()).filter_map(|row| pattern.row(row));
            let mut found: Vec<i64> = rows
                .flat_map(|r| pattern.indices[r].iter().copied())
                .collect();
            found.sort_unstable();
            found.dedup();
            let count = found.len();
            return (Used::Few(found), count);
        }
        let mut words = vec![0u64; pattern.columns.div_ceil(64)];
        for row in 0..pattern.rows() {
            for &c in &pattern.indices[pattern.row(row).unwrap_or(0..0)] {
                words[c as usize / 64] |= 1 << (c as usize % 64);
            }
        }
        let mut count = 0;
        let before = words.iter().map(|word| {
            let first = count;
            count += word.count_ones() as usize;
            first
        });
        let before = before.collect();
        (Used::Bits { words, before }, count)
    }

    #[inline(always)]
    fn place(&self, column: usize) -> usize {
        match self {
            Used::Bits { words, before } => {
                let lower = words[column / 64] & ((1 << (column % 64)) - 1);
                before[column / 64] + lower.count_ones() as usize
            }
            Used::Few(found) => found.partition_point(|&c| c < column as i64),
        }
    }

    fn list(&self, into: &mut [i64]) {
        let words = match self {
            Used::Bits { words, .. } => words,
            Used::Few(found) => return into[..found.len()].copy_from_slice(found),
        };
        let mut into = into.iter_mut();
        for (number, &word) in words.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                if let Some(place) = into.next() {
                    *place = (number * 64) as i64 + i64::from(rest.trailing_zeros());
                }
                rest &= rest - 1;
            }
        }
    }
}

/// `csrᵀ · rhs`, as the rows that are not zero, their numbers, and how many there are.
fn prepare_dot_rows(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_csr_dot_rows";
    check_count(NAME, (ins, 4), (outs, 3))?;
    let columns = columns(attrs)?;
    let rows = ins[2].shape.first().map_or(0, |n| n.saturating_sub(1));
    let width = dense_width(NAME, ins, rows)?;
    let room = outs[1].shape.iter().product::<usize>();
    if outs[0].shape.iter().product::<usize>() != room * width {
        return Err(Error::value(format!(
            "{NAME}: wrong output {:?}",
            &outs[0].shape[..]
        )));
    }
    by_real!(NAME, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let pattern = Pattern::of(&i[1], &i[2], columns)?;
        let (data, rhs) = (i[0].read::<T>()?, i[3].read::<T>()?);
        if call.reqs.contains(&Req::Null) {
            return Ok(());
        }
        pattern.check(NAME)?;
        let (used, count) = Used::of(pattern);
        if count > room {
            return Err(Error::value(format!(
                "{NAME}: {count} rows are not zero, but there is room for {room}"
            )));
        }
        let [values, places, number] = call.outputs else {
            return Err(Error::internal("three outputs"));
        };
        used.list(places.write::<i64>()?);
        number.write::<i64>()?[0] = count as i64;
        let sums = &mut values.write::<T>()?[..count * width];
        sums.fill(T::ZERO);
        if width > 0 {
            scatter(data, pattern, rhs, width, sums, |c| used.place(c));
        }
        Ok(())
    }))
}

/// Evaluates an expression with a type name bound to any element type.
macro_rules! by_any {
    ($dtype:expr, $t:ident => $body:expr) => {
        by_any!(@ $dtype, $t, $body, F32 f32, F64 f64, F16 f16, BF16 bf16, U8 u8, I8 i8, I32 i32,
            I64 i64, Bool bool)
    };
    (@ $dtype:expr, $t:ident, $body:expr, $($name:ident $type:ty),*) => {
        match $dtype { $(DType::$name => { type $t = $type; $body })* }
    };
}

fn filled<T: Element + Default>(
    out: &mut View,
    req: Req,
    write: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    match req {
        Req::Null => Ok(()),
        Req::Write | Req::Inplace => write(out.write::<T>()?),
        Req::Add => {
            let mut made = vec![T::default(); out.len()];
            write(&mut made)?;
            assign(&View::of_slice(&mut made, out.shape())?, out, req)
        }
    }
}

/// Every element, zeros included.
fn prepare_to_dense(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_csr_to_dense";
    check_count(NAME, (ins, 3), (outs, 1))?;
    let columns = columns(attrs)?;
    by_any!(outs[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let pattern = Pattern::of(&i[1], &i[2], columns)?;
        let data = i[0].read::<T>()?;
        pattern.check(NAME)?;
        filled::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            let target = Target::of_slice(out);
            par::for_ranges(pattern.rows(), (GRAIN / columns.max(1)).max(1), |range| {
                for row in range {
                    // SAFETY: the rows of tasks are disjoint.
                    let out = unsafe { target.slice(row * columns..(row + 1) * columns) };
                    out.fill(T::default());
                    let stored = pattern.row(row).unwrap_or(0..0);
                    for (&x, &c) in data[stored.clone()].iter().zip(&pattern.indices[stored]) {
                        out[c as usize] = x;
                    }
                }
            });
            Ok(())
        })
    }))
}

/// The elements of a matrix, or of one that is broadcast, where a csr array has stored ones.
fn prepare_sample(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_csr_sample";
    check_count(NAME, (ins, 3), (outs, 1))?;
    let columns = columns(attrs)?;
    let [m, n] = ins[2].shape[..] else {
        return Err(unsupported(NAME, ins[2].dtype, "matrices"));
    };
    let rows = ins[1].shape.first().map_or(0, |n| n.saturating_sub(1));
    if (m != 1 && m != rows) || (n != 1 && n != columns) || ins[2].dtype != outs[0].dtype {
        return Err(Error::value(format!(
            "{NAME}: a matrix of shape {:?} cannot be broadcast to ({rows}, {columns})",
            &ins[2].shape[..]
        )));
    }
    let (down, right) = (if m == 1 { 0 } else { n }, usize::from(n != 1));
    by_any!(outs[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let pattern = Pattern::of(&i[0], &i[1], columns)?;
        let matrix = i[2].read::<T>()?;
        pattern.check(NAME)?;
        filled::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            // What is beyond the stored elements is read by nobody, but may be computed with.
            out.fill(T::default());
            for row in 0..pattern.rows() {
                let stored = pattern.row(row).unwrap_or(0..0);
                for (x, &c) in out[stored.clone()].iter_mut().zip(&pattern.indices[stored]) {
                    *x = matrix[row * down + c as usize * right];
                }
            }
            Ok(())
        })
    }))
}
