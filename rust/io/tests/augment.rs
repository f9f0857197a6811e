//! Images of any size, with any parameters: a sample, or an error, and objects that stay in their image.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use ferromix_io::{
    Colors, Crop, Detection, Draws, Emit, Fit, LABEL_HEAD, Overlap, Recipe, Sampler, Warp,
    Workspace,
};
use proptest::prelude::*;

const ALL: [f32; 2] = [0.0, 1.0];

fn recipe(shape: [usize; 3], warp: Option<Warp>, crop: Crop) -> Recipe {
    Recipe {
        shape,
        resize: None,
        warp,
        pad: 0,
        fill: 7,
        crop,
        interpolation: 1,
        mirror: (false, false),
        mean: vec![0.0; 3],
        deviation: [1.0; 3],
        scale: 1.0,
        contrast: 0.0,
        illumination: 0.0,
        colors: Colors::default(),
    }
}

fn still() -> Warp {
    Warp {
        rotate: None,
        angle: 0,
        shear: 0.0,
        scale: [1.0; 2],
        aspect: [1.0; 2],
        limits: [0.0, 1e10],
    }
}

fn detection(samplers: Vec<Sampler>, pad: (f32, f32), fit: Fit) -> Detection {
    Detection {
        shape: [3, 9, 11],
        resize: None,
        shifts: [(30, 0.5); 3],
        contrast: (0.5, 0.5),
        mirror: 0.5,
        pad,
        fill: 7,
        crop: 0.9,
        samplers,
        emit: Emit::Centre,
        fit,
        interpolation: 10,
        mean: vec![1.0; 3],
        deviation: [2.0; 3],
        scale: 1.0,
        label_fill: -1.0,
    }
}

fn workspace(image: Vec<u8>) -> Workspace {
    let mut space = Workspace::default();
    space.image = image;
    space
}

/// A sample of `value(row, column)` warped without a part being left out.
fn warped(warp: Warp, extents: [usize; 2], value: impl Fn(usize, usize) -> u8) -> Vec<f32> {
    let image = (0..extents[0] * extents[1]).map(|i| value(i / extents[1], i % extents[1]));
    let recipe = recipe([1, extents[0], extents[1]], Some(warp), Crop::Centre);
    let mut out = vec![0.0; extents[0] * extents[1]];
    let mut draws = Draws::new(1, 2, 3);
    let mut space = workspace(image.collect());
    recipe
        .apply(&mut space, extents, &mut draws, &mut out)
        .unwrap();
    out
}

#[test]
fn a_turn_goes_against_the_clock_about_the_middle() {
    let value = |y: usize, x: usize| (20 * y + x) as u8;
    let quarter = Warp {
        rotate: Some(90),
        ..still()
    };
    let out = warped(quarter, [8, 8], value);
    for y in 1..8 {
        for x in 0..8 {
            // The corner between four pixels of an even square is its middle; what comes from
            // beyond the last column is filled.
            let expected = value(x, 8 - y);
            assert_eq!(out[y * 8 + x], f32::from(expected), "{y} {x}");
        }
    }
    assert!(out[..8].iter().all(|&v| v == 7.0));
}

#[test]
fn a_ramp_stays_a_ramp() {
    // Two values a column, five a row; what is between pixels is on the ramp as well.
    let ramp = |y: usize, x: usize| (20 + 5 * y + 2 * x) as u8;
    for (angle, scale, aspect) in [
        (10, 1.0, 1.0),
        (33, 1.7, 1.0),
        (301, 1.2, 1.4),
        (0, 1.5, 0.7),
    ] {
        let warp = Warp {
            rotate: Some(angle),
            scale: [scale; 2],
            aspect: [aspect; 2],
            limits: [20.0, 20.0],
            ..still()
        };
        let out = warped(warp, [20, 20], ramp);
        let (sin, cos) = f64::from(angle).to_radians().sin_cos();
        let high = f64::from(2.0 * scale / (1.0 + aspect));
        let wide = high * f64::from(aspect);
        for y in 5..15 {
            for x in 5..15 {
                // Back about the middle: sideways by the height's scale, as in MXNet.
                let (along, down) = (f64::from(x) - 10.0, f64::from(y) - 10.0);
                let back_x = cos * along / high - sin * down / wide + 10.0;
                let back_y = sin * along / high + cos * down / wide + 10.0;
                let inside = |place: f64| (0.0..=19.0).contains(&place);
                if inside(back_x) && inside(back_y) {
                    let expected = 20.0 + 5.0 * back_y + 2.0 * back_x;
                    let found = f64::from(out[(y * 20 + x) as usize]);
                    // Half a byte, and half a 32nd of a pixel each way.
                    assert!((found - expected).abs() < 0.5 + 7.0 / 64.0 + 0.01);
                }
            }
        }
    }
}

