//! A pipeline over files with asynchronous reads: read, compress, append to an archive in order.
//!
//! * A *read* is an asynchronous operation: its function hands the file's name, a slot for the
//!   contents and the operation's [`OnComplete`] to a reader thread and returns. Workers never wait
//!   for the disk. The reader gets at the slot by the promise, and completes the operation when the
//!   contents are there, or with the error that it met.
//! * *Compress* works on the slot in place, on any worker, so several files at once.
//! * *Append* reads the slot and mutates the archive, which is one variable: hence the archive has
//!   the files in the order of the pushes, whichever was ready first.
//!
//! There are fewer slots than files. The next read of a slot mutates it, so it waits for the append
//! of the file before: the pipeline limits its memory without saying so.
//!
//! usage: `pipeline [FILES]`, by default 200, of up to 256 KiB each, in a folder of their own that is
//! removed at the end. Unpacks the archive and compares it with the files, then reads a file that is
//! not there.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use ferromix_engine::{Data, Engine, OnComplete, OpError, OpSpec};

const SLOTS: usize = 8;

/// Bytes that operations share.
type Buffer = Data<Vec<u8>>;

/// What the reader thread is asked for.
type Request = (PathBuf, Buffer, OnComplete);

/// Reads what it is asked for until nobody can ask any more.
fn reader(requests: &Receiver<Request>) {
    for (path, slot, done) in requests {
        let outcome = read(&path, &slot, &done);
        drop(slot);
        done.complete(outcome);
    }
}

fn read(path: &Path, slot: &Buffer, done: &OnComplete) -> Result<(), OpError> {
    let contents = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    *done.write(slot)? = contents;
    Ok(())
}

/// Runs of equal bytes as their length and the byte.
fn compress(bytes: &[u8]) -> Vec<u8> {
    let runs = bytes.chunk_by(|a, b| a == b);
    let parts = runs.flat_map(|run| run.chunks(255));
    parts.flat_map(|part| [part.len() as u8, part[0]]).collect()
}

fn unpack(packed: &[u8]) -> Vec<u8> {
    let runs = packed.chunks_exact(2);
    runs.flat_map(|run| vec![run[1]; run[0].into()]).collect()
}

/// A sum that shows whether the archive is whole.
fn checksum(bytes: &[u8]) -> u32 {
    let mix = |sum: u32, byte: &u8| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, mix)
}

/// Adds a file to the archive: checksum and length, then the packed bytes.
fn append(archive: &mut Vec<u8>, packed: &[u8]) {
    archive.extend(checksum(packed).to_le_bytes());
    archive.extend((packed.len() as u32).to_le_bytes());
    archive.extend(packed);
}

/// The files of an archive.
fn files(archive: &[u8]) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let (mut rest, mut files) = (archive, Vec::new());
    while let Some((&[a, b, c, d, e, f, g, h], tail)) = rest.split_first_chunk() {
        let (sum, length) = (
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
        );
        let (packed, after) = tail.split_at_checked(length as usize).ok_or("cut off")?;
        assert_eq!(checksum(packed), sum, "file {} is damaged", files.len());
        files.push(unpack(packed));
        rest = after;
    }
    Ok(files)
}

/// Pushes the three operations of one file.
fn process(
    engine: &Engine,
    requests: &Sender<Request>,
    path: PathBuf,
    slot: &Buffer,
    archive: &Buffer,
) -> Result<(), Box<dyn Error>> {
    let (slot_var, archive_var) = ([slot.var()], [archive.var()]);
    let (requests, target) = (requests.clone(), slot.clone());
    engine.push_async(&OpSpec::new("read").writes(&slot_var), move |_, done| {
        // If the reader is gone, this drops the promise, which is an error of the operation.
        let _ = requests.send((path, target, done));
    })?;
    let bytes = slot.clone();
    let spec = OpSpec::new("compress").writes(&slot_var);
    engine.push_sync(&spec, move |context| {
        let mut bytes = context.write(&bytes)?;
        *bytes = compress(&bytes);
        Ok(())
    })?;
    let (bytes, archive) = (slot.clone(), archive.clone());
    let spec = OpSpec::new("append").reads(&slot_var).writes(&archive_var);
    engine.push_sync(&spec, move |context| {
        let mut archive = context.write(&archive)?;
        append(&mut archive, &context.read(&bytes)?);
        Ok(())
    })?;
    Ok(())
}

/// Contents of a file: runs of letters whose lengths differ from file to file.
fn contents(file: usize) -> Vec<u8> {
    let length = 1 + file * 7919 % (256 << 10);
    (0..length)
        .map(|k| b'a' + (k / (file % 40 + 3) % 26) as u8)
        .collect()
}

fn run(folder: &Path, count: usize) -> Result<(), Box<dyn Error>> {
    let path = |file: usize| folder.join(format!("{file}.txt"));
    (0..count).try_for_each(|file| fs::write(path(file), contents(file)))?;
    let engine = Engine::builder().workers(2).build();
    let (requests, queue) = channel();
    let reading = std::thread::spawn(move || reader(&queue));
    let slots: Vec<Buffer> = (0..SLOTS).map(|_| engine.data(Vec::new())).collect();
    let archive = engine.data(Vec::new());

    let begin = Instant::now();
    for file in 0..count {
        process(
            &engine,
            &requests,
            path(file),
            &slots[file % SLOTS],
            &archive,
        )?;
    }
    let packed = archive.read()?.clone();
    let time = begin.elapsed();
    assert_eq!(
        files(&packed)?,
        (0..count).map(contents).collect::<Vec<_>>()
    );

    // A failed read: what depends on it is skipped, and the wait says why, once.
    process(&engine, &requests, path(count), &slots[0], &archive)?;
    let failure = archive.read().err().ok_or("the read should have failed")?;
    let why = failure.source().ok_or("for a reason")?.to_string();
    assert!(why.contains(&format!("{count}.txt")));
    engine.wait_for_all()?;
    assert_eq!(archive.read()?.len(), packed.len());

    drop(requests);
    reading.join().map_err(|_| "the reader panicked")?;
    println!(
        "{count} files in {time:.1?}, {} bytes packed; and {failure}: {why}",
        packed.len()
    );
    Ok(())
}

/// A folder that goes when this does.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args()
        .nth(1)
        .map_or(Ok(200), |text| text.parse())?;
    let name = format!("ferromix-pipeline-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    fs::create_dir(&folder.0)?;
    run(&folder.0, count)
}
