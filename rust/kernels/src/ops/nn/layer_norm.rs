//! `LayerNorm`, `InstanceNorm` and `GroupNorm`: rows shifted and scaled to mean 0 and deviation 1,
//! then by `gamma` and `beta`, which differ along a row (`LayerNorm`) or from row to row. Mean and
//! squares come from one pass over memory, in blocks that are read twice while they are near; the
//! gradients from another.
//!
//! The other outputs are the mean and the root of variance plus `eps`.

mod loops;

use crate::api::prepared::{axis, boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise::{lifted, store};
use crate::blocks::raw::{Source, Target};
use crate::iter::reader::Parts;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use ferromix_base::{Error, Result};
use loops::{
    add_row, combine, combine_along, gradient_sums, gradient_sums_along, shift_scale,
    shift_scale_along, statistics,
};
use std::ops::Range;

pub(crate) const ROWS: &[Row] = &[
    Row::new("LayerNorm", |a, i, o| forward_of("LayerNorm", a, i, o)),
    Row::new("InstanceNorm", |a, i, o| {
        forward_of("InstanceNorm", a, i, o)
    }),
    Row::new("GroupNorm", |a, i, o| forward_of("GroupNorm", a, i, o)),
    Row::new("_backward_LayerNorm", |a, i, o| {
        backward_of("LayerNorm", a, i, o)
    }),
    Row::new("_backward_InstanceNorm", |a, i, o| {
        backward_of("InstanceNorm", a, i, o)
    }),
    Row::new("_backward_GroupNorm", |a, i, o| {
        backward_of("GroupNorm", a, i, o)
    }),
];

/// Elements per task, roughly.
const GRAIN: usize = 16_384;
/// Tasks of a gradient at most, each with sums of its own.
const PARTS: usize = 64;
/// Rows that are added up in the type that is computed in.
const SHORT: usize = 32;

/// Which elements are a row, and which `gamma` and `beta` they have.
#[derive(Clone, Copy)]
struct Rows {
    count: usize,
    len: usize,
    /// Elements from one of a row to the next; as many rows lie between each other.
    step: usize,
    /// The extent of `gamma`, and whether it runs along the row.
    scales: usize,
    along: bool,
}

impl Rows {
    fn new(name: &str, attrs: &Attrs, data: &Desc) -> Result<Self> {
        let shape = &data.shape[..];
        let size = |part: &[usize]| part.iter().product::<usize>();
        if name == "LayerNorm" {
            let k = axis(name, attrs.int("axis")?, shape.len())?;
            let (before, step) = (size(&shape[..k]), size(&shape[k + 1..]));
            return Ok(Rows {
                count: before * step,
                len: shape[k],
                step,
                scales: shape[k],
                along: true,
            });
        }
        if shape.len() < 3 {
            return Err(Error::value(format!(
                "{name}: data of shape {shape:?} need at least 3 dimensions"
            )));
        }
        let groups = match name {
            "GroupNorm" => usize::try_from(attrs.int("num_groups")?).unwrap_or(0),
            _ => shape[1],
        };
        if shape[1] != groups && (groups == 0 || !shape[1].is_multiple_of(groups)) {
            return Err(Error::value(format!(
                "{name}: {} channels of data of shape {shape:?} do not fall into {groups} groups",
                shape[1]
            )));
        }
        Ok(Rows {
            count: shape[0] * groups,
            len: shape[1] / groups.max(1) * size(&shape[2..]),
            step: 1,
            scales: groups,
            along: false,
        })
    }

    fn check(&self, name: &str, scales: &[Desc], stats: &[Desc]) -> Result<()> {
        for d in scales {
            check_shape(name, "gamma or beta", d, &[self.scales])?;
        }
        match stats
            .iter()
            .find(|d| d.shape.iter().product::<usize>() != self.count)
        {
            None => Ok(()),
            Some(d) => Err(Error::value(format!(
                "{name}: statistics of shape {:?} for {} rows",
                &d.shape[..],
                self.count
            ))),
        }
    }

    /// Where row `r` begins.
    fn start(&self, r: usize) -> usize {
        r / self.step * self.len * self.step + r % self.step
    }

    fn range(&self, r: usize) -> Range<usize> {
        r * self.len..(r + 1) * self.len
    }

    /// The numbers of row `r`, in memory or in `scratch`, where they go if `apart`.
    ///
    /// # Safety
    /// Nobody writes the row while the slice lives, unless `apart`.
    unsafe fn read<'a, T: Float>(
        &self,
        from: &'a Source<T>,
        r: usize,
        apart: bool,
        scratch: &'a mut Vec<T::Real>,
    ) -> &'a [T::Real] {
        if self.step == 1 {
            // SAFETY: as the caller vouches.
            let row = unsafe { from.slice(self.range(r)) };
            if !apart {
                return lifted(row, scratch);
            }
            scratch.clear();
            scratch.extend(row.iter().map(|x| x.up()));
            return scratch;
        }
        let start = self.start(r);
        scratch.clear();
        scratch.extend((0..self.len).map(|i| {
            let at = start + i * self.step;
            // SAFETY: as the caller vouches.
            let cell = unsafe { from.slice(at..at + 1) };
            cell[0].up()
        }));
        scratch
    }

    /// Has `work` fill row `r`, in memory where that is possible.
    ///
    /// # Safety
    /// The row is the caller's alone.
    unsafe fn write<T: Float>(
        &self,
        (to, req): (&Target<T>, Req),
        r: usize,
        scratch: &mut Vec<T::Real>,
        work: impl FnOnce(&mut [T::Real]),
    ) {
        if self.step == 1 {
            // SAFETY: as the caller vouches.
            let row = unsafe { to.slice(self.range(r)) };
            if req != Req::Add
                && let Some(plain) = T::plain_mut(row)
            {
                return work(plain);
            }
            scratch.resize(self.len, T::Real::ZERO);
            work(scratch);
            return store(scratch, row, req);
        }
        scratch.resize(self.len, T::Real::ZERO);
        work(scratch);
        let start = self.start(r);
        for (i, x) in scratch.iter().enumerate() {
            let at = start + i * self.step;
            // SAFETY: as the caller vouches.
            store(
                std::slice::from_ref(x),
                unsafe { to.slice(at..at + 1) },
                req,
            );
        }
    }
}

