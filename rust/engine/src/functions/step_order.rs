//! The order among the steps of a program: found out once, when it is built.

use std::collections::HashSet;

/// A list of lists of numbers.
pub(crate) struct Rows {
    ends: Box<[u32]>,
    items: Box<[u32]>,
}

impl Rows {
    pub(crate) fn new(rows: &[Vec<u32>]) -> Self {
        let mut end = 0;
        let ends = rows.iter().map(|row| {
            end += row.len() as u32;
            end
        });
        Self {
            ends: ends.collect(),
            items: rows.iter().flatten().copied().collect(),
        }
    }

    #[inline]
    pub(crate) fn row(&self, index: u32) -> &[u32] {
        let index = index as usize;
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[begin as usize..self.ends[index] as usize]
    }
}

/// Lists longer than this are not looked through for what they imply, so that building a program
/// takes time in proportion to its size.
const LOOK_BACK: usize = 64;

/// The users of one variable since its last writer.
#[derive(Clone, Default)]
struct Recent {
    writer: Option<u32>,
    readers: Vec<u32>,
}

/// The order among steps, as it is found out.
pub(crate) struct Order {
    recent: Vec<Recent>,
    /// What the step at hand waits for.
    before: Vec<u32>,
    /// What each step waits for.
    direct: Vec<Vec<u32>>,
    outside: Vec<u32>,
    pub(crate) waits: Vec<u32>,
    pub(crate) next: Vec<Vec<u32>>,
    pub(crate) first: Vec<Vec<u32>>,
    pub(crate) last: Vec<Vec<u32>>,
    pub(crate) last_users: Vec<u32>,
    pub(crate) writes: Vec<Vec<u32>>,
    pub(crate) uses: Vec<Vec<u32>>,
    /// The variables that are there when a step runs, as it or one in front waits for them.
    there: HashSet<(u32, u32)>,
    /// Variables from this number on are local.
    external: usize,
}

impl Order {
    pub(crate) fn new(steps: usize, vars: usize, external: usize) -> Self {
        Self {
            recent: vec![Recent::default(); vars],
            before: Vec::new(),
            direct: vec![Vec::new(); steps],
            outside: Vec::new(),
            waits: vec![0; steps],
            next: vec![Vec::new(); steps],
            first: vec![Vec::new(); external],
            last: vec![Vec::new(); steps],
            last_users: vec![0; external],
            writes: vec![Vec::new(); steps],
            uses: vec![Vec::new(); steps],
            there: HashSet::new(),
            external,
        }
    }

    /// The step uses a variable.
    pub(crate) fn add(&mut self, step: u32, var: u32, writes: bool) {
        let recent = &mut self.recent[var as usize];
        self.uses[step as usize].push(var);
        if writes && !recent.readers.is_empty() {
            // The readers have waited for the writer in front of them.
            self.before.extend(&recent.readers);
        } else {
            match recent.writer {
                Some(writer) => self.before.push(writer),
                None if (var as usize) < self.external => self.outside.push(var),
                None => {}
            }
        }
        if writes {
            self.writes[step as usize].push(var);
            recent.writer = Some(step);
            recent.readers.clear();
        } else {
            recent.readers.push(step);
        }
    }

    /// The step is complete.
    pub(crate) fn seal(&mut self, step: u32) {
        self.before.sort_unstable();
        self.before.dedup();
        for var in std::mem::take(&mut self.outside) {
            // A step in front may wait for the same variable.
            let covered = |before: &u32| self.there.contains(&(*before, var));
            if !self.before.iter().any(covered) {
                self.first[var as usize].push(step);
                self.waits[step as usize] += 1;
            }
            self.there.insert((step, var));
        }
        let before = self.without_implied();
        self.waits[step as usize] += before.len() as u32;
        for &earlier in &before {
            self.next[earlier as usize].push(step);
        }
        self.direct[step as usize] = before;
    }

    /// `before` without the steps that another one in it waits for itself: the less there is to
    /// count down, the faster is each launch. (In a program of random operations on 1024 variables
    /// with eight reads each, 1.5 of 14 are left.)
    fn without_implied(&mut self) -> Vec<u32> {
        let mut implied: Vec<u32> = Vec::new();
        for &earlier in &self.before {
            let direct = &self.direct[earlier as usize];
            if direct.len() <= LOOK_BACK {
                implied.extend(direct);
            }
        }
        implied.sort_unstable();
        let mut before = std::mem::take(&mut self.before);
        before.retain(|earlier| implied.binary_search(earlier).is_err());
        before
    }

    pub(crate) fn finish(&mut self) {
        for (var, recent) in self.recent[..self.external].iter().enumerate() {
            let readers = recent.readers.iter().copied();
            let writer = recent.writer.filter(|_| recent.readers.is_empty());
            for step in readers.chain(writer) {
                self.last[step as usize].push(var as u32);
                self.last_users[var] += 1;
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::Order;

    #[test]
    fn what_follows_from_other_edges_is_left_out() {
        // 0 writes a; 1 reads a, writes b; 2 reads a and b: it need not wait for 0.
        let mut order = Order::new(3, 2, 0);
        for (step, uses) in [
            vec![(0, true)],
            vec![(1, true), (0, false)],
            vec![(0, false), (1, false)],
        ]
        .into_iter()
        .enumerate()
        {
            for (var, writes) in uses {
                order.add(step as u32, var, writes);
            }
            order.seal(step as u32);
        }
        assert_eq!(order.next, [vec![1], vec![2], vec![]]);
        assert_eq!(order.waits, [0, 1, 1]);
    }
}
