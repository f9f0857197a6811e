//! Tensors of any element type and layout for tests, with values as `f64`, and a way to run a
//! kernel by the name of its operator.
#![allow(dead_code, unreachable_pub)]

use ferromix_base::{DType, Shape, Strides, bf16, f16};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{Attrs, Call, Desc, Req, Value, View, find};

/// A small generator of test data (xorshift64*).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A tensor with memory of its own.
#[derive(Clone)]
pub struct Tensor {
    memory: Vec<u64>,
    pub dtype: DType,
    pub shape: Shape,
    pub strides: Strides,
    offset: isize,
}

/// How a tensor lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    Plain,
    /// Axes in reverse order.
    Transposed,
    /// Every second element.
    Stepped,
    /// Backwards along every axis.
    Flipped,
    /// Extents of one axis chosen at random repeat; inputs only.
    Repeated,
}

pub const LAYOUTS: [Layout; 4] = [
    Layout::Plain,
    Layout::Transposed,
    Layout::Stepped,
    Layout::Flipped,
];

impl Tensor {
    pub fn zeros(dtype: DType, shape: &[usize], layout: Layout) -> Self {
        let mut extents: Vec<usize> = shape.to_vec();
        match layout {
            Layout::Stepped => extents.iter_mut().for_each(|d| *d *= 2),
            Layout::Transposed => extents.reverse(),
            Layout::Repeated => extents.iter_mut().take(1).for_each(|d| *d = (*d).min(1)),
            _ => {}
        }
        let count: usize = extents.iter().product();
        let mut strides = ferromix_base::contiguous_strides(&extents);
        let mut offset = 0;
        match layout {
            Layout::Stepped => strides.iter_mut().for_each(|s| *s *= 2),
            Layout::Transposed => strides.reverse(),
            Layout::Repeated => strides.iter_mut().take(1).for_each(|s| *s = 0),
            Layout::Flipped if count > 0 => {
                for (s, &d) in strides.iter_mut().zip(shape) {
                    offset += *s * (d as isize - 1);
                    *s = -*s;
                }
            }
            _ => {}
        }
        Tensor {
            memory: vec![0; count * dtype.size() / 8 + 1],
            dtype,
            shape: shape.into(),
            strides,
            offset,
        }
    }

    /// A tensor with `value(position)` at each position, rounded to its type.
    pub fn of(
        dtype: DType,
        shape: &[usize],
        layout: Layout,
        mut value: impl FnMut(usize) -> f64,
    ) -> Self {
        let mut t = Tensor::zeros(dtype, shape, layout);
        for i in 0..t.len() {
            let x = value(i);
            t.set(i, x);
        }
        t
    }

    pub fn plain(dtype: DType, shape: &[usize], values: &[f64]) -> Self {
        Tensor::of(dtype, shape, Layout::Plain, |i| values[i])
    }

    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn desc(&self) -> Desc {
        Desc::new(&self.shape, self.dtype)
    }

    pub fn view(&mut self) -> View {
        let bytes = self.offset * self.dtype.size() as isize;
        let ptr = self.memory.as_mut_ptr().cast::<u8>().wrapping_offset(bytes);
        // SAFETY: `zeros` made memory for all positions; views live shorter than the tensor.
        unsafe { View::from_raw(ptr, self.dtype, self.shape.clone(), self.strides.clone()) }
    }

    fn place(&self, mut position: usize) -> usize {
        let mut place = self.offset;
        for (&d, &s) in self.shape.iter().zip(&self.strides).rev() {
            place += (position % d) as isize * s;
            position /= d;
        }
        place as usize
    }

    pub fn get(&self, position: usize) -> f64 {
        let place = self.place(position);
        let ptr = self.memory.as_ptr();
        // SAFETY: the place lies within the memory, which was initialised.
        unsafe {
            match self.dtype {
                DType::F32 => f64::from(*ptr.cast::<f32>().add(place)),
                DType::F64 => *ptr.cast::<f64>().add(place),
                DType::F16 => (*ptr.cast::<f16>().add(place)).to_f64(),
                DType::BF16 => (*ptr.cast::<bf16>().add(place)).to_f64(),
                DType::U8 => f64::from(*ptr.cast::<u8>().add(place)),
                DType::I8 => f64::from(*ptr.cast::<i8>().add(place)),
                DType::I32 => f64::from(*ptr.cast::<i32>().add(place)),
                DType::I64 => *ptr.cast::<i64>().add(place) as f64,
                DType::Bool => f64::from(u8::from(*ptr.cast::<bool>().add(place))),
            }
        }
    }

    pub fn set(&mut self, position: usize, x: f64) {
        let place = self.place(position);
        let whole = || x as i128;
        let ptr = self.memory.as_mut_ptr();
        // SAFETY: as for `get`.
        unsafe {
            match self.dtype {
                DType::F32 => *ptr.cast::<f32>().add(place) = x as f32,
                DType::F64 => *ptr.cast::<f64>().add(place) = x,
                DType::F16 => *ptr.cast::<f16>().add(place) = f16::from_f64(x),
                DType::BF16 => *ptr.cast::<bf16>().add(place) = bf16::from_f64(x),
                DType::U8 => *ptr.cast::<u8>().add(place) = whole() as u8,
                DType::I8 => *ptr.cast::<i8>().add(place) = whole() as i8,
                DType::I32 => *ptr.cast::<i32>().add(place) = whole() as i32,
                DType::I64 => *ptr.cast::<i64>().add(place) = whole() as i64,
                DType::Bool => *ptr.cast::<bool>().add(place) = x != 0.0,
            }
        }
    }

