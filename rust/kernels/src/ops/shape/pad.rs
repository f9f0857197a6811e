//! Padding: a border of a constant, of the nearest elements, or of those behind the edge as in a
//! mirror. Along each axis the border, the tensor and the border again are affine pieces, so the
//! output falls into one piece for each combination.

use crate::affine::{AffineCopy, AffineMap};
use crate::api::check::{arity, leading};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use ferromix_base::{DType, Error, Result};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Constant,
    Edge,
    Reflect,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Data,
    Value,
}

/// Elements of an output axis, and where they come from: from `first` on, `step` apart.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    extent: usize,
    first: usize,
    step: isize,
    source: Source,
}

/// The pieces of an axis of `n` elements with borders of `before` and `after`.
fn pieces(mode: Mode, n: usize, before: usize, after: usize) -> Vec<Piece> {
    let source = match mode {
        Mode::Constant => Source::Value,
        Mode::Edge | Mode::Reflect => Source::Data,
    };
    let step = if mode == Mode::Reflect { -1 } else { 0 };
    let [low, high] = match mode {
        Mode::Reflect => [before, n.saturating_sub(2)],
        Mode::Constant | Mode::Edge => [0, n.saturating_sub(1)],
    };
    let border = |start, extent, first| Piece {
        start,
        extent,
        first,
        step,
        source,
    };
    let middle = Piece {
        start: before,
        extent: n,
        first: 0,
        step: 1,
        source: Source::Data,
    };
    let all = [
        border(0, before, low),
        middle,
        border(before + n, after, high),
    ];
    all.into_iter().filter(|p| p.extent > 0).collect()
}

/// The layouts of the data and of the output for one piece of each axis.
fn layouts(pieces: &[Piece]) -> (AffineMap, AffineMap) {
    let axes = pieces.iter().enumerate();
    axes.fold(
        Default::default(),
        |(data, out): (AffineMap, AffineMap), (a, p)| {
            let data = if p.step == 0 {
                data.repeated(p.extent)
            } else {
                data.along(a, p.extent, p.step)
            };
            (
                data.from(a, p.first),
                out.along(a, p.extent, 1).from(a, p.start),
            )
        },
    )
}

/// Every combination of one piece of each axis.
fn combinations(axes: &[Vec<Piece>]) -> Vec<Vec<Piece>> {
    axes.iter().fold(vec![Vec::new()], |found, axis| {
        let extend = |head: &Vec<Piece>| {
            let head = head.clone();
            axis.iter().map(move |&p| [head.as_slice(), &[p]].concat())
        };
        found.iter().flat_map(extend).collect()
    })
}

/// Where a part of the output comes from.
enum Part {
    Data(AffineCopy),
    Value(AffineCopy),
}

struct Pad {
    parts: Vec<Part>,
    value: f64,
}

impl Kernel for Pad {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (data, out, req) = (&call.inputs[0], &call.outputs[0], call.reqs[0]);
        let mut bits = [0u64];
        let cell = View::cell(&mut bits, out.dtype());
        assign(&View::of_slice(&mut [self.value], &[])?, &cell, Req::Write)?;
        self.parts.iter().try_for_each(|part| match part {
            Part::Data(part) => part.part(data, out, req),
            Part::Value(part) => part.part(&cell, out, req),
        })
    }
}

/// Sums what came from each element.
struct Back {
    parts: Vec<AffineCopy>,
}

impl Kernel for Back {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (grad, out, req) = (&call.inputs[0], &call.outputs[0], call.reqs[0]);
        if req == Req::Null {
            return Ok(());
        }
        if out.dtype() == DType::F64 {
            let mut sums = vec![0f64; out.len()];
            return self.sum(grad, &View::of_slice(&mut sums, out.shape())?, out, req);
        }
        let mut sums = vec![0f32; out.len()];
        self.sum(grad, &View::of_slice(&mut sums, out.shape())?, out, req)
    }
}

impl Back {
    fn sum(&self, grad: &View, sums: &View, out: &View, req: Req) -> Result<()> {
        self.parts
            .iter()
            .try_for_each(|part| part.part(grad, sums, Req::Add))?;
        assign(sums, out, req)
    }
}

fn mode(name: &str, attrs: &Attrs) -> Result<Mode> {
    match attrs.str("mode")? {
        "constant" => Ok(Mode::Constant),
        "edge" => Ok(Mode::Edge),
        "reflect" => Ok(Mode::Reflect),
        other => Err(Error::value(format!(
            "{name}: mode must be constant, edge or reflect, got {other}"
        ))),
    }
}

/// The pieces of all axes of a tensor of shape `data` that is padded to `out`.
fn plan(name: &str, attrs: &Attrs, data: &[usize], out: &[usize]) -> Result<Vec<Vec<Piece>>> {
    let mode = mode(name, attrs)?;
    let widths = attrs.extents("pad_width", 2 * data.len(), 0)?;
    let mut axes = Vec::new();
    for (a, (&n, width)) in data.iter().zip(widths.chunks_exact(2)).enumerate() {
        let (before, after) = (width[0], width[1]);
        let most = before.max(after);
        let missing = match mode {
            Mode::Constant => false,
            Mode::Edge => n == 0 && most > 0,
            Mode::Reflect => most > 0 && most >= n,
        };
        if missing || out.get(a) != Some(&(n + before + after)) {
            return Err(Error::value(format!(
                "{name}: axis {a} of shape {data:?} cannot be padded by {before} and {after} to \
                 shape {out:?}"
            )));
        }
        axes.push(pieces(mode, n, before, after));
    }
    Ok(axes)
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "Pad";
    let ([data], [out]) = arity(name, i, o)?;
    let constant = Desc::new(&[], out.dtype);
    let mut parts = Vec::new();
    for pieces in combinations(&plan(name, attrs, &data.shape, &out.shape)?) {
        let (from, to) = layouts(&pieces);
        parts.push(if pieces.iter().any(|p| p.source == Source::Value) {
            let repeated = |l: AffineMap, p: &Piece| l.repeated(p.extent);
            let from = pieces.iter().fold(AffineMap::default(), repeated);
            Part::Value(AffineCopy::new(name, (from, &constant), (to, out))?)
        } else {
            Part::Data(AffineCopy::new(name, (from, data), (to, out))?)
        });
    }
    let value = attrs.float("constant_value")?;
    Ok(Box::new(Pad { parts, value }))
}

fn prepare_back(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_backward_Pad";
    let ([grad], [out]) = leading(name, i, o)?;
    let mut parts = Vec::new();
    for pieces in combinations(&plan(name, attrs, &out.shape, &grad.shape)?) {
        if pieces.iter().all(|p| p.source == Source::Data) {
            let (data, padded) = layouts(&pieces);
            parts.push(AffineCopy::new(name, (padded, grad), (data, out))?);
        }
    }
    Ok(Box::new(Back { parts }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("Pad", prepare).strided(),
    Row::new("_backward_Pad", prepare_back).strided(),
];
