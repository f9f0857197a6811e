//! Parameter updates of MXNet 1.9. The new weight is output 0; states are inputs after weight and
//! gradient, and outputs after the weight, in the same memory.
//!
//! With g = clip(`rescale_grad` · grad):
//! `sgd_update`: w' = (1 - lr · wd) w - lr g;
//! `sgd_mom_update`: m' = momentum · m - lr · wd · w - lr g, w' = w + m';
//! `adam_update`, where the decay is within the clipped gradient, g = clip(`rescale_grad` · grad +
//! wd · w): m' = beta1 m + (1 - beta1) g, v' = beta2 v + (1 - beta2) g²,
//! w' = w - lr m' / (√v' + epsilon). A negative or absent `clip_gradient` clips nothing.

use crate::Attrs;
use crate::check::{FLOATS, one_dtype, one_shape, unsupported};
use crate::kernel::{Call, Desc, Kernel, Row};
use crate::loops::GRAIN;
use crate::update::update;
use ferromix_base::{DType, Error, Result};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Sgd,
    Momentum,
    Adam,
}

/// Coefficients, in the type of the computation.
#[derive(Clone, Copy)]
struct Rates<T> {
    lr: T,
    wd: T,
    rescale: T,
    clip: Option<T>,
    /// momentum, or beta1.
    first: T,
    /// beta2.
    second: T,
    epsilon: T,
}

impl Rates<f64> {
    fn from_attrs(name: &str, rule: Rule, attrs: &Attrs) -> Result<Self> {
        let real = |attr: &str| attrs.float(attr).map_err(|e| e.within(name));
        let clip = if attrs.has("clip_gradient") {
            real("clip_gradient")?
        } else {
            -1.0
        };
        let state = |attr: &str, wanted: bool| if wanted { real(attr) } else { Ok(0.0) };
        let adam = rule == Rule::Adam;
        Ok(Rates {
            lr: real("lr")?,
            wd: real("wd")?,
            rescale: real("rescale_grad")?,
            clip: (clip >= 0.0).then_some(clip),
            first: if adam {
                real("beta1")?
            } else {
                state("momentum", rule == Rule::Momentum)?
            },
            second: state("beta2", adam)?,
            epsilon: state("epsilon", adam)?,
        })
    }

    fn single(&self) -> Rates<f32> {
        Rates {
            lr: self.lr as f32,
            wd: self.wd as f32,
            rescale: self.rescale as f32,
            clip: self.clip.map(|c| c as f32),
            first: self.first as f32,
            second: self.second as f32,
            epsilon: self.epsilon as f32,
        }
    }
}

macro_rules! rules {
    ($($T:ident),*) => { $(impl Rates<$T> {
        #[inline(always)]
        fn clipped(&self, g: $T) -> $T {
            match self.clip {
                Some(c) => if g > c { c } else if g < -c { -c } else { g },
                None => g,
            }
        }
        #[inline(always)]
        fn sgd(&self, [w, g]: [$T; 2]) -> [$T; 1] {
            [(1.0 - self.lr * self.wd) * w - self.lr * self.clipped(self.rescale * g)]
        }
        #[inline(always)]
        fn momentum(&self, [w, g, m]: [$T; 3]) -> [$T; 2] {
            let step = self.lr * self.clipped(self.rescale * g);
            let m = self.first * m - self.lr * self.wd * w - step;
            [w + m, m]
        }
        #[inline(always)]
        fn adam(&self, [w, g, m, v]: [$T; 4]) -> [$T; 3] {
            let g = self.clipped(self.rescale * g + self.wd * w);
            let m = self.first * m + (1.0 - self.first) * g;
            let v = self.second * v + (1.0 - self.second) * (g * g);
            [w - self.lr * m / (v.sqrt() + self.epsilon), m, v]
        }
    })* };
}
rules!(f32, f64);

struct Update {
    rule: Rule,
    rates: Rates<f64>,
}

impl Kernel for Update {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        macro_rules! run {
            ($rates:expr) => {{
                let r = $rates;
                match self.rule {
                    Rule::Sgd => update(call, GRAIN, move |x| r.sgd(x)),
                    Rule::Momentum => update(call, GRAIN, move |x| r.momentum(x)),
                    Rule::Adam => update(call, GRAIN, move |x| r.adam(x)),
                }
            }};
        }
        if call.inputs[0].dtype() == DType::F64 {
            run!(self.rates)
        } else {
            run!(self.rates.single())
        }
    }
}

fn prepare(
    name: &str,
    rule: Rule,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let states = match rule {
        Rule::Sgd => 0,
        Rule::Momentum => 1,
        Rule::Adam => 2,
    };
    if i.len() != states + 2 || o.len() != states + 1 {
        return Err(Error::internal(format!(
            "{name} takes {} inputs and {} outputs, got {} and {}",
            states + 2,
            states + 1,
            i.len(),
            o.len()
        )));
    }
    let args: Vec<&Desc> = i.iter().chain(o).collect();
    one_shape(name, &args)?;
    let dtype = one_dtype(name, &args)?;
    if !dtype.is_float() {
        return Err(unsupported(name, dtype, &FLOATS));
    }
    let rates = Rates::from_attrs(name, rule, attrs)?;
    Ok(Box::new(Update { rule, rates }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("sgd_update", |a, i, o| {
        prepare("sgd_update", Rule::Sgd, a, i, o)
    }),
    Row::new("sgd_mom_update", |a, i, o| {
        prepare("sgd_mom_update", Rule::Momentum, a, i, o)
    }),
    Row::new("adam_update", |a, i, o| {
        prepare("adam_update", Rule::Adam, a, i, o)
    }),
];
