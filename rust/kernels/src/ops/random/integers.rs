//! Whole numbers of an interval: random bits times its length, of which the upper part counts. With at
//! least 32 bits more than the length has, no number is more likely than another by 2^-32.

use crate::api::check::{arity, unsupported};
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, Row};
use crate::copy::fill::fill;
use crate::draws::words::fill_words;
use ferromix_base::{DType, Element, Error, Result};

const NAME: &str = "_random_randint";

pub(crate) const ROWS: &[Row] = &[Row::new(NAME, prepare).random()];

/// Elements of a task, and those whose words are made together.
const GRAIN: usize = 1 << 13;
const BLOCK: usize = 512;

struct Integers {
    low: i64,
    /// How many numbers there are; at least one.
    count: u64,
}

impl Kernel for Integers {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let random = call
            .random
            .ok_or_else(|| Error::internal("a random operator was run without random numbers"))?;
        let (out, req) = (&mut call.outputs[0], call.reqs[0]);
        match out.dtype() {
            DType::I32 => fill(out, req, GRAIN, |at, out: &mut [i32]| {
                self.set(random, at, out, |x| x as i32);
            }),
            _ => fill(out, req, GRAIN, |at, out: &mut [i64]| {
                self.set(random, at, out, |x| x);
            }),
        }
    }
}

impl Integers {
    /// Short intervals take half a block for each element, long ones a block.
    fn set<T: Element>(&self, random: Stream, at: usize, out: &mut [T], to: impl Fn(i64) -> T) {
        let mut words = [0; 4 * BLOCK];
        let each = if self.count < 1 << 32 { 2 } else { 4 };
        for (i, out) in out.chunks_mut(BLOCK).enumerate() {
            let words = &mut words[..each * out.len()];
            fill_words(random, ((at + i * BLOCK) * each / 4) as u64, words);
            for (x, words) in out.iter_mut().zip(words.chunks_exact(each)) {
                *x = to(self.low.wrapping_add(self.place(words) as i64));
            }
        }
    }

    /// A number below `count`.
    fn place(&self, words: &[u32]) -> u64 {
        let [a, b] = [u64::from(words[0]), u64::from(words[1])];
        if let [_, _, c, d] = *words {
            let (high, low) = (a << 32 | b, u64::from(c) << 32 | u64::from(d));
            let count = u128::from(self.count);
            let upper = u128::from(high) * count + ((u128::from(low) * count) >> 64);
            return (upper >> 64) as u64;
        }
        (a * self.count + ((b * self.count) >> 32)) >> 32
    }
}

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([], [out]) = arity(NAME, i, o)?;
    let most = match out.dtype {
        DType::I32 => i64::from(i32::MIN)..=i64::from(i32::MAX),
        DType::I64 => i64::MIN..=i64::MAX,
        other => return Err(unsupported(NAME, other, &[DType::I32, DType::I64])),
    };
    let int = |name| attrs.int(name).map_err(|e| e.within(NAME));
    let (low, high) = (int("low")?, int("high")?);
    if low >= high {
        return Err(Error::value(format!(
            "{NAME}: low must be below high, got low={low}, high={high}"
        )));
    }
    if !most.contains(&low) || !most.contains(&(high - 1)) {
        return Err(Error::value(format!(
            "{NAME}: numbers from low={low} to below high={high} do not fit into {}",
            out.dtype
        )));
    }
    Ok(Box::new(Integers {
        low,
        count: high.wrapping_sub(low) as u64,
    }))
}
