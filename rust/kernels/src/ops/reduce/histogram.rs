//! How many numbers fall between the edges of bins.

use crate::api::prepared::{boxed, check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::copy::fill::part;
use crate::par;
use ferromix_base::{Error, Result};
use std::sync::{Mutex, PoisonError};

const NAME: &str = "_histogram";
/// Numbers that are read at a time.
const BLOCK: usize = 1024;
/// Numbers of a task, at least.
const GRAIN: usize = 65_536;

pub(crate) const ROWS: &[Row] = &[Row::new(NAME, prepare)];

/// Ends of bins of one width.
#[derive(Clone, Copy)]
struct Even {
    low: f64,
    high: f64,
    /// Bins in a width of 1.
    scale: f64,
}

/// Where bins begin, and the end of the last one.
struct Edges {
    at: Vec<f64>,
    even: Option<Even>,
}

impl Edges {
    /// The bin of a number. The end of the last bin is in it, as in NumPy.
    #[inline(always)]
    fn bin(&self, x: f64) -> Option<usize> {
        let count = self.at.len() - 1;
        match self.even {
            Some(Even { low, high, scale }) => {
                if !(low <= x && x <= high) {
                    return None;
                }
                // As edges are rounded to the type of the data, the neighbours are looked at, too.
                let guess = ((x - low) * scale) as usize;
                let guess = guess.min(count - 1);
                let guess = guess - usize::from(guess > 0 && x < self.at[guess]);
                Some(guess + usize::from(guess + 1 < count && x >= self.at[guess + 1]))
            }
            None => {
                let inside = self.at[0] <= x && x <= self.at[count];
                let above = self.at.partition_point(|edge| *edge <= x);
                inside.then(|| above.clamp(1, count) - 1)
            }
        }
    }
}

fn count(edges: &Edges, data: &View) -> Result<Vec<i64>> {
    let bins = edges.at.len() - 1;
    let sums = Mutex::new(vec![0_i64; bins]);
    let failure = std::sync::OnceLock::new();
    let data = data.flattened();
    par::for_ranges(data.len(), GRAIN.max(4 * bins), |range| {
        let (mut own, mut block) = (vec![0_i64; bins], [0f64; BLOCK]);
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            let read = View::of_slice(&mut block[..n], &[n])
                .and_then(|to| assign(&part(&data, start, n), &to, Req::Write));
            if let Err(error) = read {
                failure.get_or_init(|| error);
                return;
            }
            block[..n]
                .iter()
                .filter_map(|x| edges.bin(*x))
                .for_each(|bin| own[bin] += 1);
        }
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.iter_mut().zip(&own).for_each(|(sum, n)| *sum += n);
    });
    let sums = sums.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.into_inner().map_or(Ok(sums), Err)
}

/// Edges as the type of the data holds them.
fn rounded(mut edges: Vec<f64>, like: &View) -> Result<Vec<f64>> {
    let mut bytes = vec![0_u64; edges.len()];
    let shape = like.shape();
    let strides = like.strides().into();
    // SAFETY: eight bytes for each element, of which none is larger.
    let typed = unsafe {
        View::from_raw(
            bytes.as_mut_ptr().cast(),
            like.dtype(),
            shape.into(),
            strides,
        )
    };
    let wide = View::of_slice(&mut edges, shape)?;
    assign(&wide, &typed, Req::Write)?;
    assign(&typed, &wide, Req::Write)?;
    Ok(edges)
}

fn run(even: Option<Even>, call: &mut Call<'_>) -> Result<()> {
    let n = call.outputs[1].len();
    let edges = match even {
        Some(Even { low, high, .. }) => {
            let bins = (n - 1) as f64;
            let at = |i: usize| (high * i as f64 + (bins - i as f64) * low) / bins;
            rounded((0..n).map(at).collect(), &call.outputs[1])?
        }
        None => {
            let mut at = vec![0.0; n];
            assign(&call.inputs[1], &View::of_slice(&mut at, &[n])?, Req::Write)?;
            at
        }
    };
    let mut edges = Edges { at: edges, even };
    let mut counts = count(&edges, &call.inputs[0])?;
    let bins = counts.len();
    assign(
        &View::of_slice(&mut counts, &[bins])?,
        &call.outputs[0],
        call.reqs[0],
    )?;
    assign(
        &View::of_slice(&mut edges.at, &[n])?,
        &call.outputs[1],
        call.reqs[1],
    )
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let even = if attrs.has("bin_cnt") {
        let range = attrs.floats("range")?;
        let [low, high] = range[..] else {
            return Err(Error::value(format!(
                "{NAME}: range must be two numbers, got {range:?}"
            )));
        };
        // A range without width becomes one of width 1.
        let wide = if low == high { 0.5 } else { 0.0 };
        let (low, high) = (low - wide, high + wide);
        let scale = attrs.int("bin_cnt")? as f64 / (high - low);
        Some(Even { low, high, scale })
    } else {
        None
    };
    check_count(NAME, (i, if even.is_some() { 1 } else { 2 }), (o, 2))?;
    let Some(bins) = o[1]
        .shape
        .first()
        .and_then(|n| n.checked_sub(1))
        .filter(|n| *n > 0)
    else {
        return Err(Error::value(format!(
            "{NAME}: no bins in edges of {:?}",
            o[1].shape
        )));
    };
    check_shape(NAME, "the output of counts", &o[0], &[bins])?;
    check_shape(
        NAME,
        "bins",
        if even.is_some() { &o[1] } else { &i[1] },
        &[bins + 1],
    )?;
    boxed(move |call: &mut Call<'_>| run(even, call))
}
