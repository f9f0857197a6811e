//! The choice of what a backward pass computes again, where results would take too much memory.
//!
//! The chain of what has to be computed again is cut at places where little crosses, as in Chen et al.,
//! Training Deep Nets with Sublinear Memory Cost, 2016. Sets to drop are tried in order: what is cheap, then
//! what is dear, too, each cut in several ways, and parts of it.

use std::collections::{HashMap, HashSet};

/// Results that may cross a place where recomputation stops.
const FEW: usize = 4;
/// Shares of what is dear that are dropped with all that is cheap.
const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Into how many pieces the chain of what is computed again is cut; 0 for wherever that may be.
const PIECES: [u64; 7] = [0, 1, 2, 4, 8, 16, 32];
/// How much of a choice is dropped: the first of it, which stays longest.
const PARTS: [f64; 8] = [0.0625, 0.125, 0.1875, 0.25, 0.375, 0.5, 0.75, 1.0];

/// Bytes and operations of one core in a second, about; only the ratio counts.
const BYTES: f64 = 2e10;
const OPERATIONS: f64 = 1e11;

/// The seconds, about, of what moves so many bytes and adds up so many products.
pub fn seconds(bytes: u64, products: f64) -> f64 {
    (bytes as f64 / BYTES).max(2.0 * products / OPERATIONS)
}

/// A step of the forward pass: the results that it reads and writes, by number.
pub struct Pass<'a> {
    /// What it reads.
    pub reads: &'a [u32],
    /// What it writes.
    pub writes: &'a [u32],
}

/// A step whose first result may be dropped.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The step in the forward pass.
    pub step: usize,
    /// The bytes of the result.
    pub size: u64,
    /// The seconds, about, to compute it again.
    pub seconds: f64,
    /// Whether that takes longer than its memory does.
    pub heavy: bool,
}

