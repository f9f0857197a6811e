//! Typed data: a variable together with the value that it stands for.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use crate::api::engine::Engine;
use crate::base::borrow_cell::{BorrowCell, Read, Write};
use crate::base::sync::{Arc, Mutex, lock};
use crate::functions::context::{OnComplete, RunContext};
use crate::functions::declared::{Declared, Use};
use crate::types::access_error::AccessError;
use crate::types::failure::{PushError, WaitError};
use crate::types::spec::{Name, OpSpec};
use crate::types::var::Var;
use crate::waiters::latch::Latch;

/// A value, and the variable that orders the operations on it: an operation that lists the
/// [variable](Data::var) gets at the value through its context, and nobody needs a lock.
///
/// Clones are handles of one value. When the last is dropped, so is the value, there and then, and the
/// variable is deleted after the operations that list it.
///
/// References end before the operation does: if one outlives it (held by a function whose promise was
/// completed elsewhere, or forgotten), the next operation finds the value [in use](AccessError::InUse).
///
/// ```
/// use ferromix_engine::{Engine, OpSpec};
/// let engine = Engine::builder().workers(2).build();
/// let (words, count) = (engine.data(vec!["three", "small", "words"]), engine.data(0));
/// let (from, to) = (words.clone(), count.clone());
/// engine.push_sync(
///     &OpSpec::new("count").reads(&[words.var()]).writes(&[count.var()]),
///     move |context| {
///         *context.write(&to)? = context.read(&from)?.len();
///         Ok(())
///     },
/// )?;
/// assert_eq!(*count.read()?, 3); // waits for the operation
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Data<T> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    var: Var,
    engine: Engine,
    cell: BorrowCell<T>,
}

impl RunContext {
    /// The value of a `Data` whose variable the operation has listed.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let (data, mine) = { let data = engine.data(5); (data.clone(), data) };
    /// engine.push_sync(&OpSpec::new("look").reads(&[data.var()]), move |context| {
    ///     assert_eq!(*context.read(&mine)?, 5);
    ///     Ok(())
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`AccessError::Undeclared`]; [`AccessError::InUse`] while the operation has it from
    /// [`write`](RunContext::write).
    pub fn read<'a, T>(&'a self, data: &'a Data<T>) -> Result<Read<'a, T>, AccessError> {
        data.inner.read(Some(&self.declared))
    }

    /// The value of a `Data` whose variable the operation has listed among those that it changes.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let (data, mine) = { let data = engine.data(5); (data.clone(), data) };
    /// engine.push_sync(&OpSpec::new("add").writes(&[data.var()]), move |context| {
    ///     *context.write(&mine)? += 1;
    ///     Ok(())
    /// })?;
    /// assert_eq!(data.into_inner()?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn write<'a, T>(&'a self, data: &'a Data<T>) -> Result<Write<'a, T>, AccessError> {
        data.inner.write(Some(&self.declared))
    }
}

impl OnComplete {
    /// What [`RunContext::read`] gives, on whichever thread the operation goes on.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let data = engine.data(5);
    /// let mine = data.clone();
    /// engine.push_async(&OpSpec::new("look").reads(&[data.var()]), move |_, done| {
    ///     std::thread::spawn(move || {
    ///         assert_eq!(done.read(&mine).ok().as_deref(), Some(&5));
    ///         done.complete(Ok(()));
    ///     });
    /// })?;
    /// engine.wait_for_all()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`RunContext::read`].
    pub fn read<'a, T>(&'a self, data: &'a Data<T>) -> Result<Read<'a, T>, AccessError> {
        data.inner.read(self.declared().as_ref())
    }