    pub fn values(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.get(i)).collect()
    }

    pub fn bytes(&self) -> &[u64] {
        &self.memory
    }

    /// The value at a position of a shape that this tensor broadcasts to.
    pub fn broadcast_get(&self, shape: &[usize], mut position: usize) -> f64 {
        let lead = shape.len() - self.shape.len();
        let (mut place, mut step) = (0, 1);
        for axis in (0..shape.len()).rev() {
            let index = position % shape[axis];
            position /= shape[axis];
            if axis >= lead && self.shape[axis - lead] != 1 {
                place += index * step;
            }
            if axis >= lead {
                step *= self.shape[axis - lead];
            }
        }
        self.get(place)
    }
}

/// A value of the kind that suits the type: small integers, or reals around zero.
pub fn sample(dtype: DType, rng: &mut Rng) -> f64 {
    match dtype {
        DType::Bool => rng.below(2) as f64,
        DType::U8 => rng.below(256) as f64,
        DType::I8 => rng.below(256) as f64 - 128.0,
        DType::I32 | DType::I64 => rng.below(2001) as f64 - 1000.0,
        _ => rng.unit() * 8.0 - 4.0,
    }
}

pub fn random(dtype: DType, shape: &[usize], layout: Layout, rng: &mut Rng) -> Tensor {
    Tensor::of(dtype, shape, layout, |_| sample(dtype, rng))
}

/// What `x` becomes in a tensor of `dtype`.
pub fn rounded(dtype: DType, x: f64) -> f64 {
    Tensor::plain(dtype, &[], &[x]).get(0)
}

/// Spacing of the numbers of `dtype` at 1.
pub fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => f64::from(f32::EPSILON),
        DType::F64 => f64::EPSILON,
        DType::F16 => 1.0 / 1024.0,
        DType::BF16 => 1.0 / 128.0,
        _ => 0.0,
    }
}

/// Asserts that `got` is `want`, up to `units` roundings relative to `scale` or the value.
#[track_caller]
pub fn assert_close(dtype: DType, got: f64, want: f64, units: f64, scale: f64, what: &str) {
    let want = rounded(dtype, want);
    // Around the ends of int64, where `f64` cannot tell its two ends apart after wrapping.
    let ends = dtype == DType::I64 && want.abs() > 9.2e18 && got.abs() > 9.2e18;
    let same = got == want || ends || (got.is_nan() && want.is_nan());
    let slack = units * epsilon(dtype) * want.abs().max(scale);
    assert!(
        same || (got - want).abs() <= slack,
        "{what} {dtype}: got {got}, want {want}"
    );
}

pub fn number(x: f64) -> Value {
    Value::Float(x)
}

/// Runs an operator on views.
pub fn run_views(
    name: &str,
    attrs: &Attrs,
    inputs: &[View],
    outputs: &mut [View],
    reqs: &[Req],
    random: Option<Stream>,
) -> ferromix_base::Result<()> {
    let row = find(name).unwrap_or_else(|| panic!("no kernel {name}"));
    assert_eq!(row.random, random.is_some());
    let describe = |v: &View| Desc::new(v.shape(), v.dtype());
    let (i, o): (Vec<_>, Vec<_>) = (
        inputs.iter().map(describe).collect(),
        outputs.iter().map(describe).collect(),
    );
    let kernel = (row.prepare)(attrs, &i, &o)?;
    let mut workspace = vec![0u8; kernel.workspace()];
    let workspace = &mut workspace;
    kernel.run(&mut Call {
        inputs,
        outputs,
        reqs,
        workspace,
        scalars: &[],
        random,
        kept: None,
    })
}

/// Runs an operator of one output.
pub fn run(
    name: &str,
    attrs: &Attrs,
    inputs: &mut [&mut Tensor],
    out: &mut Tensor,
    req: Req,
) -> ferromix_base::Result<()> {
    let inputs: Vec<View> = inputs.iter_mut().map(|t| t.view()).collect();
    run_views(name, attrs, &inputs, &mut [out.view()], &[req], None)
}

/// What an output holds after `req`, given what it held and the result.
pub fn after(req: Req, dtype: DType, old: f64, result: f64) -> f64 {
    match req {
        Req::Null => old,
        Req::Write | Req::Inplace => result,
        Req::Add if dtype == DType::Bool => f64::from(u8::from(old != 0.0 || result != 0.0)),
        Req::Add => old + result,
    }
}

/// Shapes with all the edges: 0-d, empty, of extent 1, short and long rows, more than one task.
pub const SHAPES: [&[usize]; 14] = [
    &[],
    &[0],
    &[3, 0, 2],
    &[1],
    &[1, 1],
    &[5],
    &[2, 3],
    &[1, 7, 1],
    &[3, 1, 5],
    &[2, 3, 4, 5],
    &[4, 70],
    &[70, 4],
    &[33, 65],
    &[3, 1100],
];
