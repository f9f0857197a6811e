//! `DeformableConvolution`, which moves each element of the kernel by offsets of its own, and
//! `ModulatedDeformableConvolution`, which also weighs it. What a kernel sees at all places makes a
//! matrix, by which the weights are multiplied.

mod columns;

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise::{lifted, settle, store};
use crate::blocks::sums;
use crate::linalg::gemm::{Operand, gemm};
use crate::linalg::rows_dot::RowsDot;
use crate::math::real::{Float, Real, by_float};
use columns::{Deformed, Image};
use ferromix_base::{Error, Result};

/// The number of inputs without and with masks, for weights without bias.
const INPUTS: usize = 3;

/// Images, offsets, masks and weights, all of them.
#[derive(Clone, Copy)]
struct Given<'a, R> {
    data: &'a [R],
    offset: &'a [R],
    mask: Option<&'a [R]>,
    weight: &'a [R],
}

impl<'a, R: Real> Given<'a, R> {
    fn image(&self, d: &Deformed, n: usize) -> Image<'a, R> {
        let part = |of: &'a [R], size: usize| &of[n * size..(n + 1) * size];
        Image {
            data: part(self.data, d.channels * d.pixels()),
            offset: part(self.offset, 2 * d.points()),
            mask: self.mask.map(|mask| part(mask, d.points())),
        }
    }
}

impl Deformed {
    fn new(name: &'static str, attrs: &Attrs, ins: &[Desc], out: &Desc) -> Result<Self> {
        let masked = name.contains("Modulated");
        let two = |attr: &str, fill: usize| -> Result<[usize; 2]> {
            let found = attrs.extents(attr, 2, fill)?;
            Ok([found[0], found[1]])
        };
        let some = |attr: &str| -> Result<usize> {
            Ok(usize::try_from(attrs.int(attr)?).unwrap_or(0).max(1))
        };
        let ([batch, channels, rows, columns], [_, filters, high, wide]) =
            (&ins[0].shape[..], &out.shape[..])
        else {
            return Err(Error::value(format!(
                "{name}: data and output must have 4 dimensions, got {:?} and {:?}",
                &ins[0].shape[..],
                &out.shape[..]
            )));
        };
        let made = Deformed {
            masked,
            batch: *batch,
            channels: *channels,
            image: [*rows, *columns],
            filters: *filters,
            kernel: two("kernel", 1)?,
            stride: two("stride", 1)?,
            dilate: two("dilate", 1)?,
            pad: two("pad", 0)?,
            output: [*high, *wide],
            groups: some("num_group")?,
            moved: some("num_deformable_group")?,
        };
        made.check(name, attrs, ins, out)?;
        Ok(made)
    }

    fn check(&self, name: &str, attrs: &Attrs, ins: &[Desc], out: &Desc) -> Result<()> {
        let (batch, [kh, kw], [high, wide]) = (self.batch, self.kernel, self.output);
        let extent = |i: usize| -> Option<usize> {
            let reach = self.dilate[i].checked_mul(self.kernel[i].checked_sub(1)?)?;
            let padded = self.pad[i].checked_mul(2)?.checked_add(self.image[i])?;
            let room = padded.checked_sub(reach.checked_add(1)?)?;
            room.checked_div(self.stride[i])?.checked_add(1)
        };
        let even = self.channels.is_multiple_of(self.groups)
            && self.filters.is_multiple_of(self.groups)
            && self.channels.is_multiple_of(self.moved);
        if [extent(0), extent(1)] != [Some(high), Some(wide)] || !even {
            return Err(Error::value(format!(
                "{name}: data of shape {:?} and the attributes do not give {:?}",
                &ins[0].shape[..],
                &out.shape[..]
            )));
        }
        let Some(each) = kh.checked_mul(kw).and_then(|n| n.checked_mul(self.moved)) else {
            return Err(Error::value(format!(
                "{name}: a kernel of {kh} by {kw} is too large"
            )));
        };
        let filters = usize::try_from(attrs.int("num_filter")?).unwrap_or(0);
        check_shape(name, "output", out, &[batch, filters, high, wide])?;
        let offsets = each.saturating_mul(2);
        check_shape(name, "offset", &ins[1], &[batch, offsets, high, wide])?;
        if self.masked {
            check_shape(name, "mask", &ins[2], &[batch, each, high, wide])?;
        }
        let weight = [self.filters, self.channels / self.groups, kh, kw];
        check_shape(name, "weight", &ins[2 + usize::from(self.masked)], &weight)?;
        crate::blocks::bilinear::check_plane(name, self.image)
    }

