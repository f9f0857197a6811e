//! What a function that runs as an operation may touch without asking the engine.
//!
//! A user's function may read and write the arrays that its operation was pushed with: the engine
//! has given them to it. Waiting for them, or pushing operations on them, would put the request
//! behind later users of the same arrays, and those wait for the function. So on the thread that
//! runs the function, reads of such arrays do not wait, and operations on them run at once.

use crate::Runtime;
use crate::stall::{IN_VAIN, LOOK, StallDetector, is_behind_itself};
use ferromix_base::{Error, Result};
use ferromix_engine::{OpSpec, PushError, RunContext, Var, WaitError};
use ferromix_kernels::par;
use std::cell::{Cell, RefCell};
use std::error::Error as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvError, RecvTimeoutError};
use std::sync::{Arc, mpsc};

/// The variables of an operation that a user's function runs as.
#[derive(Debug)]
pub struct Held {
    runtime: usize,
    reads: Vec<Var>,
    writes: Vec<Var>,
    /// What the pusher's kernels might use; so may the function's.
    threads: u16,
}

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static STACK: RefCell<Vec<Arc<Held>>> = const { RefCell::new(Vec::new()) };
}

/// Threads that do something for a function while that counts as waiting.
static WORKING: AtomicUsize = AtomicUsize::new(0);

/// Runs `f`, which does not wait.
pub(crate) fn working<R>(f: impl FnOnce() -> R) -> R {
    struct Done;
    impl Drop for Done {
        fn drop(&mut self) {
            WORKING.fetch_sub(1, Ordering::Relaxed);
        }
    }
    // Relaxed, also above and below: looked at again and again.
    WORKING.fetch_add(1, Ordering::Relaxed);
    let _done = Done;
    f()
}

/// Whether a thread does, for a function.
pub(crate) fn anyone_works() -> bool {
    WORKING.load(Ordering::Relaxed) != 0
}

fn identity(runtime: &Arc<Runtime>) -> usize {
    Arc::as_ptr(runtime) as usize
}

impl Held {
    /// The variables that an operation on `runtime` reads and writes.
    pub fn new(runtime: &Arc<Runtime>, reads: &[Var], writes: &[Var]) -> Arc<Self> {
        Arc::new(Held {
            runtime: identity(runtime),
            reads: reads.to_vec(),
            writes: writes.to_vec(),
            threads: par::budget(),
        })
    }

    /// Runs `f` as the function of the operation, on this thread.
    pub fn during<R>(self: &Arc<Self>, f: impl FnOnce() -> R) -> R {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                DEPTH.set(DEPTH.get() - 1);
                STACK.with_borrow_mut(Vec::pop);
            }
        }
        DEPTH.set(DEPTH.get() + 1);
        STACK.with_borrow_mut(|stack| stack.push(self.clone()));
        let _leave = Leave;
        par::with_budget(self.threads, f)
    }
}

/// Whether this thread is running a user's function as an operation.
pub fn inside() -> bool {
    DEPTH.get() != 0
}

fn any(runtime: &Arc<Runtime>, test: impl Fn(&Held) -> bool) -> bool {
    let id = identity(runtime);
    inside() && STACK.with_borrow(|stack| stack.iter().any(|held| held.runtime == id && test(held)))
}

/// Whether the function that this thread runs holds the variable, so that it need not wait for it.
pub fn may_read(runtime: &Arc<Runtime>, var: Var) -> bool {
    any(runtime, |held| {
        held.reads.contains(&var) || held.writes.contains(&var)
    })
}

/// Whether the function that this thread runs may change what the variable stands for.
pub fn may_write(runtime: &Arc<Runtime>, var: Var) -> bool {
    any(runtime, |held| held.writes.contains(&var))
}

/// Runs `f` with the threads that its operation may use.
pub(crate) fn within_budget<R>(context: &RunContext, f: impl FnOnce() -> R) -> R {
    match context.threads() {
        None => f(),
        Some(most) => par::with_budget(most.get(), f),
    }
}

