//! Sums and copies among several devices at once by the vendor's library: NCCL, loaded at run time like the
//! driver, or what stands in for it in the tests.
//!
//! All parts of one go into a group of the library's, by one thread. A part is a piece of work on a stream of
//! its device; so that nobody marks one that the library has not got yet, all streams are held until it has
//! the whole group.

use super::Gpus;
use super::copy::Place;
use super::device::{Device, Origin};
use super::driver::{Library, Object};
use super::port::Port;
use super::stream::Lane;
use super::uses::Uses;
use crate::{Array, held};
use ferromix_base::{DType, Error, Result};
use ferromix_engine::{Device as Where, Name, OpSpec};
use ferromix_kernels::View;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// `ncclSum`.
const SUM: c_int = 0;

type InitAll = unsafe extern "C" fn(*mut Object, c_int, *const c_int) -> c_int;
type Group = unsafe extern "C" fn() -> c_int;
#[rustfmt::skip]
type Reduce = unsafe extern "C" fn(
    *const c_void, *mut c_void, usize, c_int, c_int, c_int, Object, Object,
) -> c_int;
#[rustfmt::skip]
type Broadcast = unsafe extern "C" fn(
    *const c_void, *mut c_void, usize, c_int, c_int, Object, Object,
) -> c_int;
type Text = unsafe extern "C" fn(c_int) -> *const c_char;

/// The library, with a communicator for each device of the groups that have used it.
pub(crate) struct Collectives {
    init: InitAll,
    start: Group,
    end: Group,
    reduce: Reduce,
    broadcast: Broadcast,
    text: Text,
    /// Groups come one after another, in the same order on all devices; so does this lock see to.
    known: Mutex<HashMap<Vec<c_int>, Vec<Communicator>>>,
}

#[derive(Clone, Copy)]
struct Communicator(Object);

// SAFETY: a communicator may be used by any thread, one at a time, as the lock around them sees to.
unsafe impl Send for Communicator {}

/// What is done among devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// The whole becomes the sum of all parts.
    Reduce,
    /// All parts become copies of the whole.
    Broadcast,
}

/// A part, or the whole, on its device.
struct Piece {
    device: Arc<Device>,
    view: View,
    uses: Arc<Uses>,
}

impl Piece {
    fn of(array: &Array) -> Result<Self> {
        let place = Place::of(array)?;
        let (device, uses) = place
            .device
            .ok_or_else(|| Error::value("arrays among devices must be on GPUs"))?;
        Ok(Piece {
            device,
            view: place.view,
            uses,
        })
    }

    fn address(&self) -> *mut c_void {
        self.view.ptr().cast()
    }
}

/// One run.
struct Job {
    what: Collective,
    parts: Vec<Piece>,
    whole: Piece,
    /// The part on the device of the whole.
    root: usize,
    origin: Origin,
}

impl Job {
    fn new(what: Collective, parts: &[Array], whole: &Array, origin: Origin) -> Result<Self> {
        let wrong = |why: &str| Err(Error::value(format!("{what:?} among devices: {why}")));
        let all = parts.iter().chain([whole]);
        if all.clone().any(|a| !a.is_contiguous()) {
            return wrong("arrays must be without gaps");
        }
        if all
            .clone()
            .any(|a| a.shape() != whole.shape() || a.dtype() != whole.dtype())
        {
            return wrong("arrays must have one shape and one type");
        }
        let parts = parts.iter().map(Piece::of).collect::<Result<Vec<_>>>()?;
        let whole = Piece::of(whole)?;
        let same = |a: &Piece, b: &Piece| Arc::ptr_eq(&a.device, &b.device);
        if (1..parts.len()).any(|i| parts[..i].iter().any(|p| same(p, &parts[i]))) {
            return wrong("each device must have one part");
        }
        let Some(root) = parts.iter().position(|part| same(part, &whole)) else {
            return wrong("the whole must be on the device of a part");
        };
        Ok(Job {
            what,
            parts,
            whole,
            root,
            origin,
        })
    }

    /// What the library reads on the device of a part, and what it writes there.
    fn ends(&self, i: usize) -> (*const c_void, *mut c_void) {
        let (part, whole) = (self.parts[i].address(), self.whole.address());
        match (self.what, i == self.root) {
            (Collective::Reduce, true) => (part, whole),
            (Collective::Broadcast, true) => (whole, part),
            (_, false) => (part, part),
        }
    }
}

fn code_of(dtype: DType) -> Result<c_int> {
    Ok(match dtype {
        DType::I8 => 0,
        DType::U8 => 1,
        DType::I32 => 2,
        DType::I64 => 4,
        DType::F16 => 6,
        DType::F32 => 7,
        DType::F64 => 8,
        DType::BF16 => 9,
        other => return Err(Error::value(format!("no sums of {other} among devices"))),
    })
}

