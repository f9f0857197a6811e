//! Rows of which some are stored. The parts are the stored rows, of which there may be more than are in
//! use, their numbers, and how many are in use; numbers grow from row to row.

use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::copy::fill::part;
use crate::sparse::rows::{check_parts, in_use, misfit, width_of};
use ferromix_base::{DType, Error, Result};
use std::ops::Range;

pub(crate) const ROWS: &[Row] = &[
    Row::new("_rows_to_dense", prepare_to_dense),
    Row::new("_rows_gather", prepare_gather),
    Row::new("_rows_take", prepare_take),
    Row::new("_rows_write", prepare_write),
    Row::new("_sparse_retain", prepare_retain),
    Row::new("_row_numbers", prepare_numbers),
];

/// Copies rows of as many bytes, from one place to another, by their numbers.
struct Copier {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    lengths: (usize, usize),
}

impl Copier {
    fn of(from: &View, to: &View, width: usize) -> Self {
        let bytes = width * from.dtype().size();
        let count = |view: &View| view.len().checked_div(width).unwrap_or(0);
        Copier {
            from: from.ptr(),
            to: to.ptr(),
            bytes,
            lengths: (count(from), count(to)),
        }
    }

    fn copy(&self, from: usize, to: usize) {
        if self.bytes == 0 {
            return;
        }
        assert!(from < self.lengths.0 && to < self.lengths.1);
        // SAFETY: both rows are within their views, which are contiguous, of one type, and do not
        // overlap; the output belongs to this run.
        unsafe {
            let (from, to) = (
                self.from.add(from * self.bytes),
                self.to.add(to * self.bytes),
            );
            match self.bytes {
                4 => to.cast::<[u8; 4]>().write(from.cast::<[u8; 4]>().read()),
                8 => to.cast::<[u8; 8]>().write(from.cast::<[u8; 8]>().read()),
                n => std::ptr::copy_nonoverlapping(from, to, n),
            }
        }
    }

    fn clear(&self, to: Range<usize>) {
        if self.bytes == 0 || to.is_empty() {
            return;
        }
        assert!(to.end <= self.lengths.1);
        let (first, bytes) = (to.start * self.bytes, to.len() * self.bytes);
        // SAFETY: as above; zero bytes are a zero of every type.
        unsafe { std::ptr::write_bytes(self.to.add(first), 0, bytes) };
    }
}

/// Runs `write` on the output, or on zeros that are added to it after.
fn as_requested(out: &mut View, req: Req, write: impl FnOnce(&View) -> Result<()>) -> Result<()> {
    match req {
        Req::Null => Ok(()),
        Req::Write | Req::Inplace => write(out),
        Req::Add => {
            let bytes = out.len() * out.dtype().size();
            let mut memory = vec![0u64; bytes.div_ceil(8)];
            let mut like = out.clone();
            // SAFETY: aligned memory of so many bytes, all zero, which lives as long as the view.
            unsafe { like.move_to(memory.as_mut_ptr().cast()) };
            write(&like)?;
            assign(&like, out, req)
        }
    }
}

/// Every row, zeros included.
fn prepare_to_dense(_: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_rows_to_dense";
    check_count(NAME, (ins, 3), (outs, 1))?;
    check_parts(NAME, ins, ins, outs)?;
    let (rows, width) = (
        outs[0].shape.first().copied().unwrap_or(0),
        width_of(&outs[0]),
    );
    if width_of(&ins[0]) != width || ins[0].dtype != outs[0].dtype {
        return Err(misfit(NAME, ins, outs));
    }
    boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let used = in_use(NAME, &i[1], &i[2], rows)?;
        let out = &mut call.outputs[0];
        if call.reqs[0] == Req::Add {
            let out = out.flattened();
            for (k, &row) in used.iter().enumerate() {
                let from = part(&i[0].flattened(), k * width, width);
                assign(&from, &part(&out, row as usize * width, width), Req::Add)?;
            }
            return Ok(());
        }
        as_requested(out, call.reqs[0], |out| {
            let copier = Copier::of(&i[0], out, width);
            if used.len() < rows {
                copier.clear(0..rows);
            }
            used.iter()
                .enumerate()
                .for_each(|(k, &row)| copier.copy(k, row as usize));
            Ok(())
        })
    })
}

/// The rows of a dense array that are numbered; zeros for those not in use.
fn prepare_gather(_: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_rows_gather";
    check_count(NAME, (ins, 3), (outs, 1))?;
    let (rows, width) = (
        ins[0].shape.first().copied().unwrap_or(0),
        width_of(&ins[0]),
    );
    let parts = [outs[0].clone(), ins[1].clone(), ins[2].clone()];
    check_parts(NAME, &parts, ins, outs)?;
    if width_of(&outs[0]) != width || ins[0].dtype != outs[0].dtype {
        return Err(misfit(NAME, ins, outs));
    }
    let room = outs[0].shape[0];
    boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let used = in_use(NAME, &i[1], &i[2], rows)?;
        as_requested(&mut call.outputs[0], call.reqs[0], |out| {
            let copier = Copier::of(&i[0], out, width);
            used.iter()
                .enumerate()
                .for_each(|(k, &row)| copier.copy(row as usize, k));
            copier.clear(used.len()..room);
            Ok(())
        })
    })
}

