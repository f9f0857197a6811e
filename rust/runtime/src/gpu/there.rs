//! Bindings to arrays on GPUs: what a run there needs besides, and the ways that it may go.

use super::copy::{self, Place};
use super::device::{Device, Origin};
use super::driver::Object;
use super::launch::{Operands, Staged, Temporary, detour, elsewhere, run};
use super::port::Port;
use super::recipe::Recipe;
use super::uses::{Ticket, Uses};
use crate::binding::array;
use crate::prepared::{Prepared, Work};
use crate::{Array, Binding, Runtime};
use ferromix_base::{Context, Error, Result};
use ferromix_kernels::random::Stream;
use ferromix_kernels::{Req, View};
use smallvec::SmallVec;
use std::sync::{Arc, PoisonError};

/// The device, and who else uses the memory of inputs and outputs.
pub(crate) struct There {
    device: Arc<Device>,
    inputs: SmallVec<[Arc<Uses>; 4]>,
    outputs: SmallVec<[Option<Arc<Uses>>; 4]>,
    /// Of a copy from one device to another.
    across: Option<(Place, Place)>,
}

/// The operator that joins the parts of a graph that are on several devices.
const CROSSING: &str = "_CrossDeviceCopy";

impl There {
    /// Of a run on arrays that are on a GPU.
    pub(crate) fn of<A: AsRef<Array>>(
        prepared: &Prepared,
        inputs: &[A],
        outputs: &[Option<A>],
        reqs: &[Req],
    ) -> Result<Option<Box<Self>>> {
        let mut arrays = inputs
            .iter()
            .map(AsRef::as_ref)
            .chain(outputs.iter().filter_map(array));
        let Some(first) = arrays.next() else {
            return Ok(None);
        };
        let context = first.chunk().context();
        let fits = |other: Context| match context.is_host() {
            true => other.is_host(),
            false => other == context,
        };
        if !arrays.all(|a| fits(a.chunk().context())) {
            return There::across(prepared, inputs, outputs, reqs).map(Some);
        }
        let launched = match &prepared.work {
            Work::Launches(recipe) => Some(recipe.device.context()),
            Work::Kernel(..) => None,
        };
        if launched.is_some_and(|device| device != context) {
            return Err(elsewhere(&prepared.operator));
        }
        if context.is_host() {
            return Ok(None);
        }
        let mut there = There {
            device: first.chunk().device()?.clone(),
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            across: None,
        };
        there.bind(inputs, outputs, reqs)?;
        Ok(Some(Box::new(there)))
    }

    /// Of a copy from one device to another, of which one is a GPU.
    fn across<A: AsRef<Array>>(
        prepared: &Prepared,
        inputs: &[A],
        outputs: &[Option<A>],
        reqs: &[Req],
    ) -> Result<Box<Self>> {
        let ([from], [Some(to)], [req]) = (inputs, outputs, reqs) else {
            return Err(elsewhere(&prepared.operator));
        };
        let (from, to) = (from.as_ref(), to.as_ref());
        if &*prepared.operator != CROSSING {
            return Err(elsewhere(&prepared.operator));
        }
        if *req == Req::Add {
            return Err(Error::value(format!(
                "operator {CROSSING}: cannot add to an array on {} what is on {}; write it, and add it \
                 afterwards",
                to.chunk().context(),
                from.chunk().context()
            )));
        }
        let gpu = match from.chunk().context().is_host() {
            true => to,
            false => from,
        };
        Ok(Box::new(There {
            device: gpu.chunk().device()?.clone(),
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            across: Some((Place::of(from)?, Place::of(to)?)),
        }))
    }

    /// Whether it is a copy from one device to another.
    pub(crate) fn is_across(&self) -> bool {
        self.across.is_some()
    }

    pub(crate) fn context(&self) -> Context {
        self.device.context()
    }

    /// Takes the memory of other arrays on the same device.
    pub(crate) fn bind<A: AsRef<Array>>(
        &mut self,
        inputs: &[A],
        outputs: &[Option<A>],
        reqs: &[Req],
    ) -> Result<()> {
        self.inputs.clear();
        self.outputs.clear();
        for input in inputs {
            self.inputs.extend(input.as_ref().chunk().uses()?);
        }
        for (output, &req) in outputs.iter().zip(reqs) {
            let wanted = array(output).filter(|_| req != Req::Null);
            let uses = wanted.map(|a| a.chunk().uses()).transpose()?;
            self.outputs.push(uses.flatten());
        }
        Ok(())
    }

