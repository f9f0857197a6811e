//! The matrix unit that some CPUs have (Intel's AMX): registers of [`ROWS`] rows of 64 bytes, and an instruction
//! that adds to one of them the products of [pairs](crate::linalg::pairs) of bfloat16 of two others, 16 times as many
//! in a cycle as vectors make of single precision. The system has to let a process use it.
//!
//! Sums are those of pairs, but of the second elements and of the first ones each by themselves over what a step
//! has of the contracted axis.

#[cfg(target_arch = "x86_64")]
use crate::linalg::pairs;
#[cfg(target_arch = "x86_64")]
use std::arch::asm;
use std::marker::PhantomData;

/// Rows of a register.
pub(crate) const ROWS: usize = 16;
/// Words of 32 bits in a row.
pub(crate) const WORDS: usize = 16;

/// Whether this CPU has the unit, and we may use it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn there() -> bool {
    static FOUND: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let find = || {
        let forbidden = std::env::var("FERROMIX_ISA").is_ok_and(|most| most == "avx512");
        // SAFETY: a CPU that multiplies pairs has what this asks.
        !forbidden && unsafe { is_granted() }
    };
    pairs::there() && *FOUND.get_or_init(find)
}

/// There is none.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn there() -> bool {
    false
}

/// Asks the CPU for the unit, and the system for its registers.
///
/// # Safety
/// The CPU saves the states that the system says.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "xsave")]
unsafe fn is_granted() -> bool {
    use std::arch::x86_64::{__cpuid_count, _xgetbv};
    const TILES_AND_PAIRS: u32 = 1 << 24 | 1 << 22;
    const STATES: u64 = 1 << 17 | 1 << 18;
    let found = __cpuid_count(7, 0).edx;
    // SAFETY: the system has vectors saved, so it said which states it saves.
    let saved = unsafe { _xgetbv(0) };
    found & TILES_AND_PAIRS == TILES_AND_PAIRS && saved & STATES == STATES && ask_system()
}

/// Asks Linux for room for the registers in each thread of this process.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn ask_system() -> bool {
    const ARCH_PRCTL: usize = 158;
    const REQUEST_PERMISSION: usize = 0x1023;
    const TILE_DATA: usize = 18;
    let mut result = ARCH_PRCTL;
    // SAFETY: a call that changes nothing but what this process may use.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") result,
            in("rdi") REQUEST_PERMISSION,
            in("rsi") TILE_DATA,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// Other systems are not asked.
#[cfg(all(target_arch = "x86_64", not(target_os = "linux")))]
fn ask_system() -> bool {
    false
}

/// What is multiplied: rows of two registers, by columns.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'a> {
    /// The first row of either register, and how many it has: up to [`ROWS`], and none in the second one perhaps.
    pub(crate) a: [(*const u32, usize); 2],
    /// Bytes from one row to the next.
    pub(crate) step: usize,
    /// Where the words of each tap begin in a row.
    pub(crate) taps: &'a [usize],
    /// Pairs of a tap: up to [`WORDS`].
    pub(crate) pairs: usize,
    /// A row of columns for each pair of each tap.
    pub(crate) b: *const f32,
    /// Columns: 16, or 32.
    pub(crate) columns: usize,
}

/// How the registers are cut.
#[derive(Clone, Copy, PartialEq)]
struct Shape {
    rows: [usize; 2],
    pairs: usize,
}

/// What the CPU reads to cut the registers.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start: u8,
    reserved: [u8; 14],
    bytes: [u16; 16],
    rows: [u8; 16],
}

/// The unit, for this thread. It is given back when this is dropped.
pub(crate) struct Unit {
    shape: Option<Shape>,
    /// Stays where its registers are.
    here: PhantomData<*mut ()>,
}

impl Unit {
    /// The unit; nothing where there is none.
    pub(crate) fn take() -> Option<Self> {
        there().then_some(Unit {
            shape: None,
            here: PhantomData,
        })
    }