impl Collectives {
    /// Loads the library at `path`.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let library = Library::open(path, "the library of sums among devices")?;
        let find = |symbol: &str| {
            library.find(symbol).ok_or_else(|| {
                Error::device(format!(
                    "'{}' has no function '{symbol}': Ferromix needs NCCL 2.10 or newer",
                    path.display()
                ))
            })
        };
        // SAFETY: functions of NCCL with these arguments, as its documentation gives them since 2.2.
        unsafe {
            Ok(Collectives {
                init: std::mem::transmute::<*mut c_void, InitAll>(find("ncclCommInitAll")?),
                start: std::mem::transmute::<*mut c_void, Group>(find("ncclGroupStart")?),
                end: std::mem::transmute::<*mut c_void, Group>(find("ncclGroupEnd")?),
                reduce: std::mem::transmute::<*mut c_void, Reduce>(find("ncclReduce")?),
                broadcast: std::mem::transmute::<*mut c_void, Broadcast>(find("ncclBroadcast")?),
                text: std::mem::transmute::<*mut c_void, Text>(find("ncclGetErrorString")?),
                known: Mutex::default(),
            })
        }
    }

    fn check(&self, call: &str, status: c_int) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: gives null or a text that is never freed.
        let text = unsafe {
            let text = (self.text)(status);
            match text.is_null() {
                true => "unknown".into(),
                false => CStr::from_ptr(text).to_string_lossy().into_owned(),
            }
        };
        Err(Error::device(format!(
            "{call}: {text} ({status}); FERROMIX_GPU_NCCL=0 does without this library"
        )))
    }

    fn run(&self, gpus: &Gpus, job: &Job) -> Result<()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = job.parts.iter().map(|part| part.device.port().number());
        let numbers: Vec<c_int> = numbers.collect();
        if !known.contains_key(&numbers) {
            let mut made = vec![Communicator(std::ptr::null_mut()); numbers.len()];
            job.whole.device.port().enter()?;
            // SAFETY: a communicator is one pointer; there is room for one of each device.
            let status = unsafe {
                (self.init)(
                    made.as_mut_ptr().cast(),
                    numbers.len() as c_int,
                    numbers.as_ptr(),
                )
            };
            self.check("ncclCommInitAll", status)?;
            known.insert(numbers.clone(), made);
        }
        self.hold(gpus, job, &known[&numbers], &mut Vec::new())
    }

    /// Has a stream of each device wait for what the job needs there, and with all of them gives the library
    /// the group.
    fn hold(
        &self,
        gpus: &Gpus,
        job: &Job,
        comms: &[Communicator],
        streams: &mut Vec<Object>,
    ) -> Result<()> {
        let i = streams.len();
        let Some(part) = job.parts.get(i) else {
            return self.group(job, comms, streams);
        };
        let writes = job.what == Collective::Broadcast;
        let both = [(&part.uses, writes), (&job.whole.uses, !writes)];
        let uses = if i == job.root { &both[..] } else { &both[..1] };
        let work = |_: &Port, stream| {
            streams.push(stream);
            self.hold(gpus, job, comms, streams)
        };
        part.device
            .enqueue(gpus, Lane::Compute, job.origin, uses, work)
            .map(|_| ())
    }

    fn group(&self, job: &Job, comms: &[Communicator], streams: &[Object]) -> Result<()> {
        let (count, dtype) = (job.whole.view.len(), code_of(job.whole.view.dtype())?);
        let root = job.root as c_int;
        // SAFETY: a group of this thread's.
        self.check("ncclGroupStart", unsafe { (self.start)() })?;
        let mut done = Ok(());
        for (i, (comm, &stream)) in comms.iter().zip(streams).enumerate() {
            let (from, to) = job.ends(i);
            // SAFETY: addresses of live blocks with so many elements, on the device of communicator and stream;
            // the streams wait for who used them before.
            let status = unsafe {
                match job.what {
                    Collective::Reduce => {
                        (self.reduce)(from, to, count, dtype, SUM, root, comm.0, stream)
                    }
                    Collective::Broadcast => {
                        (self.broadcast)(from, to, count, dtype, root, comm.0, stream)
                    }
                }
            };
            done = done.and(self.check("a call of a group of NCCL's", status));
        }
        // SAFETY: the group that was started above.
        done.and(self.check("ncclGroupEnd", unsafe { (self.end)() }))
    }
}

/// Pushes a sum or copies among devices; each has one part, and one of them the whole.
///
/// # Errors
/// Arrays that do not fit each other, or no library.
pub fn among_devices(what: Collective, parts: &[Array], whole: &Array, site: u64) -> Result<()> {
    let name = Name::new(match what {
        Collective::Reduce => "_reduce_devices",
        Collective::Broadcast => "_broadcast_devices",
    });
    let job = Job::new(what, parts, whole, Origin { name, tag: site })?;
    code_of(whole.dtype())?;
    let runtime = whole.chunk().runtime().clone();
    let library = runtime
        .gpus()?
        .collectives()
        .ok_or_else(|| Error::device("there is no library of sums among devices"))?;
    let many: Vec<_> = parts.iter().map(|part| part.chunk().var()).collect();
    let one = [whole.chunk().var()];
    let (reads, writes) = match what {
        Collective::Reduce => (&many[..], &one[..]),
        Collective::Broadcast => (&one[..], &many[..]),
    };
    let spec = OpSpec::new(name)
        .on(Where::gpu(whole.chunk().context().device_id))
        .reads(reads)
        .writes(writes)
        .tag(site);
    held::submit(&runtime, &spec, move |rt| library.run(rt.gpus()?, &job))
}
