//! Runs of operators that Python computes: functions that are bound to arrays, as kernels are, and run
//! on the Python lane as operations of the engine.

use crate::array::Array;
use crate::callback::{Finish, Job, Work, next_number};
use crate::engine::Variable;
use crate::lane;
use crate::life::let_forks_pass;
use crate::operator::Run;
use crate::support::convert::runtime;
use crate::support::errors::{push_to_py, to_py};
use crate::support::wait::{hold_back, settle, wait};
use ferromix_base::Error;
use ferromix_engine::{
    FnProperty, Name, OnComplete, OpSpec, PushError, Var, WaitError, WaitPolicy,
};
use ferromix_kernels::Req;
use ferromix_runtime::held::{self, Held, Turn, refused};
use ferromix_runtime::{AsyncStep, IN_VAIN, Runtime, StallPolicy, is_in_vain};
use pyo3::prelude::*;
use pyo3::types::PyList;
use smallvec::SmallVec;
use std::error::Error as _;
use std::sync::Arc;

/// A function of Python that is bound to arrays.
pub(crate) struct PythonRun {
    runtime: &'static Arc<Runtime>,
    name: Name,
    function: Arc<Py<PyAny>>,
    reads: SmallVec<[Var; 4]>,
    writes: SmallVec<[Var; 4]>,
}

impl PythonRun {
    /// Calls `bind` with the arrays of a run, which gives the function, and the variables that it
    /// changes besides.
    pub(crate) fn new(
        py: Python<'_>,
        bind: &Py<PyAny>,
        name: Name,
        run: &Run<'_>,
    ) -> PyResult<Self> {
        let array = |a: &Array| Bound::new(py, Array::from(a.0.clone()));
        let inputs = run.inputs.iter().map(|a| array(a));
        let wanted = run.outputs.iter().zip(run.reqs);
        let wanted = wanted.map(|(a, req)| a.filter(|_| *req != Req::Null));
        let outputs = wanted.clone().map(|a| a.map(array).transpose());
        let arguments = (
            PyList::new(py, inputs.collect::<PyResult<Vec<_>>>()?)?,
            PyList::new(py, outputs.collect::<PyResult<Vec<_>>>()?)?,
            PyList::new(py, run.reqs.iter().map(|req| *req as u8))?,
        );
        let (function, shared): (Py<PyAny>, Vec<PyRef<'_, Variable>>) =
            bind.call1(py, arguments)?.extract(py)?;
        let changed = wanted.flatten().map(|a| a.0.chunk().var());
        Ok(PythonRun {
            runtime: runtime()?,
            name,
            function: Arc::new(function),
            reads: run.inputs.iter().map(|a| a.0.chunk().var()).collect(),
            writes: changed.chain(shared.iter().map(|v| v.var())).collect(),
        })
    }

    /// Pushes a run, ordered by these variables.
    fn submit(
        &self,
        reads: &[Var],
        writes: &[Var],
        site: u64,
        turn: Option<Turn>,
    ) -> Result<(), PushError> {
        // The engine's own threads only hand the function over, at once.
        let spec = OpSpec::new(self.name)
            .property(FnProperty::CpuPrioritized)
            .tag(site)
            .reads(reads)
            .writes(writes);
        let (finish, runtime) = (Finish::later(), self.runtime);
        let work = Work {
            turn,
            ..self.work()
        };
        let start = move |_: &_, done| begin(runtime, work.ready(None, finish(done)));
        runtime.engine().push_async(&spec, start)
    }

    /// Whether the function that this thread runs as an operation holds one of the arrays.
    fn is_held(&self) -> bool {
        let mut vars = self.reads.iter().chain(&self.writes);
        held::inside() && vars.any(|&var| held::may_read(self.runtime, var))
    }

    /// Pushes a run. Inside a function that holds one of the arrays, it is over on return.
    pub(crate) fn push_from(&self, py: Python<'_>, site: u64) -> PyResult<()> {
        self.runtime.check_pushable().map_err(to_py)?;
        if self.is_held() {
            self.require_writable().map_err(to_py)?;
            let done = Done::new(self.runtime);
            let turn = self.submit_free(&done, site).map_err(push_to_py)?;
            return wait(py, |policy| self.wait_for(&done, &turn, policy));
        }
        let_forks_pass(py);
        hold_back(py, self.runtime)?;
        let push = || self.submit(&self.reads, &self.writes, site, None);
        let done = if self.runtime.is_naive() {
            py.detach(push)
        } else {
            push()
        };
        done.map_err(push_to_py)?;
        settle(py, self.runtime)
    }

    /// Pushes a run that is ordered by `done`, and by the arrays that nobody holds.
    fn submit_free(&self, done: &Done, site: u64) -> Result<Turn, PushError> {
        let free = |vars: &[Var]| -> Vec<Var> {
            let vars = vars.iter().copied();
            vars.filter(|&var| !held::may_read(self.runtime, var))
                .collect()
        };
        let (reads, mut writes) = (free(&self.reads), free(&self.writes));
        writes.push(done.var);
        let turn = Turn::default();
        self.submit(&reads, &writes, site, Some(turn.clone()))?;
        Ok(turn)
    }

    /// Waits for the end of such a run, which does not begin any more if the wait is given up.
    fn wait_for(
        &self,
        done: &Done,
        turn: &Turn,
        policy: &mut dyn WaitPolicy,
    ) -> Result<(), WaitError> {
        match self.runtime.wait_for_var(done.var, policy) {
            Err(error) if is_in_vain(&error) && !turn.take() => {
                let mut policy = StallPolicy::new(self.runtime.engine());
                self.runtime.wait_for_var(done.var, &mut policy)
            }
            waited => waited,
        }
    }

    fn require_writable(&self) -> Result<(), Error> {
        let writable =
            |var: &Var| !held::may_read(self.runtime, *var) || held::may_write(self.runtime, *var);
        if self.writes.iter().all(writable) {
            return Ok(());
        }
        Err(Error::value(format!(
            "operator {}: the function of an operation writes an array that the operation was \
             pushed with as constant; list it among the mutable variables",
            self.name
        )))
    }

    fn work(&self) -> Work {
        Work {
            function: self.function.clone(),
            context: None,
            asynchronous: false,
            held: Held::new(self.runtime, &self.reads, &self.writes),
            turn: None,
            profiled: true,
            property: FnProperty::Normal,
            priority: 0,
            name: self.name,
            number: next_number(),
            depth: lane::depth(),
        }
    }
}

/// Runs a function on this thread with the naive engine, or else on the lane.
fn begin(runtime: &Runtime, job: Job) {
    if runtime.is_naive() {
        job.run();
    } else {
        lane::of(job.work.property).submit(job);
    }
}

impl AsyncStep for PythonRun {
    fn name(&self) -> Name {
        self.name
    }

