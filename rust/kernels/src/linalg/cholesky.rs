//! Factors of symmetric positive definite matrices.

use crate::linalg::gemm::Operand;
use crate::linalg::rows_dot::RowsDot;
use crate::linalg::triangle::{Triangle, half, solve, square, subtract};

/// Sides up to which a matrix is factored row by row.
const BASE: usize = 16;

/// Puts the lower factor in place of the lower triangle; what is above it is undefined then.
///
/// # Errors
/// The number of the first row whose pivot is not positive.
pub(crate) fn factor<T: RowsDot>(
    a: &mut [T],
    n: usize,
    width: usize,
) -> std::result::Result<(), usize> {
    if n <= BASE {
        return by_rows(a, n, width);
    }
    let k = half(n);
    let rest = n - k;
    factor(a, k, width)?;
    let (top, bottom) = a.split_at_mut(k * width);
    let mut across = vec![T::ZERO; k * rest];
    for i in 0..rest {
        (0..k).for_each(|j| across[j * rest + i] = bottom[i * width + j]);
    }
    let first = Triangle::new(Operand::new(top, width), true);
    solve(first, k, &mut across, (rest, rest));
    for i in 0..rest {
        (0..k).for_each(|j| bottom[i * width + j] = across[j * rest + i]);
    }
    let columns = Operand::new(&across, rest).transposed();
    square(
        (rest, k),
        -T::ONE,
        columns,
        T::ONE,
        (&mut bottom[k..], width),
    );
    factor(&mut bottom[k..], rest, width).map_err(|row| k + row)
}

fn by_rows<T: RowsDot>(a: &mut [T], n: usize, width: usize) -> std::result::Result<(), usize> {
    let mut column = [T::ZERO; BASE];
    for k in 0..n {
        let pivot = a[k * width + k];
        // A NaN goes on, as in LAPACK.
        if pivot <= T::ZERO {
            return Err(k);
        }
        let root = pivot.sqrt();
        a[k * width + k] = root;
        for i in k + 1..n {
            column[i] = a[i * width + k] / root;
            a[i * width + k] = column[i];
        }
        for i in k + 1..n {
            let row = &mut a[i * width..][k + 1..=i];
            subtract(row, column[i], &column[k + 1..=i]);
        }
    }
    Ok(())
}
