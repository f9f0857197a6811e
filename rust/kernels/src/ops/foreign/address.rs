//! Functions of the C calling convention at addresses that users give: of numbers, mapped over
//! elements, and of whole tensors.
//!
//! That there is such a function, that it stays, and that it keeps to the memory it is given, is the
//! user's word, as for every foreign function. What it must look like is in docs/custom-operators.md.

use crate::api::check::one_shape;
use crate::api::{Attrs, Call, Desc, Kernel, Req, Row, View};
use crate::copy::assign;
use crate::loops::{DEAR_GRAIN, Loop};
use crate::simd::body::{Body, Run};
use ferromix_base::{DType, Error, Result, contiguous_strides};
use std::ffi::c_void;
use std::mem::transmute;

/// The most numbers that a function takes.
const MOST: usize = 4;

/// The type of a number, and functions of up to four of them.
trait Number: Copy {
    /// Calls the function at `address`.
    ///
    /// # Safety
    /// It takes `count` numbers, 1 to 4, and returns one.
    unsafe fn call(address: usize, numbers: &[Self; MOST], count: usize) -> Self;
    fn of(number: f64) -> Self;
}

macro_rules! number {
    ($t:ty) => {
        impl Number for $t {
            unsafe fn call(address: usize, [a, b, c, d]: &[$t; MOST], count: usize) -> $t {
                type F1 = extern "C" fn($t) -> $t;
                type F2 = extern "C" fn($t, $t) -> $t;
                type F3 = extern "C" fn($t, $t, $t) -> $t;
                type F4 = extern "C" fn($t, $t, $t, $t) -> $t;
                let at = address as *const c_void;
                // SAFETY: by the contract.
                unsafe {
                    match count {
                        1 => transmute::<*const c_void, F1>(at)(*a),
                        2 => transmute::<*const c_void, F2>(at)(*a, *b),
                        3 => transmute::<*const c_void, F3>(at)(*a, *b, *c),
                        _ => transmute::<*const c_void, F4>(at)(*a, *b, *c, *d),
                    }
                }
            }

            fn of(number: f64) -> $t {
                number as $t
            }
        }
    };
}

number!(f32);
number!(f64);

/// The loop that calls a function for each element; `N` counts the output.
struct Mapped<T> {
    address: usize,
    /// The numbers of each call: from the inputs, and then the fixed ones.
    numbers: [T; MOST],
    count: usize,
}

impl<T: Number + Send + Sync, const N: usize> Body<N> for Mapped<T> {
    unsafe fn run(&self, operands: [Run; N], n: usize) {
        let mut numbers = self.numbers;
        for i in 0..n {
            for (number, operand) in numbers.iter_mut().zip(&operands[1..]) {
                let place = if operand.uniform { 0 } else { i };
                // SAFETY: the caller vouches for `n` elements, or one where uniform.
                *number = unsafe { operand.ptr.cast::<T>().add(place).read() };
            }
            // SAFETY: the function is the user's word; `prepare_map` saw to the count. The caller
            // vouches for `n` elements of the output.
            unsafe {
                let found = T::call(self.address, &numbers, self.count);
                operands[0].ptr.cast::<T>().add(i).write(found);
            }
        }
    }
}

/// Of one input; as a kernel it is that of any [`Loop<2>`].
struct Of<const N: usize>(Loop<N>);

impl Kernel for Of<3> {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let [a, b] = [&call.inputs[0], &call.inputs[1]];
        self.0.run([&call.outputs[0], a, b], call.reqs[0])
    }
}

impl Kernel for Of<4> {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let [a, b, c] = [&call.inputs[0], &call.inputs[1], &call.inputs[2]];
        self.0.run([&call.outputs[0], a, b, c], call.reqs[0])
    }
}

fn address(attrs: &Attrs) -> Result<usize> {
    let address = usize::try_from(attrs.int("address")?).unwrap_or(0);
    if address == 0 {
        return Err(Error::value("the address of a function must not be 0"));
    }
    Ok(address)
}

fn mapped<T: Number + Send + Sync + 'static, const N: usize>(
    address: usize,
    scalars: &[f64],
) -> Box<dyn Body<N>> {
    let mut numbers = [T::of(0.0); MOST];
    for (number, scalar) in numbers[N - 1..].iter_mut().zip(scalars) {
        *number = T::of(*scalar);
    }
    let count = N - 1 + scalars.len();
    Box::new(Mapped {
        address,
        numbers,
        count,
    })
}

