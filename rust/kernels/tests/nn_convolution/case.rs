//! A convolution by nested loops, and its checks against them.

use crate::nn_support::*;
use ferromix_base::DType;
use ferromix_kernels::{Attrs, Value};

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) batch: usize,
    pub(crate) channels: usize,
    pub(crate) filters: usize,
    pub(crate) groups: usize,
    pub(crate) input: Vec<usize>,
    pub(crate) kernel: Vec<usize>,
    pub(crate) stride: Vec<usize>,
    pub(crate) dilate: Vec<usize>,
    pub(crate) pad: Vec<usize>,
}

impl Case {
    /// `[batch, channels, filters, groups]`, then one row `[input, kernel, stride, dilate, pad]`
    /// per axis.
    pub(crate) fn new(n: [usize; 4], axes: &[[usize; 5]]) -> Self {
        let column = |i: usize| axes.iter().map(|a| a[i]).collect();
        Case {
            batch: n[0],
            channels: n[1],
            filters: n[2],
            groups: n[3],
            input: column(0),
            kernel: column(1),
            stride: column(2),
            dilate: column(3),
            pad: column(4),
        }
    }

    pub(crate) fn attrs(&self, bias: bool) -> Attrs {
        Attrs::from([
            ("kernel", ints(&self.kernel)),
            ("stride", ints(&self.stride)),
            ("dilate", ints(&self.dilate)),
            ("pad", ints(&self.pad)),
            ("num_filter", Value::Int(self.filters as i64)),
            ("num_group", Value::Int(self.groups as i64)),
            ("no_bias", Value::Bool(!bias)),
        ])
    }

    pub(crate) fn output(&self) -> Vec<usize> {
        (0..self.input.len())
            .map(|i| {
                (self.input[i] + 2 * self.pad[i] - self.dilate[i] * (self.kernel[i] - 1) - 1)
                    / self.stride[i]
                    + 1
            })
            .collect()
    }

    pub(crate) fn shapes(&self) -> [Vec<usize>; 3] {
        let join = |a: [usize; 2], b: &[usize]| a.into_iter().chain(b.iter().copied()).collect();
        [
            join([self.batch, self.channels], &self.input),
            join([self.filters, self.channels / self.groups], &self.kernel),
            join([self.batch, self.filters], &self.output()),
        ]
    }

    /// Calls `f(data, weight, out, filter)` with the flat places of every product.
    pub(crate) fn products(&self, mut f: impl FnMut(usize, usize, usize, usize)) {
        let count = |v: &[usize]| v.iter().product::<usize>();
        let unflatten = |mut i: usize, v: &[usize]| {
            let mut x = vec![0; v.len()];
            for (x, &d) in x.iter_mut().zip(v).rev() {
                *x = i % d;
                i /= d;
            }
            x
        };
        let output = self.output();
        let (cg, fg) = (self.channels / self.groups, self.filters / self.groups);
        for n in 0..self.batch {
            for filter in 0..self.filters {
                for o in 0..count(&output) {
                    let at = unflatten(o, &output);
                    for c in 0..cg {
                        for t in 0..count(&self.kernel) {
                            let tap = unflatten(t, &self.kernel);
                            let mut place = Some(0);
                            for i in 0..output.len() {
                                let x = (at[i] * self.stride[i] + tap[i] * self.dilate[i])
                                    .checked_sub(self.pad[i]);
                                place = place
                                    .zip(x.filter(|&x| x < self.input[i]))
                                    .map(|(p, x)| p * self.input[i] + x);
                            }
                            let Some(place) = place else { continue };
                            let channel = filter / fg * cg + c;
                            f(
                                (n * self.channels + channel) * count(&self.input) + place,
                                (filter * cg + c) * count(&self.kernel) + t,
                                (n * self.filters + filter) * count(&output) + o,
                                filter,
                            );
                        }
                    }
                }
            }
        }
    }

    pub(crate) fn check(&self, dtypes: &[DType]) {
        let [data, weight, out] = self.shapes();
        let (x, w) = (Tensor::noise(&data, 1), Tensor::noise(&weight, 2));
        let (b, head) = (Tensor::noise(&[self.filters], 3), Tensor::noise(&out, 4));
        let plane: usize = self.output().iter().product();
        let mut y = Tensor::filled(&out, 0.0);
        let (mut dx, mut dw) = (Tensor::filled(&data, 0.0), Tensor::filled(&weight, 0.0));
        self.products(|i, j, o, _| {
            y.data[o] += x.data[i] * w.data[j];
            dx.data[i] += head.data[o] * w.data[j];
            dw.data[j] += head.data[o] * x.data[i];
        });
        let (mut shifted, mut db) = (y.clone(), Tensor::filled(&[self.filters], 0.0));
        for (o, v) in shifted.data.iter_mut().enumerate() {
            *v += b.data[o / plane % self.filters];
            db.data[o / plane % self.filters] += head.data[o];
        }
        let three = [x.clone(), w.clone(), b];
        check_all(
            "Convolution",
            &self.attrs(true),
            &three,
            &[shifted],
            dtypes,
            &[],
        );
        check_all(
            "Convolution",
            &self.attrs(false),
            &three[..2],
            &[y],
            dtypes,
            &[],
        );
        let inputs = [head, x, w];
        let want = [dx, dw, db];
        check_all(
            "_backward_Convolution",
            &self.attrs(true),
            &inputs,
            &want,
            dtypes,
            &[],
        );
        check_all(
            "_backward_Convolution",
            &self.attrs(false),
            &inputs,
            &want[..2],
            dtypes,
            &[],
        );
    }
}
