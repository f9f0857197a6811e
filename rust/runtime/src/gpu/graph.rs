//! Steps of a plan that follow each other on one device, as one operation: at first their launches, from the
//! second run on a graph of the driver's that was captured from these, which costs the host one call.

use super::device::{Device, Origin};
use super::driver::Object;
use super::launch::{Staged, Temporary, finish};
use super::port::Port;
use super::stream::Lane;
use super::uses::Uses;
use crate::{Binding, Runtime};
use ferromix_base::Result;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What was captured, with the temporary memory that it uses.
struct Captured {
    device: Arc<Device>,
    graph: Object,
    /// Theirs are the addresses in the graph.
    staged: Vec<Staged>,
}

// SAFETY: a graph of the driver may be launched and destroyed by any thread, one at a time.
unsafe impl Send for Captured {}

impl Drop for Captured {
    fn drop(&mut self) {
        self.device.port().destroy_graph(self.graph);
    }
}

enum State {
    /// Nothing ran yet: what a first launch loads cannot be captured.
    New,
    /// The launches ran once.
    Warm,
    Captured(Captured),
    /// The driver cannot capture this.
    Refused,
}

/// Several steps.
pub(crate) struct Segment {
    device: Arc<Device>,
    steps: Vec<Arc<Binding>>,
    /// Those whose kernels may refuse something.
    refusing: Vec<Arc<Binding>>,
    /// The memory of all, each block once, and whether somebody writes there.
    uses: Vec<(Arc<Uses>, bool)>,
    state: Mutex<State>,
}

/// The memory of steps, each block once; who writes there counts as its only user.
fn uses_of(steps: &[Arc<Binding>]) -> Vec<(Arc<Uses>, bool)> {
    let mut places: HashMap<*const Uses, usize> = HashMap::new();
    let mut found: Vec<(Arc<Uses>, bool)> = Vec::new();
    for step in steps {
        step.with_operands(|operands| {
            for (block, writes) in Staged::uses(operands) {
                let at = *places.entry(Arc::as_ptr(block)).or_insert(found.len());
                match found.get_mut(at) {
                    Some(known) => known.1 |= writes,
                    None => found.push((block.clone(), writes)),
                }
            }
        });
    }
    found
}

/// Whether plans may be captured: not with ``FERROMIX_GPU_GRAPHS=0``.
pub(crate) fn are_wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| std::env::var("FERROMIX_GPU_GRAPHS").as_deref() != Ok("0"))
}

impl Segment {
    /// Steps with launches on `device`, which draw no random numbers.
    pub(crate) fn new(device: Arc<Device>, steps: Vec<Arc<Binding>>) -> Self {
        let refusing = steps.iter().filter(|step| step.may_refuse());
        Segment {
            device,
            refusing: refusing.cloned().collect(),
            uses: uses_of(&steps),
            steps,
            state: Mutex::new(State::New),
        }
    }

    /// Enqueues all steps on one stream; the caller has their variables.
    ///
    /// # Errors
    /// What the driver refuses; memory that cannot be had.
    pub(crate) fn run(&self, runtime: &Runtime, origin: Origin) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let staged = match &*state {
            State::Captured(_) => Vec::new(),
            _ => self.stage(runtime)?,
        };
        let kept = match &*state {
            State::Captured(captured) => &captured.staged,
            _ => &staged,
        };
        let block = kept.iter().find_map(Staged::block);
        let block = block.map(|block| block.uses.clone());
        let uses = self.uses.iter().map(|(block, writes)| (block, *writes));
        let uses: SmallVec<[(&Arc<Uses>, bool); 8]> = uses
            .chain(block.iter().map(|block| (block, true)))
            .collect();
        let gpus = runtime.gpus()?;
        let mut next = None;
        let work = |port: &Port, stream: Object| match &*state {
            State::Captured(captured) => port.launch_graph(captured.graph, stream),
            State::Warm => {
                if let Some(graph) = port.capture(stream, || self.launch(&staged, port, stream)) {
                    next = Some(Some(graph));
                    return port.launch_graph(graph, stream);
                }
                next = Some(None);
                self.launch(&staged, port, stream)
            }
            State::New | State::Refused => self.launch(&staged, port, stream),
        };
        let enqueued = self
            .device
            .enqueue(gpus, Lane::Compute, origin, &uses, work);
        if let (Err(_), Some(Some(graph))) = (&enqueued, next) {
            self.device.port().destroy_graph(graph);
        }
        let ticket = enqueued?;
        self.refusing
            .iter()
            .for_each(|step| step.watch(ticket, origin.tag));
        match (&*state, next) {
            (State::New, _) => *state = State::Warm,
            (_, Some(Some(graph))) => {
                *state = State::Captured(Captured {
                    device: self.device.clone(),
                    graph,
                    staged,
                });
            }
            (_, Some(None)) => *state = State::Refused,
            _ => {}
        }
        finish(runtime, &self.device, ticket)
    }

    /// All have the same temporary memory, as they come one after another.
    fn stage(&self, runtime: &Runtime) -> Result<Vec<Staged>> {
        let mut most = 0;
        for step in &self.steps {
            most = most.max(step.temporary().map_err(|e| step.blamed(e))?);
        }
        let block = Temporary::of_size(runtime, &self.device, most)?;
        let stage = |step: &Arc<Binding>| step.stage(block.clone()).map_err(|e| step.blamed(e));
        self.steps.iter().map(stage).collect()
    }

    fn launch(&self, staged: &[Staged], port: &Port, stream: Object) -> Result<()> {
        let mut steps = self.steps.iter().zip(staged);
        steps.try_for_each(|(step, staged)| step.enqueue(staged, port, stream))
    }
}
