//! Places of lives in buffers: greedy by size.
//!
//! The largest lives open buffers, and later ones take the best place that is left. Buffers of a life's own
//! size are found in a tree by the step at which they were first used, since lives of one size come by their
//! last step, latest first. In larger buffers, trees pass over those that are full, and the search
//! ends after a bounded number of looks, so that a plan takes linear time, nearly, whatever the graph.

use std::collections::BTreeSet;

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
    /// Lives that end before, but whose memory must still not be written at `first`.
    apart: Vec<u32>,
}

impl Life {
    /// A life on a device, by its number.
    pub fn new(size: u64, first: i64, last: i64, device: usize, apart: Vec<u32>) -> Self {
        Life {
            size,
            first,
            last,
            fixed: false,
            whole: None,
            device,
            apart,
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
    let mut apart: Vec<Vec<u32>> = vec![Vec::new(); lives.len()];
    for (number, life) in (0..).zip(lives) {
        for &other in &life.apart {
            apart[number as usize].push(other);
            apart[other as usize].push(number);
        }
    }
    let mut groups: Vec<Vec<u32>> = (0..).zip(lives).map(|(number, _)| vec![number]).collect();
    for (number, life) in (0..).zip(lives) {
        if let Some(whole) = life.whole {
            groups[whole as usize].push(number);
        }
    }
    let mut search = Search {
        lives,
        groups,
        apart,
        buffers: Vec::new(),
        places: vec![(NOWHERE, 0); lives.len()],
        classes: (0..devices).map(|_| Vec::new()).collect(),
        others: Vec::new(),
        busy: Vec::new(),
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
    apart: Vec<Vec<u32>>,
    buffers: Vec<Buffer>,
    places: Vec<(usize, u64)>,
    /// By device, the largest size first.
    classes: Vec<Vec<Class>>,
    /// Room for [`Search::fit`].
    others: Vec<u32>,
    busy: Vec<(u64, u64)>,
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
    fn find_free(&self, number: u32) -> Option<(usize, usize)> {
        let life = &self.lives[number as usize];
        let class = self.classes[life.device].last()?;
        let group = self.groups[number as usize].iter();
        let end = group.map(|&one| self.lives[one as usize].last).max()?;
        let mut from = 0;
        loop {
            let index = class.starts.first_above(from, end)?;
            let buffer = class.buffers[index];
            if !self.is_apart(number, buffer) {
                return Some((index, buffer));
            }
            from = index + 1;
        }
    }

    /// Whether the buffer holds a life whose memory the other must not have.
    fn is_apart(&self, number: u32, buffer: usize) -> bool {
        let group = self.groups[number as usize].iter();
        let mut others = group.flat_map(|&one| &self.apart[one as usize]);
        others.any(|&other| self.places[other as usize].0 == buffer)
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
            let apart = self.apart[one as usize].iter();
            others.extend(apart.filter(|&&o| self.places[o as usize].0 == index));
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

/// Numbers, of which the first that exceeds another is found.
#[derive(Default)]
struct MaxTree {
    /// The maxima of all subtrees, from the root; leaves from `width` on.
    nodes: Vec<i64>,
    width: usize,
}

impl MaxTree {
    fn set(&mut self, index: usize, value: i64) {
        if index >= self.width {
            let leaves = self.nodes[self.width.min(self.nodes.len())..].to_vec();
            self.width = (index + 1).next_power_of_two();
            self.nodes = vec![i64::MIN; 2 * self.width];
            self.nodes[self.width..self.width + leaves.len()].copy_from_slice(&leaves);
            for i in (1..self.width).rev() {
                self.nodes[i] = self.nodes[2 * i].max(self.nodes[2 * i + 1]);
            }
        }
        let mut i = self.width + index;
        self.nodes[i] = value;
        while i > 1 {
            i /= 2;
            self.nodes[i] = self.nodes[2 * i].max(self.nodes[2 * i + 1]);
        }
    }

    fn first_above(&self, from: usize, bound: i64) -> Option<usize> {
        first_leaf(self.width, from, |node| self.nodes[node] > bound)
    }
}

/// Times, of which the first that does not touch another is found.
struct SpanTree {
    /// Of all subtrees, from the root, the largest start and the smallest end.
    nodes: Vec<(i64, i64)>,
    width: usize,
}

impl SpanTree {
    fn new(spans: Vec<(i64, i64)>) -> Self {
        let width = spans.len().next_power_of_two();
        let mut nodes = vec![(i64::MIN, i64::MAX); 2 * width];
        nodes[width..width + spans.len()].copy_from_slice(&spans);
        for i in (1..width).rev() {
            let (a, b) = (nodes[2 * i], nodes[2 * i + 1]);
            nodes[i] = (a.0.max(b.0), a.1.min(b.1));
        }
        SpanTree { nodes, width }
    }

    /// The first from `from` on that does not touch the steps from `first` to `last`.
    fn first_clear(&self, from: usize, first: i64, last: i64) -> Option<usize> {
        first_leaf(self.width, from, |node| {
            let (start, end) = self.nodes[node];
            start > last || end < first
        })
    }
}

/// The first leaf from `from` on that may be meant, in a tree where `may` says of a node whether one below
/// may be.
fn first_leaf(width: usize, from: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
    if from >= width {
        return None;
    }
    let mut node = width + from;
    loop {
        if may(node) {
            if node >= width {
                return Some(node - width);
            }
            node *= 2;
            continue;
        }
        // On to the next subtree to the right.
        while node % 2 == 1 {
            node /= 2;
        }
        if node == 0 {
            return None;
        }
        node += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_find_the_first_leaf() {
        let mut tree = MaxTree::default();
        for (i, value) in [3, 9, 1, 7, 2].into_iter().enumerate() {
            tree.set(i, value);
        }
        assert_eq!(tree.first_above(0, 2), Some(0));
        assert_eq!(tree.first_above(2, 2), Some(3));
        assert_eq!(tree.first_above(0, 9), None);
        assert_eq!(tree.first_above(4, 1), Some(4));
        let spans = SpanTree::new(vec![(0, 5), (2, 3), (7, 9)]);
        assert_eq!(spans.first_clear(0, 4, 6), Some(1));
        assert_eq!(spans.first_clear(2, 4, 6), Some(2));
        assert_eq!(spans.first_clear(0, 0, 9), None);
    }

    #[test]
    fn what_is_in_a_place_keeps_it_from_others() {
        // The second begins where the first ends, in its place; the third needs none of its bytes.
        let mut lives = vec![
            Life::new(256, 0, 1, 0, Vec::new()),
            Life::new(64, 2, 5, 0, Vec::new()),
            Life::new(128, 3, 4, 0, Vec::new()),
            Life::new(256, 6, 7, 0, Vec::new()),
        ];
        lives[1].whole = Some(0);
        let found = place(&lives, 1);
        assert_eq!(found.buffers, [(256, 0)]);
        assert_eq!(found.places, [(0, 0), (0, 0), (0, 64), (0, 0)]);
        assert_eq!(peak(&lives, 8), 256);
        lives[2].size = 256;
        assert_eq!(place(&lives, 1).buffers.len(), 2);
    }
}
