//! Which lives must not share memory though they are not alive at once: what a step writes, and what it takes the
//! shapes of.

use super::Life;
use smallvec::SmallVec;
use std::sync::Arc;

/// The pairs, step by step: one may have thousands of either, so they are not written out.
pub(super) struct Apart<'a> {
    /// Of each step what it takes the shapes of, and what it writes.
    steps: Vec<(&'a [u32], Vec<u32>)>,
    /// Of each life the steps that it is part of, and whether they write it.
    parts: Vec<SmallVec<[(u32, bool); 1]>>,
}

impl<'a> Apart<'a> {
    pub(super) fn new(lives: &'a [Life]) -> Self {
        let mut apart = Apart {
            steps: Vec::new(),
            parts: vec![SmallVec::new(); lives.len()],
        };
        let mut last: Option<&Arc<[u32]>> = None;
        for (number, life) in (0..).zip(lives) {
            if life.apart.is_empty() {
                continue;
            }
            if last.is_none_or(|last| !Arc::ptr_eq(last, &life.apart)) {
                let step = apart.steps.len() as u32;
                for &other in life.apart.iter() {
                    apart.parts[other as usize].push((step, false));
                }
                apart.steps.push((&life.apart, Vec::new()));
                last = Some(&life.apart);
            }
            let step = apart.steps.len() - 1;
            apart.steps[step].1.push(number);
            apart.parts[number as usize].push((step as u32, true));
        }
        apart
    }

    /// What must not lie where this life does.
    pub(super) fn of(&self, life: u32) -> impl Iterator<Item = u32> {
        let parts = self.parts[life as usize].iter();
        parts.flat_map(|&(step, written)| {
            let (shapes, outputs) = &self.steps[step as usize];
            let others = if written { shapes } else { &outputs[..] };
            others.iter().copied()
        })
    }
}
