//! Places of lives in buffers: greedy by size.
//!
//! The largest lives open buffers, and later ones take the best place that is left. Buffers of a life's own
//! size are found in a tree by the step at which they were first used, since lives of one size come by their
//! last step, latest first. In larger buffers, trees pass over those that are full, and the search
//! ends after a bounded number of looks, so that a plan takes linear time, nearly, whatever the graph.

mod apart;
pub mod recompute;
mod trees;

use apart::Apart;
use std::collections::BTreeSet;
use std::sync::Arc;
use trees::{MaxTree, SpanTree};

/// How many buffers, and lives in them, are looked at for one life at most.
const LOOKS: usize = 4096;

/// Offsets in a buffer are multiples of this, in bytes.
const ALIGNMENT: u64 = 64;

/// Results that share memory because each takes the place of, or is a view of, another.
pub struct Life {
    /// Bytes.
    pub size: u64,
    /// The step that writes it first; -1 for what is there before.
    pub first: i64,
    /// The last step that reads it.
    pub last: i64,
    /// Whether the memory is not ours.
    pub fixed: bool,
    /// The larger life in whose place this one is, at its start; it ends before this one, and is in nobody's
    /// place itself.
    pub whole: Option<u32>,
    device: usize,
    /// Lives that end before, but whose memory must still not be written at `first`; one list for all that a
    /// step writes.
    apart: Arc<[u32]>,
}

impl Life {
    /// A life on a device, by its number.
    pub fn new(size: u64, first: i64, last: i64, device: usize, apart: &Arc<[u32]>) -> Self {
        Life {
            size,
            first,
            last,
            fixed: false,
            whole: None,
            device,
            apart: apart.clone(),
        }
    }
}

/// Where lives are.
pub struct Placed {
    /// Bytes and device of each buffer.
    pub buffers: Vec<(u64, usize)>,
    /// Buffer and offset of each life.
    pub places: Vec<(usize, u64)>,
    /// The lives in the order in which they got their places.
    pub order: Vec<u32>,
}

impl Placed {
    /// The bytes of all buffers.
    pub fn total(&self) -> u64 {
        self.buffers.iter().map(|buffer| buffer.0).sum()
    }
}

const NOWHERE: usize = usize::MAX;

/// Hands out places, to the largest lives first.
pub fn place(lives: &[Life], devices: usize) -> Placed {
    let mut order: Vec<u32> = (0..)
        .zip(lives)
        .filter(|(_, life)| !life.fixed && life.whole.is_none())
        .map(|(number, _)| number)
        .collect();
    order.sort_by_key(|&l| {
        let life = &lives[l as usize];
        (std::cmp::Reverse(life.size), std::cmp::Reverse(life.last))
    });
    let mut groups: Vec<Vec<u32>> = (0..).zip(lives).map(|(number, _)| vec![number]).collect();
    for (number, life) in (0..).zip(lives) {
        if let Some(whole) = life.whole {
            groups[whole as usize].push(number);
        }
    }
    let mut search = Search {
        lives,
        groups,
        apart: Apart::new(lives),
        buffers: Vec::new(),
        places: vec![(NOWHERE, 0); lives.len()],
        classes: (0..devices).map(|_| Vec::new()).collect(),
        others: Vec::new(),
        busy: Vec::new(),
        marks: Vec::new(),
    };
    for &life in &order {
        search.place(life);
    }
    let order = order
        .iter()
        .flat_map(|&life| search.groups[life as usize].iter().copied())
        .collect();
    Placed {
        buffers: search.buffers.iter().map(|b| (b.size, b.device)).collect(),
        places: search.places,
        order,
    }
}

/// The largest sum of sizes that are alive at one of the steps.
pub fn peak(lives: &[Life], steps: usize) -> u64 {
    let mut change = vec![0_i128; steps + 2];
    let ours = lives.iter().filter(|life| !life.fixed);
    for life in ours {
        let size = i128::from(life.size);
        change[usize::try_from(life.first).unwrap_or(0)] += size;
        change[usize::try_from(life.last + 1).unwrap_or(0)] -= size;
    }
    let mut alive = 0;
    let sums = change.into_iter().map(|c| {
        alive += c;
        alive
    });
    u64::try_from(sums.max().unwrap_or(0)).unwrap_or(u64::MAX)
}

struct Buffer {
    size: u64,
    device: usize,
    /// Times at which one life fills the buffer, the latest first, apart from each other.
    full: Vec<(i64, i64)>,
    /// The other lives, by their first step.
    parts: BTreeSet<(i64, u32)>,
    /// How many steps the longest of these lasts.
    longest: i64,
}

