//! Bulks as users see them.

use std::ptr::NonNull;

use crate::api::engine::Engine;
use crate::base::sync::Relaxed;
use crate::state::bulk_builder::BulkBuilder;
use crate::state::thread::here;
use crate::waiting::collect;

/// As long as this lives, small operations that its thread pushes one after another go into the
/// engine as one. Made by [`Engine::bulk`].
#[must_use = "operations are collected as long as this lives"]
pub struct Bulk {
    engine: Engine,
    /// From a box, ours. (A pointer, so it stays on its thread.)
    builder: NonNull<BulkBuilder>,
}

impl Engine {
    /// From now on, until the [`Bulk`] is dropped, joins up to `size` operations that this thread
    /// pushes one after another into one, which runs them in this order, on one thread. For chains
    /// of very small operations: joined operations that use different variables no longer run at
    /// once. 0 and 1 join nothing. A bulk inside a bulk counts alone.
    ///
    /// Joined are synchronous operations of [`FnProperty::Normal`](crate::FnProperty::Normal) and
    /// priority 0 on the host, without [bytes](crate::OpSpec::bytes), with up to 14 variables; 64
    /// variables in all. What was collected is pushed when that is reached, and before anything
    /// that this thread does with the engine besides: another push or launch, a wait, a look at a
    /// version. Nothing joins with the naive engine.
    ///
    /// Order and failures are those of operations pushed one by one. But until it is pushed, a
    /// collected operation *is not there* for waits and pushes of other threads, so that a thread
    /// should not tell others of it before. Only deletions wait for it: of a variable that another
    /// thread deletes meanwhile, the end comes after the operation.
    /// An operation that may be joined must not wait for what another one does.
    /// A [`Bulk`] that is forgotten is pushed when its thread ends, or drops a handle of the engine.
    ///
    /// For versions, [`Counters`](crate::Counters) and [`inline`](crate::OpSpec::inline) a bulk is
    /// one operation (inline if all in it are, and there are 16 at most).
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().workers(2).build();
    /// let (a, text) = (engine.new_variable(), Arc::new(Mutex::new(String::new())));
    /// let bulk = engine.bulk(15);
    /// for word in ["in ", "this ", "order"] {
    ///     let text = text.clone();
    ///     engine.push_sync(&OpSpec::new("append").writes(&[a]), move |_| {
    ///         text.lock().unwrap().push_str(word);
    ///         Ok(())
    ///     })?;
    /// }
    /// engine.wait_for_var(a)?;
    /// assert_eq!(*text.lock().unwrap(), "in this order");
    /// assert_eq!(engine.counters().pushed, 1);
    /// drop(bulk);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bulk(&self, size: usize) -> Bulk {
        let core = self.core();
        core.push_collected();
        collect::watch_thread();
        let builder = NonNull::from(Box::leak(Box::new(BulkBuilder::new(core, size))));
        // Relaxed: for this thread alone; see `Core::bulk_builder`.
        core.bulks.fetch_add(1, Relaxed);
        here(|here| {
            let outer = here.bulks.replace(builder.as_ptr());
            // SAFETY: new, and nobody changes it otherwise.
            unsafe { builder.as_ref() }.outer.set(outer);
        });
        Bulk {
            engine: self.clone(),
            builder,
        }
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        let core = self.engine.core();
        core.push_collected();
        // SAFETY: ours, and linked in this thread's list alone, which `unlink` ends.
        unsafe {
            self.builder.as_ref().unlink();
            drop(Box::from_raw(self.builder.as_ptr()));
        }
        core.bulks.fetch_sub(1, Relaxed);
    }
}

impl std::fmt::Debug for Bulk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bulk").finish_non_exhaustive()
    }
}
