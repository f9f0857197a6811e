//! Several pushers at once: each operation records how many writes of its variables it saw, and
//! afterwards one total order must explain everything, real time included.
//!
//! The parent module supplies the engine's names and `spawn`, `pause` and `JoinHandle`, so that
//! real threads and explored ones run the same programs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use super::random::Random;
use super::{
    Engine, FnProperty, JoinHandle, OnComplete, OpSpec, Program, Var, WaitError, pause, spawn,
};

#[path = "order.rs"]
mod order;

/// Which variable, and whether it is written.
type Use = (usize, bool);

/// What one operation, or one step of a launch, saw.
struct Seen {
    node: Node,
    /// Variable, writes before, and whether it wrote.
    uses: Vec<(usize, u64, bool)>,
}

/// What stands at one place of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Push(usize),
    /// By its place among the launches.
    Launch(u64),
}

/// One push, in the time of `World::clock`.
struct Push {
    began: u64,
    returned: Option<u64>,
    uses: Vec<Use>,
    done: bool,
}

/// The data behind a variable. Relaxed, and written by load and store: order comes from the engine.
#[derive(Default)]
struct Data {
    /// Readers inside, or `WRITER`.
    inside: AtomicU32,
    writes: AtomicU64,
}

const WRITER: u32 = 1 << 31;

/// What a model consists of.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) vars: usize,
    pub(crate) pushers: usize,
    pub(crate) per_pusher: usize,
    /// Whether the engine is dropped with operations in flight.
    pub(crate) drop_early: bool,
}

pub(crate) struct World {
    vars: Vec<Var>,
    data: Vec<Data>,
    clock: AtomicU64,
    pushes: Mutex<Vec<Push>>,
    seen: Mutex<Vec<Seen>>,
    /// Launches that have returned, and how often each step has run.
    launched: AtomicU64,
    steps: [AtomicU64; 2],
    wrong: Mutex<Option<String>>,
    /// To ask for versions.
    engine: Option<Engine>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl World {
    fn new(engine: &Engine, shape: Shape) -> Arc<Self> {
        Arc::new(Self {
            vars: (0..shape.vars).map(|_| engine.new_variable()).collect(),
            data: (0..shape.vars).map(|_| Data::default()).collect(),
            clock: AtomicU64::new(0),
            pushes: Mutex::default(),
            seen: Mutex::default(),
            launched: AtomicU64::new(0),
            steps: Default::default(),
            wrong: Mutex::new(None),
            engine: (!shape.drop_early).then(|| engine.clone()),
        })
    }

    /// Notes what must not happen; the first counts.
    fn wrong(&self, what: String) {
        eprintln!("wrong: {what}");
        lock(&self.wrong).get_or_insert(what);
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, SeqCst)
    }

    fn begin_push(&self, uses: &[Use]) -> usize {
        let began = self.tick();
        let mut pushes = lock(&self.pushes);
        pushes.push(Push {
            began,
            returned: None,
            uses: uses.to_vec(),
            done: false,
        });
        pushes.len() - 1
    }

    fn end_push(&self, push: usize) {
        let now = self.tick();
        lock(&self.pushes)[push].returned = Some(now);
    }

    /// The first half of an operation: returns what it sees.
    fn enter(&self, uses: &[Use]) -> Vec<(usize, u64, bool)> {
        for &(var, writes) in uses {
            let inside = &self.data[var].inside;
            let old = if writes {
                inside.swap(WRITER, Relaxed)
            } else {
                inside.fetch_add(1, Relaxed)
            };
            if (writes && old != 0) || old & WRITER != 0 {
                self.wrong(format!(
                    "variable {var}: writes {writes}, met {old:#x} inside"
                ));
            }
        }
        pause();
        let see = |&(var, writes): &Use| (var, self.data[var].writes.load(Relaxed), writes);
        uses.iter().map(see).collect()
    }

