//! Images that are damaged, or claim what they cannot hold: an error, and no panic, hang or memory
//! beyond what the file can stand for.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ferromix_io::{Color, ImageDecoder, Interpolation, resize};
use proptest::prelude::*;
use std::path::Path;

fn file(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/image");
    std::fs::read(folder.join(name)).unwrap()
}

fn decode(bytes: &[u8], color: Color) -> ferromix_base::Result<Vec<u8>> {
    let decoder = ImageDecoder::new("file.img", bytes, color)?;
    let mut out = vec![0; decoder.shape().iter().product()];
    decoder.decode_into(&mut out)?;
    Ok(out)
}

const FILES: [&str; 8] = [
    "444.jpg",
    "420.jpg",
    "progressive.jpg",
    "gray.jpg",
    "rgb.png",
    "palette.png",
    "bits.png",
    "gray16.png",
];

#[test]
fn every_kind_is_decoded() {
    for name in FILES {
        for color in [Color::Gray, Color::Rgb] {
            let out = decode(&file(name), color).unwrap();
            assert_eq!(out.len(), 37 * 53 * color.channels(), "{name}");
        }
    }
}

#[test]
fn errors_name_the_file() {
    for bytes in [&b""[..], b"GIF89a", b"\xff\xd8", b"\x89PNG\r\n\x1a\n"] {
        let error = decode(bytes, Color::Rgb).unwrap_err();
        assert!(error.message().starts_with("file.img: "), "{error}");
    }
    let png = file("rgb.png");
    for cut in (0..png.len() - 12).step_by(7) {
        assert!(decode(&png[..cut], Color::Rgb).is_err(), "{cut}");
    }
    let bytes = file("rgb.png");
    let decoder = ImageDecoder::new("file.img", &bytes, Color::Rgb).unwrap();
    let error = decoder.decode_into(&mut [0; 3]).unwrap_err();
    assert!(error.message().contains("memory of 5883 bytes, got 3"));
}

#[test]
fn extents_that_a_file_cannot_hold_are_refused_before_memory_is_taken() {
    let mut png = file("rgb.png");
    png[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    let error = decode(&png, Color::Rgb).unwrap_err();
    assert!(error.message().starts_with("file.img: "), "{error}");
    let mut jpeg = file("444.jpg");
    let frame = jpeg.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff, 0, 0xff, 0]);
    let error = decode(&jpeg, Color::Rgb).unwrap_err();
    assert!(
        error
            .message()
            .contains("cannot hold an image of 65280 x 65280")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn resized_samples_lie_between_the_least_and_the_largest(
        image in prop::collection::vec(any::<u8>(), 4 * 5 * 3),
        rows in 1_usize..12,
        columns in 1_usize..12,
        number in prop::sample::select(&[0_i64, 1, 3][..]),
    ) {
        let how = Interpolation::from_number(number).unwrap();
        let mut out = vec![0; rows * columns * 3];
        resize(&image, [4, 5], &mut out, [rows, columns], 3, how).unwrap();
        for channel in 0..3 {
            let of = |samples: &[u8]| samples.iter().skip(channel).step_by(3).copied().collect::<Vec<_>>();
            let (before, after) = (of(&image), of(&out));
            prop_assert!(before.iter().min() <= after.iter().min());
            prop_assert!(before.iter().max() >= after.iter().max());
        }
    }
}

#[test]
fn images_of_one_value_keep_it_in_any_size() {
    for number in 0..5 {
        let how = Interpolation::from_number(number).unwrap();
        for [rows, columns] in [[1, 1], [3, 9], [40, 2], [7, 7]] {
            let mut out = vec![0.0_f64; rows * columns * 2];
            resize(
                &vec![7.0; 5 * 6 * 2],
                [5, 6],
                &mut out,
                [rows, columns],
                2,
                how,
            )
            .unwrap();
            assert!(out.iter().all(|x| (x - 7.0).abs() < 1e-5), "{number}");
        }
    }
    assert!(Interpolation::from_number(9).is_none());
    let error = resize(
        &[0_u8; 4],
        [2, 2],
        &mut [0; 3],
        [0, 1],
        1,
        Interpolation::Linear,
    );
    assert!(error.is_err());
}
