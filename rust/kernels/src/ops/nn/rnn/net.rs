//! Sizes of a recurrent network, and where its parameters and what forward keeps stand.

use crate::api::{Attrs, Desc};
use crate::blocks::coin::Coin;
use crate::linalg::tile::{Tiled, Tiles};
use crate::math::real::Real;
use crate::par;
use ferromix_base::{Error, Result};
use std::ops::Range;

/// What a cell computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Relu,
    Tanh,
    Lstm,
    Gru,
}

/// The bounds of an LSTM's cell states.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clip {
    low: f64,
    high: f64,
    /// Whether NaN becomes the lower bound.
    nan: bool,
}

impl Clip {
    /// The state within the bounds.
    #[inline(always)]
    pub(super) fn of<R: Real>(self, c: R) -> R {
        let (low, high) = (R::of(self.low), R::of(self.high));
        let c = if self.nan && c.partial_cmp(&c).is_none() {
            low
        } else {
            c
        };
        if c < low {
            low
        } else if c > high {
            high
        } else {
            c
        }
    }
}

/// The sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Net {
    pub(super) mode: Mode,
    pub(super) steps: usize,
    pub(super) batch: usize,
    /// Features of the data.
    pub(super) features: usize,
    /// Units of a cell.
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) directions: usize,
    /// Units that an LSTM's output is projected on.
    pub(super) projection: Option<usize>,
    pub(super) clip: Option<Clip>,
    /// Whether what goes from one layer to the next has factors.
    pub(super) factors: bool,
    /// What the factors are, in training.
    pub(super) coin: Option<Coin>,
    /// Whether sequences have lengths of their own.
    pub(super) lengths: bool,
    /// Whether the last states are outputs.
    pub(super) states: bool,
    /// Threads that kernels share; tiles are wide where each has a task then.
    threads: usize,
}

/// The places of one layer's parameters, of one direction.
pub(super) struct Weights {
    /// `(gates * hidden, input)`.
    pub(super) input: Range<usize>,
    /// `(gates * hidden, out)`.
    pub(super) state: Range<usize>,
    /// `(out, hidden)`, or nothing.
    pub(super) projection: Range<usize>,
    /// `(gates * hidden)` of each.
    pub(super) input_bias: Range<usize>,
    pub(super) state_bias: Range<usize>,
}

/// The product, if there is a number for it.
fn product(factors: &[usize]) -> Option<usize> {
    factors.iter().try_fold(1_usize, |n, &f| n.checked_mul(f))
}

fn sum(terms: &[Option<usize>]) -> Option<usize> {
    terms.iter().try_fold(0_usize, |n, t| n.checked_add((*t)?))
}

fn positive(attrs: &Attrs, name: &str) -> Result<usize> {
    let given = attrs.int(name)?;
    usize::try_from(given)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| Error::value(format!("RNN: {name} must be positive, got {given}")))
}

impl Net {
    /// Sizes for `(steps, batch, features)`.
    pub(super) fn new(attrs: &Attrs, data: &Desc) -> Result<Self> {
        let &[steps, batch, features] = &data.shape[..] else {
            return Err(Error::value(format!(
                "RNN: data must have 3 dimensions (steps, batch, features), got shape {:?}",
                &data.shape[..]
            )));
        };
        let mode = match attrs.str("mode")? {
            "rnn_relu" => Mode::Relu,
            "rnn_tanh" => Mode::Tanh,
            "lstm" => Mode::Lstm,
            "gru" => Mode::Gru,
            other => {
                return Err(Error::value(format!(
                    "RNN: unknown mode '{other}'; known: rnn_relu, rnn_tanh, lstm, gru"
                )));
            }
        };
        let lstm = mode == Mode::Lstm;
        let (hidden, layers) = (
            positive(attrs, "state_size")?,
            positive(attrs, "num_layers")?,
        );
        let projection = match attrs.has("projection_size") {
            true => Some(positive(attrs, "projection_size")?),
            false => None,
        };
        if projection.is_some() && !lstm {
            return Err(Error::value("RNN: projection_size is for mode lstm alone"));
        }
        let bounded = lstm && attrs.has("lstm_state_clip_min") && attrs.has("lstm_state_clip_max");
        let clip = if bounded {
            Some(Clip {
                low: attrs.float("lstm_state_clip_min")?,
                high: attrs.float("lstm_state_clip_max")?,
                nan: attrs.bool("lstm_state_clip_nan")?,
            })
        } else {
            None
        };
        let p = attrs.float("p")?;
        let factors = p > 0.0 && layers > 1;
        let train = attrs.get("__is_train__").is_some() && attrs.bool("__is_train__")?;
        Ok(Net {
            mode,
            steps,
            batch,
            features,
            hidden,
            layers,
            directions: if attrs.bool("bidirectional")? { 2 } else { 1 },
            projection,
            clip,
            factors,
            coin: (factors && train).then(|| Coin::new(p)),
            lengths: attrs.bool("use_sequence_length")?,
            states: attrs.bool("state_outputs")?,
            threads: par::threads(),
        })
    }

    /// The tiles of all products with states.
    pub(super) fn tiles<T: Tiled>(&self) -> Tiles<T> {
        let [states, units] = [self.out(), self.hidden].map(T::tiles_for);
        let tasks = self.directions * self.out().min(self.hidden) / units.width;
        if states.width == units.width && tasks >= self.threads {
            units
        } else {
            T::tiles()
        }
    }

    /// Gates of a unit.
    pub(super) fn gates(&self) -> usize {
        match self.mode {
            Mode::Relu | Mode::Tanh => 1,
            Mode::Lstm => 4,
            Mode::Gru => 3,
        }
    }

