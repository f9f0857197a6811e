//! Activation functions: `Activation` (its backward pass reads the output, that of softsign the
//! input) and `LeakyReLU` with its relatives (whose backward pass reads the input).

use crate::api::prepared::{boxed, check_args, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row};
use crate::blocks::blockwise::{self, Body};
use crate::blocks::raw::Source;
use crate::blocks::sums;
use crate::math::real::{Float, Real, by_float};
use crate::par;
use crate::simd::vector::multiversion;
use ferromix_base::{Error, Result};

pub(crate) const ROWS: &[Row] = &[
    Row::new("Activation", prepare_forward).pointwise(),
    Row::new("_backward_Activation", prepare_backward).pointwise(),
    Row::new("LeakyReLU", prepare_leaky),
    Row::new("_backward_LeakyReLU", prepare_leaky_backward),
];

macro_rules! forward_functions {
    ($($name:ident: $x:ident => $y:expr;)*) => { multiversion! {$(
        fn $name<R: Real>(x: &[R], y: &mut [R]) {
            for (y, &$x) in y.iter_mut().zip(x) {
                *y = $y;
            }
        }
    )*} };
}

macro_rules! backward_functions {
    ($($name:ident: $g:ident, $y:ident => $d:expr;)*) => { multiversion! {$(
        fn $name<R: Real>(g: &[R], y: &[R], d: &mut [R]) {
            for ((d, &$g), &$y) in d.iter_mut().zip(g).zip(y) {
                *d = $d;
            }
        }
    )*} };
}

forward_functions! {
    relu: x => if x <= R::ZERO { R::ZERO } else { x };
    sigmoid: x => x.sigmoid();
    tanh: x => x.tanh();
    softrelu: x => if x > R::of(20.0) { x } else { x.exp().ln_1p() };
    softsign: x => x / (R::ONE + x.abs());
}

backward_functions! {
    // Of NaN the slope is NaN, too.
    relu_grad: g, y => g * if y > R::ZERO { R::ONE } else if y <= R::ZERO { R::ZERO } else { y };
    sigmoid_grad: g, y => g * y * (R::ONE - y);
    tanh_grad: g, y => g * (R::ONE - y * y);
    softrelu_grad: g, y => -g * (-y).exp_m1();
    // From the input: near 1 the output has lost how large it was.
    softsign_grad: g, x => g / (R::ONE + x.abs()) / (R::ONE + x.abs());
}

type Forward<R> = fn(&[R], &mut [R]);
type Backward<R> = fn(&[R], &[R], &mut [R]);

fn activation<R: Real>(act_type: &str) -> Result<(Forward<R>, Backward<R>)> {
    Ok(match act_type {
        "relu" => (relu, relu_grad),
        "sigmoid" => (
            R::sigmoid_loops().map_or(sigmoid as Forward<R>, |l| l.0),
            sigmoid_grad,
        ),
        "tanh" => (R::tanh_loop().unwrap_or(tanh), tanh_grad),
        "softrelu" => (softrelu, softrelu_grad),
        "softsign" => (softsign, softsign_grad),
        other => {
            return Err(Error::value(format!(
                "Activation: unknown act_type '{other}'; known: relu, sigmoid, tanh, softrelu, softsign"
            )));
        }
    })
}

fn prepare_forward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    check_args("Activation", (ins, 1), (outs, 1))?;
    check_shape("Activation", "output", &outs[0], &ins[0].shape)?;
    by_float!("Activation", ins[0].dtype, T => {
        let f = activation::<<T as Float>::Real>(attrs.str("act_type")?)?.0;
        boxed(move |call| {
            blockwise::map::<T, 1>([&call.inputs[0]], &mut call.outputs[0], call.reqs[0], &|[x], y| f(x, y))
        })
    })
}

fn prepare_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_Activation";
    check_args(name, (ins, 2), (outs, 1))?;
    check_shape(name, "out", &ins[1], &ins[0].shape)?;
    check_shape(name, "gradient", &outs[0], &ins[0].shape)?;
    by_float!(name, ins[0].dtype, T => {
        let f = activation::<<T as Float>::Real>(attrs.str("act_type")?)?.1;
        boxed(move |call| {
            let [g, y] = [&call.inputs[0], &call.inputs[1]];
            blockwise::map::<T, 2>([g, y], &mut call.outputs[0], call.reqs[0], &|[g, y], d| f(g, y, d))
        })
    })
}

/// The constants of the self-normalising unit (Klambauer et al., 2017).
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_LAMBDA: f64 = 1.050_700_987_355_480_5;

