//! Outputs of kernels that know only how to overwrite.

use crate::api::{Call, Req, View};
use crate::blocks::raw::Target;
use crate::copy::assign;
use ferromix_base::{Element, Result, contiguous_strides};

/// The output itself, or memory that is added to it at the end.
pub(crate) struct Staged {
    /// What the kernel overwrites.
    pub(crate) view: View,
    /// Words that `view` lies in, where it is not the output.
    own: Option<Vec<u64>>,
}

impl Staged {
    /// The place for results of `out`; nothing where none are asked for.
    pub(crate) fn new(out: &View, req: Req) -> Option<Self> {
        match req {
            _ if out.is_empty() => None,
            Req::Null => None,
            Req::Write | Req::Inplace => Some(Staged {
                view: out.clone(),
                own: None,
            }),
            Req::Add => {
                let bytes = out.len() * out.dtype().size();
                let mut own = vec![0_u64; bytes.div_ceil(size_of::<u64>())];
                let shape = out.shape();
                // SAFETY: memory of that size that is ours, with zeros, valid in each type; it does
                // not move with the vector.
                let view = unsafe {
                    View::from_raw(
                        own.as_mut_ptr().cast(),
                        out.dtype(),
                        shape.into(),
                        contiguous_strides(shape),
                    )
                };
                Some(Staged {
                    view,
                    own: Some(own),
                })
            }
        }
    }

    /// Ends the run: adds to `out` what is not there yet.
    ///
    /// # Errors
    /// None for the output that it was made of.
    pub(crate) fn finish(self, out: &View) -> Result<()> {
        match self.own {
            None => Ok(()),
            Some(_own) => assign(&self.view, out, Req::Add),
        }
    }
    /// The places for results of all outputs of a run.
    pub(crate) fn all(call: &Call<'_>) -> Vec<Option<Self>> {
        let pairs = call.outputs.iter().zip(call.reqs);
        pairs.map(|(out, req)| Staged::new(out, *req)).collect()
    }

    /// The elements of a place, if there is one.
    ///
    /// # Errors
    /// Another element type.
    pub(crate) fn target<T: Element>(place: &mut Option<Self>) -> Result<Option<Target<T>>> {
        let target = place.as_mut().map(|staged| Target::of(&mut staged.view));
        target.transpose()
    }

    /// Ends a run with the places of [`all`](Staged::all).
    ///
    /// # Errors
    /// As [`finish`](Staged::finish).
    pub(crate) fn finish_all(places: Vec<Option<Self>>, outputs: &[View]) -> Result<()> {
        for (staged, out) in places.into_iter().zip(outputs) {
            staged.map_or(Ok(()), |staged| staged.finish(out))?;
        }
        Ok(())
    }
}