fn range(low: f32, high: f32) -> impl Strategy<Value = [f32; 2]> {
    [low..high, low..high]
}

prop_compose! {
    fn warps()(
        rotate in prop::option::of(1..400),
        angle in 0..200,
        shear in 0.0_f32..3.0,
        scale in range(0.001, 6.0),
        aspect in range(-0.9, 4.0),
        limits in prop_oneof![Just([0.0, 1e10]), range(0.0, 300.0)],
    ) -> Warp {
        Warp { rotate, angle, shear, scale, aspect, limits }
    }
}

prop_compose! {
    fn samplers()(
        scale in range(0.0, 1.0),
        aspect in range(0.0, 3.0),
        both in prop_oneof![Just(ALL), range(0.0, 1.0)],
        object in prop_oneof![Just(ALL), range(0.0, 1.0)],
        trials in 0_usize..20,
    ) -> Sampler {
        Sampler { scale, aspect, overlap: Overlap { both, sample: ALL, object }, trials }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn warps_make_samples_or_errors(
        warp in warps(),
        extents in [1_usize..40, 1_usize..40],
        interpolation in prop::sample::select(&[0_i64, 1, 2, 3, 4, 9, 10][..]),
        seed in any::<u64>(),
        random in any::<bool>(),
    ) {
        let crop = if random { Crop::Random } else { Crop::Centre };
        let recipe = Recipe { interpolation, ..recipe([3, 5, 4], Some(warp), crop) };
        let mut out = vec![f32::NAN; 60];
        let mut space = workspace(vec![200; extents[0] * extents[1] * 3]);
        if recipe.apply(&mut space, extents, &mut Draws::new(seed, 0, 0), &mut out).is_ok() {
            prop_assert!(out.iter().all(|value| (0.0..=255.0).contains(value)));
        }
    }

    #[test]
    fn objects_stay_in_their_image(
        samplers in prop::collection::vec(samplers(), 0..3),
        pad in (0.0_f32..1.0, 0.5_f32..5.0),
        fit in prop::sample::select(&[Fit::Force, Fit::Shrink, Fit::Fit][..]),
        extents in [1_usize..40, 1_usize..40],
        boxes in prop::collection::vec([0.0_f32..1.0, 0.0_f32..1.0, 0.0_f32..1.0, 0.0_f32..1.0], 1..4),
        seed in any::<u64>(),
    ) {
        let recipe = detection(samplers, pad, fit);
        let mut given = vec![2.0, 5.0];
        for (class, place) in boxes.iter().enumerate() {
            given.push(class as f32);
            given.extend(place);
        }
        let mut space = workspace(vec![200; extents[0] * extents[1] * 3]);
        let (mut out, mut label) = (vec![f32::NAN; 297], vec![f32::NAN; LABEL_HEAD + 2 + 15]);
        let draws = &mut Draws::new(seed, 0, 0);
        recipe.apply(&mut space, extents, draws, &given, (&mut out, &mut label)).unwrap();
        prop_assert!(out.iter().all(|value| (-0.5..=127.0).contains(value)));
        let [channels, rows, columns, length] = [0, 1, 2, 3].map(|i| label[i] as usize);
        prop_assert!(channels == 3 && (1..=9).contains(&rows) && (1..=11).contains(&columns));
        let (found, rest) = label[LABEL_HEAD..].split_at(length);
        prop_assert!(rest.iter().all(|&value| value == -1.0));
        prop_assert_eq!(&found[..2], &[2.0, 5.0]);
        let mut before = -1.0;
        for object in found[2..].chunks(5) {
            prop_assert!(object[0] > before && object[0] < boxes.len() as f32);
            before = object[0];
            prop_assert!(object[1..].iter().all(|place| (-1e-6..=1.0 + 1e-6).contains(place)));
            prop_assert!(object[1] <= object[3] && object[2] <= object[4]);
        }
    }

    #[test]
    fn labels_of_any_numbers_are_read_or_refused(
        given in prop::collection::vec(
            prop_oneof![any::<f32>(), (0_u8..9).prop_map(f32::from)], 0..20,
        ),
        seed in any::<u64>(),
    ) {
        let recipe = detection(Vec::new(), (0.5, 2.0), Fit::Force);
        let (mut out, mut label) = (vec![0.0_f32; 297], vec![0.0; LABEL_HEAD + 20]);
        let mut space = workspace(vec![200; 300]);
        let draws = &mut Draws::new(seed, 0, 0);
        let done = recipe.apply(&mut space, [10, 10], draws, &given, (&mut out, &mut label));
        if let Err(error) = done {
            let words = format!("its label of {} numbers ", given.len());
            prop_assert!(error.message().starts_with(&words), "{error}");
        } else {
            prop_assert!(label[3] as usize <= given.len());
        }
    }
}