    /// The second half.
    fn leave(&self, node: Node, uses: Vec<(usize, u64, bool)>) {
        for &(var, before, writes) in &uses {
            let data = &self.data[var];
            if data.writes.load(Relaxed) != before {
                self.wrong(format!("variable {var} changed under an operation"));
            }
            if writes {
                data.writes.store(before + 1, Relaxed);
                data.inside.store(0, Relaxed);
            } else {
                data.inside.fetch_sub(1, Relaxed);
            }
        }
        if let Node::Push(push) = node {
            lock(&self.pushes)[push].done = true;
        }
        lock(&self.seen).push(Seen { node, uses });
    }

    /// While the variables are held, their versions are the numbers of writes.
    fn check_versions(&self, uses: &[(usize, u64, bool)]) {
        for &(var, before, _) in uses {
            let version = self.engine.as_ref().map(|e| e.version(self.vars[var]));
            if version.is_some_and(|version| version != Ok(before)) {
                self.wrong(format!(
                    "variable {var}: version {version:?} after {before} writes"
                ));
            }
        }
    }

    /// Pushes that have returned and that a wait must wait for: those that write `var`, or all.
    fn due(&self, var: Option<usize>) -> Vec<usize> {
        let pushes = lock(&self.pushes);
        let due = |push: &Push| {
            push.returned.is_some() && var.is_none_or(|var| push.uses.contains(&(var, true)))
        };
        (0..pushes.len()).filter(|k| due(&pushes[*k])).collect()
    }

    fn check_done(&self, due: &[usize], launches: u64) {
        let early = due.iter().any(|push| !lock(&self.pushes)[*push].done)
            || self.steps.iter().any(|step| step.load(SeqCst) < launches);
        if early {
            self.wrong("a wait ended early".to_owned());
        }
    }
}

/// One pusher.
#[derive(Clone)]
struct Pusher {
    world: Arc<World>,
    engine: Engine,
    program: Program,
    finish: Finisher,
}

/// Completes asynchronous operations on a thread of its own.
pub(crate) type Finisher = Arc<dyn Fn(Box<dyn FnOnce() + Send>, OnComplete) + Send + Sync>;

impl Pusher {
    fn act(&self, random: &mut Random) {
        match random.below(16) {
            0 => self.wait_for_var(random),
            1 => self.wait_for_all(),
            // The operation holds the engine, so it must not be dropped meanwhile.
            2 if self.world.engine.is_some() => self.wait_inside(random),
            3 | 4 => self.launch(),
            kind => self.push(random, kind),
        }
    }

    fn push(&self, random: &mut Random, kind: u64) {
        let mut uses: Vec<Use> = Vec::new();
        for var in 0..self.world.vars.len() {
            match random.below(5) {
                0 => uses.push((var, true)),
                1 | 2 => uses.push((var, false)),
                _ => {}
            }
        }
        if random.below(2) == 0 {
            uses.reverse(); // Crossed orders would deadlock a simpler engine.
        }
        let pick = |wanted: bool| {
            let of = uses.iter().filter(|(_, writes)| *writes == wanted);
            of.map(|(var, _)| self.world.vars[*var]).collect::<Vec<_>>()
        };
        let (reads, writes) = (pick(false), pick(true));
        let mut spec = OpSpec::new("push").reads(&reads).writes(&writes);
        if kind == 5 {
            spec = spec.property(FnProperty::CpuPrioritized);
        }
        spec = spec.inline(kind == 8 || kind == 9);
        spec = spec.priority(random.below(3) as i32 - 1);
        let push = self.world.begin_push(&uses);
        let (world, finish) = (self.world.clone(), self.finish.clone());
        let pushed = if kind == 6 || kind == 7 {
            self.engine.push_async(&spec, move |_, done| {
                let seen = world.enter(&uses);
                let work = move || world.leave(Node::Push(push), seen);
                finish(Box::new(work), done);
                pause(); // The operation may be complete before its function is.
            })
        } else {
            self.engine.push_sync(&spec, move |_| {
                let seen = world.enter(&uses);
                world.check_versions(&seen);
                world.leave(Node::Push(push), seen);
                Ok(())
            })
        };
        self.world.end_push(push);
        if let Err(error) = pushed {
            self.world.wrong(format!("a push was refused: {error}"));
        }
    }

