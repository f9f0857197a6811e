//! Images with bytes changed, cut or added at random: decoded or refused, without a panic, and without
//! memory beyond what a file of that size can stand for. The checksums of PNG are made right again, so
//! that the damage reaches what is behind them.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;
#[path = "common/watched.rs"]
mod watched;

use common::cases;
use ferromix_io::{Color, ImageDecoder};
use proptest::prelude::*;
use proptest::sample::Index;
use std::io::{Read, Write};
use std::path::Path;
use watched::frugal;

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

fn file(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/image");
    std::fs::read(folder.join(name)).unwrap()
}

/// Decodes, or names the file in an error. A decoder may take as much memory as if each sample that
/// the bytes can stand for were a byte of the file.
fn decode(bytes: &[u8], color: Color) {
    let samples = (2048 * bytes.len()).max(1 << 16);
    let decoded = frugal(samples, || {
        let decoder = ImageDecoder::new("file.img", bytes, color)?;
        let mut out = vec![0; decoder.shape().iter().product()];
        decoder.decode_into(&mut out)
    });
    if let Err(error) = decoded {
        assert!(error.message().starts_with("file.img: "), "{error}");
    }
}

/// The chunks of a PNG: where their kind begins, and where their data end.
fn chunks(png: &[u8]) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (Vec::new(), 8);
    while let Some(length) = png.get(at..at + 4) {
        let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
        let end = at.saturating_add(8).saturating_add(length);
        if end.saturating_add(4) > png.len() {
            break;
        }
        found.push((at + 4, end));
        at = end + 4;
    }
    found
}

fn with_right_checksums(mut png: Vec<u8>) -> Vec<u8> {
    for (kind, end) in chunks(&png) {
        let mut crc = flate2::Crc::new();
        crc.update(&png[kind..end]);
        png[end..end + 4].copy_from_slice(&crc.sum().to_be_bytes());
    }
    png
}

/// The same image, with `change` made to its lines of filtered samples.
fn with_changed_lines(png: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let found = chunks(png);
    let of_data = |&(kind, _): &(usize, usize)| &png[kind..kind + 4] == b"IDAT";
    let packed: Vec<u8> = found
        .iter()
        .filter(|chunk| of_data(chunk))
        .flat_map(|&(kind, end)| png[kind + 4..end].to_vec())
        .collect();
    let mut lines = Vec::new();
    flate2::read::ZlibDecoder::new(&packed[..])
        .read_to_end(&mut lines)
        .unwrap();
    change(&mut lines);
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(&lines).unwrap();
    let packed = packer.finish().unwrap();
    let (first, last) = (
        found.iter().find(|chunk| of_data(chunk)).unwrap(),
        found.iter().rfind(|chunk| of_data(chunk)).unwrap(),
    );
    let mut made = png[..first.0 - 4].to_vec();
    made.extend((packed.len() as u32).to_be_bytes());
    made.extend(b"IDAT");
    made.extend(packed);
    made.extend([0; 4]);
    made.extend(&png[last.1 + 4..]);
    with_right_checksums(made)
}

fn changed(bytes: &mut Vec<u8>, changes: &[(Index, u8)], cut: Option<Index>) {
    for (place, value) in changes {
        let place = place.index(bytes.len());
        bytes[place] = *value;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
}

#[test]
fn an_image_keeps_its_samples_where_nothing_is_changed() {
    let png = file("rgb.png");
    let samples = |bytes: &[u8]| {
        let decoder = ImageDecoder::new("file.img", bytes, Color::Rgb).unwrap();
        let mut out = vec![0; decoder.shape().iter().product()];
        decoder.decode_into(&mut out).unwrap();
        out
    };
    assert_eq!(with_right_checksums(png.clone()), png);
    assert_eq!(samples(&with_changed_lines(&png, |_| ())), samples(&png));
}

#[test]
fn a_palette_of_a_wrong_length_is_refused() {
    let png = file("palette.png");
    let &(kind, end) = chunks(&png)
        .iter()
        .find(|&&(kind, _)| &png[kind..kind + 4] == b"PLTE")
        .unwrap();
    for length in [0, 1, 2, 4, 769, 771, 3000] {
        let mut made = png[..kind - 4].to_vec();
        made.extend((length as u32).to_be_bytes());
        made.extend(b"PLTE");
        made.extend(vec![7; length]);
        made.extend([0; 4]);
        made.extend(&png[end + 4..]);
        let made = with_right_checksums(made);
        let error = ImageDecoder::new("file.img", &made, Color::Rgb)
            .err()
            .unwrap();
        let message = error.message();
        assert!(message.starts_with("file.img: "), "{message}");
        assert!(
            message.to_lowercase().contains("pal") || message.contains("PLTE"),
            "{message}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(3000), ..ProptestConfig::default() })]

    #[test]
    fn damaged_images_are_decoded_or_refused(
        name in prop::sample::select(&FILES[..]),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..8),
        cut in prop::option::weighted(0.3, any::<Index>()),
        gray in any::<bool>(),
    ) {
        let mut bytes = file(name);
        changed(&mut bytes, &changes, cut);
        let color = if gray { Color::Gray } else { Color::Rgb };
        decode(&bytes, color);
        decode(&with_right_checksums(bytes), color);
    }

    #[test]
    fn damaged_lines_of_png_are_decoded_or_refused(
        name in prop::sample::select(&FILES[4..]),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..8),
        cut in prop::option::weighted(0.3, any::<Index>()),
        more in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let made = with_changed_lines(&file(name), |lines| {
            changed(lines, &changes, cut);
            lines.extend(more);
        });
        decode(&made, Color::Rgb);
    }
}
