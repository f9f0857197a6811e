//! RecordIO files, read and written without the interpreter.

use crate::support::errors::{misuse, to_py};
use ferromix_base::Result;
use ferromix_io as io;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// A reader and the memory of its last record.
type Reading = (io::RecordReader, Vec<u8>);

/// Reads a RecordIO file.
#[pyclass(frozen, module = "ferromix._core")]
struct RecordReader(Mutex<Reading>);

impl RecordReader {
    fn locked<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Reading) -> Result<T> + Send,
    ) -> PyResult<T> {
        // The lock is taken without the interpreter, so that a thread that has it can finish.
        py.detach(|| act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
            .map_err(to_py)
    }
}

#[pymethods]
impl RecordReader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let reader = py.detach(|| io::RecordReader::open(path)).map_err(to_py)?;
        Ok(RecordReader(Mutex::new((reader, Vec::new()))))
    }

    /// The next record; None at the end.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let record = self.locked(py, |(reader, record)| {
            Ok(reader.read_into(record)?.then(|| std::mem::take(record)))
        })?;
        let Some(record) = record else {
            return Ok(None);
        };
        let bytes = PyBytes::new(py, &record);
        // The memory serves again, unless a large record made it so.
        if record.capacity() <= KEPT
            && let Ok(mut reading) = self.0.try_lock()
        {
            reading.1 = record;
        }
        Ok(Some(bytes))
    }

    /// Moves to the record at an offset.
    fn seek(&self, py: Python<'_>, offset: u64) -> PyResult<()> {
        self.locked(py, |(reader, _)| reader.seek(offset))
    }

    /// The offset of the next record.
    fn tell(&self, py: Python<'_>) -> PyResult<u64> {
        self.locked(py, |(reader, _)| Ok(reader.tell()))
    }
}

/// The most memory that a reader keeps between records.
const KEPT: usize = 1 << 20;

/// Writes a RecordIO file.
#[pyclass(frozen, module = "ferromix._core")]
struct RecordWriter {
    writer: Mutex<Option<io::RecordWriter>>,
    process: u32,
}

impl RecordWriter {
    /// Whether this process is the child of a fork, and what is not written yet the parent's to write.
    fn is_inherited(&self) -> bool {
        self.process != std::process::id()
    }

    fn locked<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut io::RecordWriter) -> Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map(act)
        })
        .ok_or_else(|| misuse("the file of records is closed"))?
        .map_err(to_py)
    }
}

#[pymethods]
impl RecordWriter {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let writer = py.detach(|| io::RecordWriter::create(path));
        Ok(RecordWriter {
            writer: Mutex::new(Some(writer.map_err(to_py)?)),
            process: std::process::id(),
        })
    }

    /// Appends a record; its offset.
    fn write(&self, py: Python<'_>, record: &[u8]) -> PyResult<u64> {
        self.locked(py, |writer| writer.write(record))
    }

    /// The offset of the next record.
    fn tell(&self, py: Python<'_>) -> PyResult<u64> {
        self.locked(py, |writer| Ok(writer.tell()))
    }

    /// Writes what is not in the file yet, and closes it.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_inherited() {
            // A thread that had the lock at the fork is not there to give it back.
            if let Ok(mut slot) = self.writer.try_lock()
                && let Some(writer) = slot.take()
            {
                writer.discard();
            }
            return Ok(());
        }
        py.detach(|| {
            let mut slot = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(mut writer) = slot.take() else {
                return Ok(());
            };
            let flushed = writer.flush();
            writer.discard();
            flushed
        })
        .map_err(to_py)
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        let is_inherited = self.is_inherited();
        let slot = self
            .writer
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = slot.take_if(|_| is_inherited) {
            writer.discard();
        }
    }
}

/// Keys and offsets of an index file.
#[pyfunction]
fn read_record_index(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyList>> {
    let entries = py.detach(|| io::read_index(path)).map_err(to_py)?;
    let list = PyList::empty(py);
    // One by one, so that the keys are not there twice as a whole.
    for entry in entries {
        list.append(entry)?;
    }
    Ok(list)
}

pub(super) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<RecordReader>()?;
    m.add_class::<RecordWriter>()?;
    m.add_function(wrap_pyfunction!(read_record_index, m)?)
}