    fn reads(&self) -> &[Var] {
        &self.reads
    }

    fn writes(&self) -> &[Var] {
        &self.writes
    }

    fn start(&self, on_complete: OnComplete) {
        begin(
            self.runtime,
            self.work().ready(None, Finish::later()(on_complete)),
        );
    }

    fn push(&self, site: u64) -> Result<(), Error> {
        if !self.is_held() {
            let pushed = self.submit(&self.reads, &self.writes, site, None);
            return pushed.map_err(refused);
        }
        self.require_writable()?;
        let done = Done::new(self.runtime);
        let turn = self.submit_free(&done, site).map_err(refused)?;
        let mut policy = StallPolicy::new(self.runtime.engine());
        let waited = self.wait_for(&done, &turn, &mut policy);
        waited.map_err(|error| match (&error, error.source()) {
            (in_vain, _) if is_in_vain(in_vain) => Error::misuse(IN_VAIN),
            (_, None) => Error::internal(error.to_string()),
            (_, Some(source)) => Error::internal(format!("{error}: {source}")),
        })
    }
}

/// A variable for the end of one run.
struct Done {
    runtime: &'static Runtime,
    var: Var,
}

impl Done {
    fn new(runtime: &'static Runtime) -> Self {
        let var = runtime.engine().new_variable();
        Done { runtime, var }
    }
}

impl Drop for Done {
    fn drop(&mut self) {
        // The only error is that it was deleted before, which nobody else does.
        let _ = self.runtime.engine().delete_variable(self.var, || ());
    }
}
