//! Diagonals and triangles of square matrices: taken out, put in, and weighed.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::linalg::batch::{Sizes, run};
use crate::math::real::{Real, by_real};
use ferromix_base::{Error, Result};

pub(crate) const ROWS: &[Row] = &[
    Row::new("_linalg_extractdiag", |a, i, o| {
        prepare("_linalg_extractdiag", a, i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_makediag", |a, i, o| {
        prepare("_linalg_makediag", a, i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_extracttrian", |a, i, o| {
        prepare("_linalg_extracttrian", a, i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_maketrian", |a, i, o| {
        prepare("_linalg_maketrian", a, i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_triangles", prepare_weights).unknown_cost(),
];

/// A part of a square matrix of side `n`: a diagonal, or the triangle that ends there. What is below
/// the main diagonal goes row by row, what is above column by column, as MXNet has it.
#[derive(Clone, Copy)]
struct Part {
    n: usize,
    /// How far from the main diagonal.
    distance: usize,
    below: bool,
    triangle: bool,
}

impl Part {
    /// The number of elements.
    fn len(self) -> usize {
        let side = self.n - self.distance;
        if self.triangle {
            side * (side + 1) / 2
        } else {
            side
        }
    }

    /// Calls `each` with the places of the elements, in their order.
    fn places(self, mut each: impl FnMut(usize)) {
        let (line, step) = if self.below { (self.n, 1) } else { (1, self.n) };
        for end in 0..self.n - self.distance {
            let from = if self.triangle { 0 } else { end };
            let start = (end + self.distance) * line;
            (from..=end).for_each(|i| each(start + i * step));
        }
    }
}

fn prepare(name: &'static str, attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, 1), (o, 1))?;
    let makes = name.contains("_make");
    let (whole, vector) = if makes {
        (&o[0], &i[0])
    } else {
        (&i[0], &o[0])
    };
    let (Some((&len, lead)), [front @ .., rows, n]) = (vector.shape.split_last(), &whole.shape[..])
    else {
        return Err(Error::value(format!(
            "{name}: {:?} is no matrix",
            whole.shape
        )));
    };
    let (offset, n) = (attrs.int("offset")?, *n);
    let triangle = name.ends_with("trian");
    let part = Part {
        n,
        distance: usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX),
        below: offset < 0 || offset == 0 && triangle && attrs.bool("lower")?,
        triangle,
    };
    if *rows != n || front != lead || part.distance > n || part.len() != len {
        return Err(Error::value(format!(
            "{name}: {:?} does not go with {:?} (offset={offset})",
            i[0].shape, o[0].shape
        )));
    }
    let (from, to) = if makes { (len, n * n) } else { (n * n, len) };
    let sizes = Sizes {
        count: lead.iter().product(),
        inputs: [from],
        outputs: [to],
        work: 8 * n * n,
    };
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T, 1, 1>(call, &sizes, |[from], [to]| {
            let mut packed = 0;
            if makes {
                to.fill(T::ZERO);
            }
            part.places(|at| {
                let (to_at, from_at) = if makes { (at, packed) } else { (packed, at) };
                to[to_at] = from[from_at];
                packed += 1;
            });
            Ok(())
        })
    }))
}

/// `weights` are those of what is below the diagonal, on it and above it, and, of the transposed
/// matrix, below and above.
fn prepare_weights(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_linalg_triangles";
    check_args(name, (i, 1), (o, 1))?;
    check_shape(name, "the output", &o[0], &i[0].shape)?;
    let weights = attrs.floats("weights")?;
    let (Ok(weights), [lead @ .., m, n]) = (<[f64; 5]>::try_from(weights), &i[0].shape[..]) else {
        return Err(Error::value(format!(
            "{name} takes matrices and five weights"
        )));
    };
    let n = *n;
    if *m != n {
        return Err(Error::value(format!(
            "{name}: {:?} is not square",
            i[0].shape
        )));
    }
    let sizes = Sizes {
        count: lead.iter().product(),
        inputs: [n * n],
        outputs: [n * n],
        work: 8 * n * n,
    };
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        let [lower, diagonal, upper, from_upper, from_lower] = weights.map(T::of);
        // A part without a weight is not read: it may hold anything.
        let weigh = |w: T, x: T| if w == T::ZERO { T::ZERO } else { w * x };
        run::<T, 1, 1>(call, &sizes, |[a], [out]| {
            for (i, row) in out.chunks_exact_mut(n.max(1)).enumerate() {
                for (j, x) in row.iter_mut().enumerate() {
                    let (own, turned) = match i.cmp(&j) {
                        std::cmp::Ordering::Greater => (lower, from_upper),
                        std::cmp::Ordering::Equal => (diagonal, T::ZERO),
                        std::cmp::Ordering::Less => (upper, from_lower),
                    };
                    *x = weigh(own, a[i * n + j]) + weigh(turned, a[j * n + i]);
                }
            }
            Ok(())
        })
    }))
}