    /// What [`RunContext::write`] gives, on whichever thread the operation goes on.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let data = engine.data(5);
    /// let mine = data.clone();
    /// engine.push_async(&OpSpec::new("add").writes(&[data.var()]), move |_, done| {
    ///     std::thread::spawn(move || {
    ///         let added = done.write(&mine).map(|mut value| *value += 1);
    ///         drop(mine);
    ///         done.complete(added.map_err(Into::into));
    ///     });
    /// })?;
    /// assert_eq!(*data.read()?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn write<'a, T>(&'a self, data: &'a Data<T>) -> Result<Write<'a, T>, AccessError> {
        data.inner.write(self.declared().as_ref())
    }
}

impl Engine {
    /// A value with a variable of its own.
    ///
    /// ```
    /// let engine = ferromix_engine::Engine::builder().build();
    /// assert_eq!(*engine.data("text").read()?, "text");
    /// # Ok::<(), ferromix_engine::WaitError>(())
    /// ```
    pub fn data<T: Send + Sync + 'static>(&self, value: T) -> Data<T> {
        Data {
            inner: Arc::new(Inner {
                var: self.new_variable(),
                engine: self.clone(),
                cell: BorrowCell::new(value),
            }),
        }
    }
}

/// Held by whoever looks at data from outside of operations: an operation that ends with this.
struct Turn(Option<OnComplete>);

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(finish) = self.0.take() {
            finish.complete(Ok(()));
        }
    }
}

/// The value of a [`Data`], looked at from outside of operations. Those that change it and are pushed
/// later wait until it is dropped.
#[must_use]
pub struct ReadGuard<'a, T> {
    // In this order: the borrow ends before the operation that it belongs to.
    value: Read<'a, T>,
    _turn: Turn,
}

/// The value of a [`Data`], to be changed from outside of operations. Those that use it and are pushed
/// later wait until it is dropped.
#[must_use]
pub struct WriteGuard<'a, T> {
    // In this order: the borrow ends before the operation that it belongs to.
    value: Write<'a, T>,
    _turn: Turn,
}

impl<T> Data<T> {
    /// The variable that operations list. It is not to be deleted by hand.
    pub fn var(&self) -> Var {
        self.inner.var
    }
}

impl<T: Send + Sync + 'static> Data<T> {
    /// Waits until the operations that were pushed before and change the value have finished, and
    /// gives it. Not while this thread holds a [`write`](Data::write): that would never end.
    ///
    /// ```
    /// use ferromix_engine::{Engine, OpSpec};
    /// let engine = Engine::builder().build();
    /// let data = engine.data(1);
    /// let mine = data.clone();
    /// engine.push_sync(&OpSpec::new("set").writes(&[data.var()]), move |context| {
    ///     *context.write(&mine)? = 2;
    ///     Ok(())
    /// })?;
    /// assert_eq!(*data.read()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Engine::wait_for_var`]: the failure of an operation that should have changed it is
    /// returned once.
    pub fn read(&self) -> Result<ReadGuard<'_, T>, WaitError> {
        let turn = self.take_turn(Use::Reads)?;
        match self.inner.cell.read() {
            Some(value) => Ok(ReadGuard { value, _turn: turn }),
            None => Err(WaitError::InUse(self.var())),
        }
    }

    /// Waits until all operations that were pushed before and use the value have finished, and gives
    /// it, to be changed. Not while this thread holds another guard of it: that would never end.
    ///
    /// ```
    /// let engine = ferromix_engine::Engine::builder().build();
    /// let data = engine.data(1);
    /// *data.write()? += 1;
    /// assert_eq!(*data.read()?, 2);
    /// # Ok::<(), ferromix_engine::WaitError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`read`](Data::read).
    pub fn write(&self) -> Result<WriteGuard<'_, T>, WaitError> {
        let turn = self.take_turn(Use::Writes)?;
        match self.inner.cell.write() {
            Some(value) => Ok(WriteGuard { value, _turn: turn }),
            None => Err(WaitError::InUse(self.var())),
        }
    }

    /// Waits as [`write`](Data::write) does, and gives the value away.
    ///
    /// ```
    /// let engine = ferromix_engine::Engine::builder().build();
    /// assert_eq!(engine.data(String::from("mine")).into_inner()?, "mine");
    /// # Ok::<(), ferromix_engine::WaitError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`read`](Data::read); [`WaitError::InUse`] if there is another handle of the value. The
    /// value is dropped then, with the last handle.
    pub fn into_inner(self) -> Result<T, WaitError> {
        drop(self.take_turn(Use::Writes)?);
        let var = self.var();
        let inner = Arc::into_inner(self.inner).ok_or(WaitError::InUse(var))?;
        Ok(inner.take())
    }

    /// Pushes an operation that does nothing but have its turn, and waits for that.
    fn take_turn(&self, how: Use) -> Result<Turn, WaitError> {
        let (engine, var) = (&self.inner.engine, [self.inner.var]);
        let core = engine.core();
        core.check_not_held(self.inner.var, how)?;
        if core.own_rest().is_some() {
            return Err(WaitError::AtRest);
        }
        let name = const { Name::new("look at data") };
        let spec = match how {
            Use::Reads => OpSpec::new(name).reads(&var),
            Use::Writes => OpSpec::new(name).writes(&var),
        };
        let came = Arc::new(Came {
            finish: Mutex::new(None),
            latch: Latch::new(),
        });
        let call = Call(came.clone());
        let turn = engine.push_turn(&spec.inline(true), move |_, finish| call.take(finish));
        let turn = turn.map_err(PushError::into_wait_error)?;
        let blocking = core.give_way(turn, &|| came.latch.is_set());
        turn.release(1);
        let _blocking = blocking?;
        came.latch.wait();
        match lock(&came.finish).take() {
            Some(finish) => Ok(Turn(Some(finish))),
            // Skipped for a failure, which is there to be asked for.
            None => engine
                .wait_for_var(self.inner.var)
                .and(Err(WaitError::GivenUp)),
        }
    }
}

