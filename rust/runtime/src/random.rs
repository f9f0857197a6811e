//! Seeds and positions of the random numbers: one generator for the host and one for each GPU.
//!
//! `docs/random.md` describes the whole layout, which kernels of every device share.

use ferromix_base::{Context, DeviceType, Error, Result};
use ferromix_kernels::random::Stream;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// GPUs that have a generator.
const GPUS: usize = 64;

/// The number of a run takes the lower bits; above them stands the device.
const DEVICE_SHIFT: u32 = 48;

/// Seed and position of one device.
#[derive(Debug, Default)]
struct Generator {
    seed: AtomicU64,
    /// The device's number, which tells apart the devices that were seeded together, and below
    /// [`DEVICE_SHIFT`] the number of the next run.
    next: AtomicU64,
}

impl Generator {
    fn reseed(&self, seed: u64, device: usize) {
        // Relaxed, here and below: seeding while another thread draws has no defined order anyway,
        // and whoever needs one orders the calls by other means.
        self.seed.store(seed, Ordering::Relaxed);
        let first = (device as u64) << DEVICE_SHIFT;
        self.next.store(first, Ordering::Relaxed);
    }

    fn take(&self, count: u64) -> Stream {
        // Only the uniqueness of the numbers matters, which the read-modify-write gives.
        let number = self.next.fetch_add(count, Ordering::Relaxed);
        Stream {
            seed: self.seed.load(Ordering::Relaxed),
            number,
        }
    }
}

/// The first number of a device that stands for a resource.
const RESOURCES: usize = 1 << 15;

/// Random numbers apart from those of the devices, for the operations that share a resource: their
/// order is that of the resource's variable, whatever else draws meanwhile.
#[derive(Debug, Default)]
pub struct Draws(Generator);

thread_local! {
    static CURRENT: RefCell<Option<Arc<Draws>>> = const { RefCell::new(None) };
}

impl Draws {
    /// The numbers of the resource of this number, 0 to 2^15 - 1, for the seed.
    pub fn new(seed: u64, resource: u16) -> Self {
        let draws = Draws::default();
        draws.reseed(seed, resource);
        draws
    }

    /// Starts over.
    pub fn reseed(&self, seed: u64, resource: u16) {
        self.0.reseed(seed, RESOURCES | usize::from(resource));
    }

    /// The numbers of the next operation.
    pub fn next(&self) -> Stream {
        self.0.take(1)
    }

    /// From now on, what this thread pushes draws from `draws`, or again from the host's numbers;
    /// returns what it drew from before.
    pub fn set_current(draws: Option<Arc<Draws>>) -> Option<Arc<Draws>> {
        CURRENT.replace(draws)
    }
}

/// The random numbers of all devices. Each operation that draws numbers takes the next stream of
/// its device when it is pushed, so the numbers follow program order, not the order of execution.
#[derive(Debug)]
pub struct RandomState {
    host: Generator,
    gpus: [Generator; GPUS],
}

impl Default for RandomState {
    fn default() -> Self {
        let state = RandomState {
            host: Generator::default(),
            gpus: std::array::from_fn(|_| Generator::default()),
        };
        state.reseed(0);
        state
    }
}

impl RandomState {
    /// Starts all devices over from `seed`, each with numbers of its own; the host and the first
    /// GPU have the same ones.
    pub fn reseed(&self, seed: u64) {
        self.host.reseed(seed, 0);
        for (device, generator) in self.gpus.iter().enumerate() {
            generator.reseed(seed, device);
        }
    }

    /// Starts one device over, with numbers that depend on `seed` alone.
    ///
    /// # Errors
    /// A GPU of a number that none has.
    pub fn reseed_on(&self, context: Context, seed: u64) -> Result<()> {
        self.generator(context)?.reseed(seed, 0);
        Ok(())
    }

    /// The numbers of the next operation on the host.
    pub fn next(&self) -> Stream {
        self.take(1)
    }

    /// The numbers of the next operation on the host, for the first of `count`; the others' follow.
    /// Those of [`Draws::set_current`], where this thread has set any.
    pub fn take(&self, count: u64) -> Stream {
        CURRENT.with_borrow(|draws| match draws {
            Some(draws) => draws.0.take(count),
            None => self.host.take(count),
        })
    }

    /// The seed of the host's numbers.
    pub fn seed(&self) -> u64 {
        // Relaxed, as in `reseed`.
        self.host.seed.load(Ordering::Relaxed)
    }

    /// The numbers of the next operation on a device.
    ///
    /// # Errors
    /// As for [`reseed_on`](RandomState::reseed_on).
    pub fn next_on(&self, context: Context) -> Result<Stream> {
        Ok(self.generator(context)?.take(1))
    }

