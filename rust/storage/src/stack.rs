//! The lock-free stack of magazines (Treiber 1986), with a counter against ABA.
//!
//! *State.* `head` is one word: the low 24 bits name the top magazine by number plus one (0: none),
//! the upper 40 bits count changes. `next` of a magazine, in the same numbering, is the one below.
//!
//! *Who touches what.* A magazine that is off every stack belongs to one thread, which alone writes
//! its `next` and its contents. One on a stack is only read, and only its `next`. Magazines live as
//! long as the pool, so a stale number still names valid memory.
//!
//! *Push* writes `next`, then swings `head` from the value it read (Release). *Pop* reads `head`
//! (Acquire) and the top's `next`, then swings `head` to it. Each success adds one to the counter,
//! so where the top was popped and pushed again in between, and the `next` that was read is stale,
//! the swing fails. A false success takes exactly 2^40 changes (hours at full speed) while one
//! thread sleeps between two instructions. *Take all* swings `head` to 0 and then owns the chain.
//!
//! *Ordering.* All writes of `head` but the first are read-modify-writes, so they form one release
//! sequence: a load of any value of `head` acquires every push before it, hence the contents and the
//! `next` of each magazine below.
//!
//! *Progress.* Lock-free: a swing fails only because another succeeded. The models below were
//! seen to fail with the counter removed, and with the Release or either Acquire relaxed.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Bits of `head` that name a magazine.
const INDEX_BITS: u32 = 24;
const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

/// Most magazines that can be named.
pub(crate) const MAX_NODES: usize = INDEX_MASK as usize;

/// The link words of the magazines, by number.
pub(crate) trait Links {
    /// The `next` word of magazine `index`.
    fn next(&self, index: u32) -> &AtomicU32;
}

/// A lock-free stack of magazine numbers.
#[derive(Debug)]
pub(crate) struct Stack {
    head: AtomicU64,
}

fn top(head: u64) -> u32 {
    (head & INDEX_MASK) as u32
}

/// The word that follows `head` when `top` becomes the top.
fn following(head: u64, top: u32) -> u64 {
    ((head >> INDEX_BITS).wrapping_add(1) << INDEX_BITS) | u64::from(top)
}

impl Stack {
    /// An empty stack.
    pub(crate) fn new() -> Stack {
        Stack {
            head: AtomicU64::new(0),
        }
    }

