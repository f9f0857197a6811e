//! Pooling of images whose channels lie in [blocks](crate::convolve::blocked): a position is as many numbers as a
//! block has channels.

use super::geometry::{Kind, Pool};
use super::reduce::{Fold, Larger, Plus};
use crate::api::prepared::boxed;
use crate::api::{Call, Desc, Kernel};
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
            |[x]: [&[f32]; 1], out: &mut [f32]| match pool.kind {
                Kind::Max => windows(&pool, x, out, (T::LEAST, &Larger)),
                _ => windows(&pool, x, out, (T::LEAST, &Plus)),
            }
        })
    })
}

multiversion! {
    /// Reduces every window of a block's planes: its rows, and then these.
    fn windows<R: Real, F: Fold>(pool: &Pool, x: &[R], out: &mut [R], start: (R, &F)) {
        let least = start.0;
        let [_, high, wide] = pool.axes;
        for (i, out) in out.chunks_exact_mut(BLOCK).enumerate() {
            let (h, w) = (i / wide.output, i % wide.output);
            let columns = wide.window(w);
            let mut all = [F::start(least); BLOCK];
            for y in high.window(h) {
                let mut row = [F::start(least); BLOCK];
                let line = &x[(y * wide.input + columns.start) * BLOCK..];
                for x in line.chunks_exact(BLOCK).take(columns.len()) {
                    row = std::array::from_fn(|k| F::fold(row[k], x[k]));
                }
                all = std::array::from_fn(|k| F::fold(all[k], row[k]));
            }
            let share = pool.share(0, h, w);
            for (out, x) in out.iter_mut().zip(all) {
                *out = if pool.kind == Kind::Avg { x * share } else { x };
            }
        }
    }
}
