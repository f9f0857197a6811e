//! How operands lie in memory, as kernels want to know it: `fm::Walk` of kernels/include/map.cuh.

use ferromix_base::{Error, Result, is_contiguous};
use ferromix_kernels::View;
use smallvec::SmallVec;

/// Axes that a kernel goes through.
const MAX_RANK: usize = 8;

/// One axis: its extent, and each operand's step along it.
struct Axis {
    extent: i64,
    steps: SmallVec<[i64; 4]>,
}

/// Appends a walk over `operands`, of which the first is the output and the others broadcast to it.
///
/// # Errors
/// Views with gaps in so many places that the walk needs more axes than a kernel goes through.
pub(crate) fn encode(operands: &[&View], into: &mut Vec<u8>) -> Result<()> {
    let out = operands[0];
    let total: usize = out.shape().iter().product();
    let (mut flat, mut single) = (0_i64, 0_i64);
    for (j, view) in operands.iter().enumerate() {
        let whole = view.shape() == out.shape()
            || (elements(view) == total && trimmed(view) == trimmed(out));
        flat |= i64::from(whole && is_contiguous(view.shape(), view.strides())) << j;
        single |= i64::from(elements(view) == 1 && total != 1) << j;
    }
    let all = (1_i64 << operands.len()) - 1;
    let axes = if (flat | single) == all || total == 0 {
        Vec::new()
    } else {
        (flat, single) = (0, 0);
        merged(operands)
    };
    if axes.len() > MAX_RANK {
        return Err(Error::value(format!(
            "arrays of shape {:?} whose elements lie apart along {} axes; at most {MAX_RANK} do on a \
             GPU: copy them first",
            out.shape(),
            axes.len()
        )));
    }
    let mut word = |value: i64| into.extend_from_slice(&value.to_ne_bytes());
    word(total as i64);
    word(axes.len() as i64);
    word(flat);
    word(single);
    (0..MAX_RANK).for_each(|a| word(axes.get(a).map_or(0, |axis| axis.extent)));
    for j in 0..operands.len() {
        (0..MAX_RANK).for_each(|a| word(axes.get(a).map_or(0, |axis| axis.steps[j])));
    }
    Ok(())
}

fn elements(view: &View) -> usize {
    view.shape().iter().product()
}

/// The extents without those of 1.
fn trimmed(view: &View) -> impl PartialEq + use<> {
    let extents = view.shape().iter().copied().filter(|&extent| extent != 1);
    extents.collect::<SmallVec<[usize; 8]>>()
}

/// The axes, neighbours made one where every operand goes on from one to the next.
fn merged(operands: &[&View]) -> Vec<Axis> {
    let shape = operands[0].shape();
    let mut axes: Vec<Axis> = Vec::new();
    for (a, &extent) in shape.iter().enumerate() {
        if extent == 1 {
            continue;
        }
        let steps: SmallVec<[i64; 4]> = operands
            .iter()
            .map(|view| {
                // Extents count from the last one.
                let missing = shape.len() - view.shape().len().min(shape.len());
                match a.checked_sub(missing) {
                    Some(own) if view.shape()[own] != 1 => view.strides()[own] as i64,
                    _ => 0,
                }
            })
            .collect();
        let extent = extent as i64;
        match axes.last_mut() {
            Some(outer)
                if outer
                    .steps
                    .iter()
                    .zip(&steps)
                    .all(|(outer, inner)| *outer == inner * extent) =>
            {
                outer.extent *= extent;
                outer.steps = steps;
            }
            _ => axes.push(Axis { extent, steps }),
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferromix_base::DType;

    fn view(shape: &[usize], strides: &[isize]) -> View {
        // SAFETY: never read.
        unsafe {
            View::from_raw(
                std::ptr::null_mut(),
                DType::F32,
                shape.into(),
                strides.into(),
            )
        }
    }

    fn words(operands: &[&View]) -> Vec<i64> {
        let mut bytes = Vec::new();
        encode(operands, &mut bytes).unwrap();
        bytes
            .chunks_exact(8)
            .map(|word| i64::from_ne_bytes(word.try_into().unwrap()))
            .collect()
    }

    #[test]
    fn memory_without_gaps_needs_no_axes() {
        let (a, one) = (view(&[2, 3], &[3, 1]), view(&[1], &[1]));
        assert_eq!(words(&[&a, &a, &one])[..4], [6, 0, 3, 4]);
    }

    #[test]
    fn neighbours_become_one_axis_and_missing_ones_stand_still() {
        let (out, row) = (view(&[4, 2, 3], &[6, 3, 1]), view(&[2, 3], &[3, 1]));
        let found = words(&[&out, &row]);
        assert_eq!(found[..6], [24, 2, 0, 0, 4, 6]);
        assert_eq!(found[12..14], [6, 1], "the output");
        assert_eq!(found[20..22], [0, 1], "the row");
    }

    #[test]
    fn transposed_views_keep_their_steps() {
        let (out, turned) = (view(&[3, 2], &[2, 1]), view(&[3, 2], &[1, 3]));
        let found = words(&[&out, &turned]);
        assert_eq!((found[1], &found[20..22]), (2, &[1, 3][..]));
    }

    #[test]
    fn too_many_gaps_are_an_error() {
        let strides: Vec<isize> = (0..9).map(|a| 3_isize.pow(9 - a)).collect();
        let out = view(&[2; 9], &strides);
        let error = encode(&[&out], &mut Vec::new()).unwrap_err();
        assert!(error.message().contains("9 axes"), "{}", error.message());
    }
}
