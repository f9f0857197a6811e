//! Hue, lightness and saturation in 8 bits, as OpenCV 3.4 has them: a hue counts two degrees.

const DEGREES: f32 = 2.0;

/// Adds to hue, lightness and saturation of an image of red, green and blue; each stays in its
/// range, hue as well, which does not go round.
pub(super) fn shift(image: &mut [u8], shift: [i32; 3]) {
    const LIMITS: [i32; 3] = [180, 255, 255];
    for pixel in image.chunks_exact_mut(3) {
        let mut values = to_hls([pixel[0], pixel[1], pixel[2]]);
        for ((value, more), limit) in values.iter_mut().zip(shift).zip(LIMITS) {
            *value = (i32::from(*value) + more).clamp(0, limit) as u8;
        }
        pixel.copy_from_slice(&to_rgb(values));
    }
}

/// Rounds to the nearest byte, halves to the even one.
fn byte(value: f32) -> u8 {
    // Numbers of this size have no fraction bits, so that the sum is rounded.
    const WHOLE: f32 = (3 << 22) as f32;
    (value + WHOLE - WHOLE) as u8
}

fn to_hls(pixel: [u8; 3]) -> [u8; 3] {
    let [r, g, b] = pixel.map(|p| f32::from(p) * (1.0 / 255.0));
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let (sum, range) = (most + least, most - least);
    let lightness = sum * 0.5;
    if range <= f32::EPSILON {
        return [0, byte(lightness * 255.0), 0];
    }
    let saturation = range / if lightness < 0.5 { sum } else { 2.0 - sum };
    let degrees = 60.0 / range;
    let hue = if most == r {
        (g - b) * degrees
    } else if most == g {
        (b - r) * degrees + 120.0
    } else {
        (r - g) * degrees + 240.0
    };
    let hue = if hue < 0.0 { hue + 360.0 } else { hue };
    [hue / DEGREES, lightness * 255.0, saturation * 255.0].map(byte)
}

fn to_rgb([hue, lightness, saturation]: [u8; 3]) -> [u8; 3] {
    let [lightness, saturation] = [lightness, saturation].map(|p| f32::from(p) * (1.0 / 255.0));
    if saturation == 0.0 {
        return [byte(lightness * 255.0); 3];
    }
    let most = if lightness <= 0.5 {
        lightness * (1.0 + saturation)
    } else {
        lightness + saturation - lightness * saturation
    };
    let least = 2.0 * lightness - most;
    // Six sectors of the circle; in each, one colour goes from the least to the most or back.
    let place = f32::from(hue) * (DEGREES / 60.0);
    let place = if place >= 6.0 { place - 6.0 } else { place };
    let sector = place as u8;
    let part = place - f32::from(sector);
    let falls = least + (most - least) * (1.0 - part);
    let rises = least + (most - least) * part;
    let rgb = match sector {
        0 => [most, rises, least],
        1 => [falls, most, least],
        2 => [least, most, rises],
        3 => [least, falls, most],
        4 => [rises, least, most],
        _ => [most, least, falls],
    };
    rgb.map(|value| byte(value * 255.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_as_by_the_standard_library() {
        for i in 0..=255 * 64 {
            let value = i as f32 / 64.0;
            assert_eq!(byte(value), value.round_ties_even() as u8, "{value}");
        }
        assert_eq!([-0.4, 255.4, 300.0].map(byte), [0, 255, 255]);
    }

    #[test]
    fn gray_stays_gray_but_for_its_lightness() {
        let mut image: Vec<u8> = (0..=255).flat_map(|value| [value; 3]).collect();
        shift(&mut image, [50, 3, 0]);
        let expected = (0..=255_u8).flat_map(|value| [value.saturating_add(3); 3]);
        assert!(image.into_iter().eq(expected));
    }
}