/// The candidates, by number and in order, to drop so that a pass takes at most `budget` bytes, at little cost
/// and in at most `most` seconds more; if nothing does, those with which it takes least.
///
/// Candidates come in the order of their steps. `peak` has the bytes that a pass takes without keeping some.
pub fn select(
    forward: &[Pass<'_>],
    candidates: &[Candidate],
    mut peak: impl FnMut(&[usize]) -> u64,
    budget: u64,
    most: f64,
) -> Vec<usize> {
    let (mut best, mut least, mut price) = (Vec::new(), peak(&[]), 0.0);
    if least <= budget || most <= 0.0 {
        return best;
    }
    let crossing = crossing(forward, candidates);
    let mut seen = HashSet::new();
    for level in levels(candidates) {
        for kept in cuts(&crossing, candidates, &level) {
            let chosen: Vec<usize> = level
                .iter()
                .copied()
                .filter(|i| !kept.contains(i))
                .collect();
            for part in PARTS {
                let some = &chosen[..share(chosen.len(), part)];
                let seconds: f64 = some.iter().map(|&i| candidates[i].seconds).sum();
                // Too dear, also where what is chosen is small enough already.
                let dear = seconds > most || (least <= budget && seconds >= price);
                if some.is_empty() || dear || !seen.insert(some.to_vec()) {
                    continue;
                }
                let found = peak(some);
                if (found.max(budget), seconds) < (least.max(budget), price) {
                    (best, least, price) = (some.to_vec(), found, seconds);
                }
            }
        }
    }
    best
}

/// How many of `count` a share is.
fn share(count: usize, part: f64) -> usize {
    (count as f64 * part).round_ties_even() as usize
}

/// What is cheap with more and more of what is dear, most memory for the time first; in order.
fn levels(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let (mut heavy, cheap): (Vec<usize>, Vec<usize>) =
        (0..candidates.len()).partition(|&i| candidates[i].heavy);
    let worth = |i: usize| candidates[i].size as f64 / candidates[i].seconds.max(1e-12);
    heavy.sort_by(|&a, &b| worth(b).total_cmp(&worth(a)));
    let shares = &SHARES[..if heavy.is_empty() { 1 } else { SHARES.len() }];
    let level = |&part: &f64| {
        let dear = &heavy[..share(heavy.len(), part)];
        let mut all: Vec<usize> = cheap.iter().chain(dear).copied().collect();
        all.sort_unstable();
        all
    };
    shares.iter().map(level).collect()
}

/// For each step the results that are read later, where they are few: the numbers of candidates, and what is none.
fn crossing(forward: &[Pass<'_>], candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let first = |c: &Candidate| forward[c.step].writes.first().copied();
    let numbers: HashMap<_, usize> = candidates.iter().map(first).zip(0..).collect();
    let number = |result: &u32| numbers.get(&Some(*result)).copied().unwrap_or(usize::MAX);
    let mut last: HashMap<u32, usize> = HashMap::new();
    for (step, pass) in forward.iter().enumerate() {
        last.extend(pass.reads.iter().map(|&read| (read, step)));
    }
    let mut alive: Vec<u32> = Vec::new();
    let crossing = forward.iter().enumerate().map(|(step, pass)| {
        alive.retain(|result| last[result] > step);
        let read_later = |result: &&u32| last.get(result).is_some_and(|&end| end > step);
        alive.extend(pass.writes.iter().filter(read_later));
        let few = if alive.len() <= FEW { &alive[..] } else { &[] };
        few.iter().map(number).collect()
    });
    crossing.collect()
}

/// What of a level to keep, for each number of pieces that are computed again at once.
fn cuts(crossing: &[Vec<usize>], candidates: &[Candidate], level: &[usize]) -> Vec<HashSet<usize>> {
    let mut size = vec![0; crossing.len()];
    level
        .iter()
        .for_each(|&i| size[candidates[i].step] = candidates[i].size);
    let whole: u64 = size.iter().sum();
    let cut = |pieces: &u64| {
        let most = whole.checked_div(*pieces).unwrap_or(0);
        let mut kept = HashSet::new();
        let mut since = 0;
        for (across, size) in crossing.iter().zip(&size) {
            since += size;
            let far = most > 0 && since > most.saturating_mul(4);
            if since > most && (across.len() == 1 || (far && !across.is_empty())) {
                kept.extend(across);
                since = 0;
            }
        }
        kept
    };
    PIECES.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of operators of one result each, of 100 bytes, all but the last of which may be dropped.
    fn chain(length: u32) -> (Vec<[u32; 2]>, Vec<Candidate>) {
        let steps = (0..length).map(|i| [i, i + 1]).collect();
        let candidates = (0..length as usize - 1).map(|step| Candidate {
            step,
            size: 100,
            seconds: 1.0,
            heavy: false,
        });
        (steps, candidates.collect())
    }

    fn passes(steps: &[[u32; 2]]) -> Vec<Pass<'_>> {
        let halves = steps.iter().map(|step| step.split_at(1));
        halves
            .map(|(reads, writes)| Pass { reads, writes })
            .collect()
    }

    #[test]
    fn the_cheapest_that_is_small_enough_is_chosen() {
        let (steps, candidates) = chain(16);
        let peak = |chosen: &[usize]| 100 * (16 - chosen.len() as u64);
        let choose = |budget| select(&passes(&steps), &candidates, peak, budget, f64::INFINITY);
        assert!(choose(1600).is_empty());
        let few = choose(1300);
        assert!(peak(&few) <= 1300 && few.len() < candidates.len());
        assert!(choose(0).len() > few.len());
    }

    #[test]
    fn no_more_time_is_taken_than_may_be() {
        let (steps, candidates) = chain(16);
        let peak = |chosen: &[usize]| 100 * (16 - chosen.len() as u64);
        let chosen = select(&passes(&steps), &candidates, peak, 0, 4.0);
        assert_eq!(chosen, [0, 1, 2, 3]);
    }

    #[test]
    fn long_chains_are_cut_where_one_result_crosses() {
        let (steps, candidates) = chain(9);
        let level: Vec<usize> = (0..8).collect();
        let crossing = crossing(&passes(&steps), &candidates);
        let kept = cuts(&crossing, &candidates, &level);
        // Without pieces all is kept; of two, what has more than 400 bytes before it.
        assert_eq!(kept[0].len(), 8);
        assert_eq!(kept[1], HashSet::new());
        assert_eq!(kept[2], HashSet::from([4]));
        assert_eq!(kept[3], HashSet::from([2, 5]));
    }
}
