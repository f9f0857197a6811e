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

/// A part of a square matrix of side `n`: its diagonal `offset`, or the triangle that ends there.
#[derive(Clone, Copy)]
struct Part {
    n: usize,
    offset: i64,
    /// Whether a triangle is below the diagonal; none for the diagonal alone.
    lower: Option<bool>,
}

impl Part {
    /// First column and length of what row `r` has of it.
    fn run(self, r: usize) -> (usize, usize) {
        let (n, at) = (self.n as i64, r as i64 + self.offset);
        let (from, to) = match self.lower {
            None => (at, at + 1),
            Some(true) => (0, at + 1),
            Some(false) => (at, n),
        };
        let from = if self.lower.is_none() && from < 0 {
            to
        } else {
            from.max(0)
        };
        let to = to.min(n);
        if (0..n).contains(&at) && from < to {
            (from as usize, (to - from) as usize)
        } else {
            (0, 0)
        }
    }

    fn len(self) -> usize {
        (0..self.n).map(|r| self.run(r).1).sum()
    }

    /// Calls `each` with the ranges of rows that are in it: where they start in the matrix and in the
    /// vector, and how long they are.
    fn rows(self, mut each: impl FnMut(usize, usize, usize)) {
        let mut packed = 0;
        for r in 0..self.n {
            let (column, len) = self.run(r);
            each(r * self.n + column, packed, len);
            packed += len;
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
    let lower = if name.ends_with("diag") {
        None
    } else {
        Some(offset < 0 || offset == 0 && attrs.bool("lower")?)
    };
    let part = Part { n, offset, lower };
    let inside = offset.unsigned_abs() <= n as u64;
    if *rows != n || front != lead || !inside || part.len() != len {
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
            if makes {
                to.fill(T::ZERO);
                part.rows(|at, packed, n| to[at..at + n].copy_from_slice(&from[packed..][..n]));
            } else {
                part.rows(|at, packed, n| to[packed..packed + n].copy_from_slice(&from[at..][..n]));
            }
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