/// Pushes an operation, with the [budget](par::budget) of the calling thread; where it uses a variable that this thread holds, runs it before returning.
///
/// # Errors
/// An engine that takes no work; and what the operation fails with, if it ran before returning.
pub(crate) fn submit<F>(runtime: &Arc<Runtime>, spec: &OpSpec<'_>, run: F) -> Result<()>
where
    F: FnOnce(&Runtime) -> Result<()> + Send + 'static,
{
    runtime.check_pushable()?;
    let vars = || spec.const_vars.iter().chain(spec.mutate_vars);
    if inside() && vars().any(|&var| may_read(runtime, var)) {
        return run_now(runtime, spec, run);
    }
    let rt = runtime.clone();
    runtime
        .engine()
        .push_sync(&spec.threads(par::budget()), move |context| {
            within_budget(context, || run(&rt)).map_err(|e| Box::new(e) as _)
        })
        .map_err(refused)
}

/// Runs an operation on variables that are held, and on others that the engine still orders.
fn run_now<F>(runtime: &Arc<Runtime>, spec: &OpSpec<'_>, run: F) -> Result<()>
where
    F: FnOnce(&Runtime) -> Result<()> + Send + 'static,
{
    let free = |vars: &[Var]| -> Vec<Var> {
        let vars = vars.iter().copied();
        vars.filter(|&var| !may_read(runtime, var)).collect()
    };
    let read_only = |var: &&Var| may_read(runtime, **var) && !may_write(runtime, **var);
    if spec.mutate_vars.iter().any(|var| read_only(&var)) {
        return Err(Error::value(format!(
            "operator {}: the function of an operation writes an array that the operation was \
             pushed with as constant; list it among the mutable variables",
            spec.name
        )));
    }
    let (reads, writes) = (free(spec.const_vars), free(spec.mutate_vars));
    if reads.is_empty() && writes.is_empty() {
        if spec.inline {
            return run(runtime);
        }
        // What takes long needs none of what others may want meanwhile.
        let (mut run, mut result) = (Some(run), Ok(()));
        let mut compute = || {
            if let Some(run) = run.take() {
                result = working(|| run(runtime));
            }
        };
        if !runtime.detached(&mut compute) {
            compute();
        }
        return result;
    }
    let (send, receive) = mpsc::sync_channel(1);
    let turn = Turn::default();
    let (rt, its_turn) = (runtime.clone(), turn.clone());
    runtime
        .engine()
        .push_sync(
            &spec.threads(par::budget()).reads(&reads).writes(&writes),
            move |context| {
                if its_turn.take() {
                    // Whoever pushed waits for it below.
                    let _ = send.send(within_budget(context, || run(&rt)));
                }
                Ok(())
            },
        )
        .map_err(refused)?;
    let engine = runtime.engine();
    let vars = || reads.iter().chain(&writes).copied();
    let (mut receive, mut answer) = (Some(receive), Ok(None));
    let waited = runtime.detached(&mut || {
        if let Some(receive) = receive.take() {
            answer = engine.blocking(|| await_answer(runtime, &receive, &turn, vars));
        }
    });
    if !waited {
        if turn.take() {
            return Err(failure(WaitError::TooManyBlocked));
        }
        // It has run, or is about to end.
        answer = receive.map_or(Ok(None), |receive| Ok(Some(receive.recv())));
    }
    let Some(answer) = answer.map_err(failure)? else {
        return Err(Error::misuse(IN_VAIN));
    };
    // Without an answer the operation was skipped, for a failure that one of its variables holds.
    answer.unwrap_or_else(|_| {
        for &var in reads.iter().chain(&writes) {
            runtime.engine().wait_for_var(var).map_err(failure)?;
        }
        Err(Error::internal(format!(
            "operator {} was skipped, for a failure that was raised elsewhere",
            spec.name
        )))
    })
}

/// Who decides on an operation that its function may give up: the engine, when the operation's turn
/// comes, or the function, which ends its hold on the arrays and so must not let it run afterwards.
#[derive(Clone, Debug, Default)]
pub struct Turn(Arc<AtomicBool>);

impl Turn {
    /// Whether nobody has decided before.
    pub fn take(&self) -> bool {
        // Relaxed: a decision alone.
        !self.0.swap(true, Ordering::Relaxed)
    }
}

/// What the operation says when it has run; `None` if it never will, as it depends on the function.
fn await_answer<T, V: Iterator<Item = Var>>(
    runtime: &Runtime,
    answer: &Receiver<T>,
    turn: &Turn,
    vars: impl Fn() -> V,
) -> std::result::Result<Option<std::result::Result<T, RecvError>>, WaitError> {
    let engine = runtime.engine();
    let mut detector = StallDetector::default();
    for look in 1_u64.. {
        match answer.recv_timeout(LOOK) {
            Ok(answer) => return Ok(Some(Ok(answer))),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let mut in_vain = detector.is_stalled(engine);
        // Each time it costs a wait that stays behind.
        if look.is_power_of_two() {
            for var in vars() {
                in_vain |= is_behind_itself(engine, var)?;
            }
        }
        if in_vain && turn.take() {
            return Ok(None);
        }
    }
    Ok(Some(Err(RecvError)))
}

/// The error of an operation that the engine did not take.
pub fn refused(error: PushError) -> Error {
    match error {
        PushError::StaleVariable(_) => Error::value(error.to_string()),
        _ => Error::misuse(error.to_string()),
    }
}

/// The error of an operation that another one needs.
fn failure(error: WaitError) -> Error {
    let Some(source) = error.source() else {
        return Error::internal(error.to_string());
    };
    match source.downcast_ref::<Error>() {
        Some(e) => e.clone(),
        None => Error::internal(format!("{error}: {source}")),
    }
}
