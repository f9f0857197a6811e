//! Householder reflectors `I - tau v^T v`, in blocks (the compact form of Schreiber and Van Loan,
//! SIAM J. Sci. Stat. Comput. 10, 1989), and the factors `L Q` of wide matrices.

use crate::linalg::gemm::{Operand, gemm, gemm_within};
use crate::linalg::rows_dot::RowsDot;
use crate::linalg::triangle::subtract;

/// Reflectors of a block.
const BLOCK: usize = 32;

/// `k` reflectors of rows of `n` numbers: row `i` is zero before place `i + shift`, and 1 there.
pub(crate) struct Reflectors<T> {
    pub(crate) rows: Vec<T>,
    pub(crate) taus: Vec<T>,
    n: usize,
    shift: usize,
}

/// Makes a row a reflector that maps it to a multiple of the first unit vector. Returns the factor
/// and that multiple.
pub(crate) fn reflector<T: RowsDot>(row: &mut [T]) -> (T, T) {
    let Some((first, rest)) = row.split_first_mut() else {
        return (T::ZERO, T::ZERO);
    };
    let most = rest
        .iter()
        .fold(first.abs(), |most, x| most.at_least(x.abs()))
        .f64();
    let head = first.f64();
    let alone = rest.iter().all(|x| *x == T::ZERO);
    *first = T::ONE;
    if alone {
        return (T::ZERO, T::of(head));
    }
    // Scaled, as squares may overflow.
    let sum: f64 = rest.iter().map(|x| (x.f64() / most).powi(2)).sum();
    let norm = (sum + (head / most).powi(2)).sqrt() * most;
    let to = if head > 0.0 { -norm } else { norm };
    let scale = head - to;
    rest.iter_mut().for_each(|x| *x = T::of(x.f64() / scale));
    (T::of((to - head) / to), T::of(to))
}

impl<T: RowsDot> Reflectors<T> {
    /// None yet.
    pub(crate) fn new(k: usize, n: usize, shift: usize) -> Self {
        Reflectors {
            rows: vec![T::ZERO; k * n],
            taus: vec![T::ZERO; k],
            n,
            shift,
        }
    }

    /// The factor `T` of a block: its reflectors in turn are `I - V^T T V`.
    fn block(&self, first: usize, b: usize) -> Vec<T> {
        let from = first + self.shift;
        let v = Operand::new(&self.rows[first * self.n..], self.n).from(0, from);
        let mut dots = vec![T::ZERO; b * b];
        gemm(
            (b, b, self.n - from),
            T::ONE,
            v,
            v.transposed(),
            T::ZERO,
            &mut dots,
        );
        let mut t = vec![T::ZERO; b * b];
        for j in 0..b {
            let tau = self.taus[first + j];
            for i in 0..j {
                let sum: T = (i..j).map(|k| t[i * b + k] * dots[k * b + j]).sum();
                t[i * b + j] = -tau * sum;
            }
            t[j * b + j] = tau;
        }
        t
    }

    /// Applies a block to `m` rows of `n` numbers from the right, or the transposed block.
    fn apply(&self, (first, b): (usize, usize), back: bool, x: &mut [T], m: usize) {
        if m == 0 {
            return;
        }
        let (n, from) = (self.n, first + self.shift);
        let v = Operand::new(&self.rows[first * n..], n).from(0, from);
        let (mut dots, mut weights) = (vec![T::ZERO; m * b], vec![T::ZERO; m * b]);
        let here = Operand::new(x, n).from(0, from);
        gemm(
            (m, b, n - from),
            T::ONE,
            here,
            v.transposed(),
            T::ZERO,
            &mut dots,
        );
        let t = self.block(first, b);
        let factor = Operand::new(&t, b).flipped(back);
        gemm(
            (m, b, b),
            T::ONE,
            Operand::new(&dots, b),
            factor,
            T::ZERO,
            &mut weights,
        );
        let weights = Operand::new(&weights, b);
        gemm_within(
            (m, n - from, b),
            -T::ONE,
            weights,
            v,
            T::ONE,
            (&mut x[from..], n),
        );
    }

    /// The first rows of the product of all reflectors, the last one first.
    pub(crate) fn product(&self, out: &mut [T]) {
        let n = self.n;
        let m = out.len() / n.max(1);
        out.fill(T::ZERO);
        (0..m).for_each(|i| out[i * n + i] = T::ONE);
        let k = self.taus.len();
        for first in (0..k).step_by(BLOCK).rev() {
            let b = BLOCK.min(k - first);
            // Rows before are still those of the identity, which have nothing there.
            let at = (first + self.shift).min(m);
            self.apply((first, b), true, &mut out[at * n..], m - at);
        }
    }
}

/// `A = L Q`: `a` is `m` by `n` with `m <= n`; gives `Q` there, and `L`.
pub(crate) fn lq<T: RowsDot>(a: &mut [T], (m, n): (usize, usize), l: &mut [T]) {
    let mut all = Reflectors::new(m, n, 0);
    for first in (0..m).step_by(BLOCK) {
        let b = BLOCK.min(m - first);
        for i in first..first + b {
            let (done, rest) = a.split_at_mut((i + 1) * n);
            let v = &mut all.rows[i * n..][..n];
            v[i..].copy_from_slice(&done[i * n + i..]);
            let (tau, to) = reflector(&mut v[i..]);
            all.taus[i] = tau;
            done[i * n + i] = to;
            let below = first + b - i - 1;
            let mut dots = [T::ZERO; BLOCK];
            let here = Operand::new(rest, n).from(0, i);
            let column = Operand::new(&v[i..], n).transposed();
            gemm((below, 1, n - i), tau, here, column, T::ZERO, &mut dots);
            for (row, &x) in rest.chunks_exact_mut(n).zip(&dots[..below]) {
                subtract(&mut row[i..], x, &v[i..]);
            }
        }
        let below = m - first - b;
        all.apply((first, b), false, &mut a[(first + b) * n..], below);
    }
    for i in 0..m {
        l[i * m..][..=i].copy_from_slice(&a[i * n..][..=i]);
        l[i * m..][i + 1..m].fill(T::ZERO);
    }
    all.product(a);
}
