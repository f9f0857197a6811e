//! Products of gradients with the states that steps began with.

use super::Given;
use super::net::Net;
use crate::linalg::gemm::{Operand, gemm};
use crate::linalg::rows_dot::RowsDot;

/// The states that steps began with.
pub(super) struct History<'a, T> {
    pub(super) net: &'a Net,
    pub(super) given: &'a Given<'a, T>,
    pub(super) layer: usize,
    pub(super) d: usize,
    pub(super) outputs: &'a [T],
}

impl<T: RowsDot> History<'_, T> {
    /// The product of gradients, `wide` apart of which the first `count` are taken, with the states.
    pub(super) fn product(
        &self,
        (grads, wide, count): (&[T], usize, usize),
        first: &mut [T],
        beta: T,
        to: &mut [T],
    ) {
        let Net { batch, steps, .. } = *self.net;
        let (out, across) = (self.net.out(), self.net.across());
        let own = self.d * out;
        let rows = steps.saturating_sub(1) * batch;
        let (later, before) = if self.d == 0 { (batch, 0) } else { (0, batch) };
        // Where there is but one step, nothing is multiplied.
        let a = grads.get(later * wide..).unwrap_or_default();
        let b = self
            .outputs
            .get(before * across + own..)
            .unwrap_or_default();
        let (a, b) = (Operand::new(a, wide).transposed(), Operand::new(b, across));
        gemm((count, out, rows), T::ONE, a, b, beta, to);
        let first = &mut first[..batch * count];
        for (row, to) in first.chunks_exact_mut(count).enumerate() {
            match self.given.lengths.first(row, self.d, steps) {
                Some(t) => {
                    let at = (t * batch + row) * wide;
                    to.copy_from_slice(&grads[at..at + count]);
                }
                None => to.fill(T::ZERO),
            }
        }
        let n = batch * out;
        let at = (self.layer * self.net.directions + self.d) * n;
        let states = Operand::new(&self.given.state[at..at + n], out);
        let first = Operand::new(first, count).transposed();
        gemm((count, out, batch), T::ONE, first, states, T::ONE, to);
    }
}
