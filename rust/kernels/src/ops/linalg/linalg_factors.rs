//! Factors, inverses, determinants and eigenvectors of the matrices of a batch.

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::copy::transpose::transpose;
use crate::linalg::batch::{Sizes, run};
use crate::linalg::gemm::{Operand, gemm_within};
use crate::linalg::rows_dot::RowsDot;
use crate::linalg::triangle::{Triangle, invert, mirror};
use crate::linalg::{cholesky, eigen, lu, reflect};
use crate::math::real::{Real, by_real};
use ferromix_base::{Error, Result};

pub(crate) const ROWS: &[Row] = &[
    Row::new("_linalg_potrf", |a, i, o| {
        triangular("_linalg_potrf", a, i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_potri", |a, i, o| {
        triangular("_linalg_potri", a, i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_gelqf", prepare_lq).unknown_cost(),
    Row::new("_linalg_syevd", prepare_eigen).unknown_cost(),
    Row::new("_linalg_det", |_, i, o| determinant("_linalg_det", i, o)).unknown_cost(),
    Row::new("_linalg_slogdet", |_, i, o| {
        determinant("_linalg_slogdet", i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_inverse", |_, i, o| {
        inverse("_linalg_inverse", i, o)
    })
    .unknown_cost(),
    Row::new("_linalg_inverse_or_zero", |_, i, o| {
        inverse("_linalg_inverse_or_zero", i, o)
    })
    .unknown_cost(),
];

/// The extents in front and the side of square matrices.
fn squares<'a>(name: &str, d: &'a Desc) -> Result<(&'a [usize], usize)> {
    match &d.shape[..] {
        [lead @ .., m, n] if m == n => Ok((lead, *n)),
        _ => Err(Error::value(format!(
            "{name}: argument 'A' has shape {:?}, expected square matrices",
            &d.shape[..]
        ))),
    }
}

fn sizes<const O: usize>(lead: &[usize], n: usize, outputs: [usize; O]) -> Sizes<1, O> {
    Sizes {
        count: lead.iter().product(),
        inputs: [n * n],
        outputs,
        work: (n * n).saturating_mul(n),
    }
}

/// The factor of a positive definite matrix, or the inverse of the matrix that has the factor.
fn triangular(
    name: &'static str,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, 1), (o, 1))?;
    let (lead, n) = squares(name, &i[0])?;
    check_shape(name, "the output", &o[0], &i[0].shape)?;
    let lower = attrs.bool("lower")?;
    let sizes = sizes(lead, n, [n * n]);
    let factors = name == "_linalg_potrf";
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T, 1, 1>(call, &sizes, |[a], [out]| {
            if factors {
                factor::<T>(name, a, n, lower, out)
            } else {
                inverse_of_factor::<T>(name, a, n, lower, out)
            }
        })
    }))
}

fn factor<T: RowsDot>(name: &str, a: &[T], n: usize, lower: bool, out: &mut [T]) -> Result<()> {
    let mut turned = Vec::new();
    let work = if lower {
        out.copy_from_slice(a);
        &mut *out
    } else {
        turned.resize(n * n, T::ZERO);
        transpose((a, n), (n, n), (&mut turned, n));
        &mut turned[..]
    };
    cholesky::factor(work, n, n).map_err(|row| {
        Error::value(format!(
            "{name}: argument 'A' has a matrix that is not positive definite: the pivot of row \
             {row} is not positive"
        ))
    })?;
    for i in 0..n {
        work[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
    if !lower {
        transpose((&turned, n), (n, n), (out, n));
    }
    Ok(())
}

fn inverse_of_factor<T: RowsDot>(
    name: &str,
    a: &[T],
    n: usize,
    lower: bool,
    out: &mut [T],
) -> Result<()> {
    let triangle = Triangle::new(Operand::new(a, n), lower).flipped(!lower);
    if let Some(i) = (0..n).find(|&i| a[i * n + i] == T::ZERO) {
        return Err(Error::value(format!(
            "{name}: argument 'A' has a triangle that has no inverse: element {i} of its diagonal \
             is zero"
        )));
    }
    let mut inverse = vec![T::ZERO; n * n];
    if n > 0 {
        invert(triangle, n, &mut inverse, n);
    }
    out.fill(T::ZERO);
    let step = (n / 8).next_multiple_of(16).clamp(48, 256);
    for k in (0..n).step_by(step) {
        // Rows of a lower triangle end there.
        let end = (k + step).min(n);
        let rows = Operand::new(&inverse[k * n..], n);
        let size = (end, end, end - k);
        gemm_within(
            size,
            T::ONE,
            rows.transposed(),
            rows,
            T::ONE,
            (&mut *out, n),
        );
    }
    mirror(out, n);
    Ok(())
}

fn prepare_lq(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_linalg_gelqf";
    check_args(name, (i, 1), (o, 2))?;
    let [lead @ .., m, n] = &i[0].shape[..] else {
        return Err(Error::value(format!(
            "{name}: {:?} is no matrix",
            i[0].shape
        )));
    };
    let (m, n) = (*m, *n);
    if m > n {
        return Err(Error::value(format!(
            "{name}: argument 'A' has matrices of {m} rows and {n} columns, expected no more rows \
             than columns"
        )));
    }
    check_shape(name, "the first output", &o[0], &i[0].shape)?;
    check_shape(name, "the second output", &o[1], &[lead, &[m, m]].concat())?;
    let sizes = Sizes {
        count: lead.iter().product(),
        inputs: [m * n],
        outputs: [m * n, m * m],
        work: (m * m).saturating_mul(n),
    };
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T, 1, 2>(call, &sizes, |[a], [q, l]| {
            q.copy_from_slice(a);
            reflect::lq(q, (m, n), l);
            Ok(())
        })
    }))
}

