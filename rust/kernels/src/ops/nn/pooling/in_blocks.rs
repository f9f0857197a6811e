//! Pooling of images whose channels lie in [blocks](crate::convolve::blocked): a position is as many numbers as a
//! block has channels.

use super::geometry::{Kind, Pool};
use super::reduce::{Fold, Larger, Plus, one_by_one};
use crate::api::prepared::boxed;
use crate::api::{Call, Desc, Kernel};
use crate::blocks::aligned::Aligned;
use crate::blocks::planes::{self, Planes};
use crate::convolve::blocked::BLOCK;
use crate::math::real::{Float, Real};
use crate::simd::vector::multiversion;
use ferromix_base::{DType, Error, Result, bf16};

pub(super) fn prepare(pool: Pool, data: &Desc) -> Result<Box<dyn Kernel>> {
    let taken = matches!(pool.kind, Kind::Max | Kind::Avg | Kind::Sum);
    let flat = pool.axes[0].input == 1 && pool.axes[0].kernel == 1;
    let Planes { channels, last, .. } = pool.planes;
    match data.dtype {
        _ if !taken || !flat || last || !channels.is_multiple_of(BLOCK) => {}
        DType::F32 => return of::<f32>(pool),
        DType::BF16 => return of::<bf16>(pool),
        _ => {}
    }
    Err(Error::internal("Pooling: no way to channels in blocks"))
}

fn of<T: Float<Real = f32>>(pool: Pool) -> Result<Box<dyn Kernel>> {
    let channels = pool.planes.channels;
    boxed(move |call: &mut Call<'_>| {
        let planes = Planes {
            channels: channels / BLOCK,
            grain: (pool.planes.grain / BLOCK).max(1),
            ..pool.planes
        };
        let data = [(&call.inputs[0], pool.input_plane() * BLOCK)];
        let result = (&mut call.outputs[0], pool.output_plane() * BLOCK);
        planes::each::<T, 1, _>(&planes, data, result, call.reqs[0], || {
            let mut lines = Lines::default();
            move |[x]: [&[f32]; 1], out: &mut [f32]| match pool.kind {
                Kind::Max => windows(&pool, x, out, (T::LEAST, &Larger), &mut lines),
                _ => windows(&pool, x, out, (T::LEAST, &Plus), &mut lines),
            }
        })
    })
}

/// Rows that are needed again for each row of windows.
#[derive(Default)]
pub(super) struct Lines<R> {
    /// What the rows of the windows come to, with what a window without elements gives on either side.
    across: Aligned<R>,
    /// The windows that begin at each position, where those that are wanted are further apart.
    along: Aligned<R>,
}

multiversion! {
    /// Reduces every window of a block's planes: first across rows, and then along what comes of it. Either way
    /// goes through all numbers of a row alike, of whatever position and channel.
    pub(super) fn windows<R: Real, F: Fold>(
        pool: &Pool,
        x: &[R],
        out: &mut [R],
        fold: (R, &F),
        lines: &mut Lines<R>,
    ) {
        let start = F::start(fold.0);
        let [_, high, wide] = pool.axes;
        let Some(reached) = wide.reached() else {
            one_by_one::<R, F, BLOCK>(pool, x, out, start);
            return averages(pool, out);
        };
        let (row, taken) = (wide.input * BLOCK, (wide.output - 1) * wide.stride + 1);
        lines.across.reserve(reached * BLOCK);
        lines.across.fill(start);
        lines.along.reserve(taken * BLOCK);
        for (h, out) in out.chunks_exact_mut(wide.output * BLOCK).enumerate() {
            let rows = high.window(h);
            let inner = &mut lines.across[wide.pad * BLOCK..][..row];
            fold_all::<R, F>(start, &x[rows.start * row..rows.end * row], row, rows.len(), inner);
            if wide.stride == 1 {
                fold_all::<R, F>(start, &lines.across, BLOCK, wide.kernel, out);
            } else {
                let all = &mut lines.along[..taken * BLOCK];
                fold_all::<R, F>(start, &lines.across, BLOCK, wide.kernel, all);
                let wanted = all.chunks_exact(BLOCK).step_by(wide.stride);
                out.chunks_exact_mut(BLOCK).zip(wanted).for_each(|(to, all)| to.copy_from_slice(all));
            }
        }
        averages(pool, out);
    }
}

/// Makes averages of sums, if these are wanted.
fn averages<R: Real>(pool: &Pool, sums: &mut [R]) {
    let wide = pool.axes[2];
    if pool.kind == Kind::Avg {
        for (at, sums) in sums.chunks_exact_mut(BLOCK).enumerate() {
            let share = pool.share(0, at / wide.output, at % wide.output);
            sums.iter_mut().for_each(|x| *x *= share);
        }
    }
}

/// `to[i]` is what `count` numbers of `x` come to, from `x[i]` on, each so many further.
#[inline(always)]
fn fold_all<R: Real, F: Fold>(start: R, x: &[R], step: usize, count: usize, to: &mut [R]) {
    match count {
        2 => folded::<R, F, 2>(start, x, step, to),
        3 => folded::<R, F, 3>(start, x, step, to),
        _ => {
            to.fill(start);
            for k in 0..count {
                let from = &x[k * step..][..to.len()];
                to.iter_mut()
                    .zip(from)
                    .for_each(|(to, &x)| *to = F::fold(*to, x));
            }
        }
    }
}

#[inline(always)]
fn folded<R: Real, F: Fold, const K: usize>(start: R, x: &[R], step: usize, to: &mut [R]) {
    let from: [&[R]; K] = std::array::from_fn(|k| &x[k * step..][..to.len()]);
    for (i, to) in to.iter_mut().enumerate() {
        *to = from.iter().fold(start, |all, from| F::fold(all, from[i]));
    }
}