    /// The numbers of the next operation on a device, for the first of `count`; the others' follow. On
    /// the host as [`take`](RandomState::take).
    fn take_on(&self, context: Context, count: u64) -> Result<Stream> {
        match context.device_type {
            DeviceType::Gpu => Ok(self.generator(context)?.take(count)),
            _ => Ok(self.take(count)),
        }
    }

    /// All host memory has one generator, whatever the number and kind of its device.
    fn generator(&self, context: Context) -> Result<&Generator> {
        if context.device_type != DeviceType::Gpu {
            return Ok(&self.host);
        }
        self.gpus
            .get(usize::from(context.device_id))
            .ok_or_else(|| {
                Error::value(format!(
                    "there are no random numbers for {context}: device numbers go up to {}",
                    GPUS - 1
                ))
            })
    }
}

/// How many numbers several operations take together, of each device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares(Vec<(Context, u64)>);

/// What one of them has: of which device in the list, and after how many others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share(usize, u64);

impl Shares {
    /// Adds an operation on a device.
    pub(crate) fn add(&mut self, context: Context) -> Share {
        let known = self.0.iter().position(|(known, _)| *known == context);
        let at = known.unwrap_or_else(|| {
            self.0.push((context, 0));
            self.0.len() - 1
        });
        let share = Share(at, self.0[at].1);
        self.0[at].1 += 1;
        share
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all of them.
    ///
    /// # Errors
    /// A GPU of a number that none has.
    pub(crate) fn take(&self, random: &RandomState) -> Result<Vec<Stream>> {
        let take = |&(context, count): &(Context, u64)| random.take_on(context, count);
        self.0.iter().map(take).collect()
    }
}

impl Share {
    /// This one's, of what was taken.
    pub(crate) fn of(self, taken: &[Stream]) -> Option<Stream> {
        let first = taken.get(self.0)?;
        Some(Stream {
            number: first.number + self.1,
            ..*first
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failure to run is a failed test.
mod tests {
    use super::*;

    fn on(device_type: DeviceType, device_id: u16) -> Context {
        Context {
            device_type,
            device_id,
        }
    }

    fn draw(state: &RandomState, context: Context) -> [u32; 4] {
        state.next_on(context).unwrap().block(0)
    }

    #[test]
    fn devices_seeded_together_differ_and_those_seeded_alone_agree() {
        let state = RandomState::default();
        state.reseed(5);
        let gpus = [0, 1, 63].map(|id| draw(&state, on(DeviceType::Gpu, id)));
        assert_eq!(gpus[0], draw(&state, Context::cpu()));
        assert!(gpus[0] != gpus[1] && gpus[1] != gpus[2] && gpus[0] != gpus[2]);
        for id in [1, 63] {
            state.reseed_on(on(DeviceType::Gpu, id), 5).unwrap();
            assert_eq!(draw(&state, on(DeviceType::Gpu, id)), gpus[0]);
        }
        state.reseed_on(on(DeviceType::Gpu, 1), 6).unwrap();
        assert_ne!(draw(&state, on(DeviceType::Gpu, 1)), gpus[0]);
        let error = state.next_on(on(DeviceType::Gpu, 64)).unwrap_err();
        assert!(error.message().contains("gpu(64)"), "{error}");
    }

    #[test]
    fn a_resource_has_numbers_of_its_own_on_the_thread_that_asks_for_them() {
        let state = RandomState::default();
        state.reseed(5);
        let draws = Arc::new(Draws::new(state.seed(), 3));
        let outer = Draws::set_current(Some(draws.clone()));
        assert!(outer.is_none());
        let first = state.next();
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| state.next()).join().unwrap());
        let second = state.take(2);
        assert!(Draws::set_current(None).is_some());
        assert_eq!((first.seed, first.number >> DEVICE_SHIFT), (5, 0x8003));
        assert_eq!(second.number, first.number + 1);
        assert_eq!((elsewhere.number, state.next().number), (0, 1));
        assert_eq!(draws.next().number, first.number + 3);
        draws.reseed(6, 3);
        assert_eq!(draws.next(), Stream { seed: 6, ..first });
    }

    #[test]
    fn all_host_memory_has_one_generator_that_others_leave_alone() {
        let state = RandomState::default();
        state.reseed(5);
        let first: Vec<_> = (0..3).map(|_| draw(&state, Context::cpu())).collect();
        state.reseed_on(on(DeviceType::Cpu, 1), 5).unwrap();
        state.reseed_on(on(DeviceType::Gpu, 0), 9).unwrap();
        let pinned = on(DeviceType::CpuPinned, 0);
        assert_eq!(draw(&state, pinned), first[0]);
        assert_eq!(state.next().block(0), first[1]);
        assert_eq!(draw(&state, on(DeviceType::CpuShared, 3)), first[2]);
    }
}
