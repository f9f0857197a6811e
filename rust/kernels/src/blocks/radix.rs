//! Keys in order, digit by digit.

/// Lines from which on this is faster than comparing.
pub(crate) const LEAST: usize = 200;

/// Sorts by the upper 32 bits; keys that are equal there keep their order. `spare` is memory for as many.
pub(crate) fn sort_by_upper(keys: &mut Vec<u64>, spare: &mut Vec<u64>) {
    let digit = |key: u64, place: usize| (key >> (32 + 8 * place)) as usize & 255;
    let mut counts = [[0usize; 256]; 4];
    for &key in keys.iter() {
        for (place, counts) in counts.iter_mut().enumerate() {
            counts[digit(key, place)] += 1;
        }
    }
    spare.resize(keys.len(), 0);
    for (place, ends) in counts.iter_mut().enumerate() {
        if ends.contains(&keys.len()) {
            continue;
        }
        let mut total = 0;
        for end in ends.iter_mut() {
            total += std::mem::replace(end, total);
        }
        for &key in keys.iter() {
            let end = &mut ends[digit(key, place)];
            spare[*end] = key;
            *end += 1;
        }
        std::mem::swap(keys, spare);
    }
}

/// The bits of a number in the order of the numbers; both zeros are one, and NaN is above all.
#[inline(always)]
pub(crate) fn short(x: f32) -> u64 {
    let bits = (x + 0.0).to_bits();
    let ordered = if bits >> 31 == 1 {
        !bits
    } else {
        bits | 1 << 31
    };
    u64::from(if x.is_nan() { u32::MAX } else { ordered })
}

/// As [`short`], of more bits.
#[inline(always)]
pub(crate) fn long(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    };
    if x.is_nan() { u64::MAX } else { ordered }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_keep_their_order() {
        let mut state = 1u64;
        for n in [0u64, 1, 2, 255, 1000] {
            let next = |place: u64| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (((state >> 33) % 37) << (32 + place % 3 * 12)) | place
            };
            let mut keys: Vec<u64> = (0..n).map(next).collect();
            let mut sorted = keys.clone();
            sorted.sort_by_key(|key| key >> 32);
            sort_by_upper(&mut keys, &mut Vec::new());
            assert_eq!(keys, sorted);
        }
    }
}
