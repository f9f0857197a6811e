//! Batches of images that operations of the engine make, against what the file has.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A failure to run is a failed test.

use ferromix_base::{Context, DType};
use ferromix_engine::Engine;
use ferromix_io::{Detection, Emit, Fit, LABEL_HEAD};
use ferromix_runtime::loader::{ImageLoader, Labels, Pick, Records, Task};
use ferromix_runtime::{Array, Runtime, read_into};
use ferromix_storage::{Config, HostBackend, Pool};
use std::path::PathBuf;
use std::sync::Arc;

/// How many numbers the labels of the file have.
const WIDTHS: [usize; 5] = [7, 12, 10, 12, 17];

fn runtime() -> Arc<Runtime> {
    let pool = Pool::new(Context::cpu(), HostBackend, Config::default());
    Runtime::new(Engine::builder().workers(2).build(), pool)
}

fn records() -> Records {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/golden/image_detection/det.rec");
    Records::open(&path, None).unwrap()
}

fn loader(width: usize, labels: Option<Labels>) -> Arc<ImageLoader> {
    let recipe = Detection {
        shape: [3, 8, 8],
        resize: None,
        shifts: [(0, 0.0); 3],
        contrast: (0.0, 0.0),
        mirror: 0.0,
        pad: (0.0, 1.0),
        fill: 0,
        crop: 0.0,
        samplers: Vec::new(),
        emit: Emit::Centre,
        fit: Fit::Force,
        interpolation: 1,
        mean: vec![0.0; 3],
        deviation: [1.0; 3],
        scale: 1.0,
        label_fill: -1.0,
    };
    ImageLoader::new(
        records(),
        Task::Detection(Box::new(recipe), width),
        labels,
        0,
    )
}

fn picks(numbers: &[usize]) -> Vec<Pick> {
    let picks = numbers.iter().map(|&record| Pick { record, epoch: 0 });
    picks.collect()
}

fn values(array: &Array) -> Vec<f32> {
    let mut bytes = vec![0; array.len() * 4];
    read_into(array, &mut bytes).unwrap();
    let words = bytes.chunks(4).map(|b| b.try_into().unwrap());
    words.map(f32::from_ne_bytes).collect()
}

#[test]
fn the_widest_label_is_found_in_the_heads_of_records() {
    assert_eq!(records().most_labels(None).unwrap(), 17);
    let mut some = records();
    some.keep(|number, _| number < 3);
    assert_eq!(some.most_labels(None).unwrap(), 12);
    some.keep(|number, _| number == 1);
    assert_eq!(some.most_labels(Some(12)).unwrap(), 12);
    let error = records().most_labels(Some(7)).unwrap_err();
    assert!(
        error
            .message()
            .contains("has 12 labels, but label_width is 7")
    );
    some.keep(|_, _| false);
    assert_eq!(some.most_labels(None).unwrap(), 0);
}

#[test]
fn labels_have_the_length_of_each_record_and_batches_are_counted() {
    let runtime = runtime();
    let loader = loader(17, None);
    let (data, label, outcome) = loader
        .push(&runtime, picks(&[4, 0, 1, 2]), DType::F32, 0)
        .unwrap();
    assert_eq!(data.shape(), [4, 3, 8, 8]);
    let label = values(&label);
    outcome.check().unwrap();
    for (row, number) in label.chunks(LABEL_HEAD + 17).zip([4, 0, 1, 2]) {
        assert_eq!(row[..3], [3.0, 8.0, 8.0]);
        assert_eq!(row[3] as usize, WIDTHS[number]);
        assert!(
            row[LABEL_HEAD + WIDTHS[number]..]
                .iter()
                .all(|&v| v == -1.0)
        );
    }
    runtime.engine().wait_for_all().unwrap();
    let counts = loader.progress().read();
    assert_eq!((counts.images, counts.batches), (4, 1));
    assert!(!counts.busy.is_zero());
}

#[test]
fn what_is_wrong_is_told_to_whoever_takes_the_batch() {
    let runtime = runtime();
    let wrong = |loader: &Arc<ImageLoader>, number, words: &str| {
        let (data, _, outcome) = loader
            .push(&runtime, picks(&[number]), DType::F32, 0)
            .unwrap();
        values(&data);
        let error = outcome.check().unwrap_err();
        assert!(error.message().contains(words), "{error}");
        assert!(
            error.message().contains("det.rec, record at byte "),
            "{error}"
        );
        outcome.check().unwrap();
    };
    wrong(
        &loader(9, None),
        1,
        "its label has 12 numbers, but label_pad_width is 9",
    );
    let list = Labels::from([(0, vec![2.0, 5.0, 0.0])]);
    wrong(
        &loader(9, Some(list.clone())),
        0,
        "its label of 3 numbers has 1",
    );
    wrong(&loader(9, Some(list)), 1, "the list has no image 1");
    let bytes = loader(17, None).push(&runtime, picks(&[0]), DType::U8, 0);
    assert!(bytes.is_err(), "samples with objects are numbers");
}
