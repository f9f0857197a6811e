//! What cells compute for a block of units of some rows: slices that all have one length.

use super::net::{Clip, Mode};
use crate::math::real::Real;
use crate::simd::vector::multiversion;

multiversion! {
    pub(super) fn add<R: Real>(x: &[R], y: &mut [R]) {
        y.iter_mut().zip(x).for_each(|(y, &x)| *y += x);
    }
    pub(super) fn multiply<R: Real>(x: &[R], y: &[R], z: &mut [R]) {
        z.iter_mut().zip(x).zip(y).for_each(|((z, &x), &y)| *z = x * y);
    }
    fn each_sigmoid<R: Real>(x: &mut [R]) {
        x.iter_mut().for_each(|x| *x = x.sigmoid());
    }
    fn relu<R: Real>(x: &mut [R]) {
        x.iter_mut().for_each(|x| *x = if *x <= R::ZERO { R::ZERO } else { *x });
    }
    fn each_tanh<R: Real>(x: &[R], y: &mut [R]) {
        y.iter_mut().zip(x).for_each(|(y, &x)| *y = x.tanh());
    }
    /// `a * b + c * d`.
    fn products<R: Real>(a: &[R], b: &[R], c: &[R], d: &mut [R]) {
        for (((d, &a), &b), &c) in d.iter_mut().zip(a).zip(b).zip(c) {
            *d = a * *d + b * c;
        }
    }
    /// `y + a * b`.
    fn add_product<R: Real>(a: &[R], b: &[R], y: &mut [R]) {
        y.iter_mut().zip(a).zip(b).for_each(|((y, &a), &b)| *y += a * b);
    }
    /// `(1 - z) * n + z * h`.
    fn blend<R: Real>(z: &[R], n: &[R], h: &mut [R]) {
        for ((h, &z), &n) in h.iter_mut().zip(z).zip(n) {
            *h = (R::ONE - z) * n + z * *h;
        }
    }
    fn relu_back<R: Real>(y: &[R], d: &mut [R]) {
        for (d, &y) in d.iter_mut().zip(y) {
            *d *= if y > R::ZERO { R::ONE } else if y <= R::ZERO { R::ZERO } else { y };
        }
    }
    fn tanh_back<R: Real>(y: &[R], d: &mut [R]) {
        d.iter_mut().zip(y).for_each(|(d, &y)| *d *= R::ONE - y * y);
    }
    fn gru_back<R: Real>(r: &[R], z: &[R], n: &[R], more: &[R], old: &[R], dh: &mut [R], d: [&mut [R]; 4]) {
        let len = dh.len();
        let [dr, dz, dn, dm] = d;
        let (r, z, n, more, old) = (&r[..len], &z[..len], &n[..len], &more[..len], &old[..len]);
        let (dr, dz, dn, dm) = (&mut dr[..len], &mut dz[..len], &mut dn[..len], &mut dm[..len]);
        for i in 0..len {
            let g = dh[i];
            dn[i] = g * (R::ONE - z[i]) * (R::ONE - n[i] * n[i]);
            dz[i] = g * (old[i] - n[i]) * z[i] * (R::ONE - z[i]);
            dr[i] = dn[i] * more[i] * r[i] * (R::ONE - r[i]);
            dm[i] = dn[i] * r[i];
            dh[i] = g * z[i];
        }
    }
    fn lstm_back<R: Real>(gates: [&[R]; 4], old: &[R], tanh: &[R], dh: &[R], dc: &mut [R], d: [&mut [R]; 4]) {
        let len = dh.len();
        let [i, f, g, o] = gates.map(|x| &x[..len]);
        let [di, df, dg, d_o] = d.map(|x| &mut x[..len]);
        let (old, tanh, dc) = (&old[..len], &tanh[..len], &mut dc[..len]);
        for k in 0..len {
            d_o[k] = dh[k] * tanh[k] * o[k] * (R::ONE - o[k]);
            let c = dc[k];
            di[k] = c * g[k] * i[k] * (R::ONE - i[k]);
            df[k] = c * old[k] * f[k] * (R::ONE - f[k]);
            dg[k] = c * i[k] * (R::ONE - g[k] * g[k]);
            dc[k] = c * f[k];
        }
    }
    /// The gradient of the cell state, by that of the output.
    fn through_output<R: Real>(o: &[R], tanh: &[R], dh: &[R], dc: &mut [R]) {
        for (((dc, &o), &t), &g) in dc.iter_mut().zip(o).zip(tanh).zip(dh) {
            *dc += g * o * (R::ONE - t * t);
        }
    }
}

/// The logistic function of each.
fn sigmoid<R: Real>(x: &mut [R]) {
    match R::sigmoid_loops() {
        Some((_, in_place)) => in_place(x),
        None => each_sigmoid(x),
    }
}