    /// Numbers of all gates of a cell.
    pub(super) fn wide(&self) -> usize {
        self.gates() * self.hidden
    }

    /// Numbers of a cell's output.
    pub(super) fn out(&self) -> usize {
        self.projection.unwrap_or(self.hidden)
    }

    /// Numbers of a layer's output.
    pub(super) fn across(&self) -> usize {
        self.directions * self.out()
    }

    /// Numbers of a layer's input.
    pub(super) fn input(&self, layer: usize) -> usize {
        if layer == 0 {
            self.features
        } else {
            self.across()
        }
    }

    /// Numbers of a layer's states of so many units.
    pub(super) fn states_of(&self, units: usize) -> usize {
        self.directions * self.batch * units
    }

    /// Rows of all steps together.
    pub(super) fn rows(&self) -> usize {
        self.steps * self.batch
    }

    /// The number of the step that direction `d` takes as number `s`.
    pub(super) fn step(&self, d: usize, s: usize) -> usize {
        if d == 0 { s } else { self.steps - 1 - s }
    }

    /// States that an LSTM has twice.
    pub(super) fn cells(&self) -> bool {
        self.mode == Mode::Lstm
    }

    /// Whether a number of each unit is kept besides the gates: the cell state, or what the reset
    /// gate of a GRU multiplies.
    pub(super) fn keeps_more(&self) -> bool {
        matches!(self.mode, Mode::Lstm | Mode::Gru)
    }

    /// Whether the last gate's products get a bias of their own, before the reset gate multiplies
    /// them.
    pub(super) fn more_bias(&self) -> bool {
        self.mode == Mode::Gru
    }

    /// How many parameters there are, if that is a number.
    pub(super) fn count(&self) -> Option<usize> {
        let (wide, out) = (product(&[self.gates(), self.hidden])?, self.out());
        let across = product(&[self.directions, out])?;
        let projection = self
            .projection
            .map_or(Some(0), |p| product(&[p, self.hidden]));
        let rest = sum(&[product(&[wide, out]), projection, product(&[2, wide])])?;
        let below = product(&[wide, across])?.checked_add(rest)?;
        let first = product(&[wide, self.features])?.checked_add(rest)?;
        let layers = sum(&[Some(first), product(&[self.layers - 1, below])])?;
        product(&[layers, self.directions])
    }

    /// How many numbers forward keeps, if that is a number.
    pub(super) fn kept(&self) -> Option<usize> {
        let more = usize::from(self.keeps_more()) + usize::from(self.projection.is_some());
        let each = product(&[self.gates() + more, self.hidden])?;
        let rows = product(&[self.steps, self.batch])?;
        let across = product(&[self.directions, self.out(), 1 + usize::from(self.factors)])?;
        sum(&[
            product(&[rows, self.layers, self.directions, each]),
            product(&[rows, self.layers - 1, across]),
        ])
    }

    /// The parameters of a layer and direction. All weights come first, then all biases.
    pub(super) fn weights(&self, layer: usize, d: usize) -> Weights {
        let (wide, out) = (self.wide(), self.out());
        let projection = self.projection.map_or(0, |p| p * self.hidden);
        let each = |layer: usize| wide * (self.input(layer) + out) + projection;
        let before = |layer: usize| match layer {
            0 => 0,
            n => self.directions * (each(0) + (n - 1) * each(1)),
        };
        let input = before(layer) + d * each(layer);
        let state = input + wide * self.input(layer);
        let last = state + wide * out;
        let bias = before(self.layers) + (layer * self.directions + d) * 2 * wide;
        Weights {
            input: input..state,
            state: state..last,
            projection: last..last + projection,
            input_bias: bias..bias + wide,
            state_bias: bias + wide..bias + 2 * wide,
        }
    }
}

/// Where forward keeps what, in one array: for each layer and direction the gates, the further
/// numbers and the outputs before the projection; then for each layer but the last its outputs and
/// factors.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    cell: usize,
    gates: usize,
    more: usize,
    directions: usize,
    between: usize,
    layer: usize,
    factors: bool,
}

impl Kept {
    /// The places for `layers` layers, of which as many as given have outputs here.
    pub(super) fn new(net: &Net, layers: usize) -> Self {
        let (rows, hidden) = (net.rows(), net.hidden);
        let gates = rows * net.wide();
        let more = if net.keeps_more() { rows * hidden } else { 0 };
        let cell = gates + more + net.projection.map_or(0, |_| rows * hidden);
        Kept {
            cell,
            gates,
            more,
            directions: net.directions,
            between: cell * layers * net.directions,
            layer: rows * net.across(),
            factors: net.factors,
        }
    }

    fn at(&self, layer: usize, d: usize) -> usize {
        (layer * self.directions + d) * self.cell
    }

    /// The gates of all steps.
    pub(super) fn gates(&self, layer: usize, d: usize) -> Range<usize> {
        let at = self.at(layer, d);
        at..at + self.gates
    }

    /// The further numbers of all steps.
    pub(super) fn more(&self, layer: usize, d: usize) -> Range<usize> {
        let at = self.at(layer, d) + self.gates;
        at..at + self.more
    }

    /// The outputs before the projection.
    pub(super) fn unprojected(&self, layer: usize, d: usize) -> Range<usize> {
        let at = self.at(layer, d);
        at + self.gates + self.more..at + self.cell
    }

    /// The outputs of a layer.
    pub(super) fn outputs(&self, layer: usize) -> Range<usize> {
        let at = self.between + layer * self.layer * (1 + usize::from(self.factors));
        at..at + self.layer
    }

    /// The factors of the outputs of a layer.
    pub(super) fn factors(&self, layer: usize) -> Range<usize> {
        let end = self.outputs(layer).end;
        end..end + self.layer
    }
}