    /// Filters, places, and rows of the matrix of columns, all of a group.
    fn product(&self) -> (usize, usize, usize) {
        let depth = self.channels / self.groups * self.taps();
        (self.filters / self.groups, self.places(), depth)
    }

    fn forward<R: RowsDot>(&self, given: Given<'_, R>, bias: Option<&[R]>, out: &mut [R]) {
        let (m, n, k) = self.product();
        let mut columns = vec![R::ZERO; self.groups * k * n];
        for (i, out) in out.chunks_exact_mut(self.filters * n).enumerate() {
            self.columns(given.image(self, i), &mut columns);
            for (g, out) in out.chunks_exact_mut(m * n).enumerate() {
                let weight = Operand::new(&given.weight[g * m * k..][..m * k], k);
                let seen = Operand::new(&columns[g * k * n..][..k * n], n);
                gemm((m, n, k), R::ONE, weight, seen, R::ZERO, out);
            }
            for (out, &b) in out.chunks_exact_mut(n).zip(bias.unwrap_or(&[])) {
                out.iter_mut().for_each(|o| *o += b);
            }
        }
    }

    /// The gradients of data, offsets, masks and weights, where they are wanted.
    fn backward<R: RowsDot>(&self, g: &[R], given: Given<'_, R>, wanted: [bool; 4]) -> [Vec<R>; 4] {
        let room = |wanted: bool, n: usize| vec![R::ZERO; if wanted { n } else { 0 }];
        let sizes = [
            given.data.len(),
            given.offset.len(),
            given.mask.map_or(0, <[R]>::len),
            given.weight.len(),
        ];
        let mut found: [Vec<R>; 4] = std::array::from_fn(|i| room(wanted[i], sizes[i]));
        if self.batch == 0 {
            return found;
        }
        let [data, offset, mask, weight] = &mut found;
        let (m, n, k) = self.product();
        let mut columns = vec![R::ZERO; self.groups * k * n];
        for i in 0..self.batch {
            let (image, g) = (given.image(self, i), &g[i * self.filters * n..]);
            if wanted[3] {
                self.columns(image, &mut columns);
                for (group, out) in weight.chunks_exact_mut((m * k).max(1)).enumerate() {
                    let heads = Operand::new(&g[group * m * n..][..m * n], n);
                    let seen = Operand::new(&columns[group * k * n..][..k * n], n);
                    gemm((m, k, n), R::ONE, heads, seen.transposed(), R::ONE, out);
                }
            }
            if !(wanted[0] || wanted[1] || wanted[2]) {
                continue;
            }
            for (group, out) in columns.chunks_exact_mut((k * n).max(1)).enumerate() {
                let heads = Operand::new(&g[group * m * n..][..m * n], n);
                let weight = Operand::new(&given.weight[group * m * k..][..m * k], k);
                gemm((k, n, m), R::ONE, weight.transposed(), heads, R::ZERO, out);
            }
            let (size, points) = (self.channels * self.pixels(), self.points());
            if wanted[0] {
                self.to_data(image, &columns, &mut data[i * size..(i + 1) * size]);
            }
            let part = |i: usize, n: usize| i * n..(i + 1) * n;
            let offset = wanted[1].then(|| &mut offset[part(i, 2 * points)]);
            let mask = wanted[2].then(|| &mut mask[part(i, points)]);
            self.to_points(image, &columns, offset, mask);
        }
        found
    }