multiversion! {
    fn leaky<R: Real>(x: &[R], slope: R, y: &mut [R]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = if x > R::ZERO { x } else { x * slope };
        }
    }
    fn leaky_grad<R: Real>(g: &[R], x: &[R], slope: R, d: &mut [R]) {
        for ((d, &g), &x) in d.iter_mut().zip(g).zip(x) {
            *d = if x > R::ZERO { g } else { g * slope };
        }
    }
    /// `scale * x` above zero, `scale * slope * (exp(x) - 1)` below.
    fn elu<R: Real>(x: &[R], slope: R, scale: R, y: &mut [R]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = scale * if x > R::ZERO { x } else { slope * x.exp_m1() };
        }
    }
    fn elu_grad<R: Real>(g: &[R], x: &[R], slope: R, scale: R, d: &mut [R]) {
        for ((d, &g), &x) in d.iter_mut().zip(g).zip(x) {
            *d = g * scale * if x > R::ZERO { R::ONE } else { slope * x.exp() };
        }
    }
}

forward_functions! {
    gelu: x => R::of(0.5) * x * (R::ONE + (x * R::of(std::f64::consts::FRAC_1_SQRT_2)).erf());
}
backward_functions! {
    gelu_grad: g, x => {
        let cdf = R::of(0.5) * (R::ONE + (x * R::of(std::f64::consts::FRAC_1_SQRT_2)).erf());
        let pdf = (R::of(-0.5) * x * x).exp() * R::of(0.398_942_280_401_432_7);
        g * (cdf + x * pdf)
    };
}

/// What `LeakyReLU` computes.
#[derive(Clone, Copy)]
enum Leaky {
    Slope(f64),
    Elu { slope: f64, scale: f64 },
    Gelu,
    Learned(Channels),
}

/// How the learned slopes of a `prelu` lie over the data: `[outer, count, inner]`.
#[derive(Clone, Copy)]
struct Channels {
    outer: usize,
    count: usize,
    inner: usize,
}

impl Channels {
    fn new(data: &[usize], gamma: &Desc) -> Result<Self> {
        let count: usize = gamma.shape.iter().product();
        let axis = usize::from(data.len() > 1);
        if count == 1 {
            let inner = data.iter().product();
            return Ok(Channels {
                outer: 1,
                count,
                inner,
            });
        }
        if data.is_empty() || data[axis] != count {
            return Err(Error::value(format!(
                "LeakyReLU: gamma of {count} elements does not fit data of shape {data:?}; \
                 prelu takes one slope, or one per channel (axis 1)"
            )));
        }
        let outer = data[..axis].iter().product();
        let inner = data[axis + 1..].iter().product();
        Ok(Channels {
            outer,
            count,
            inner,
        })
    }
}

impl Leaky {
    fn new(attrs: &Attrs, data: &Desc, gamma: Option<&Desc>) -> Result<Self> {
        let slope = || attrs.float("slope");
        Ok(match (attrs.str("act_type")?, gamma) {
            ("leaky", _) => Leaky::Slope(slope()?),
            ("elu", _) => Leaky::Elu {
                slope: slope()?,
                scale: 1.0,
            },
            ("selu", _) => Leaky::Elu {
                slope: SELU_ALPHA,
                scale: SELU_LAMBDA,
            },
            ("gelu", _) => Leaky::Gelu,
            ("prelu", Some(gamma)) => Leaky::Learned(Channels::new(&data.shape, gamma)?),
            ("prelu", None) => return Err(Error::value("LeakyReLU: act_type 'prelu' needs gamma")),
            (other, _) => {
                return Err(Error::value(format!(
                    "LeakyReLU: unknown act_type '{other}'; known: leaky, elu, prelu, selu, gelu"
                )));
            }
        })
    }
}

fn prepare_leaky(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let n = if ins.len() == 2 { 2 } else { 1 };
    check_args("LeakyReLU", (ins, n), (outs, 1))?;
    check_shape("LeakyReLU", "output", &outs[0], &ins[0].shape)?;
    let kind = Leaky::new(attrs, &ins[0], ins.get(1))?;
    by_float!("LeakyReLU", ins[0].dtype, T => boxed(move |call| leaky_forward::<T>(kind, call)))
}

fn leaky_forward<T: Float>(kind: Leaky, call: &mut Call<'_>) -> Result<()> {
    type R<T> = <T as Float>::Real;
    let run = |call: &mut Call<'_>, body: Body<'_, R<T>, 1>| {
        blockwise::map::<T, 1>([&call.inputs[0]], &mut call.outputs[0], call.reqs[0], body)
    };
    match kind {
        Leaky::Slope(slope) => run(call, &|[x], y| leaky(x, R::<T>::of(slope), y)),
        Leaky::Elu { slope, scale } => run(call, &|[x], y| {
            elu(x, R::<T>::of(slope), R::<T>::of(scale), y)
        }),
        Leaky::Gelu => run(call, &|[x], y| gelu(x, y)),
        Leaky::Learned(c) => {
            let gamma = call.inputs[1].read::<T>()?;
            by_channel::<T, 1>(c, call, [0], &|channel, [x], y| {
                leaky(x, gamma[channel].up(), y)
            })
        }
    }
}

