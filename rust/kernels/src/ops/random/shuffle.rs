//! Random orders.
//!
//! Every element goes to one of 256 buckets by a random byte, and buckets follow each other; each is
//! put into an order by the method of Fisher and Yates. So buckets fit into caches, and threads share
//! them. A few elements are one bucket.

use crate::api::check::leading;
use crate::api::prepared::{boxed, check_shape};
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::raw::Target;
use crate::copy::assign;
use crate::draws::words::fill_words;
use crate::par;
use ferromix_base::{DType, Error, Result};

const NAME: &str = "_shuffled_places";

pub(crate) const ROWS: &[Row] = &[Row::new(NAME, prepare).random()];

const BUCKETS: usize = 256;
/// Up to here, one bucket.
const FEW: usize = 1 << 15;
/// Elements that a task puts into buckets.
const PART: usize = 1 << 16;
/// Elements whose words are made together.
const BLOCK: usize = 512;

fn prepare(_: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([data], [out]) = leading(NAME, i, o)?;
    let n = data.shape.first().copied();
    let n = n.ok_or_else(|| Error::value(format!("{NAME}: data must have an axis, got 0-d")))?;
    check_shape(NAME, "output", out, &[n])?;
    if out.dtype != DType::I64 {
        return Err(Error::dtype(format!(
            "{NAME}: places are int64, got {}",
            out.dtype
        )));
    }
    boxed(move |call: &mut Call<'_>| {
        let stream = call
            .random
            .ok_or_else(|| Error::internal("a random operator was run without random numbers"))?;
        let (out, req) = (&mut call.outputs[0], call.reqs[0]);
        match req {
            Req::Null => {}
            Req::Write | Req::Inplace => order(stream, out.write::<i64>()?),
            Req::Add => {
                let mut places = vec![0; n];
                order(stream, &mut places);
                assign(&View::of_slice(&mut places, &[n])?, out, req)?;
            }
        }
        Ok(())
    })
}

/// Sets `out` to the numbers from 0 on in a random order.
fn order(stream: Stream, out: &mut [i64]) {
    let n = out.len();
    if n <= FEW {
        (0..).zip(&mut *out).for_each(|(i, x)| *x = i);
        return mix(stream, 0, out);
    }
    let counts = counts(stream, n);
    // Where each part's elements of each bucket begin: bucket by bucket, in each part by part.
    let (mut starts, mut at) = (counts.clone(), 0);
    let mut bounds = Vec::with_capacity(BUCKETS + 1);
    for bucket in 0..BUCKETS {
        bounds.push(at);
        for (starts, counts) in starts.iter_mut().zip(&counts) {
            starts[bucket] = at;
            at += counts[bucket];
        }
    }
    bounds.push(at);
    let target = Target::of_slice(out);
    par::for_each(starts.len(), |part| {
        let mut next = starts[part];
        each_bucket(stream, part, n, |element, bucket| {
            let at = next[bucket];
            next[bucket] += 1;
            // SAFETY: places of this part's elements of the bucket, as many as were counted.
            unsafe { target.slice(at..at + 1)[0] = element as i64 };
        });
    });
    par::for_each(BUCKETS, |bucket| {
        let range = bounds[bucket]..bounds[bucket + 1];
        // SAFETY: buckets are disjoint, each of one task.
        mix(stream, range.start, unsafe { target.slice(range.clone()) });
    });
}

/// How many elements of each part go to each bucket.
fn counts(stream: Stream, n: usize) -> Vec<[usize; BUCKETS]> {
    let mut counts = vec![[0; BUCKETS]; n.div_ceil(PART)];
    let slots: Vec<_> = counts.iter_mut().map(std::sync::Mutex::new).collect();
    par::for_each(slots.len(), |part| {
        let mut found = [0; BUCKETS];
        each_bucket(stream, part, n, |_, bucket| found[bucket] += 1);
        if let Ok(mut slot) = slots[part].lock() {
            **slot = found;
        }
    });
    drop(slots);
    counts
}

/// Calls `each` with the elements of a part and their buckets: byte i mod 16 of block i div 16.
fn each_bucket(stream: Stream, part: usize, n: usize, mut each: impl FnMut(usize, usize)) {
    let end = n.min((part + 1) * PART);
    let mut words = [0_u32; BLOCK];
    for at in (part * PART..end).step_by(4 * BLOCK) {
        fill_words(stream, (at / 16) as u64, &mut words);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        for (element, byte) in (at..end.min(at + 4 * BLOCK)).zip(bytes) {
            each(element, usize::from(byte));
        }
    }
}

/// Puts elements, of which the first stands at `at`, into a random order: each changes places with one
/// up to its own. The place comes from half a block, in the second half of all blocks.
fn mix(stream: Stream, at: usize, out: &mut [i64]) {
    let mut words = [0_u32; 2 * BLOCK];
    let mut i = 0;
    while i < out.len() {
        let (half, skip) = ((at + i) / 2, (at + i) % 2);
        fill_words(stream, (1 << 63) | half as u64, &mut words);
        let rest = (i..out.len()).zip(words.as_chunks::<2>().0.iter().skip(skip));
        i += rest.len();
        for (i, [high, low]) in rest {
            // Of 64 bits times `i + 1` those above: the lower half counts by what it carries.
            let count = i as u64 + 1;
            let place = (u64::from(*high) * count + ((u64::from(*low) * count) >> 32)) >> 32;
            out.swap(i, place as usize);
        }
    }
}
