//! Products and conversions of compressed sparse rows.

use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::raw::Target;
use crate::blocks::sums;
use crate::copy::assign;
use crate::math::real::{Real, by_real, unsupported};
use crate::par;
use crate::sparse::pattern::Pattern;
use crate::sparse::product::{GRAIN, multiply};
use crate::sparse::transposed::multiply_transposed;
use crate::sparse::used::Used;
use ferromix_base::{DType, Element, Error, Result, bf16, f16};

pub(crate) const ROWS: &[Row] = &[
    Row::new("_csr_dot", prepare_dot).unknown_cost(),
    Row::new("_csr_dot_rows", prepare_dot_rows).unknown_cost(),
    Row::new("_csr_to_dense", prepare_to_dense),
    Row::new("_csr_sample", prepare_sample),
    Row::new("_csr_row_sums", prepare_row_sums).unknown_cost(),
];

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
            multiply_transposed(data, pattern, rhs, width, out, |c| c);
            Ok(())
        })
    }))
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
        let used = Used::of(NAME, pattern)?;
        let count = used.found().len();
        if count > room {
            return Err(Error::value(format!(
                "{NAME}: {count} rows are not zero, but there is room for {room}"
            )));
        }
        let [values, places, number] = call.outputs else {
            return Err(Error::internal("three outputs"));
        };
        places.write::<i64>()?[..count].copy_from_slice(used.found());
        number.write::<i64>()?[0] = count as i64;
        let sums = &mut values.write::<T>()?[..count * width];
        match used.slots() {
            _ if width == 0 => {}
            // A loop of its own: it is much the shorter one.
            Some(slots) => {
                multiply_transposed(data, pattern, rhs, width, sums, |c| slots[c] as usize);
            }
            None => multiply_transposed(data, pattern, rhs, width, sums, |c| used.place(c)),
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

/// The sum of what each row stores, however many columns there are; of integers, modulo 2^64.
fn prepare_row_sums(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_csr_row_sums";
    check_count(NAME, (ins, 3), (outs, 1))?;
    let columns = columns(attrs)?;
    if ins[0].dtype == DType::I64 {
        return boxed(move |call: &mut Call<'_>| {
            row_sums(NAME, columns, call, |row: &[i64]| {
                row.iter().fold(0, |sum, x| sum.wrapping_add(*x))
            })
        });
    }
    by_real!(NAME, ins[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        row_sums(NAME, columns, call, |row: &[T]| T::of(sums::sum(row)))
    }))
}

fn row_sums<T: Element + Default>(
    name: &str,
    columns: usize,
    call: &mut Call<'_>,
    sum: impl Fn(&[T]) -> T + Sync,
) -> Result<()> {
    let i = call.inputs;
    let pattern = Pattern::of(&i[1], &i[2], columns)?;
    let data = i[0].read::<T>()?;
    pattern.check(name)?;
    filled::<T>(&mut call.outputs[0], call.reqs[0], |out| {
        let (rows, target) = (pattern.rows(), Target::of_slice(out));
        let work = data.len() / rows.max(1);
        par::for_ranges(rows, (GRAIN / work.max(1)).max(8), |range| {
            // SAFETY: the rows of tasks are disjoint.
            let out = unsafe { target.slice(range.clone()) };
            for (out, row) in out.iter_mut().zip(range) {
                *out = sum(&data[pattern.row(row).unwrap_or(0..0)]);
            }
        });
        Ok(())
    })
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
