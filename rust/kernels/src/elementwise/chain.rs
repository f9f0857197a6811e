//! Several operators that go element by element as one kernel. A block of elements goes through all of
//! them before the next one does, so that results in between stay in the nearest caches. Each
//! operator runs by its own kernel, so the bits are those of the operators one after another.

use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, Value, View};
use crate::par;
use ferromix_base::{DType, Error, Result, Shape, Strides};
use smallvec::SmallVec;

/// Elements of a block: with a few results in between it stays in the nearest caches.
const BLOCK: usize = 2048;
/// Elements of a task.
const GRAIN: usize = 16 * BLOCK;

/// One operator of a chain.
struct Part {
    /// For a whole block, and for the last one.
    kernels: [Box<dyn Kernel>; 2],
    /// What it reads: first the chain's inputs are counted, then the parts' results.
    reads: Vec<usize>,
    /// Where its result is in a task's memory, in bytes.
    place: usize,
}

struct Chain {
    parts: Vec<Part>,
    inputs: usize,
    /// That of every part's result.
    dtype: DType,
    /// Bytes of a task's memory.
    scratch: usize,
}

/// Prepares a chain of operators, whose kernels `find` knows.
///
/// # Errors
/// Parts that are no operators on each element, or that do not go together.
pub(crate) fn prepare(
    find: fn(&str) -> Option<&'static Row>,
    attrs: &Attrs,
    ins: &[Desc],
    outs: &[Desc],
) -> Result<Box<dyn Kernel>> {
    let [out] = outs else {
        return Err(Error::internal("_fused has one output"));
    };
    if ins.iter().any(|d| d.shape != out.shape) {
        return Err(Error::value("_fused: all arguments must have one shape"));
    }
    let total = out.shape.iter().product::<usize>();
    let lengths = [BLOCK.min(total), total % BLOCK];
    let mut dtypes: Vec<DType> = ins.iter().map(|d| d.dtype).collect();
    let mut parts = Vec::new();
    while let Some(Value::Str(name)) = attrs.get(&format!("{}", parts.len())) {
        let number = parts.len();
        let row = find(name).filter(|row| row.pointwise);
        let row = row.ok_or_else(|| Error::internal(format!("_fused: no part '{name}'")))?;
        let own = attrs.within(&format!("{number}."));
        let reads = indices(&own, dtypes.len())?;
        let make = |length: usize| -> Result<Box<dyn Kernel>> {
            let given: Vec<Desc> = (reads.iter())
                .map(|&i| Desc::new(&[length], dtypes[i]))
                .collect();
            let made = (row.prepare)(&own, &given, &[Desc::new(&[length], out.dtype)])?;
            if made.workspace() > 0 {
                return Err(Error::internal("_fused: a part that needs scratch memory"));
            }
            Ok(made)
        };
        parts.push(Part {
            kernels: [make(lengths[0])?, make(lengths[1])?],
            reads,
            place: 0,
        });
        dtypes.push(out.dtype);
    }
    if parts.is_empty() {
        return Err(Error::internal("_fused: no part gives the output"));
    }
    let scratch = place(&mut parts, ins.len());
    Ok(Box::new(Chain {
        parts,
        inputs: ins.len(),
        dtype: out.dtype,
        scratch,
    }))
}

/// The values that a part reads.
fn indices(attrs: &Attrs, known: usize) -> Result<Vec<usize>> {
    let found = attrs.ints("__reads__")?.iter().map(|&i| {
        usize::try_from(i)
            .ok()
            .filter(|&i| i < known)
            .ok_or_else(|| Error::internal("_fused: a part reads what is not there"))
    });
    found.collect()
}

/// Gives each result a place, that of one which nobody reads any more where there is one; the bytes of all.
fn place(parts: &mut [Part], inputs: usize) -> usize {
    let slot = BLOCK * size_of::<f64>();
    let (mut free, mut slots) = (Vec::new(), 0);
    for i in 0..parts.len() {
        let at = free.pop().unwrap_or_else(|| {
            slots += 1;
            (slots - 1) * slot
        });
        parts[i].place = at;
        let mut read: Vec<usize> = parts[i]
            .reads
            .iter()
            .filter_map(|r| r.checked_sub(inputs))
            .collect();
        read.sort_unstable();
        read.dedup();
        for r in read {
            if !parts[i + 1..]
                .iter()
                .any(|p| p.reads.contains(&(r + inputs)))
            {
                free.push(parts[r].place);
            }
        }
    }
    slots * slot
}

impl Kernel for Chain {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        if call.reqs[0] == Req::Null || call.outputs[0].is_empty() {
            return Ok(());
        }
        let (inputs, out, req) = (call.inputs, &call.outputs[0], call.reqs[0]);
        let total = out.len();
        let failed = std::sync::Mutex::new(None);
        par::for_ranges(total, GRAIN, |range| {
            // Words, so that every place is aligned.
            let mut memory = vec![0u64; self.scratch / size_of::<u64>()];
            for start in range.clone().step_by(BLOCK) {
                let length = BLOCK.min(range.end - start);
                let base = memory.as_mut_ptr().cast::<u8>();
                // SAFETY: the task's own memory, and its own elements of the output.
                if let Err(error) = unsafe { self.block(inputs, out, req, (start, length), base) } {
                    let mut place = failed
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    *place = Some(error);
                }
            }
        });
        let failed = failed.into_inner();
        match failed.unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Chain {
    /// Runs all parts on some elements.
    ///
    /// # Safety
    /// `memory` has as many bytes as `scratch` says, for this call alone; nobody else uses these elements
    /// of the output, or writes those of the inputs, but where both are the same.
    unsafe fn block(
        &self,
        inputs: &[View],
        out: &View,
        req: Req,
        (start, length): (usize, usize),
        memory: *mut u8,
    ) -> Result<()> {
        let part_of = |ptr: *mut u8, dtype: DType| {
            let (shape, strides) = (Shape::from_slice(&[length]), Strides::from_slice(&[1]));
            // SAFETY: as the caller vouches, within the arguments or the task's memory.
            unsafe { View::from_raw(ptr, dtype, shape, strides) }
        };
        let within = |view: &View| {
            let ptr = view.ptr().wrapping_add(start * view.dtype().size());
            part_of(ptr, view.dtype())
        };
        let kernel = usize::from(length != BLOCK.min(out.len()));
        let own = |part: &Part| part_of(memory.wrapping_add(part.place), self.dtype);
        let result = within(out);
        for (i, part) in self.parts.iter().enumerate() {
            let given: SmallVec<[View; 4]> = (part.reads.iter())
                .map(|&r| match r.checked_sub(self.inputs) {
                    None => within(&inputs[r]),
                    Some(r) => own(&self.parts[r]),
                })
                .collect();
            let last = i + 1 == self.parts.len();
            let adds = last && req == Req::Add;
            // What is read from the output's own memory must not be written over half-way.
            let shared = last && !adds && given.iter().any(|view| view.ptr() == result.ptr());
            let to = if last && !shared {
                result.clone()
            } else {
                own(part)
            };
            let mut call = Call {
                inputs: &given,
                outputs: &mut [to],
                reqs: &[if adds { Req::Add } else { Req::Write }],
                workspace: &mut [],
                scalars: &[],
                random: None,
                kept: None,
            };
            part.kernels[kernel].run(&mut call)?;
            if shared {
                let bytes = length * self.dtype.size();
                // SAFETY: two pieces of memory of so many bytes each.
                unsafe { std::ptr::copy_nonoverlapping(own(part).ptr(), result.ptr(), bytes) };
            }
        }
        Ok(())
    }
}
