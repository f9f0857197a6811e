//! Fully connected layers of bytes: tiles of products of rows of data with the weights of 32 outputs.

use super::bytes::{GRAIN, Rest, SUM, added, bytes_of, check, finish, kept, put_excess, shift};
use crate::api::prepared::check_shape;
use crate::api::{Attrs, Call, Desc, Kept, Kernel, View};
use crate::blocks::raw::Target;
use crate::blocks::staged::Staged;
use crate::levels::byte_tiles::{COLUMNS, ROWS, STEP, Sides, Steps, tile};
use crate::levels::{Whole, by_byte};
use crate::par;
use ferromix_base::{Error, Result, element_count};
use std::marker::PhantomData;

struct Connected<S> {
    rows: usize,
    /// Numbers of a row of the data.
    depth: usize,
    hidden: usize,
    steps: Steps,
    of: PhantomData<fn() -> S>,
}

impl<S: Whole> Connected<S> {
    /// Bytes of a row of the data in whole steps.
    fn row(&self) -> usize {
        4 * self.steps.len()
    }

    fn panels(&self) -> usize {
        self.hidden.div_ceil(COLUMNS)
    }

    /// Bytes of the weights in the order in which tiles read them, and of the excess of each output.
    fn packed(&self) -> [usize; 2] {
        [self.panels() * self.steps.end(), SUM * self.hidden]
    }

    /// Orders the weights: step by step, those of the outputs of a panel side by side.
    fn pack(&self, weight: &[i8], memory: &mut [u8]) {
        let [size, excess] = self.packed();
        let (packed, rest) = memory.split_at_mut(size);
        put_excess::<S>(weight, self.depth, &mut rest[..excess]);
        let (size, target) = (self.steps.end(), Target::of_slice(packed));
        par::for_ranges(self.panels(), GRAIN / 16 / size.max(1), |panels| {
            for panel in panels {
                // SAFETY: a panel of this task alone.
                let out = unsafe { target.slice(panel * size..(panel + 1) * size) };
                out.fill(0);
                let first = panel * COLUMNS;
                for column in 0..COLUMNS.min(self.hidden - first) {
                    let row = &weight[(first + column) * self.depth..][..self.depth];
                    let words = bytes_of(row).chunks(4);
                    for (out, word) in out.chunks_exact_mut(STEP).zip(words) {
                        out[4 * column..4 * column + word.len()].copy_from_slice(word);
                    }
                }
            }
        });
    }

    /// Rows of the data as bytes without a sign, in whole steps.
    fn unsigned(&self, data: &[S], out: &mut [u8]) {
        let pairs = out.chunks_exact_mut(self.row().max(1));
        for (out, data) in pairs.zip(data.chunks_exact(self.depth.max(1))) {
            let (out, rest) = out.split_at_mut(self.depth);
            let bytes = bytes_of(data).iter();
            out.iter_mut()
                .zip(bytes)
                .for_each(|(o, &x)| *o = x ^ shift::<S>());
            rest.fill(0);
        }
    }

    /// Sums of products, and what is added to them by output.
    fn products(&self, data: &[u8], packed: &[u8], added: &[i32], target: &Target<i32>) {
        let (panel, row) = (self.steps.end(), self.row());
        let work = self.rows * panel.max(1);
        par::for_ranges(self.panels(), GRAIN.div_ceil(work), |panels| {
            let mut sums = [[0; COLUMNS]; ROWS];
            for number in panels {
                let first = number * COLUMNS;
                let wide = COLUMNS.min(self.hidden - first);
                for from in (0..self.rows).step_by(ROWS) {
                    let n = ROWS.min(self.rows - from);
                    let sides = Sides {
                        rows: &data[from * row..],
                        columns: &packed[number * panel..(number + 1) * panel],
                        steps: &self.steps,
                    };
                    tile::<false>(n, sides, &mut sums);
                    for (r, sums) in sums[..n].iter().enumerate() {
                        let at = (from + r) * self.hidden + first;
                        // SAFETY: outputs of a panel of this task alone.
                        let out = unsafe { target.slice(at..at + wide) };
                        for ((out, sum), added) in out.iter_mut().zip(sums).zip(&added[first..]) {
                            *out = sum.wrapping_add(*added);
                        }
                    }
                }
            }
        });
    }
}

impl<S: Whole> Kernel for Connected<S> {
    fn workspace(&self) -> usize {
        self.rows * self.row() + self.packed().iter().sum::<usize>()
    }

    fn kept(&self) -> Option<Kept> {
        kept(self.packed().iter().sum())
    }

    fn keep(&self, inputs: &[View], memory: &mut [u8]) -> Result<()> {
        self.pack(inputs[1].read()?, memory);
        Ok(())
    }

    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        let (data, weight) = (call.inputs[0].read::<S>()?, call.inputs[1].read::<i8>()?);
        let rest = Rest::of(call)?;
        let mut staged = Staged::all(call);
        if let Some(target) = Staged::target::<i32>(&mut staged[0])? {
            let (rows, room) = call.workspace.split_at_mut(self.rows * self.row());
            self.unsigned(data, rows);
            let packed = call.kept.unwrap_or_else(|| {
                self.pack(weight, room);
                room
            });
            let [size, excess] = self.packed();
            let added = added(&rest.scaled::<S>(), &packed[size..size + excess]);
            self.products(rows, packed, &added, &target);
        }
        finish(&rest, S::DTYPE, staged, call)
    }
}

pub(super) fn prepare(attrs: &Attrs, i: &[Desc], o: &[Desc]) -> Result<Box<dyn Kernel>> {
    let name = "_contrib_quantized_fully_connected";
    let hidden = usize::try_from(attrs.int("num_hidden")?).unwrap_or(0);
    check(name, attrs, i, o, hidden)?;
    let &[_, depth] = &i[1].shape[..] else {
        return Err(Error::value(format!("{name}: weight has two dimensions")));
    };
    check_shape(name, "weight", &i[1], &[hidden, depth])?;
    let split = if attrs.bool("flatten")? {
        1
    } else {
        i[0].shape.len().saturating_sub(1)
    };
    let rows = element_count(&i[0].shape[..split.min(i[0].shape.len())])?;
    let all = element_count(&i[0].shape)?;
    let fits = element_count(&o[0].shape)? == rows.saturating_mul(hidden);
    if !fits || all != rows.saturating_mul(depth) {
        return Err(Error::value(format!(
            "{name}: data of {:?} and weight of {:?} do not give {:?}",
            &i[0].shape[..],
            &i[1].shape[..],
            &o[0].shape[..]
        )));
    }
    let steps = Steps::in_a_row(depth.div_ceil(4));
    by_byte!(name, i[0].dtype, S => {
        let of = PhantomData::<fn() -> S>;
        Ok(Box::new(Connected { rows, depth, hidden, steps, of }) as Box<dyn Kernel>)
    })
}