    /// Cuts the registers: sums of both rows by 16 columns each, rows of either, and columns.
    fn cut(&mut self, shape: Shape) {
        if self.shape == Some(shape) {
            return;
        }
        let mut to = Configuration {
            palette: 1,
            start: 0,
            reserved: [0; 14],
            bytes: [0; 16],
            rows: [0; 16],
        };
        let Shape { rows, pairs } = shape;
        let mut set = |register: usize, rows: usize, words: usize| {
            if rows > 0 {
                to.rows[register] = rows as u8;
                to.bytes[register] = 4 * words as u16;
            }
        };
        for (i, rows) in rows.into_iter().enumerate() {
            set(2 * i, rows, WORDS);
            set(2 * i + 1, rows, WORDS);
            set(4 + i, rows, pairs);
            set(6 + i, pairs, WORDS);
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the CPU has the unit, as there is a `Unit`; no register is larger than it may be.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) &raw const to, options(nostack, readonly));
        }
        self.shape = Some(shape);
    }

    /// Writes products to `sums`, or adds them to what these hold: a row of `columns` numbers for each row of the
    /// first register, then for each of the second one.
    ///
    /// # Safety
    /// Rows have their words at all taps, and columns a row for each pair; the sums can be written.
    pub(crate) unsafe fn multiply(&mut self, of: &Factors<'_>, add: bool, sums: *mut f32) {
        let rows = of.a.map(|(_, rows)| rows);
        assert!((1..=ROWS).contains(&rows[0]) && rows[1] <= ROWS);
        assert!((1..=WORDS).contains(&of.pairs) && [16, 32].contains(&of.columns));
        self.cut(Shape {
            rows,
            pairs: of.pairs,
        });
        #[cfg(not(target_arch = "x86_64"))]
        unreachable!(
            "there is no unit, which would write {} sums: {add} {sums:?}",
            rows[0]
        );
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the registers are cut as the loops have them; the rest as the caller vouches.
        unsafe {
            match (rows[1] > 0, of.columns == 32) {
                (true, true) => two_by_two(of, add, sums),
                (true, false) => two_by_one(of, add, sums),
                (false, true) => one_by_two(of, add, sums),
                (false, false) => one_by_one(of, add, sums),
            }
        }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if self.shape.is_some() {
            // SAFETY: the CPU has the unit, which nobody uses any more.
            unsafe { asm!("tilerelease", options(nostack, nomem)) };
        }
    }
}

