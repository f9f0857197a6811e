//! Batches of images from RecordIO files: read, decoded, augmented and laid out by operations of the
//! engine, each into the memory of its batch.
//!
//! A batch is an operation that writes two arrays, and whoever reads them waits for it, so batches
//! that were asked for ahead are made while others are in use. All threads of the kernels share the
//! images of a batch.

mod progress;
mod records;

pub use progress::{Counts, Progress};
pub use records::{Labels, Records};

use crate::{Array, Runtime, held};
use ferromix_base::{DType, Element, Error, Result};
use ferromix_engine::OpSpec;
use ferromix_io::{
    Color, Detection, Draws, ImageDecoder, LABEL_HEAD, Recipe, SampleElement, Workspace,
};
use ferromix_kernels::par;
use records::Header;
use std::sync::{Arc, Mutex, PoisonError};

/// What a sample of a batch is.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// The number of the record in its file.
    pub record: usize,
    /// The epoch, from which the random numbers follow.
    pub epoch: u64,
}

/// What is made of images.
#[derive(Clone, Debug)]
pub enum Task {
    /// Samples of a type, each with as many labels.
    Sample(Box<Recipe>, usize),
    /// Samples of float32, each with the objects that it has, in as many numbers at most.
    Detection(Box<Detection>, usize),
}

impl Task {
    fn name(&self) -> &'static str {
        match self {
            Task::Sample(..) => "ImageRecordIter",
            Task::Detection(..) => "ImageDetRecordIter",
        }
    }

    fn shape(&self) -> [usize; 3] {
        match self {
            Task::Sample(recipe, _) => recipe.shape,
            Task::Detection(recipe, _) => recipe.shape,
        }
    }

    /// Numbers of a sample's label.
    pub fn label_width(&self) -> usize {
        match self {
            Task::Sample(_, width) => *width,
            Task::Detection(_, width) => width + LABEL_HEAD,
        }
    }
}

/// How a batch went. It is told to whoever takes the batch, and to nobody where nobody does: the
/// failure of an operation would come up in any wait for all.
#[derive(Clone, Debug, Default)]
pub struct Outcome(Arc<Mutex<Option<Error>>>);

impl Outcome {
    /// The failure of a batch whose arrays have been waited for.
    ///
    /// # Errors
    /// That failure, the first time.
    pub fn check(&self) -> Result<()> {
        locked(&self.0).take().map_or(Ok(()), Err)
    }
}

/// Makes batches.
#[derive(Debug)]
pub struct ImageLoader {
    records: Records,
    task: Task,
    labels: Option<Labels>,
    seed: u64,
    progress: Progress,
}

impl ImageLoader {
    /// A loader of `records`, with the labels of `labels` if there are any.
    pub fn new(records: Records, task: Task, labels: Option<Labels>, seed: u64) -> Arc<Self> {
        Arc::new(ImageLoader {
            records,
            task,
            labels,
            seed,
            progress: Progress::default(),
        })
    }

    /// Where the records are.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// What is made of them.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// What was done.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Pushes the operation that makes a batch: samples of `dtype`, and float32 labels.
    ///
    /// # Errors
    /// A type that samples cannot have, or an engine that takes no work. Damaged records are in the
    /// outcome.
    pub fn push(
        self: &Arc<Self>,
        runtime: &Arc<Runtime>,
        picks: Vec<Pick>,
        dtype: DType,
        site: u64,
    ) -> Result<(Array, Array, Outcome)> {
        let bytes = matches!(
            (&self.task, dtype),
            (Task::Sample(..), DType::U8 | DType::I8)
        );
        if dtype != DType::F32 && !bytes {
            return Err(Error::dtype(format!("images cannot be loaded as {dtype}")));
        }
        let [channels, height, width] = self.task.shape();
        let data = Array::new(runtime, &[picks.len(), channels, height, width], dtype)?;
        let label = Array::new(runtime, &[picks.len(), self.task.label_width()], DType::F32)?;
        let writes = [data.chunk().var(), label.chunk().var()];
        let spec = OpSpec::new(self.task.name()).writes(&writes).tag(site);
        let (loader, to, labels) = (self.clone(), data.clone(), label.clone());
        let outcome = Outcome::default();
        let told = outcome.clone();
        held::submit(runtime, &spec, move |_| {
            let done = match dtype {
                DType::U8 => loader.fill::<u8>(&picks, &to, &labels),
                DType::I8 => loader.fill::<i8>(&picks, &to, &labels),
                _ => loader.fill::<f32>(&picks, &to, &labels),
            };
            *locked(&told.0) = done.err();
            Ok(())
        })?;
        Ok((data, label, outcome))
    }

    fn fill<T>(&self, picks: &[Pick], data: &Array, labels: &Array) -> Result<()>
    where
        T: SampleElement + Element + Send,
    {
        let _making = self.progress.begin();
        let samples = self.task.shape().iter().product::<usize>();
        let width = self.task.label_width();
        // SAFETY: this operation has the arrays, which were made contiguous and of these types, to
        // itself; the slices do not live longer than it.
        let (data, labels) = unsafe {
            (
                std::slice::from_raw_parts_mut(data.data()?.cast::<T>(), picks.len() * samples),
                std::slice::from_raw_parts_mut(labels.data()?.cast::<f32>(), picks.len() * width),
            )
        };
        let places: Vec<_> = data
            .chunks_exact_mut(samples.max(1))
            .zip(labels.chunks_exact_mut(width.max(1)))
            .map(|place| Mutex::new(Some(place)))
            .collect();
        let spaces: Vec<Mutex<Space>> = (0..par::threads()).map(|_| Mutex::default()).collect();
        let failure = Mutex::new(None);
        par::for_each_slot(places.len(), |slot, i| {
            let place = locked(&places[i]).take();
            let (Some((sample, label)), Some(space)) = (place, spaces.get(slot)) else {
                return;
            };
            if let Err(error) = self.make(picks[i], &mut locked(space), sample, label) {
                let mut first = locked(&failure);
                if first.as_ref().is_none_or(|&(at, _)| i < at) {
                    *first = Some((i, error));
                }
            }
            self.progress.count_image();
        });
        let found = locked(&failure).take();
        found.map_or(Ok(()), |(_, error)| Err(error))
    }

    fn make<T: SampleElement>(
        &self,
        pick: Pick,
        space: &mut Space,
        sample: &mut [T],
        label: &mut [f32],
    ) -> Result<()> {
        let name = self.records.read(pick.record, &mut space.record)?;
        let header = Header::of(&name, &space.record)?;
        let color = if self.task.shape()[0] == 1 {
            Color::Gray
        } else {
            Color::Rgb
        };
        let decoder = ImageDecoder::new(&name, header.image, color)?;
        let [rows, columns, channels] = decoder.shape();
        space.work.image.resize(rows * columns * channels, 0);
        decoder.decode_into(&mut space.work.image)?;
        let mut draws = Draws::new(self.seed, pick.epoch, pick.record as u64);
        let (work, extents) = (&mut space.work, [rows, columns]);
        match &self.task {
            Task::Sample(recipe, _) => {
                header.copy_label(&name, self.labels.as_ref(), label)?;
                recipe.apply(work, extents, &mut draws, sample)
            }
            Task::Detection(recipe, _) => {
                let given = header.objects(&name, self.labels.as_ref())?;
                recipe.apply(work, extents, &mut draws, &given, (sample, label))
            }
        }
        .map_err(|error| error.within(&name))
    }
}

/// Memory that a thread uses for one image after the other.
#[derive(Default)]
struct Space {
    record: Vec<u8>,
    work: Workspace,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
