//! Non-maximum suppression: of boxes that overlap, the one with the highest score stays.

use crate::blocks::radix;
use crate::blocks::raw::Target;
use crate::boxes::geometry::{Place, Places};
use crate::math::real::Real;
use crate::par;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The indices of `scores` from the highest one down. Equal ones keep their order; NaN comes last.
pub(crate) fn descending<R: Real>(scores: &[R]) -> Vec<usize> {
    let number = |x: R| {
        let x = x.f64();
        if x.is_nan() { f64::NEG_INFINITY } else { x }
    };
    if size_of::<R>() == 4 && u32::try_from(scores.len()).is_ok() {
        let key = |(x, place): (&R, u64)| {
            let key = radix::short(number(*x) as f32) ^ u64::from(u32::MAX);
            key << 32 | place
        };
        let mut keys: Vec<u64> = scores.iter().zip(0..).map(key).collect();
        if keys.len() < radix::LEAST {
            keys.sort_unstable();
        } else {
            radix::sort_by_upper(&mut keys, &mut Vec::new());
        }
        let place = |key: u64| (key & u64::from(u32::MAX)) as usize;
        return keys.into_iter().map(place).collect();
    }
    let mut places: Vec<usize> = (0..scores.len()).collect();
    places.sort_by_key(|&i| Reverse(radix::long(number(scores[i]))));
    places
}

/// When a box gives way to another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule<R> {
    /// Boxes that overlap by more than this exclude each other.
    pub(crate) most: R,
    /// What extents count more than the difference of corners.
    pub(crate) pixel: R,
    /// The boxes after which no more are wanted.
    pub(crate) enough: usize,
}

/// Which boxes stay, of boxes in order of their scores, none of which knows the others' classes.
fn stay<R: Real>(rule: Rule<R>, boxes: impl Iterator<Item = (usize, Place<R>)>) -> Vec<usize> {
    let mut kept = Places::of(std::iter::empty());
    let mut found = Vec::new();
    for (i, place) in boxes {
        if found.len() == rule.enough {
            break;
        }
        if !kept.cover(place, rule.pixel, rule.most) {
            kept.push(place);
            found.push(i);
        }
    }
    found
}

/// For each box whether it stays. Boxes come in order of their scores; those of different classes do
/// not see each other. `class` is `None` where all are of one.
pub(crate) fn suppress<R: Real>(
    rule: Rule<R>,
    places: &[Place<R>],
    class: Option<&(dyn Fn(usize) -> i64 + Sync)>,
) -> Vec<bool> {
    let mut flags = vec![false; places.len()];
    let Some(class) = class else {
        let all = places.iter().copied().enumerate();
        stay(rule, all).into_iter().for_each(|i| flags[i] = true);
        return flags;
    };
    let mut numbers = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in 0..places.len() {
        let next = groups.len();
        let group = *numbers.entry(class(i)).or_insert(next);
        if group == next {
            groups.push(Vec::new());
        }
        groups[group].push(i);
    }
    let target = Target::of_slice(&mut flags);
    par::for_each(groups.len(), |g| {
        let group = groups[g].iter().map(|&i| (i, places[i]));
        for i in stay(rule, group) {
            // SAFETY: a box of this group alone, of which one task takes care.
            unsafe { *target.at(i) = true };
        }
    });
    flags
}
