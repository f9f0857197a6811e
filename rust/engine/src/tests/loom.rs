//! Loom models of the parts that are shared between threads on their own: the sleeping of workers,
//! the latch, the stack, and the log with its baton.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p ferromix-engine --release --lib loom`.

use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::base::stack::TakeAllStack;
use crate::base::sync::{AcqRel, Acquire, AtomicPtr, UnsafeCell};
use crate::operation::op::{Fields, OpKind, OpPtr};
use crate::scheduling::park::Idle;
use crate::scheduling::ring::Ring;
use crate::types::device::Device;
use crate::types::spec::Name;
use crate::types::wait_policy::WaitPolicy;
use crate::waiters::latch::Latch;
use crate::waiters::waiter::{Pending, Waiter};

pub(crate) fn model(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

/// As many preemptions as `FERROMIX_LOOM_DEEP` has time for, or fewer without it.
fn preemptions(deep: usize, otherwise: usize) -> usize {
    if std::env::var_os("FERROMIX_LOOM_DEEP").is_some() {
        deep
    } else {
        otherwise
    }
}

/// A lane in small: a number of items instead of a queue.
struct SmallLane {
    idle: Idle,
    items: AtomicUsize,
    done: AtomicUsize,
}

impl SmallLane {
    fn has_work(&self) -> bool {
        self.items.load(Relaxed) > 0
    }

    fn pop(&self) -> bool {
        let mut items = self.items.load(Relaxed);
        while items > 0 {
            match self
                .items
                .compare_exchange(items, items - 1, AcqRel, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => items = now,
            }
        }
        false
    }

    fn push(&self) {
        self.items.fetch_add(1, Relaxed);
        let _ = self.idle.announce();
    }

    fn push_registered(&self) {
        self.items.fetch_add(1, Relaxed);
        let _ = self.idle.announce_registered();
    }

    /// A worker that ends after `quota` items.
    fn work(&self, index: usize, quota: usize) {
        let mut searching = true;
        let mut left = quota;
        while left > 0 {
            if self.pop() {
                if std::mem::take(&mut searching) && self.idle.stop_search(|| self.has_work()) {
                    let _ = self.idle.announce();
                }
                left -= 1;
                self.done.fetch_add(1, Relaxed);
                continue;
            }
            if !std::mem::replace(&mut searching, true) {
                self.idle.start_search();
            }
            self.idle.rest(index, || false, || self.has_work());
        }
    }

    fn new(workers: usize) -> Arc<Self> {
        let lane = Self {
            idle: Idle::new(workers),
            items: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
        };
        (0..workers).for_each(|_| lane.idle.start_search());
        Arc::new(lane)
    }
}

/// A lost wake-up would leave the worker parked, which loom reports as a deadlock.
#[test]
fn a_sleeping_worker_gets_every_item() {
    model(4, || {
        let lane = SmallLane::new(1);
        let worker = lane.clone();
        let worker = thread::spawn(move || worker.work(0, 2));
        lane.push();
        lane.push();
        worker.join().unwrap();
        assert_eq!(lane.done.load(Relaxed), 2);
    });
}

/// The same, told by an exchange instead of a fence; and by both.
#[test]
fn a_sleeping_worker_gets_every_item_of_the_registrar() {
    for both in [false, true] {
        model(4, move || {
            let lane = SmallLane::new(1);
            let worker = lane.clone();
            let worker = thread::spawn(move || worker.work(0, 2));
            lane.push_registered();
            if both {
                lane.push();
            } else {
                lane.push_registered();
            }
            worker.join().unwrap();
            assert_eq!(lane.done.load(Relaxed), 2);
        });
    }
}

/// Two workers of one item each: if only one were woken for two items, the other would sleep on.
#[test]
fn two_items_wake_two_workers() {
    model(2, || {
        let lane = SmallLane::new(2);
        let workers = [0, 1].map(|index| {
            let lane = lane.clone();
            thread::spawn(move || lane.work(index, 1))
        });
        lane.push();
        lane.push();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn a_latch_lets_every_waiter_go() {
    model(4, || {
        let latch = Arc::new(Latch::new());
        let value = Arc::new(AtomicUsize::new(0));
        let waiters = [0, 1].map(|_| {
            let (latch, value) = (latch.clone(), value.clone());
            thread::spawn(move || {
                latch.wait();
                assert_eq!(value.load(Relaxed), 7);
            })
        });
        value.store(7, Relaxed);
        latch.set();
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

/// Gives up after so many sleeps.
struct Sleeps(usize);

impl WaitPolicy for Sleeps {
    fn before_sleep(&mut self) -> Option<std::time::Duration> {
        self.0 = self.0.checked_sub(1)?;
        Some(std::time::Duration::ZERO)
    }
}

#[test]
fn a_signal_and_a_giving_up_agree_on_who_has_the_waiter() {
    model(4, || {
        let surfaced = Arc::new(AtomicUsize::new(0));
        let waiter = Pending::new();
        let (place, said) = (waiter.as_ptr() as usize, surfaced.clone());
        let signaller = thread::spawn(move || {
            let waiter = place as *const Waiter;
            // SAFETY: the one signaller.
            unsafe {
                if (*waiter).claim() {
                    said.store(1, Relaxed);
                    (*waiter).fill(|report| report.seq = 9);
                }
                Waiter::signal(waiter);
            }
        });
        let back = waiter.wait_with(&mut Sleeps(1));
        let got = back.map(|mut waiter| waiter.take_report().seq);
        signaller.join().unwrap();
        // What was taken out for this waiter reached it, and only then.
        assert_eq!(got, (surfaced.load(Relaxed) == 1).then_some(9));
    });
}

#[test]
fn a_latch_outlives_those_that_give_up() {
    model(3, || {
        let latch = Arc::new(Latch::new());
        let value = Arc::new(AtomicUsize::new(0));
        let (inner, seen) = (latch.clone(), value.clone());
        let hasty = thread::spawn(move || {
            if inner.wait_with(&mut Sleeps(1)) {
                assert_eq!(seen.load(Relaxed), 7);
            }
        });
        let (inner, seen) = (latch.clone(), value.clone());
        let patient = thread::spawn(move || {
            inner.wait();
            assert_eq!(seen.load(Relaxed), 7);
        });
        value.store(7, Relaxed);
        latch.set();
        hasty.join().unwrap();
        patient.join().unwrap();
        assert!(latch.is_set());
    });
}

struct Node {
    next: AtomicPtr<Node>,
    value: UnsafeCell<usize>,
}

#[test]
fn the_stack_loses_nothing() {
    model(4, || {
        let stack = Arc::new(TakeAllStack::<Node>::new());
        let pushers = [1, 2].map(|value| {
            let stack = stack.clone();
            thread::spawn(move || {
                let node = Node {
                    next: AtomicPtr::new(std::ptr::null_mut()),
                    value: UnsafeCell::new(0),
                };
                let node = Box::into_raw(Box::new(node));
                // SAFETY: ours; written late, so that loom sees it in need of publication.
                unsafe { (*node).value.with_mut(|place| *place = value) };
                // SAFETY: ours until the push succeeds.
                stack.push(node, |next| unsafe { (*node).next.store(next, Relaxed) });
            })
        });
        let mut sum = 0;
        while sum < 3 {
            let mut next = stack.take();
            while !next.is_null() {
                // SAFETY: taken, so ours.
                let node = unsafe { Box::from_raw(next) };
                // SAFETY: ours.
                sum += node.value.with(|value| unsafe { *value });
                next = node.next.load(Relaxed);
            }
            thread::yield_now();
        }
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert_eq!(sum, 3);
        assert!(stack.is_empty());
    });
}

pub(crate) fn entry() -> OpPtr {
    OpPtr::new(0, &fields())
}

fn fields() -> Fields {
    Fields {
        threads: 0,
        kind: OpKind::Sync,
        name: Name::new("entry"),
        tag: 0,
        device: Device::CPU,
        priority: 0,
        lane: std::ptr::null(),
        waiter: std::ptr::null(),
    }
}

/// A producer that makes the ring grow, and two takers: each element goes to one of them, in order.
#[test]
fn the_ring_gives_each_element_once() {
    model(preemptions(3, 2), || {
        let ring = Arc::new(Ring::new());
        let ops: Vec<OpPtr> = (0..4).map(|_| entry()).collect();
        let takers = [0, 1].map(|more| {
            let ring = ring.clone();
            thread::spawn(move || {
                let mut taken = Vec::new();
                for _ in 0..2 {
                    let mut rest = Vec::new();
                    taken.extend(ring.take(more, |op| rest.push(op)));
                    taken.append(&mut rest);
                }
                taken
            })
        });
        for op in &ops {
            // SAFETY: the one producer.
            unsafe { ring.push(*op) };
        }
        let mut all = Vec::new();
        for taker in takers {
            let taken = taker.join().unwrap();
            let places = |op: &OpPtr| ops.iter().position(|other| other == op).unwrap();
            assert!(taken.iter().map(places).is_sorted());
            all.extend(taken);
        }
        while let Some(op) = ring.take(0, |_| ()) {
            all.push(op);
        }
        assert!(ring.is_empty());
        for op in &ops {
            assert_eq!(all.iter().filter(|other| *other == op).count(), 1);
            op.discard(0);
        }
    });
}

/// The log, and what only the registrar may touch, which loom watches.
pub(crate) struct SmallLog {
    pub(crate) log: crate::operation::log::Log,
    pub(crate) registered: UnsafeCell<Vec<OpPtr>>,
    pub(crate) count: AtomicUsize,
}

// SAFETY: `registered` is what the baton protects, and what is being checked.
unsafe impl Sync for SmallLog {}
// SAFETY: as above.
unsafe impl Send for SmallLog {}

impl SmallLog {
    pub(crate) fn new() -> Self {
        Self {
            log: crate::operation::log::Log::new(),
            registered: UnsafeCell::new(Vec::new()),
            count: AtomicUsize::new(0),
        }
    }

    /// Registers what there is, but hands the baton over after one entry.
    fn register(&self, baton: crate::operation::log::Baton) {
        let op = baton.next;
        // SAFETY: under the baton. The entry has no access that would keep it alive.
        unsafe {
            self.registered.with_mut(|list| (*list).push(op));
            op.keep_in_log();
        }
        self.count.fetch_add(1, AcqRel);
        if let Some(baton) = self.log.advance(op) {
            self.log.hand_over(baton);
        }
    }

    /// Goes on behind an entry that closed the log.
    pub(crate) fn open(&self, entry: OpPtr) {
        if let Some(baton) = self.log.advance(entry) {
            self.register(baton);
        }
    }

    pub(crate) fn assist(&self) {
        while let Some(baton) = self.log.take_handed() {
            self.register(baton);
        }
    }

    pub(crate) fn push(&self, op: OpPtr) {
        if let Some(baton) = self.log.insert(op) {
            self.register(baton);
        }
        self.assist();
    }
}

/// Every entry is registered once, serially, in an order that agrees with each pusher's.
#[test]
fn the_baton_is_neither_lost_nor_doubled() {
    model(4, || {
        let small = Arc::new(SmallLog::new());
        let pushed = Arc::new(Mutex::new(Vec::new()));
        let pushers = [2, 1].map(|entries| {
            let (small, pushed) = (small.clone(), pushed.clone());
            thread::spawn(move || {
                let mine: Vec<OpPtr> = (0..entries).map(|_| entry()).collect();
                mine.iter().for_each(|op| small.push(*op));
                pushed.lock().unwrap().push(mine);
            })
        });
        for pusher in pushers {
            pusher.join().unwrap();
        }
        small.assist();
        assert_eq!(small.count.load(Acquire), 3);
        // SAFETY: everybody else has ended.
        let order = small.registered.with(|list| unsafe { (*list).clone() });
        for mine in pushed.lock().unwrap().iter() {
            let places: Vec<usize> = mine
                .iter()
                .map(|op| order.iter().position(|o| o == op).unwrap())
                .collect();
            assert!(places.is_sorted());
        }
        assert!(small.log.is_idle());
        // The log has let go of all; what is left is the count of the execution.
        for op in order {
            op.release(1);
        }
    });
}