/// The hyperbolic tangent of each.
fn tanh<R: Real>(x: &[R], y: &mut [R]) {
    R::tanh_loop().unwrap_or(each_tanh)(x, y);
}

/// Numbers of a block, a row of `len` after another.
pub(super) struct Block<'a, R> {
    pub(super) gates: &'a mut [R],
    /// The cell states, or of a GRU what the reset gate multiplies.
    pub(super) more: &'a mut [R],
    /// The old outputs, and then the new ones.
    pub(super) out: &'a mut [R],
    pub(super) spare: &'a mut [R],
    /// Whether the values of the gates are read again.
    pub(super) keeps: bool,
}

/// A step forward: `gates` are sums, and get the values of the gates if these are to be kept. Of an LSTM
/// `more` are the old cell states, and get the new ones.
pub(super) fn forward<R: Real>(mode: Mode, clip: Option<Clip>, b: Block<'_, R>) {
    let n = b.out.len();
    match mode {
        Mode::Relu => {
            relu(b.gates);
            b.out.copy_from_slice(b.gates);
        }
        Mode::Tanh => {
            tanh(b.gates, b.out);
            if b.keeps {
                b.gates.copy_from_slice(b.out);
            }
        }
        Mode::Lstm => {
            let (inputs, rest) = b.gates.split_at_mut(2 * n);
            let (g, o) = rest.split_at_mut(n);
            sigmoid(inputs);
            sigmoid(o);
            tanh(g, b.spare);
            products(&inputs[n..], &inputs[..n], b.spare, b.more);
            if b.keeps {
                g.copy_from_slice(b.spare);
            }
            if let Some(clip) = clip {
                b.more.iter_mut().for_each(|c| *c = clip.of(*c));
            }
            tanh(b.more, b.spare);
            multiply(b.spare, o, b.out);
        }
        Mode::Gru => {
            let (ratios, sums) = b.gates.split_at_mut(2 * n);
            sigmoid(ratios);
            add_product(&ratios[..n], b.more, sums);
            tanh(sums, b.spare);
            blend(&ratios[n..], b.spare, b.out);
            if b.keeps {
                sums.copy_from_slice(b.spare);
            }
        }
    }
}

/// A step back.
pub(super) struct Back<'a, R> {
    pub(super) gates: &'a [R],
    /// The cell states, or of a GRU what the reset gate multiplies.
    pub(super) more: &'a [R],
    /// The old cell states of an LSTM, the old outputs of a GRU.
    pub(super) old: &'a [R],
    /// The gradient of the outputs; then the part of it that goes to the old ones by itself.
    pub(super) out: &'a mut [R],
    /// The gradient of the cell states; then of the old ones.
    pub(super) cell: &'a mut [R],
    /// Gets the gradients of the sums; of a GRU, then those of `more`.
    pub(super) sums: &'a mut [R],
    pub(super) spare: &'a mut [R],
}

/// Runs a step back.
pub(super) fn backward<R: Real>(mode: Mode, clip: Option<Clip>, b: Back<'_, R>) {
    let n = b.out.len();
    let gate = |i: usize| &b.gates[i * n..(i + 1) * n];
    match mode {
        Mode::Relu | Mode::Tanh => {
            b.sums[..n].copy_from_slice(b.out);
            let slope = if mode == Mode::Relu {
                relu_back
            } else {
                tanh_back
            };
            slope(b.gates, &mut b.sums[..n]);
            b.out.fill(R::ZERO);
        }
        Mode::Lstm => {
            tanh(b.more, b.spare);
            through_output(gate(3), b.spare, b.out, b.cell);
            if let Some(clip) = clip {
                for (k, dc) in b.cell.iter_mut().enumerate() {
                    let c = gate(1)[k] * b.old[k] + gate(0)[k] * gate(2)[k];
                    if clip.of(c) != c {
                        *dc = R::ZERO;
                    }
                }
            }
            let gates = [gate(0), gate(1), gate(2), gate(3)];
            lstm_back(gates, b.old, b.spare, b.out, b.cell, quarters(b.sums, n));
            b.out.fill(R::ZERO);
        }
        Mode::Gru => {
            let d = quarters(b.sums, n);
            gru_back(gate(0), gate(1), gate(2), b.more, b.old, b.out, d);
        }
    }
}

fn quarters<R>(x: &mut [R], n: usize) -> [&mut [R]; 4] {
    let (a, rest) = x.split_at_mut(n);
    let (b, rest) = rest.split_at_mut(n);
    let (c, rest) = rest.split_at_mut(n);
    [a, b, c, &mut rest[..n]]
}