fn forward_of(name: &str, attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(name, (ins, 3), (outs, 3))?;
    let rows = Rows::new(name, attrs, &ins[0])?;
    check_shape(name, "output", &outs[0], &ins[0].shape)?;
    rows.check(name, &ins[1..], &outs[1..])?;
    let eps = attrs.float("eps")?;
    by_float!(name, ins[0].dtype, T => {
        boxed(move |call: &mut Call<'_>| forward::<T>(rows, eps, call))
    })
}

/// The numbers of an argument.
fn numbers<T: Float>(data: &[T]) -> Vec<T::Real> {
    data.iter().map(|x| x.up()).collect()
}

/// The memory of each output that is wanted.
fn targets<T: Float>(call: &mut Call<'_>) -> Result<[Option<Target<T>>; 3]> {
    let mut found = [None; 3];
    let wanted = call.outputs.iter_mut().zip(call.reqs);
    for (target, (view, &req)) in found.iter_mut().zip(wanted) {
        if req != Req::Null {
            *target = Some(Target::of(view)?);
        }
    }
    Ok(found)
}

fn forward<T: Float>(rows: Rows, eps: f64, call: &mut Call<'_>) -> Result<()> {
    let data = Source::<T>::of(&call.inputs[0])?;
    let gamma = numbers(call.inputs[1].read::<T>()?);
    let beta = numbers(call.inputs[2].read::<T>()?);
    let [out, means, roots] = targets::<T>(call)?;
    let reqs = call.reqs;
    par::for_ranges(rows.count, GRAIN / rows.len.max(1), |range| {
        let (mut kept, mut results) = (Vec::new(), Vec::new());
        for r in range {
            let cells = rows.range(r);
            let shared =
                rows.step == 1 && out.is_some_and(|out| data.overlaps(&cells, &out, &cells));
            // SAFETY: the row belongs to this task, which writes it when it has read it.
            let x = unsafe { rows.read(&data, r, shared, &mut kept) };
            let (mean, root) = statistics(x, eps);
            for (target, req, value) in [(means, reqs[1], mean), (roots, reqs[2], root)] {
                if let Some(target) = target {
                    // SAFETY: the row's statistics belong to this task.
                    store(&[value], unsafe { target.slice(r..r + 1) }, req);
                }
            }
            let Some(out) = out else { continue };
            let scale = T::Real::ONE / root;
            // SAFETY: the row belongs to this task.
            unsafe {
                rows.write((&out, reqs[0]), r, &mut results, |y| {
                    if rows.along {
                        shift_scale_along(x, mean, scale, &gamma, &beta, y);
                    } else {
                        let c = r % rows.scales;
                        shift_scale(x, mean, scale * gamma[c], beta[c], y);
                    }
                });
            }
        }
    });
    Ok(())
}

fn backward_of(name: &str, attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(name, (ins, 5), (outs, 3))?;
    let rows = Rows::new(name, attrs, &ins[1])?;
    check_shape(name, "gradient", &ins[0], &ins[1].shape)?;
    check_shape(name, "data gradient", &outs[0], &ins[1].shape)?;
    rows.check(name, &[&ins[2..3], &outs[1..]].concat(), &ins[3..])?;
    by_float!(name, ins[0].dtype, T => {
        boxed(move |call: &mut Call<'_>| backward::<T>(rows, call))
    })
}

fn backward<T: Float>(rows: Rows, call: &mut Call<'_>) -> Result<()> {
    let head = Source::<T>::of(&call.inputs[0])?;
    let data = Source::<T>::of(&call.inputs[1])?;
    let gamma = numbers(call.inputs[2].read::<T>()?);
    let mean = numbers(call.inputs[3].read::<T>()?);
    let root = numbers(call.inputs[4].read::<T>()?);
    let [out, dgamma, dbeta] = targets::<T>(call)?;
    let gradients = Gradients {
        rows,
        head,
        data,
        gamma: &gamma,
        stats: (&mean, &root),
        out: out.map(|out| (out, call.reqs[0])),
    };
    let least = (GRAIN / rows.len.max(1)).max(1);
    let each = rows.count.div_ceil(PARTS).max(least);
    let parts = rows.count.div_ceil(each);
    let size = if rows.along { rows.len } else { each };
    let (mut gammas, mut betas) = (vec![0.0; parts * size], vec![0.0; parts * size]);
    let cells = (Parts::new(&mut gammas), Parts::new(&mut betas));
    par::for_each(parts, |i| {
        // SAFETY: each task has cells of its own.
        let sums = unsafe { (cells.0.part(i * size, size), cells.1.part(i * size, size)) };
        gradients.part(i * each..((i + 1) * each).min(rows.count), sums);
    });
    let mut totals = [vec![0.0; rows.scales], vec![0.0; rows.scales]];
    let pairs = gammas.iter().zip(&betas).enumerate();
    for (i, (g, b)) in pairs.take(parts * size) {
        totals[0][i % rows.scales] += g;
        totals[1][i % rows.scales] += b;
    }
    for (target, total, &req) in [
        (dgamma, &totals[0], &call.reqs[1]),
        (dbeta, &totals[1], &call.reqs[2]),
    ] {
        if let Some(target) = target {
            let total: Vec<T::Real> = total.iter().map(|&x| T::Real::of(x)).collect();
            // SAFETY: no task runs any more.
            store(&total, unsafe { target.slice(0..total.len()) }, req);
        }
    }
    Ok(())
}

/// What the tasks of a gradient share.
struct Gradients<'a, T: Float> {
    rows: Rows,
    head: Source<T>,
    data: Source<T>,
    gamma: &'a [T::Real],
    /// Means and roots.
    stats: (&'a [T::Real], &'a [T::Real]),
    out: Option<(Target<T>, Req)>,
}

impl<T: Float> Gradients<'_, T> {
    /// Works on some rows. What they give to the gradients of `gamma` and `beta` goes to `sums`: by
    /// the elements of a row where they differ along it, and otherwise by the row.
    fn part(&self, range: Range<usize>, sums: (&mut [f64], &mut [f64])) {
        let rows = &self.rows;
        let (mut g_kept, mut x_kept, mut results) = (Vec::new(), Vec::new(), Vec::new());
        let short = if rows.along { rows.len } else { 0 };
        let (mut gammas, mut betas) = (vec![T::Real::ZERO; short], vec![T::Real::ZERO; short]);
        for (i, r) in range.clone().enumerate() {
            let cells = rows.range(r);
            let shared = |source: &Source<T>| {
                rows.step == 1
                    && (self.out).is_some_and(|(out, _)| source.overlaps(&cells, &out, &cells))
            };
            // SAFETY: the row belongs to this task, which writes it when it has read it.
            let g = unsafe { rows.read(&self.head, r, shared(&self.head), &mut g_kept) };
            // SAFETY: as above.
            let x = unsafe { rows.read(&self.data, r, shared(&self.data), &mut x_kept) };
            let (mean, scale) = (self.stats.0[r], T::Real::ONE / self.stats.1[r]);
            if rows.along {
                add_row(g, x, mean, scale, &mut gammas, &mut betas);
                if i % SHORT == SHORT - 1 || i + 1 == range.len() {
                    flush(&mut gammas, sums.0);
                    flush(&mut betas, sums.1);
                }
            } else {
                [sums.1[i], sums.0[i]] = gradient_sums(g, x, mean, scale);
            }
            let Some((out, req)) = &self.out else {
                continue;
            };
            let n = rows.len as f64;
            let (factor, [plain, weighted]) = if rows.along {
                let totals = gradient_sums_along(g, x, self.gamma, mean, scale);
                (scale, totals)
            } else {
                let own = self.gamma[r % rows.scales];
                let times = own.f64();
                (scale * own, [sums.1[i] * times, sums.0[i] * times])
            };
            let wide = scale.f64();
            let offset = T::Real::of(wide * plain / n);
            let slope = T::Real::of(wide * wide * weighted / n);
            let c = [factor, offset, slope];
            // SAFETY: the row belongs to this task.
            unsafe {
                rows.write((out, *req), r, &mut results, |d| {
                    if rows.along {
                        combine_along(g, x, self.gamma, mean, c, d);
                    } else {
                        combine(g, x, mean, c, d);
                    }
                });
            }
        }
    }
}

/// Moves sums over to wider ones.
fn flush<R: Real>(from: &mut [R], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from.f64();
        *from = R::ZERO;
    }
}