    fn launch(&self) {
        if let Err(error) = self.engine.launch(&self.program) {
            self.world.wrong(format!("a launch was refused: {error}"));
        }
        self.world.launched.fetch_add(1, SeqCst);
    }

    fn wait_for_var(&self, random: &mut Random) {
        let var = random.below(self.world.vars.len() as u64) as usize;
        let due = self.world.due(Some(var));
        if let Err(error) = self.engine.wait_for_var(self.world.vars[var]) {
            self.world.wrong(format!("a wait failed: {error}"));
        }
        self.world.check_done(&due, 0);
    }

    fn wait_for_all(&self) {
        let (due, launches) = (self.world.due(None), self.world.launched.load(SeqCst));
        if let Err(error) = self.engine.wait_for_all() {
            self.world.wrong(format!("wait_for_all failed: {error}"));
        }
        self.world.check_done(&due, launches);
    }

    /// An operation that waits for a variable that it does not list.
    fn wait_inside(&self, random: &mut Random) {
        let var = random.below(self.world.vars.len() as u64) as usize;
        let (world, engine) = (self.world.clone(), self.engine.clone());
        let push = self.world.begin_push(&[]);
        let pushed = self.engine.push_sync(&OpSpec::new("waits"), move |_| {
            let due = world.due(Some(var));
            match engine.wait_for_var(world.vars[var]) {
                Ok(()) => world.check_done(&due, 0),
                Err(WaitError::TooManyBlocked) => {}
                Err(error) => world.wrong(format!("a wait inside failed: {error}")),
            }
            drop(engine);
            world.leave(Node::Push(push), Vec::new());
            Ok(())
        });
        self.world.end_push(push);
        if let Err(error) = pushed {
            self.world.wrong(format!("a push was refused: {error}"));
        }
    }
}

/// A program of two steps: one writes the first variable and reads the last, the other writes the
/// second and reads the first. Each writes something, so its runs come in the order of launches.
fn program(world: &Arc<World>) -> Program {
    let last = world.vars.len() - 1;
    let mut builder = Program::builder("program");
    for (k, read) in [last, 0].into_iter().enumerate() {
        let (reads, writes) = ([world.vars[read]], [world.vars[k]]);
        let uses = [(read, false), (k, true)];
        let world = Arc::downgrade(world);
        let spec = OpSpec::new("step").reads(&reads).writes(&writes);
        builder = builder.op(&spec, move |_| {
            if let Some(world) = world.upgrade() {
                let seen = world.enter(&uses);
                let launch = world.steps[k].load(Relaxed);
                world.leave(Node::Launch(launch), seen);
                world.steps[k].store(launch + 1, SeqCst);
            }
            Ok(())
        });
    }
    builder.build()
}

/// Runs random pushers on an engine, which it drops, and checks what happened. Returns the number
/// of operations.
pub(crate) fn check(engine: Engine, shape: Shape, finish: Finisher, random: &mut Random) -> usize {
    let world = World::new(&engine, shape);
    let pusher = Pusher {
        program: program(&world),
        world: world.clone(),
        engine,
        finish,
    };
    let threads: Vec<JoinHandle<()>> = (1..shape.pushers)
        .map(|_| {
            let (pusher, mut random) = (pusher.clone(), Random(random.next()));
            let work = move || (0..shape.per_pusher).for_each(|_| pusher.act(&mut random));
            spawn(work)
        })
        .collect();
    (0..shape.per_pusher).for_each(|_| pusher.act(random));
    for thread in threads {
        assert!(thread.join().is_ok(), "a pusher panicked");
    }
    if !shape.drop_early {
        pusher.wait_for_all();
        let counters = pusher.engine.counters();
        assert_eq!(
            (counters.in_flight, counters.pushed),
            (0, counters.completed)
        );
        for (var, data) in world.vars.iter().zip(&world.data) {
            let version = pusher.engine.version(*var);
            assert_eq!(version, Ok(data.writes.load(Relaxed)));
        }
    }
    drop(pusher);
    if let Some(wrong) = lock(&world.wrong).take() {
        panic!("{wrong}");
    }
    order::explain(&world)
}