fn looped<const N: usize>(address: usize, scalars: &[f64], single: bool) -> Loop<N> {
    if single {
        let body = mapped::<f32, N>(address, scalars);
        return Loop::new([DType::F32; N], body, DEAR_GRAIN);
    }
    Loop::new(
        [DType::F64; N],
        mapped::<f64, N>(address, scalars),
        DEAR_GRAIN,
    )
}

/// A function of numbers: those of the inputs at a place, and then `scalars`.
fn prepare_map(attrs: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let (address, scalars, single) = (
        address(attrs)?,
        attrs.floats("scalars")?,
        attrs.bool("single")?,
    );
    let all: Vec<&Desc> = inputs.iter().chain(outputs).collect();
    one_shape("_map_address", &all)?;
    let wrong = || {
        Error::value(format!(
            "a function is mapped over 1 to 3 inputs, of at most {MOST} numbers with the scalars, to \
             one output; got {} inputs, {} scalars, {} outputs",
            inputs.len(),
            scalars.len(),
            outputs.len()
        ))
    };
    if outputs.len() != 1 || inputs.len() + scalars.len() > MOST {
        return Err(wrong());
    }
    match inputs.len() {
        1 => Ok(Box::new(looped::<2>(address, &scalars, single))),
        2 => Ok(Box::new(Of(looped::<3>(address, &scalars, single)))),
        3 => Ok(Box::new(Of(looped::<4>(address, &scalars, single)))),
        _ => Err(wrong()),
    }
}

/// What a function of whole tensors looks like.
type Whole = extern "C" fn(
    data: *const *mut u8,
    ndim: *const i64,
    shape: *const *const i64,
    scalars: *const f64,
) -> i64;

/// A call of a function of whole tensors.
struct Called {
    function: Whole,
    ndim: Vec<i64>,
    shapes: Vec<Vec<i64>>,
    scalars: Vec<f64>,
    /// Outputs, and where each one's own place in scratch memory begins, for requests that are no
    /// plain writes.
    outputs: Vec<(Desc, usize)>,
    workspace: usize,
}

impl Kernel for Called {
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let apart = |req: Req| matches!(req, Req::Add | Req::Null);
        let mut data: Vec<*mut u8> = call.inputs.iter().map(View::ptr).collect();
        let scratch = call.workspace.as_mut_ptr();
        let mut copies = Vec::new();
        for (i, (desc, start)) in self.outputs.iter().enumerate() {
            if !apart(call.reqs[i]) {
                data.push(call.outputs[i].ptr());
                continue;
            }
            let ptr = scratch.wrapping_add(*start);
            let strides = contiguous_strides(&desc.shape);
            // SAFETY: `workspace` has room for all outputs, each at a place of its own.
            let view = unsafe { View::from_raw(ptr, desc.dtype, desc.shape.clone(), strides) };
            data.push(ptr);
            copies.push((i, view));
        }
        let shapes: Vec<*const i64> = self.shapes.iter().map(|s| s.as_ptr()).collect();
        let (ndim, scalars) = (self.ndim.as_ptr(), self.scalars.as_ptr());
        match (self.function)(data.as_ptr(), ndim, shapes.as_ptr(), scalars) {
            0 => {}
            code => {
                return Err(Error::value(format!(
                    "the compiled function returned {code}; 0 would say that all went well"
                )));
            }
        }
        for (i, view) in copies {
            assign(&view, &call.outputs[i], call.reqs[i])?;
        }
        Ok(())
    }

    fn workspace(&self) -> usize {
        self.workspace
    }
}

fn prepare_call(attrs: &Attrs, inputs: &[Desc], outputs: &[Desc]) -> Result<Box<dyn Kernel>> {
    let at = address(attrs)? as *const c_void;
    let all = || inputs.iter().chain(outputs);
    let mut workspace: usize = 0;
    let mut places = Vec::new();
    for desc in outputs {
        places.push((desc.clone(), workspace));
        let bytes = desc.shape.iter().product::<usize>() * desc.dtype.size();
        workspace += bytes.next_multiple_of(64);
    }
    Ok(Box::new(Called {
        // SAFETY: the user's word.
        function: unsafe { transmute::<*const c_void, Whole>(at) },
        ndim: all().map(|d| d.shape.len() as i64).collect(),
        shapes: all()
            .map(|d| d.shape.iter().map(|&n| n as i64).collect())
            .collect(),
        scalars: attrs.floats("scalars")?,
        outputs: places,
        workspace,
    }))
}

pub(crate) const ROWS: &[Row] = &[
    Row::new("_map_address", prepare_map).strided().cost(4),
    Row::new("_call_address", prepare_call).unknown_cost(),
];