    fn to_bias<R: Real>(&self, g: &[R], out: &mut [R]) {
        let (filters, places) = (self.filters, self.places());
        for (f, out) in out.iter_mut().enumerate() {
            let row = |n: usize| &g[(n * filters + f) * places..][..places];
            *out = R::of((0..self.batch).map(|n| sums::sum(row(n))).sum::<f64>());
        }
    }
}

fn prepare(name: &'static str, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let masked = name.contains("Modulated");
    let bias = !attrs.bool("no_bias")?;
    let count = INPUTS + usize::from(masked);
    check_args(name, (i, count + usize::from(bias)), (o, 1))?;
    let d = Deformed::new(name, attrs, i, &o[0])?;
    if bias {
        check_shape(name, "bias", &i[count], &[d.filters])?;
    }
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let mut scratch = [const { Vec::new() }; 5];
        let inputs = read_all::<T>(call.inputs, &mut scratch)?;
        let given = d.given(&inputs);
        settle::<T>(&mut call.outputs[0], call.reqs[0], |out| {
            d.forward(given, bias.then(|| inputs[count]), out);
            Ok(())
        })
    }))
}

fn prepare_back(
    name: &'static str,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let masked = name.contains("Modulated");
    let bias = !attrs.bool("no_bias")?;
    let count = INPUTS + usize::from(masked);
    check_args(name, (i, 1 + count), (o, count + usize::from(bias)))?;
    let d = Deformed::new(name, attrs, &i[1..], &i[0])?;
    for (given, made) in i[1..].iter().zip(o) {
        check_shape(name, "gradient", made, &given.shape)?;
    }
    if bias {
        check_shape(name, "gradient of the bias", &o[count], &[d.filters])?;
    }
    by_float!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let mut scratch = [const { Vec::new() }; 5];
        let inputs = read_all::<T>(call.inputs, &mut scratch)?;
        let (g, given) = (inputs[0], d.given(&inputs[1..]));
        let order: &[usize] = if masked { &[0, 1, 2, 3] } else { &[0, 1, 3] };
        let mut wanted = [false; 4];
        for (place, kind) in order.iter().enumerate() {
            wanted[*kind] = call.reqs[place] != Req::Null;
        }
        let found = d.backward(g, given, wanted);
        for (place, kind) in order.iter().enumerate() {
            if wanted[*kind] {
                store(&found[*kind], call.outputs[place].write::<T>()?, call.reqs[place]);
            }
        }
        if bias {
            settle::<T>(&mut call.outputs[count], call.reqs[count], |out| {
                d.to_bias(g, out);
                Ok(())
            })?;
        }
        Ok(())
    }))
}

impl Deformed {
    fn given<'a, R>(&self, inputs: &[&'a [R]]) -> Given<'a, R> {
        Given {
            data: inputs[0],
            offset: inputs[1],
            mask: self.masked.then(|| inputs[2]),
            weight: inputs[2 + usize::from(self.masked)],
        }
    }
}

/// The numbers of all inputs, to compute with.
fn read_all<'a, T: Float>(
    views: &'a [crate::api::View],
    scratch: &'a mut [Vec<T::Real>; 5],
) -> Result<Vec<&'a [T::Real]>> {
    let pairs = views.iter().zip(scratch);
    pairs
        .map(|(view, scratch)| Ok(lifted(view.read::<T>()?, scratch)))
        .collect()
}

const PLAIN: &str = "_contrib_DeformableConvolution";
const MODULATED: &str = "_contrib_ModulatedDeformableConvolution";

pub(crate) const ROWS: &[Row] = &[
    Row::new(PLAIN, |a, i, o| prepare(PLAIN, a, i, o)).unknown_cost(),
    Row::new(MODULATED, |a, i, o| prepare(MODULATED, a, i, o)).unknown_cost(),
    Row::new("_backward__contrib_DeformableConvolution", |a, i, o| {
        prepare_back(PLAIN, a, i, o)
    })
    .unknown_cost(),
    Row::new(
        "_backward__contrib_ModulatedDeformableConvolution",
        |a, i, o| prepare_back(MODULATED, a, i, o),
    )
    .unknown_cost(),
];