/// Work on the elements of one channel.
type ChannelBody<'a, R, const N: usize> = &'a (dyn Fn(usize, [&[R]; N], &mut [R]) + Sync);

/// Runs `body` on every row of a channel, with the channel's number, from inputs `which` to
/// output 0.
fn by_channel<T: Float, const N: usize>(
    c: Channels,
    call: &mut Call<'_>,
    which: [usize; N],
    body: ChannelBody<'_, T::Real, N>,
) -> Result<()> {
    let req = call.reqs[0];
    if req == Req::Null {
        return Ok(());
    }
    let mut sources = Vec::with_capacity(N);
    for i in which {
        sources.push(Source::<T>::of(&call.inputs[i])?);
    }
    let target = crate::blocks::raw::Target::of(&mut call.outputs[0])?;
    let grain = (32_768 / c.inner.max(1)).max(1);
    par::for_ranges(c.outer * c.count, grain, |rows| {
        let mut buffers = blockwise::Buffers::new();
        for row in rows {
            let start = row * c.inner;
            let inputs = std::array::from_fn(|j| (sources[j], start));
            let body: Body<'_, T::Real, N> = &|xs, y| body(row % c.count, xs, y);
            // SAFETY: each row belongs to one task.
            unsafe { blockwise::run(&mut buffers, inputs, (target, start), c.inner, req, body) };
        }
    });
    Ok(())
}

fn prepare_leaky_backward(attrs: &Attrs, ins: &[Desc], outs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_LeakyReLU";
    let learned = ins.len() == 3;
    check_args(
        name,
        (ins, if learned { 3 } else { 2 }),
        (outs, if learned { 2 } else { 1 }),
    )?;
    check_shape(name, "data", &ins[1], &ins[0].shape)?;
    check_shape(name, "data gradient", &outs[0], &ins[0].shape)?;
    if learned {
        check_shape(name, "gamma gradient", &outs[1], &ins[2].shape)?;
    }
    let kind = Leaky::new(attrs, &ins[1], ins.get(2))?;
    by_float!(name, ins[0].dtype, T => boxed(move |call| leaky_backward::<T>(kind, call)))
}

fn leaky_backward<T: Float>(kind: Leaky, call: &mut Call<'_>) -> Result<()> {
    type R<T> = <T as Float>::Real;
    let run = |call: &mut Call<'_>, body: Body<'_, R<T>, 2>| {
        let inputs = [&call.inputs[0], &call.inputs[1]];
        blockwise::map::<T, 2>(inputs, &mut call.outputs[0], call.reqs[0], body)
    };
    match kind {
        Leaky::Slope(slope) => run(call, &|[g, x], d| leaky_grad(g, x, R::<T>::of(slope), d)),
        Leaky::Elu { slope, scale } => run(call, &|[g, x], d| {
            elu_grad(g, x, R::<T>::of(slope), R::<T>::of(scale), d)
        }),
        Leaky::Gelu => run(call, &|[g, x], d| gelu_grad(g, x, d)),
        Leaky::Learned(c) => {
            // First the slopes: the data gradient may overwrite the gradient that both read.
            slopes_gradient::<T>(c, call)?;
            let gamma = call.inputs[2].read::<T>()?;
            by_channel::<T, 2>(c, call, [0, 1], &|channel, [g, x], d| {
                leaky_grad(g, x, gamma[channel].up(), d);
            })
        }
    }
}

fn slopes_gradient<T: Float>(c: Channels, call: &mut Call<'_>) -> Result<()> {
    let req = call.reqs[1];
    if req == Req::Null {
        return Ok(());
    }
    let g = call.inputs[0].read::<T>()?;
    let x = call.inputs[1].read::<T>()?;
    let target = crate::blocks::raw::Target::<T>::of(&mut call.outputs[1])?;
    let lift = |s: &[T]| -> Vec<T::Real> { s.iter().map(|v| v.up()).collect() };
    par::for_each(c.count, |channel| {
        let mut total = 0.0;
        for outer in 0..c.outer {
            let start = (outer * c.count + channel) * c.inner;
            let row = start..start + c.inner;
            total += match (T::plain(&g[row.clone()]), T::plain(&x[row.clone()])) {
                (Some(g), Some(x)) => sums::sum_below(g, x),
                _ => sums::sum_below(&lift(&g[row.clone()]), &lift(&x[row])),
            };
        }
        // SAFETY: each channel belongs to one task.
        let out = unsafe { target.slice(channel..channel + 1) };
        blockwise::store(&[T::Real::of(total)], out, req);
    });
    Ok(())
}