    /// Whether the arrays are on the device, too.
    pub(crate) fn fits<A: AsRef<Array>>(&self, inputs: &[A], outputs: &[Option<A>]) -> bool {
        let mut arrays = inputs
            .iter()
            .map(AsRef::as_ref)
            .chain(outputs.iter().filter_map(array));
        self.across.is_none() && arrays.all(|a| a.chunk().context() == self.context())
    }
}

impl Binding {
    fn origin(&self, tag: u64) -> Origin {
        Origin {
            name: self.name,
            tag,
        }
    }

    fn operands<'a>(
        &'a self,
        there: &'a There,
        views: &'a [View],
        draws: Option<Stream>,
    ) -> Operands<'a> {
        Operands {
            inputs: &self.inputs,
            outputs: views,
            reqs: &self.reqs,
            scalars: &self.scalars,
            draws,
            staged: (&self.staged.0, &self.staged.1),
            uses: (&there.inputs, &there.outputs),
        }
    }

    /// The device of a run that can be captured: it launches kernels, with the same arguments each time.
    pub(crate) fn capturable(&self) -> Option<&Arc<Device>> {
        let there = self.there.as_ref()?;
        let launches = matches!(self.prepared.work, Work::Launches(_));
        let fixed = launches && !there.is_across() && !self.prepared.draws();
        fixed.then_some(&there.device)
    }

    /// Calls `f` with the operands of a run on a GPU without random numbers.
    pub(crate) fn with_operands<R>(&self, f: impl FnOnce(&Operands<'_>) -> R) -> Option<R> {
        let there = self.there.as_ref()?;
        let views = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        Some(f(&self.operands(there, &views, None)))
    }

    fn recipe(&self) -> Result<&Recipe> {
        match &self.prepared.work {
            Work::Launches(recipe) => Ok(recipe),
            Work::Kernel(..) => Err(elsewhere(&self.prepared.operator)),
        }
    }

    /// Whether its kernels may refuse something.
    pub(crate) fn may_refuse(&self) -> bool {
        self.recipe().is_ok_and(|recipe| recipe.refusals.is_some())
    }

    /// Notes a run that was enqueued with others.
    pub(crate) fn watch(&self, ticket: Ticket, tag: u64) {
        if let Ok(recipe) = self.recipe() {
            recipe.watch(ticket, self.origin(tag));
        }
    }

    /// Bytes of the temporary memory of a run.
    pub(crate) fn temporary(&self) -> Result<usize> {
        let recipe = self.recipe()?;
        self.with_operands(|operands| Staged::size(recipe, operands))
            .ok_or_else(|| elsewhere(&self.prepared.operator))
    }

    /// Shares out the temporary memory of a run.
    pub(crate) fn stage(&self, block: Option<Arc<Temporary>>) -> Result<Staged> {
        let recipe = self.recipe()?;
        self.with_operands(|operands| Staged::new(recipe, operands, block))
            .ok_or_else(|| elsewhere(&self.prepared.operator))
    }

    /// Says in an error which operator it is of.
    pub(crate) fn blamed(&self, error: Error) -> Error {
        error.within(format_args!("operator {}", self.name))
    }

    /// Enqueues the launches of a run whose temporary memory was taken.
    pub(crate) fn enqueue(&self, staged: &Staged, port: &Port, stream: Object) -> Result<()> {
        let recipe = self.recipe()?;
        self.with_operands(|operands| staged.enqueue(recipe, operands, port, stream))
            .unwrap_or(Ok(()))
            .map_err(|e| e.within(format_args!("operator {}", self.name)))
    }

    pub(crate) fn run_there(
        &self,
        runtime: &Runtime,
        there: &There,
        views: &[View],
        random: Option<Stream>,
        site: u64,
    ) -> Result<()> {
        if let Some((from, to)) = &there.across {
            let origin = self.origin(site);
            return copy::run(runtime, from, to, origin)
                .map_err(|e| e.within(format_args!("operator {}", self.name)));
        }
        let operands = self.operands(there, views, random);
        let origin = self.origin(site);
        match &self.prepared.work {
            Work::Launches(recipe) => run(runtime, recipe, &operands, origin),
            Work::Kernel(_, kernel) => detour(runtime, &there.device, &**kernel, &operands, origin),
        }
        .map_err(|e| e.within(format_args!("operator {}", self.name)))
    }
}
