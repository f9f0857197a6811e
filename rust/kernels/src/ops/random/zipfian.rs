//! `_sample_unique_zipfian`: different classes in each row, small ones more often.

use crate::api::check::arity;
use crate::api::prepared::{boxed, check_shape};
use crate::api::random::Stream;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::blocks::raw::Target;
use crate::copy::assign;
use crate::draws::standard::fraction64;
use crate::draws::words::fill_words;
use crate::par;
use ferromix_base::{DType, Error, Result};
use std::collections::HashSet;

const NAME: &str = "_sample_unique_zipfian";

pub(crate) const ROWS: &[Row] = &[Row::new(NAME, prepare).random().unknown_cost()];

/// Tries whose words are made together.
const TRIES: u64 = 32;

fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let ([], [classes, tries]) = arity(NAME, i, o)?;
    let range = attrs.int("range_max").map_err(|e| e.within(NAME))?;
    let [rows, wanted] = classes.shape[..] else {
        return Err(Error::value(format!(
            "{NAME}: shape must have 2 extents, got {:?}",
            classes.shape
        )));
    };
    check_shape(NAME, "the numbers of tries", tries, &[rows])?;
    if range < 1 || range as u64 > i32::MAX as u64 || wanted as u64 > range as u64 {
        return Err(Error::value(format!(
            "{NAME}: {wanted} different classes do not fit into range_max={range}"
        )));
    }
    if classes.dtype != DType::I64 || tries.dtype != DType::I64 {
        return Err(Error::dtype(format!("{NAME}: outputs are int64")));
    }
    boxed(move |call: &mut Call<'_>| {
        let stream = call
            .random
            .ok_or_else(|| Error::internal("a random operator was run without random numbers"))?;
        let (mut found, mut counts) = (vec![0_i64; rows * wanted], vec![0_i64; rows]);
        let (classes, tries) = (Target::of_slice(&mut found), Target::of_slice(&mut counts));
        par::for_each(rows, |row| {
            // SAFETY: rows are disjoint, each of one task.
            let classes = unsafe { classes.slice(row * wanted..(row + 1) * wanted) };
            let count = fill_row(stream, row, range, classes);
            // SAFETY: as above.
            unsafe { tries.slice(row..row + 1)[0] = count };
        });
        put(&mut found, &[rows, wanted], call, 0)?;
        put(&mut counts, &[rows], call, 1)
    })
}

fn put(found: &mut [i64], shape: &[usize], call: &mut Call<'_>, output: usize) -> Result<()> {
    match call.reqs[output] {
        Req::Null => Ok(()),
        req => assign(&View::of_slice(found, shape)?, &call.outputs[output], req),
    }
}

/// Draws until all classes of a row are there, and says how often that was.
fn fill_row(stream: Stream, row: usize, range: i64, out: &mut [i64]) -> i64 {
    let logarithm = (range as f64).ln();
    let mut seen = HashSet::with_capacity(out.len());
    let mut words = [0; 2 * TRIES as usize];
    let mut tries = 0;
    for class in out.iter_mut() {
        loop {
            let place = (tries % TRIES) as usize;
            if place == 0 {
                fill_words(stream, ((row as u64) << 32) | (tries / 2), &mut words);
            }
            tries += 1;
            let u = fraction64(words[2 * place], words[2 * place + 1]);
            *class = ((u * logarithm).exp().round() as i64 - 1) % range;
            if seen.insert(*class) {
                break;
            }
        }
    }
    tries as i64
}
