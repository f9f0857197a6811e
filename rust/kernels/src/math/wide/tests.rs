//! Registers against numbers, bit by bit.

use super::*;
use crate::simd::body::Run;

/// Every operation, in two functions.
struct Bits;
struct Numbers;

static TABLE: Table = {
    let (mut table, mut i) = ([0.0; 32], 0);
    while i < 32 {
        table[i] = 1.0 / (i as f32 + 3.0);
        i += 1;
    }
    Table(table)
};

impl Function for Bits {
    #[inline(always)]
    fn of<V: Wide>(x: V) -> V {
        let y = x
            .bits_minus(x.all(1.5))
            .masked(0x7f80_0fff)
            .bits_as_number();
        y.fms(x.entry::<20>(&TABLE), x.all(3.0)).signed_as(x)
    }
}

impl Function for Numbers {
    #[inline(always)]
    fn of<V: Wide>(x: V) -> V {
        let x = x.at_least(-120.0).at_most(120.0);
        let (n, m) = (x + x.all(ROUNDER_32), x + x.all(ROUNDER_32NDS));
        let y = (x - (n - x.all(ROUNDER_32))).ldexp(n);
        x.magnitude().scaled(m).fma(x, y * y)
    }
}

/// Numbers of every sign and magnitude, infinities and NaN; of an odd length.
fn arguments() -> Vec<f32> {
    let step = 104_729;
    (0..u32::MAX / step)
        .map(|i| f32::from_bits(i * step))
        .collect()
}

/// Whether the bits are the same, or both are NaN.
fn alike(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The loops of `F` for all levels that this CPU has.
fn loops<F: Function>() -> Vec<Box<dyn Body<2>>> {
    #[cfg(target_arch = "x86_64")]
    if level() == crate::simd::vector::Level::V4 {
        let narrower = mapped::find::<F>(crate::simd::vector::Level::V3);
        return narrower.into_iter().chain([mapped::<F>()]).collect();
    }
    vec![mapped::<F>()]
}

fn check<F: Function>(body: &dyn Body<2>) {
    let x = arguments();
    for n in [0, 1, 15, 16, 17, 63, 64, 65, 200, x.len()] {
        let mut y = vec![0.0_f32; n + 1];
        let run = |ptr: *mut f32, uniform| Run {
            ptr: ptr.cast(),
            uniform,
        };
        let args = [
            run(y.as_mut_ptr(), false),
            run(x.as_ptr().cast_mut(), false),
        ];
        // SAFETY: both have `n` elements.
        unsafe { body.run(args, n) };
        assert_eq!(y[n], 0.0, "wrote beyond {n}");
        for (x, y) in x.iter().zip(&y[..n]) {
            let want = F::of(*x);
            assert!(alike(want, *y), "{x:e}: {y:e}, not {want:e}");
        }
        let same = run(y.as_mut_ptr(), false);
        let again: Vec<f32> = y[..n].iter().map(|y| F::of(*y)).collect();
        // SAFETY: as above.
        unsafe { body.run([same; 2], n) };
        assert!(again.iter().zip(&y).all(|(a, b)| alike(*a, *b)));
    }
}

/// The form that writes by non-temporal stores, to memory that is aligned to nothing but its elements.
fn check_streamed<F: Function>(body: &dyn Body<2>) {
    let x = arguments();
    for (start, n) in [(0, 0), (1, 5), (0, 64), (3, 200), (5, x.len())] {
        let mut y = vec![0.0_f32; start + n + 1];
        let run = |ptr: *mut f32| Run {
            ptr: ptr.cast(),
            uniform: false,
        };
        let args = [y[start..].as_mut_ptr(), x.as_ptr().cast_mut()].map(run);
        // SAFETY: both have `n` elements.
        unsafe { body.run_streamed(args, n) };
        crate::iter::memory::finish_stream();
        let others = (y[..start].iter()).chain(&y[start + n..]);
        assert!(others.copied().all(|y| y == 0.0), "wrote beyond {n}");
        for (x, y) in x.iter().zip(&y[start..start + n]) {
            let want = F::of(*x);
            assert!(alike(want, *y), "{x:e}: {y:e}, not {want:e}");
        }
        let again: Vec<f32> = y[start..start + n].iter().map(|y| F::of(*y)).collect();
        // SAFETY: as above; the input is the output.
        unsafe { body.run_streamed([args[0]; 2], n) };
        crate::iter::memory::finish_stream();
        assert!(again.iter().zip(&y[start..]).all(|(a, b)| alike(*a, *b)));
    }
}

#[test]
fn registers_give_the_bits_of_numbers() {
    fn both<F: Function>() {
        for body in loops::<F>() {
            check::<F>(&*body);
            check_streamed::<F>(&*body);
        }
    }
    both::<Bits>();
    both::<Numbers>();
    both::<crate::math::Exp>();
    both::<crate::math::Sigmoid>();
    both::<crate::math::Tanh>();
}

#[test]
fn masks_tell_which() {
    let limits = |x: f32| (x.reaches(126.0), x.bits_reach(0x7f80_0000));
    assert_eq!(limits(-125.0), (false, true));
    assert_eq!(limits(126.0), (true, false));
    assert_eq!(limits(f32::NAN), (true, true));
}