/// A loop over taps: how sums begin with zeros, or with what there is; what each tap adds; and how sums are stored.
/// `{t}` is where the words of a tap are in the first row, `{r}` in that of the second register.
#[cfg(target_arch = "x86_64")]
macro_rules! product {
    ($name:ident, zero [$($zero:literal)*], load [$($load:literal)*], tap [$($tap:literal)*], store [$($store:literal)*]) => {
        /// # Safety
        /// As [`Unit::multiply`]; the registers are cut so.
        unsafe fn $name(of: &Factors<'_>, add: bool, sums: *mut f32) {
            let width = of.columns * size_of::<f32>();
            // SAFETY: as the caller vouches.
            unsafe {
                asm!(
                    // Not every loop has a second register.
                    "/* {more} */",
                    "test {t}, {t}",
                    "jnz 2f",
                    $($zero,)*
                    "jmp 3f",
                    "2:",
                    $($load,)*
                    "3:",
                    "test {n}, {n}",
                    "jz 5f",
                    "4:",
                    "mov {r}, [{taps}]",
                    "lea {t}, [{first} + 4*{r}]",
                    "lea {r}, [{second} + 4*{r}]",
                    $($tap,)*
                    "add {b}, {skip}",
                    "add {taps}, 8",
                    "dec {n}",
                    "jnz 4b",
                    "5:",
                    $($store,)*
                    t = inout(reg) usize::from(add) => _,
                    r = out(reg) _,
                    n = inout(reg) of.taps.len() => _,
                    taps = inout(reg) of.taps.as_ptr() => _,
                    first = in(reg) of.a[0].0,
                    second = in(reg) of.a[1].0,
                    step = in(reg) of.step,
                    b = inout(reg) of.b => _,
                    width = in(reg) width,
                    skip = in(reg) of.pairs * width,
                    sums = in(reg) sums,
                    more = in(reg) sums.wrapping_add(of.a[0].1 * of.columns),
                    out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                    out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                    options(nostack),
                );
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
product!(two_by_two,
    zero ["tilezero tmm0" "tilezero tmm1" "tilezero tmm2" "tilezero tmm3"],
    load [
        "tileloadd tmm0, [{sums} + {width}]" "tileloadd tmm1, [{sums} + {width} + 64]"
        "tileloadd tmm2, [{more} + {width}]" "tileloadd tmm3, [{more} + {width} + 64]"
    ],
    tap [
        "tileloadd tmm6, [{b} + {width}]" "tileloadd tmm4, [{t} + {step}]"
        "tileloadd tmm7, [{b} + {width} + 64]" "tileloadd tmm5, [{r} + {step}]"
        "tdpbf16ps tmm0, tmm4, tmm6" "tdpbf16ps tmm1, tmm4, tmm7"
        "tdpbf16ps tmm2, tmm5, tmm6" "tdpbf16ps tmm3, tmm5, tmm7"
    ],
    store [
        "tilestored [{sums} + {width}], tmm0" "tilestored [{sums} + {width} + 64], tmm1"
        "tilestored [{more} + {width}], tmm2" "tilestored [{more} + {width} + 64], tmm3"
    ]
);
#[cfg(target_arch = "x86_64")]
product!(two_by_one,
    zero ["tilezero tmm0" "tilezero tmm2"],
    load ["tileloadd tmm0, [{sums} + {width}]" "tileloadd tmm2, [{more} + {width}]"],
    tap [
        "tileloadd tmm6, [{b} + {width}]"
        "tileloadd tmm4, [{t} + {step}]" "tileloadd tmm5, [{r} + {step}]"
        "tdpbf16ps tmm0, tmm4, tmm6" "tdpbf16ps tmm2, tmm5, tmm6"
    ],
    store ["tilestored [{sums} + {width}], tmm0" "tilestored [{more} + {width}], tmm2"]
);
#[cfg(target_arch = "x86_64")]
product!(one_by_two,
    zero ["tilezero tmm0" "tilezero tmm1"],
    load ["tileloadd tmm0, [{sums} + {width}]" "tileloadd tmm1, [{sums} + {width} + 64]"],
    tap [
        "tileloadd tmm6, [{b} + {width}]" "tileloadd tmm4, [{t} + {step}]"
        "tileloadd tmm7, [{b} + {width} + 64]"
        "tdpbf16ps tmm0, tmm4, tmm6" "tdpbf16ps tmm1, tmm4, tmm7"
    ],
    store ["tilestored [{sums} + {width}], tmm0" "tilestored [{sums} + {width} + 64], tmm1"]
);
#[cfg(target_arch = "x86_64")]
product!(one_by_one,
    zero ["tilezero tmm0"],
    load ["tileloadd tmm0, [{sums} + {width}]"],
    tap [
        "tileloadd tmm6, [{b} + {width}]" "tileloadd tmm4, [{t} + {step}]"
        "tdpbf16ps tmm0, tmm4, tmm6"
    ],
    store ["tilestored [{sums} + {width}], tmm0"]
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::pairs::pair;
    use ferromix_base::bf16;

    fn halves(count: usize, seed: usize) -> Vec<bf16> {
        let number = |i: usize| ((i * 37 + seed * 11) % 23) as f32 / 4.0 - 2.5;
        (0..count).map(|i| bf16::from_f32(number(i))).collect()
    }

    #[test]
    fn sums_are_those_of_the_definition() {
        let Some(mut unit) = Unit::take() else {
            return;
        };
        // Rows lie 24 pairs apart, of the second register from row 20 on; a tap begins within another.
        let (width, taps) = (24, [3, 0, 8]);
        for (rows, pairs, columns) in [
            ([16, 16], 16, 32),
            ([16, 7], 16, 32),
            ([1, 3], 5, 32),
            ([13, 0], 8, 32),
            ([16, 16], 8, 16),
            ([9, 0], 16, 16),
        ] {
            let a = halves(2 * width * 36, 1);
            let b = halves(2 * taps.len() * pairs * columns, 2);
            let words: Vec<f32> = b.chunks(2).map(|two| pair(two[0], two[1])).collect();
            let start: Vec<f32> = (0..(rows[0] + rows[1]) * columns)
                .map(|i| i as f32 / 8.0)
                .collect();
            let of = Factors {
                a: [(0, rows[0]), (20, rows[1])]
                    .map(|(row, n)| (a[2 * row * width..].as_ptr().cast(), n)),
                step: 4 * width,
                taps: &taps,
                pairs,
                b: words.as_ptr(),
                columns,
            };
            for add in [false, true] {
                let mut sums = start.clone();
                // SAFETY: rows have 24 pairs; there is room for all rows of sums.
                unsafe { unit.multiply(&of, add, sums.as_mut_ptr()) };
                for (i, &sum) in sums.iter().enumerate() {
                    let (r, column) = (i / columns, i % columns);
                    let row = if r < rows[0] { r } else { r - rows[0] + 20 };
                    let mut want = if add { start[i] } else { 0.0 };
                    for (k, p) in (0..taps.len() * pairs).enumerate() {
                        let at = 2 * (row * width + taps[k / pairs] + k % pairs);
                        for half in 0..2 {
                            let weight = b[2 * (p * columns + column) + half];
                            want += a[at + half].to_f32() * weight.to_f32();
                        }
                    }
                    assert!((sum - want).abs() < 1e-3, "{rows:?} {i}: {sum} {want}");
                }
            }
        }
    }
}
