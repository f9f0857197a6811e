//! Steps of optimizers on some rows of their tensors: those of a row_sparse gradient.

use super::{BLOCK, Rates, Rule, compute};
use crate::api::prepared::{boxed, check_count};
use crate::api::{Attrs, Call, Desc, Kernel, Req, View};
use crate::blocks::raw::Target;
use crate::copy::assign;
use crate::loops::GRAIN;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use crate::sparse::rows::{check_parts, in_use, misfit, width_of};
use ferromix_base::{Error, Result};
use std::ops::Range;

/// The step `R` on the rows of a gradient; the others stay as they are. The inputs are the weight, the
/// rows of the gradient, the states, then the numbers of the rows and their count. The outputs are the
/// weight and the states.
///
/// # Errors
/// Arguments that do not go together, and attributes that [`Rates::read`] refuses.
pub(crate) fn prepare_rows<R: Rule<N, I, O>, const N: usize, const I: usize, const O: usize>(
    name: &'static str,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    check_count(name, (i, I + 2), (o, O))?;
    check_parts(name, &[&i[1..2], &i[I..]].concat(), i, o)?;
    let tables = || i[2..I].iter().chain(o);
    let fits = tables().all(|d| *d == i[0])
        && i[1].dtype == i[0].dtype
        && i[1].shape.get(1..) == i[0].shape.get(1..);
    if !fits {
        return Err(misfit(name, i, o));
    }
    let (height, width) = (i[0].shape[0], width_of(&i[0]));
    let rates = Rates::<N>::read(name, attrs, R::RATES)?;
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let rates = R::prepared(rates.of(call)).map(<<T as Float>::Real as Real>::of);
        let used = in_use(name, &call.inputs[I], &call.inputs[I + 1], height)?;
        keep_others(name, call)?;
        let grad = call.inputs[1].read::<T>()?;
        let outputs = call.outputs.iter_mut().map(Target::<T>::of);
        let tables: [_; O] = match outputs.collect::<Result<Vec<_>>>()?.try_into() {
            Ok(tables) => tables,
            Err(_) => return Err(Error::internal("as many outputs as tables")),
        };
        let places = Places { used, width };
        places.step(grad, tables, |x: [<T as Float>::Real; I]| R::step(rates, x));
        Ok(())
    }))
}

/// Makes outputs that have memory of their own what the inputs are.
///
/// # Errors
/// A request other than to write.
pub(crate) fn keep_others(name: &str, call: &Call<'_>) -> Result<()> {
    for (k, (out, &req)) in call.outputs.iter().zip(call.reqs).enumerate() {
        if !matches!(req, Req::Write | Req::Inplace) {
            return Err(Error::value(format!(
                "{name}: a step on rows is written in place; it is not added to what is there"
            )));
        }
        // States follow the gradient.
        assign(&call.inputs[if k == 0 { 0 } else { k + 1 }], out, req)?;
    }
    Ok(())
}

/// Where the elements of a gradient are in the tables.
#[derive(Clone, Copy)]
struct Places<'a> {
    used: &'a [i64],
    width: usize,
}

impl Places<'_> {
    /// Calls `each` with the pieces of `range` that are within a row, counted from its start, and where
    /// in a table they are.
    fn pieces(&self, range: &Range<usize>, mut each: impl FnMut(Range<usize>, usize)) {
        let mut at = range.start;
        while at < range.end {
            let (row, column) = (at / self.width, at % self.width);
            let n = (self.width - column).min(range.end - at);
            let from = at - range.start;
            each(
                from..from + n,
                self.used[row] as usize * self.width + column,
            );
            at += n;
        }
    }

    /// Reads elements of a table.
    ///
    /// # Safety
    /// The table has the rows in use, and nobody writes these elements.
    unsafe fn load<T: Float>(&self, table: Target<T>, range: &Range<usize>, to: &mut [T::Real]) {
        if self.width == 1 {
            for (x, &row) in to.iter_mut().zip(&self.used[range.clone()]) {
                // SAFETY: the row is there, as the caller vouches.
                *x = unsafe { *table.at(row as usize) }.up();
            }
            return;
        }
        self.pieces(range, |own, at| {
            // SAFETY: nobody writes, as the caller vouches.
            let stored = unsafe { table.slice(at..at + own.len()) };
            for (x, y) in to[own].iter_mut().zip(stored) {
                *x = y.up();
            }
        });
    }

    /// Writes elements of a table.
    ///
    /// # Safety
    /// The table has the rows in use, and nobody else reads or writes these elements.
    unsafe fn store<T: Float>(&self, table: Target<T>, range: &Range<usize>, from: &[T::Real]) {
        if self.width == 1 {
            for (&x, &row) in from.iter().zip(&self.used[range.clone()]) {
                // SAFETY: the row is there, and nobody else uses it, as the caller vouches.
                unsafe { *table.at(row as usize) = T::down(x) };
            }
            return;
        }
        self.pieces(range, |own, at| {
            // SAFETY: nobody else reads or writes, as the caller vouches.
            let stored = unsafe { table.slice(at..at + own.len()) };
            for (y, &x) in stored.iter_mut().zip(&from[own]) {
                *y = T::down(x);
            }
        });
    }

    fn step<T: Float, const I: usize, const O: usize>(
        &self,
        grad: &[T],
        tables: [Target<T>; O],
        f: impl Fn([T::Real; I]) -> [T::Real; O] + Sync,
    ) {
        let total = self.used.len() * self.width;
        // A row that is there twice makes two steps, one after the other.
        let growing = self.used.is_sorted_by(|a, b| a < b);
        let (grain, block) = if growing {
            (GRAIN, BLOCK)
        } else {
            (total, BLOCK.min(self.width))
        };
        par::for_ranges(total, grain, |range| {
            let mut given = [[T::Real::ZERO; BLOCK]; I];
            let mut made = [[T::Real::ZERO; BLOCK]; O];
            for start in range.clone().step_by(block) {
                let part = start..(start + block).min(range.end);
                for (x, &g) in given[1].iter_mut().zip(&grad[part.clone()]) {
                    *x = g.up();
                }
                for (k, &table) in tables.iter().enumerate() {
                    let block = &mut given[if k == 0 { 0 } else { k + 1 }];
                    // SAFETY: rows in use are there, and tasks have different ones, as they grow.
                    unsafe { self.load(table, &part, block) };
                }
                compute(&given, &mut made, &f);
                for (&table, block) in tables.iter().zip(&made) {
                    // SAFETY: as above.
                    unsafe { self.store(table, &part, block) };
                }
            }
        });
    }
}

/// The numbers of rows as places, or all rows where there are no numbers.
pub(crate) fn listed<'a>(
    name: &str,
    numbers: Option<(&'a View, &View)>,
    height: usize,
) -> Result<impl Iterator<Item = usize> + use<'a>> {
    let used = numbers.map(|(rows, count)| in_use(name, rows, count, height));
    let used = used.transpose()?;
    let count = used.map_or(height, <[i64]>::len);
    Ok((0..count).map(move |k| used.map_or(k, |used| used[k] as usize)))
}