fn prepare_eigen(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_linalg_syevd";
    check_args(name, (i, 1), (o, 2))?;
    let (lead, n) = squares(name, &i[0])?;
    check_shape(name, "the first output", &o[0], &i[0].shape)?;
    check_shape(name, "the second output", &o[1], &[lead, &[n]].concat())?;
    let sizes = sizes(lead, n, [n * n, n]);
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T, 1, 2>(call, &sizes, |[a], [u, values]| {
            if n == 0 {
                return Ok(());
            }
            u.copy_from_slice(a);
            eigen::decompose(u, n, values).map_err(|()| {
                Error::value(format!("{name}: an eigenvalue was not found in 64 steps"))
            })
        })
    }))
}

/// The determinant, or its sign and the logarithm of its size.
fn determinant(name: &'static str, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let signs = name == "_linalg_slogdet";
    check_args(name, (i, 1), (o, if signs { 2 } else { 1 }))?;
    let (lead, n) = squares(name, &i[0])?;
    let one: &[usize] = if lead.is_empty() { &[1] } else { lead };
    o.iter()
        .try_for_each(|out| check_shape(name, "an output", out, one))?;
    if signs {
        let sizes = sizes(lead, n, [1, 1]);
        return by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
            run::<T, 1, 2>(call, &sizes, |[a], [sign, log]| {
                let mut a = a.to_vec();
                let found = lu::factor(&mut a, n).determinant(&a, n);
                (sign[0], log[0]) = (T::of(found.0), T::of(found.1));
                Ok(())
            })
        }));
    }
    let sizes = sizes(lead, n, [1]);
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T, 1, 1>(call, &sizes, |[a], [out]| {
            let mut a = a.to_vec();
            out[0] = T::of(lu::factor(&mut a, n).determinant(&a, n).2);
            Ok(())
        })
    }))
}

/// The inverse; where there is none an error, or zeros, as gradients of determinants need them.
fn inverse(name: &'static str, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args(name, (i, 1), (o, 1))?;
    let (lead, n) = squares(name, &i[0])?;
    check_shape(name, "the output", &o[0], &i[0].shape)?;
    let sizes = sizes(lead, n, [n * n]);
    let strict = name == "_linalg_inverse";
    by_real!(name, i[0].dtype, T => boxed(move |call: &mut Call<'_>| {
        run::<T, 1, 1>(call, &sizes, |[a], [out]| {
            let mut a = a.to_vec();
            let factors = lu::factor(&mut a, n);
            if !factors.singular {
                factors.inverse(&a, n, out);
            } else if strict {
                let text = format!("{name}: argument 'A' has a matrix that has no inverse");
                return Err(Error::value(text));
            } else {
                out.fill(T::ZERO);
            }
            Ok(())
        })
    }))
}