impl Buffer {
    fn is_full_within(&self, first: i64, last: i64) -> bool {
        let next = self.full.partition_point(|&(start, _)| start > last);
        self.full.get(next).is_some_and(|&(_, end)| end >= first)
    }

    fn longest_full(&self) -> (i64, i64) {
        let longest = self.full.iter().max_by_key(|(start, end)| end - start);
        *longest.unwrap_or(&(i64::MAX, i64::MIN))
    }
}

/// The buffers of one size on one device, in the order of their numbers.
struct Class {
    size: u64,
    buffers: Vec<usize>,
    /// Where the first use of each begins.
    starts: MaxTree,
    /// The bounds of the longest time at which each is full; made when the class is complete.
    spans: Option<SpanTree>,
}

/// How good a place is, and the place: others alive, bytes left over, offset, buffer.
type Fit = (usize, u64, u64, usize);

struct Search<'a> {
    lives: &'a [Life],
    /// Of each life that is in nobody's place, itself and those that are in its place.
    groups: Vec<Vec<u32>>,
    apart: Apart<'a>,
    buffers: Vec<Buffer>,
    places: Vec<(usize, u64)>,
    /// By device, the largest size first.
    classes: Vec<Vec<Class>>,
    /// Room for [`Search::fit`].
    others: Vec<u32>,
    busy: Vec<(u64, u64)>,
    /// By buffer, the last life that was found not to go there.
    marks: Vec<u32>,
}