/// Where a turn arrives.
struct Came {
    finish: Mutex<Option<OnComplete>>,
    latch: Latch,
}

impl Drop for Came {
    /// Nobody has waited for it to the end.
    fn drop(&mut self) {
        drop(Turn(lock(&self.finish).take()));
    }
}

/// The function of a turn's operation. Says so when it is dropped uncalled, too.
struct Call(Arc<Came>);

impl Call {
    fn take(self, finish: OnComplete) {
        *lock(&self.0.finish) = Some(finish);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.0.latch.set();
    }
}

impl<T> Inner<T> {
    fn use_in(&self, declared: Option<&Declared>) -> Option<Use> {
        // Alive as long as there is a handle, and its slot is no other engine's.
        let slot = self.engine.core().vars.live(self.var)?;
        declared?.use_of(slot)
    }

    fn read(&self, declared: Option<&Declared>) -> Result<Read<'_, T>, AccessError> {
        self.use_in(declared)
            .ok_or(AccessError::Undeclared(self.var))?;
        self.cell.read().ok_or(AccessError::InUse(self.var))
    }

    fn write(&self, declared: Option<&Declared>) -> Result<Write<'_, T>, AccessError> {
        match self.use_in(declared) {
            None => Err(AccessError::Undeclared(self.var)),
            Some(Use::Reads) => Err(AccessError::ReadOnly(self.var)),
            Some(Use::Writes) => self.cell.write().ok_or(AccessError::InUse(self.var)),
        }
    }

    /// The value, after the variable was deleted.
    fn take(self) -> T {
        let this = ManuallyDrop::new(self);
        // SAFETY: each field is read once, and the whole is not dropped.
        let (engine, cell) = unsafe { (std::ptr::read(&this.engine), std::ptr::read(&this.cell)) };
        let _ = engine.delete_variable(this.var, || ());
        cell.into_inner()
    }
}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        // Refused at the end of the process only, or in a child: then nobody needs it.
        let _ = self.engine.delete_variable(self.var, || ());
    }
}

impl<T> Clone for Data<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

impl<T> fmt::Debug for Data<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Data")
            .field("var", &self.inner.var)
            .finish_non_exhaustive()
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