    /// Puts magazine `index` on top; the caller owns it and gives it up.
    pub(crate) fn push(&self, links: &impl Links, index: u32) {
        let link = links.next(index);
        // Relaxed: the value is only compared and stored, nothing is read through it.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // Relaxed: published by the Release below.
            link.store(top(head), Ordering::Relaxed);
            let new = following(head, index + 1);
            // Release pairs with the Acquire of `pop`: `next` and the contents go along.
            match self
                .head
                .compare_exchange(head, new, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Takes the top magazine, which the caller then owns.
    pub(crate) fn pop(&self, links: &impl Links) -> Option<u32> {
        // Acquire, here and on failure, pairs with the Release of `push`. Success is Relaxed: it
        // meets the very write that was acquired, as the counter makes each value unique.
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let index = top(head).checked_sub(1)?;
            // Relaxed: ordered by the Acquire; if stale, the exchange below fails.
            let below = links.next(index).load(Ordering::Relaxed);
            let new = following(head, below);
            match self
                .head
                .compare_exchange(head, new, Ordering::Relaxed, Ordering::Acquire)
            {
                Ok(_) => return Some(index),
                Err(now) => head = now,
            }
        }
    }
}

impl Stack {
    /// Takes all magazines, which the caller then owns, the top one first.
    pub(crate) fn take_all(&self, links: &impl Links) -> Vec<u32> {
        // The orderings are those of `pop`.
        let mut head = self.head.load(Ordering::Acquire);
        while top(head) != 0 {
            match self.head.compare_exchange(
                head,
                following(head, 0),
                Ordering::Relaxed,
                Ordering::Acquire,
            ) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        let below = |&index: &u32| {
            // Relaxed: ordered by the Acquire above; the chain has one owner now.
            links.next(index).load(Ordering::Relaxed).checked_sub(1)
        };
        std::iter::successors(top(head).checked_sub(1), below).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    impl Links for Vec<AtomicU32> {
        fn next(&self, index: u32) -> &AtomicU32 {
            &self[index as usize]
        }
    }

    #[test]
    fn last_in_is_first_out() {
        let links: Vec<AtomicU32> = (0..3).map(|_| AtomicU32::new(0)).collect();
        let stack = Stack::new();
        assert_eq!(stack.pop(&links), None);
        for index in 0..3 {
            stack.push(&links, index);
        }
        assert_eq!([2, 1, 0].map(Some), [(); 3].map(|()| stack.pop(&links)));
        assert_eq!(stack.pop(&links), None);
    }

    #[test]
    fn all_are_taken_at_once_from_the_top() {
        let links: Vec<AtomicU32> = (0..3).map(|_| AtomicU32::new(0)).collect();
        let stack = Stack::new();
        assert!(stack.take_all(&links).is_empty());
        for index in 0..3 {
            stack.push(&links, index);
        }
        assert_eq!(stack.take_all(&links), [2, 1, 0]);
        assert_eq!(stack.pop(&links), None);
    }

    #[test]
    fn the_counter_wraps_without_touching_the_index() {
        assert_eq!(following(u64::MAX, 5), 5);
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p ferromix-storage --release --lib`.
#[cfg(all(test, loom))]
mod loom_model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    struct Node {
        next: AtomicU32,
        content: UnsafeCell<u32>,
    }

    impl Links for Vec<Node> {
        fn next(&self, index: u32) -> &AtomicU32 {
            &self[index as usize].next
        }
    }

    struct Shared {
        nodes: Vec<Node>,
        stack: Stack,
    }

    impl Shared {
        fn new(nodes: u32) -> Arc<Shared> {
            let node = |_| Node {
                next: AtomicU32::new(0),
                content: UnsafeCell::new(0),
            };
            let shared = Shared {
                nodes: (0..nodes).map(node).collect(),
                stack: Stack::new(),
            };
            (0..nodes).for_each(|index| shared.push(index));
            Arc::new(shared)
        }

        /// Takes a node and changes its content; loom reports a second owner as a data race.
        fn pop(&self) -> Option<u32> {
            let index = self.stack.pop(&self.nodes)?;
            self.touch(index);
            Some(index)
        }

        fn take_all_and_return(&self) {
            let all = self.stack.take_all(&self.nodes);
            all.iter().for_each(|&index| self.touch(index));
            all.into_iter().rev().for_each(|index| self.push(index));
        }

        fn touch(&self, index: u32) {
            // SAFETY: loom checks what is being proved, that a taken node has one owner.
            self.nodes[index as usize]
                .content
                .with_mut(|content| unsafe { *content += 1 });
        }

        fn push(&self, index: u32) {
            self.stack.push(&self.nodes, index);
        }

        fn drain(&self) -> Vec<u32> {
            let mut all: Vec<u32> = std::iter::from_fn(|| self.pop()).collect();
            all.sort_unstable();
            all
        }
    }

    /// The ABA case: one thread pops both and returns the first while the other sits in `pop`.
    #[test]
    fn a_stale_link_is_never_installed() {
        loom::model(|| {
            let shared = Shared::new(3);
            let other = Arc::clone(&shared);
            let thief = thread::spawn(move || {
                let first = other.pop();
                let second = other.pop();
                first.into_iter().for_each(|index| other.push(index));
                second
            });
            let mine = shared.pop();
            let theirs = thief.join().unwrap();
            let mut all = shared.drain();
            all.extend(mine.into_iter().chain(theirs));
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2]);
        });
    }

    /// Two threads take the whole chain and return it while another takes only the top.
    #[test]
    fn the_whole_chain_has_one_owner() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let shared = Shared::new(2);
            let takers: Vec<_> = (0..2)
                .map(|_| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || shared.take_all_and_return())
                })
                .collect();
            shared.pop().into_iter().for_each(|i| shared.push(i));
            takers.into_iter().for_each(|taker| taker.join().unwrap());
            assert_eq!(shared.drain(), [0, 1]);
        });
    }

    /// Three threads take and give back: nothing is lost, nobody shares.
    #[test]
    fn every_node_has_one_owner() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let shared = Shared::new(2);
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || shared.pop().into_iter().for_each(|i| shared.push(i)))
                })
                .collect();
            shared
                .pop()
                .into_iter()
                .for_each(|index| shared.push(index));
            threads
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
            assert_eq!(shared.drain(), [0, 1]);
        });
    }
}
