//! Functions of several tensors to several, element by element, in place: optimizers.

use crate::body::Run;
use crate::convert::converter;
use crate::copy::assign;
use crate::fill::part;
use crate::kernel::Call;
use crate::shape::flattened;
use crate::twice::twice;
use crate::{Req, View, par};
use ferromix_base::{Element, Result};

/// Elements that are computed at a time.
const BLOCK: usize = 512;

twice! {
    fn compute[C: Element, const I: usize, const O: usize, F: Fn([C; I]) -> [C; O]](
        inputs: &[[C; BLOCK]; I], outputs: &mut [[C; BLOCK]; O], f: &F,
    ) [C, I, O, F] {
        for i in 0..BLOCK {
            let results = f(std::array::from_fn(|j| inputs[j][i]));
            for j in 0..O {
                outputs[j][i] = results[j];
            }
        }
    }
}

/// Computes the outputs of `call`, all contiguous and of one shape, from its inputs. Outputs may be
/// the memory of inputs.
///
/// # Errors
/// None that prepared kernels meet.
pub(crate) fn update<C: Element + Default, const I: usize, const O: usize>(
    call: &mut Call<'_>,
    grain: usize,
    f: impl Fn([C; I]) -> [C; O] + Sync,
) -> Result<()> {
    let inputs: Vec<View> = call.inputs.iter().map(flattened).collect();
    let outputs: Vec<View> = call.outputs.iter().map(flattened).collect();
    let reqs = call.reqs;
    let failure = std::sync::OnceLock::new();
    par::for_ranges(inputs[0].len(), grain, |range| {
        let mut given = [[C::default(); BLOCK]; I];
        let mut made = [[C::default(); BLOCK]; O];
        for start in range.clone().step_by(BLOCK) {
            let n = BLOCK.min(range.end - start);
            for (block, view) in given.iter_mut().zip(&inputs) {
                load(&part(view, start, n), block, n);
            }
            compute(&given, &mut made, &f);
            for ((block, view), &req) in made.iter_mut().zip(&outputs).zip(reqs) {
                if req != Req::Null {
                    let source = View::of_slice(&mut block[..n], &[n]);
                    let target = part(view, start, n);
                    if let Err(e) = source.and_then(|s| assign(&s, &target, req)) {
                        failure.get_or_init(|| e);
                    }
                }
            }
        }
    });
    failure.into_inner().map_or(Ok(()), Err)
}

fn load<C: Element>(view: &View, block: &mut [C; BLOCK], n: usize) {
    let runs = [block.as_mut_ptr().cast(), view.ptr()].map(|ptr| Run {
        ptr,
        uniform: false,
    });
    // SAFETY: `n` elements, at most BLOCK, of the view without gaps, and room for them.
    unsafe { converter(view.dtype(), C::DTYPE).run(runs, n) };
}
