//! What layers of bytes have in common: checks, biases, and bytes without a sign.

use super::{check_ends, of_products, step};
use crate::api::prepared::{check_count, check_shape};
use crate::api::{Attrs, Call, Desc, Kept};
use crate::blocks::staged::Staged;
use crate::levels::{Range, Whole};
use crate::math::real::unsupported;
use ferromix_base::{DType, Result};

/// Products of a task, at least.
pub(super) const GRAIN: usize = 1 << 21;

/// What numbers of a type are larger by where they stand as bytes without a sign.
pub(super) fn shift<S: Whole>() -> u8 {
    if S::DTYPE == DType::I8 { 0x80 } else { 0 }
}

/// The bytes of numbers of eight bits.
pub(super) fn bytes_of<S: Whole>(numbers: &[S]) -> &[u8] {
    const { assert!(size_of::<S>() == 1) };
    // SAFETY: as many bytes, and any bits are a byte.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) }
}

/// Bytes of one sum.
pub(super) const SUM: usize = size_of::<i32>();

/// Writes for each row of weights what the shift of the data adds to its products.
pub(super) fn put_excess<S: Whole>(weight: &[i8], row: usize, out: &mut [u8]) {
    let shift = i32::from(shift::<S>());
    let sum = |row: &[i8]| row.iter().map(|&w| i32::from(w)).fold(0, i32::wrapping_add);
    out.fill(0);
    for (out, row) in out.chunks_exact_mut(SUM).zip(weight.chunks(row.max(1))) {
        out.copy_from_slice(&sum(row).wrapping_mul(shift).to_ne_bytes());
    }
}

/// What to add to the products of each row: its bias, if there is one, without the excess.
pub(super) fn added(bias: &[i32], excess: &[u8]) -> Vec<i32> {
    let excess = excess.chunks_exact(SUM).map(|sum| {
        let mut bytes = [0; SUM];
        bytes.copy_from_slice(sum);
        i32::from_ne_bytes(bytes)
    });
    let bias = |i: usize| bias.get(i).copied().unwrap_or(0);
    excess
        .enumerate()
        .map(|(i, sum)| bias(i).wrapping_sub(sum))
        .collect()
}

/// What a layer reads but data and weight.
pub(super) struct Rest<'a> {
    /// Empty where there is none.
    pub(super) bias: &'a [i8],
    /// The ranges of data, weight and bias.
    pub(super) data: Range,
    pub(super) weight: Range,
    pub(super) of_bias: Option<Range>,
}

impl<'a> Rest<'a> {
    /// # Errors
    /// Inputs of other types.
    pub(super) fn of(call: &Call<'a>) -> Result<Self> {
        let first = if call.inputs.len() == 6 { 2 } else { 3 };
        let range = |i: usize| Range::of(&call.inputs[first + i], &call.inputs[first + i + 1]);
        let has_bias = first == 3;
        Ok(Rest {
            bias: if has_bias {
                call.inputs[2].read()?
            } else {
                &[]
            },
            data: range(0)?,
            weight: range(2)?,
            of_bias: has_bias.then(|| range(4)).transpose()?,
        })
    }

    /// The bias in the steps of products with data of a type.
    pub(super) fn scaled<S: Whole>(&self) -> Vec<i32> {
        let Some(range) = self.of_bias else {
            return Vec::new();
        };
        let unit = step(self.data, S::DTYPE) * step(self.weight, DType::I8);
        let ratio = step(range, DType::I8) / unit;
        let scaled = |&x: &i8| (f32::from(x) * ratio) as i32;
        self.bias.iter().map(scaled).collect()
    }
}

/// Writes the range of sums of products of data of such a type, and ends the run.
///
/// # Errors
/// Outputs of other types.
pub(super) fn finish(
    rest: &Rest<'_>,
    data: DType,
    mut staged: Vec<Option<Staged>>,
    call: &Call<'_>,
) -> Result<()> {
    of_products((rest.data, data), (rest.weight, DType::I8)).put(&mut staged)?;
    Staged::finish_all(staged, call.outputs)
}

/// So many bytes made of the weight.
pub(super) fn kept(bytes: usize) -> Option<Kept> {
    (bytes > 0).then(|| Kept {
        inputs: vec![1],
        bytes,
    })
}

/// Checks counts, types, ends of ranges and the bias.
///
/// # Errors
/// What does not fit.
pub(super) fn check(
    name: &str,
    attrs: &Attrs,
    i: &[Desc],
    o: &[Desc],
    filters: usize,
) -> Result<()> {
    let first = if attrs.bool("no_bias")? { 2 } else { 3 };
    check_count(name, (i, 3 * first), (o, 3))?;
    check_ends(name, i, first, o)?;
    if first == 3 {
        check_shape(name, "bias", &i[2], &[filters])?;
    }
    match i[1..first].iter().find(|d| d.dtype != DType::I8) {
        Some(odd) => Err(unsupported(name, odd.dtype, "int8")),
        None if o[0].dtype != DType::I32 => Err(unsupported(name, o[0].dtype, "int32")),
        None => Ok(()),
    }
}
