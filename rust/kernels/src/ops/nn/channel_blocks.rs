//! `_channel_blocks`: images to channels in [blocks](crate::convolve::blocked), and back; and `_norm_block`:
//! normalisation of such by running statistics.

use crate::api::prepared::{boxed, check_args, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::raw::{Source, Target};
use crate::convolve::blocked::BLOCK;
use crate::convolve::blocked::words::Words;
use crate::copy::transpose::transpose;
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{DType, Error, Result, bf16};
use std::ops::Range;

pub(crate) const ROWS: &[Row] = &[
    Row::new("_channel_blocks", prepare_order),
    Row::new("_norm_block", prepare_norm),
];

/// Numbers of a task, at least.
const TASK: usize = 1 << 14;

/// Evaluates the expression for the element type of images in blocks.
macro_rules! by_words {
    ($name:expr, $dtype:expr, $t:ident => $value:expr) => {
        match $dtype {
            DType::F32 => {
                type $t = f32;
                $value
            }
            DType::BF16 => {
                type $t = bf16;
                $value
            }
            other => Err(Error::internal(format!("{}: no {other} in blocks", $name))),
        }
    };
}

/// Blocks of a tensor, and the positions of a plane.
#[derive(Clone, Copy)]
struct Blocks {
    count: usize,
    plane: usize,
}

impl Blocks {
    fn of(name: &str, data: &Desc) -> Result<Self> {
        let shape = &data.shape[..];
        if shape.len() < 3 || !shape[1].is_multiple_of(BLOCK) {
            return Err(Error::internal(format!(
                "{name}: {shape:?} of {} has no whole blocks of channels",
                data.dtype
            )));
        }
        let plane = shape[2..].iter().product();
        let count = shape[0] * shape[1] / BLOCK;
        Ok(Blocks { count, plane })
    }

    /// Runs `work` on each block: its number, and where it is.
    ///
    /// # Errors
    /// A request to add.
    fn each(self, req: Req, work: impl Fn(usize, Range<usize>) + Sync + Send) -> Result<()> {
        let size = self.plane * BLOCK;
        match req {
            Req::Null => return Ok(()),
            Req::Add => return Err(Error::internal("channels in blocks are not added to")),
            _ => {}
        }
        par::for_ranges(self.count, (TASK / size.max(1)).max(1), |blocks| {
            blocks.for_each(|b| work(b, b * size..(b + 1) * size));
        });
        Ok(())
    }
}

fn prepare_order(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_channel_blocks";
    check_args(name, (ins, 1), (outs, 1))?;
    check_shape(name, "output", &outs[0], &ins[0].shape)?;
    let (back, blocks) = (attrs.bool("back")?, Blocks::of(name, &ins[0])?);
    by_words!(name, ins[0].dtype, T => order::<T>(back, blocks))
}

fn order<T: Words>(back: bool, blocks: Blocks) -> Result<Box<dyn Kernel>> {
    boxed(move |call: &mut Call<'_>| {
        let source = Source::<T>::of(&call.inputs[0])?;
        let target = Target::<T>::of(&mut call.outputs[0])?;
        blocks.each(call.reqs[0], |_, range| {
            // SAFETY: blocks belong to one task each; the result is no memory of the data.
            let (from, to) = unsafe { (source.slice(range.clone()), target.slice(range)) };
            match back {
                true => transpose((from, BLOCK), (BLOCK, blocks.plane), (to, blocks.plane)),
                false => T::turn((from, blocks.plane), (blocks.plane, BLOCK), to),
            }
        })
    })
}

fn prepare_norm(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_norm_block";
    check_count(name, (ins, 5), (outs, 1))?;
    check_shape(name, "output", &outs[0], &ins[0].shape)?;
    let blocks = Blocks::of(name, &ins[0])?;
    for of_channels in &ins[1..] {
        check_shape(name, "channel argument", of_channels, &ins[0].shape[1..2])?;
    }
    let of = (attrs.float("eps")?, attrs.bool("fix_gamma")?);
    let channels = ins[0].shape[1];
    by_words!(name, ins[0].dtype, T => norm::<T>(of, channels, blocks))
}

fn norm<T: Words>(
    (eps, fixed): (f64, bool),
    channels: usize,
    blocks: Blocks,
) -> Result<Box<dyn Kernel>> {
    boxed(move |call: &mut Call<'_>| {
        let numbers = |i: usize| call.inputs[i].read::<f32>();
        let (gamma, beta, mean, var) = (numbers(1)?, numbers(2)?, numbers(3)?, numbers(4)?);
        let scale = |c: usize| {
            let gamma = if fixed { 1.0 } else { f64::from(gamma[c]) };
            (gamma / (f64::from(var[c]) + eps).sqrt()) as f32
        };
        let scales: Vec<f32> = (0..channels).map(scale).collect();
        let source = Source::<T>::of(&call.inputs[0])?;
        let target = Target::<T>::of(&mut call.outputs[0])?;
        blocks.each(call.reqs[0], |block, range| {
            let first = block * BLOCK % channels;
            let of = [mean, &scales, beta].map(|x| &x[first..first + BLOCK]);
            for start in range.step_by(BLOCK * PIECE) {
                let end = (start + BLOCK * PIECE).min((block + 1) * blocks.plane * BLOCK);
                let mut piece = [T::zero(); BLOCK * PIECE];
                let piece = &mut piece[..end - start];
                // SAFETY: blocks belong to one task each. The result may take the place of the data, of which
                // a piece is copied before it is written.
                unsafe {
                    piece.copy_from_slice(source.slice(start..end));
                    normalise(piece, of, target.slice(start..end));
                }
            }
        })
    })
}

/// Positions that are normalised at a time.
const PIECE: usize = 16;

multiversion! {
    /// Each channel less its mean, times its scale, and shifted.
    fn normalise<T: Words>(from: &[T], of: [&[f32]; 3], to: &mut [T]) {
        let [mean, scale, shift] = of.map(|x| std::array::from_fn::<f32, BLOCK, _>(|k| x[k]));
        for (from, to) in from.chunks_exact(BLOCK).zip(to.chunks_exact_mut(BLOCK)) {
            for k in 0..BLOCK {
                to[k] = T::down((from[k].up() - mean[k]) * scale[k] + shift[k]);
            }
        }
    }
}