impl Search<'_> {
    fn place(&mut self, number: u32) {
        let life = &self.lives[number as usize];
        let classes = &mut self.classes[life.device];
        if classes.last().is_none_or(|class| class.size != life.size) {
            if let Some(last) = classes.last_mut() {
                let spans = last.buffers.iter().map(|&b| self.buffers[b].longest_full());
                last.spans = Some(SpanTree::new(spans.collect()));
            }
            classes.push(Class {
                size: life.size,
                buffers: Vec::new(),
                starts: MaxTree::default(),
                spans: None,
            });
        }
        if let Some((index, buffer)) = self.find_free(number) {
            return self.fill(number, index, buffer);
        }
        if let Some((_, _, offset, buffer)) = self.find_larger(number) {
            return self.fill_part(number, buffer, offset, 0);
        }
        self.buffers.push(Buffer {
            size: life.size,
            device: life.device,
            full: Vec::new(),
            parts: BTreeSet::new(),
            longest: 0,
        });
        let buffer = self.buffers.len() - 1;
        if let Some(class) = self.classes[life.device].last_mut() {
            class.buffers.push(buffer);
            let index = class.buffers.len() - 1;
            self.fill(number, index, buffer);
        }
    }

    /// Gives a life all of a buffer of its size.
    fn fill(&mut self, number: u32, index: usize, buffer: usize) {
        let life = &self.lives[number as usize];
        self.places[number as usize] = (buffer, 0);
        let full = &mut self.buffers[buffer].full;
        match full.last_mut() {
            Some((start, _)) if *start == life.last + 1 => *start = life.first,
            _ => full.push((life.first, life.last)),
        }
        if let Some(class) = self.classes[life.device].last_mut() {
            class.starts.set(index, life.first);
        }
        self.fill_part(number, buffer, 0, 1);
    }

    /// Gives a life, and those in its place, part of a buffer; the first `skipped` of them have it.
    fn fill_part(&mut self, number: u32, index: usize, offset: u64, skipped: usize) {
        for &one in &self.groups[number as usize][skipped..] {
            let life = &self.lives[one as usize];
            self.places[one as usize] = (index, offset);
            let buffer = &mut self.buffers[index];
            buffer.parts.insert((life.first, one));
            buffer.longest = buffer.longest.max(life.last - life.first);
        }
    }

    /// The first buffer of the life's own size in which nothing is alive with it.
    fn find_free(&mut self, number: u32) -> Option<(usize, usize)> {
        self.mark_apart(number);
        let life = &self.lives[number as usize];
        let class = self.classes[life.device].last()?;
        let group = self.groups[number as usize].iter();
        let end = group.map(|&one| self.lives[one as usize].last).max()?;
        let mut from = 0;
        loop {
            let index = class.starts.first_above(from, end)?;
            let buffer = class.buffers[index];
            if self.marks[buffer] != number {
                return Some((index, buffer));
            }
            from = index + 1;
        }
    }

    /// Marks the buffers that hold a life whose memory this one must not have.
    fn mark_apart(&mut self, number: u32) {
        self.marks.resize(self.buffers.len(), u32::MAX);
        for &one in &self.groups[number as usize] {
            for other in self.apart.of(one) {
                if let Some(mark) = self.marks.get_mut(self.places[other as usize].0) {
                    *mark = number;
                }
            }
        }
    }

    /// The best place in a larger buffer.
    fn find_larger(&mut self, number: u32) -> Option<Fit> {
        let life = &self.lives[number as usize];
        let mut best: Option<Fit> = None;
        let mut looks = LOOKS;
        for class in (0..self.classes[life.device].len().saturating_sub(1)).rev() {
            let mut from = 0;
            loop {
                let class = &self.classes[life.device][class];
                let spans = class.spans.as_ref();
                let Some(index) = spans.and_then(|s| s.first_clear(from, life.first, life.last))
                else {
                    break;
                };
                from = index + 1;
                let Some(left) = looks.checked_sub(1) else {
                    return best;
                };
                looks = left;
                let most = best.map_or(usize::MAX, |(others, ..)| others);
                let found = self.fit(number, class.buffers[index], most, &mut looks);
                best = [best, found].into_iter().flatten().min();
                if best.is_some_and(|(others, ..)| others == 0) {
                    return best;
                }
            }
        }
        best
    }

    /// The tightest place in a buffer, where no more than `most` others are alive; may give one beside more.
    fn fit(&mut self, number: u32, index: usize, most: usize, looks: &mut usize) -> Option<Fit> {
        let (life, buffer) = (&self.lives[number as usize], &self.buffers[index]);
        let (others, busy) = (&mut self.others, &mut self.busy);
        others.clear();
        busy.clear();
        // Several may have met the same others.
        let alone = self.groups[number as usize].len() == 1;
        for &one in &self.groups[number as usize] {
            let Life { first, last, .. } = self.lives[one as usize];
            if buffer.is_full_within(first, last) {
                return None;
            }
            let earliest = (first - buffer.longest, 0);
            for &(_, other) in buffer.parts.range(earliest..=(last, u32::MAX)) {
                *looks = looks.checked_sub(1)?;
                if self.lives[other as usize].last >= first {
                    others.push(other);
                }
            }
            if alone && others.len() > most {
                return None;
            }
            for other in self.apart.of(one) {
                *looks = looks.checked_sub(1)?;
                if self.places[other as usize].0 == index {
                    others.push(other);
                }
            }
        }
        others.sort_unstable();
        others.dedup();
        let place = |&other: &u32| {
            let offset = self.places[other as usize].1;
            (offset, offset + self.lives[other as usize].size)
        };
        busy.extend(others.iter().map(place));
        busy.sort_unstable();
        let (mut start, mut best) = (0_u64, None);
        for &(low, high) in busy.iter().chain(&[(buffer.size, buffer.size)]) {
            if low >= start && low - start >= life.size {
                let fit = (busy.len(), low - start - life.size, start, index);
                best = Some(best.map_or(fit, |b: Fit| b.min(fit)));
            }
            start = start.max(high.next_multiple_of(ALIGNMENT));
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_a_place_keeps_it_from_others() {
        // The second begins where the first ends, in its place; the third needs none of its bytes.
        let none = Arc::from([]);
        let mut lives = vec![
            Life::new(256, 0, 1, 0, &none),
            Life::new(64, 2, 5, 0, &none),
            Life::new(128, 3, 4, 0, &none),
            Life::new(256, 6, 7, 0, &none),
        ];
        lives[1].whole = Some(0);
        let found = place(&lives, 1);
        assert_eq!(found.buffers, [(256, 0)]);
        assert_eq!(found.places, [(0, 0), (0, 0), (0, 64), (0, 0)]);
        assert_eq!(peak(&lives, 8), 256);
        lives[2].size = 256;
        assert_eq!(place(&lives, 1).buffers.len(), 2);
    }
    #[test]
    fn what_a_step_takes_the_shapes_of_lies_apart_from_what_it_writes() {
        let none = Arc::from([]);
        let step: Arc<[u32]> = Arc::from([0, 1]);
        let lives = [
            Life::new(64, 0, 1, 0, &none),
            Life::new(64, 0, 1, 0, &none),
            // Both would have room where the first two were.
            Life::new(64, 2, 3, 0, &step),
            Life::new(64, 2, 3, 0, &step),
            // And this one has.
            Life::new(64, 4, 5, 0, &none),
        ];
        let places: Vec<usize> = place(&lives, 1)
            .places
            .iter()
            .map(|place| place.0)
            .collect();
        for old in 0..2 {
            assert!(!places[2..4].contains(&places[old]));
        }
        assert_eq!(place(&lives, 1).buffers.len(), 4);
        assert!(places[..4].contains(&places[4]));
    }
}