/// The rows of a row_sparse array with given numbers; zeros for those that are not stored.
fn prepare_take(_: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_rows_take";
    check_count(NAME, (ins, 4), (outs, 1))?;
    check_parts(NAME, &ins[..3], ins, outs)?;
    let width = width_of(&ins[0]);
    let count: usize = ins[3].shape.iter().product();
    let fits = outs[0].shape.iter().product::<usize>() == count * width
        && ins[0].dtype == outs[0].dtype
        && ins[3].dtype == DType::I64;
    if !fits {
        return Err(misfit(NAME, ins, outs));
    }
    boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let used = in_use(NAME, &i[1], &i[2], usize::MAX)?;
        let wanted = i[3].read::<i64>()?;
        as_requested(&mut call.outputs[0], call.reqs[0], |out| {
            let copier = Copier::of(&i[0], out, width);
            for (k, row) in wanted.iter().enumerate() {
                match used.binary_search(row) {
                    Ok(at) => copier.copy(at, k),
                    Err(_) => copier.clear(k..k + 1),
                }
            }
            Ok(())
        })
    })
}

/// A dense array with some of its rows replaced; in place where the output is the array.
fn prepare_write(_: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_rows_write";
    check_count(NAME, (ins, 4), (outs, 1))?;
    check_parts(NAME, &ins[1..], ins, outs)?;
    let (rows, width) = (
        ins[0].shape.first().copied().unwrap_or(0),
        width_of(&ins[0]),
    );
    if width_of(&ins[1]) != width || ins[0] != outs[0] || ins[0].dtype != ins[1].dtype {
        return Err(misfit(NAME, ins, outs));
    }
    boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let used = in_use(NAME, &i[2], &i[3], rows)?;
        as_requested(&mut call.outputs[0], call.reqs[0], |out| {
            assign(&i[0], out, Req::Inplace)?;
            let copier = Copier::of(&i[1], out, width);
            used.iter()
                .enumerate()
                .for_each(|(k, &row)| copier.copy(k, row as usize));
            Ok(())
        })
    })
}

/// A dense array in which all rows but those that are numbered are zero.
fn prepare_retain(_: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_sparse_retain";
    check_count(NAME, (ins, 2), (outs, 1))?;
    if ins[0] != outs[0] {
        return Err(misfit(NAME, ins, outs));
    }
    let (rows, width) = (
        ins[0].shape.first().copied().unwrap_or(0),
        width_of(&ins[0]),
    );
    boxed(move |call: &mut Call<'_>| {
        let i = call.inputs;
        let mut wanted = vec![0i64; i[1].len()];
        let numbers = View::of_slice(&mut wanted, i[1].shape())?;
        assign(&i[1], &numbers, Req::Write)?;
        as_requested(&mut call.outputs[0], call.reqs[0], |out| {
            let copier = Copier::of(&i[0], out, width);
            copier.clear(0..rows);
            let known = wanted.iter().filter_map(|&row| usize::try_from(row).ok());
            known
                .filter(|&row| row < rows)
                .for_each(|row| copier.copy(row, row));
            Ok(())
        })
    })
}

/// Numbers of rows of a table, fractions cut.
fn prepare_numbers(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    const NAME: &str = "_row_numbers";
    check_count(NAME, (ins, 1), (outs, 1))?;
    if ins[0].shape != outs[0].shape || outs[0].dtype != DType::I64 {
        return Err(misfit(NAME, ins, outs));
    }
    let height = attrs.int("height")?;
    let refuse = move |id: f64| {
        Error::index(format!(
            "Embedding: number {id} is not that of a row; there are {height} rows, counted from 0, and a \
             row_sparse weight or gradient takes no nearest one"
        ))
    };
    boxed(move |call: &mut Call<'_>| {
        let from = &call.inputs[0];
        if from.dtype().is_float() {
            let mut ids = vec![0f64; from.len()];
            assign(from, &View::of_slice(&mut ids, from.shape())?, Req::Write)?;
            let most = (height - 1) as f64;
            if let Some(&id) = ids.iter().find(|id| **id < 0.0 || **id > most) {
                return Err(refuse(id));
            }
        }
        assign(from, &call.outputs[0], call.reqs[0])?;
        let wrong = |id: &&i64| !(0..height).contains(*id);
        match call.outputs[0].read::<i64>()?.iter().find(wrong) {
            Some(&id) if call.reqs[0] != Req::Null => Err(refuse(id as f64)),
            _ => Ok(()),
        }
    })
}
