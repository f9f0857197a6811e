//! The buckets: which sizes share a free list, how large their blocks are, how they are aligned.

/// Smallest block, which is also the alignment of all: a cache line.
const MIN_SHIFT: u32 = 6;
/// Up to here the buckets are powers of two.
const LINEAR_SHIFT: u32 = 12;
/// Buckets per power of two above that, as a power of two.
const STEPS_SHIFT: u32 = 3;
/// Above the reach of 47-bit user addresses.
const MAX_SHIFT: u32 = 47;

/// Largest size that the pool takes; no machine of today maps more.
pub const MAX_BLOCK: usize = 1 << MAX_SHIFT;

const SMALL: usize = (LINEAR_SHIFT - MIN_SHIFT + 1) as usize;

/// Number of buckets.
pub(crate) const CLASSES: usize = SMALL + (((MAX_SHIFT - LINEAR_SHIFT) << STEPS_SHIFT) as usize);

/// Blocks from this size on are aligned to pages.
const PAGED: usize = 1 << 20;

/// Block sizes, by number of the bucket.
static SIZES: [usize; CLASSES] = {
    let mut sizes = [0; CLASSES];
    let mut index = 0;
    while index < CLASSES {
        sizes[index] = size_of_bucket(index);
        index += 1;
    }
    sizes
};

const fn size_of_bucket(index: usize) -> usize {
    if index < SMALL {
        return 1 << (index + MIN_SHIFT as usize);
    }
    let rest = index - SMALL;
    let shift = (rest >> STEPS_SHIFT) + (LINEAR_SHIFT - STEPS_SHIFT) as usize;
    let step = rest & ((1 << STEPS_SHIFT) - 1);
    ((1 << STEPS_SHIFT) + step + 1) << shift
}

/// A bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    /// Its number, below [`CLASSES`].
    pub(crate) index: usize,
    /// Bytes of each of its blocks.
    pub(crate) size: usize,
}

impl Class {
    /// The bucket of `size` bytes; `None` above [`MAX_BLOCK`].
    pub(crate) fn of(size: usize) -> Option<Class> {
        if size > MAX_BLOCK {
            return None;
        }
        if size <= 1 << LINEAR_SHIFT {
            let size = size.next_power_of_two().max(1 << MIN_SHIFT);
            return Some(Class {
                index: (size.ilog2() - MIN_SHIFT) as usize,
                size,
            });
        }
        // `last` is the highest offset in use: its leading bit names the power of two, the next
        // three bits the step, so an exact bucket size stays in its own bucket.
        let last = size - 1;
        let power = last.ilog2();
        let shift = power - STEPS_SHIFT;
        let step = (last >> shift) & ((1 << STEPS_SHIFT) - 1);
        Some(Class {
            index: SMALL + (((power - LINEAR_SHIFT) << STEPS_SHIFT) as usize) + step,
            size: ((1 << STEPS_SHIFT) + step + 1) << shift,
        })
    }

    /// The bucket with this number.
    #[inline]
    pub(crate) fn at(index: usize) -> Class {
        Class {
            index,
            size: SIZES[index],
        }
    }

    /// All buckets, from the smallest.
    pub(crate) fn all() -> impl Iterator<Item = Class> {
        (0..CLASSES).map(Class::at)
    }

    /// How its blocks are aligned: to cache lines, large ones to pages.
    pub(crate) fn align(self) -> usize {
        if self.size >= PAGED {
            4096
        } else {
            1 << MIN_SHIFT
        }
    }
}

/// The buckets of a pool: those above, but none smaller than a granule, and up to some size powers
/// of two only. Small sizes are looked up.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Bucket numbers of the sizes up to 4 KiB, by cache lines less one.
    small: [u16; LINES],
    granule: usize,
    round_below: usize,
}

/// Cache lines of the largest size that is looked up.
const LINES: usize = 1 << (LINEAR_SHIFT - MIN_SHIFT);
const _: () = assert!(CLASSES <= u16::MAX as usize);

impl Classes {
    /// No block smaller than `granule`; up to `round_below` bytes powers of two.
    pub(crate) fn new(granule: usize, round_below: usize) -> Classes {
        let mut classes = Classes {
            small: [0; LINES],
            granule: granule.min(MAX_BLOCK),
            round_below: round_below.min(MAX_BLOCK),
        };
        classes.small = std::array::from_fn(|line| {
            let class = classes.find((line + 1) << MIN_SHIFT);
            class.map_or(0, |class| class.index as u16)
        });
        classes
    }

    /// The bucket of `size` bytes, which are at least 1; `None` above [`MAX_BLOCK`].
    #[inline]
    pub(crate) fn of(&self, size: usize) -> Option<Class> {
        match self.small.get(size.wrapping_sub(1) >> MIN_SHIFT) {
            Some(&index) => Some(Class::at(index.into())),
            None => self.find(size),
        }
    }

    fn find(&self, size: usize) -> Option<Class> {
        let size = size.max(self.granule);
        if size <= self.round_below {
            return Class::of(size.next_power_of_two());
        }
        Class::of(size)
    }
}

/// Bytes that a request of `size` bytes takes from the pool; `None` where it is refused.
///
/// ```
/// use ferromix_storage::bucket_size;
/// assert_eq!(bucket_size(1), Some(64));
/// assert_eq!(bucket_size(4097), Some(4608));
/// assert_eq!(bucket_size(usize::MAX), None);
/// ```
pub fn bucket_size(size: usize) -> Option<usize> {
    if size == 0 {
        Some(0)
    } else {
        Class::of(size).map(|class| class.size)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_consecutive_and_each_is_its_own() {
        let mut below = 0;
        for index in 0..CLASSES {
            let class = Class::at(index);
            assert!(class.size > below);
            assert_eq!(Class::of(class.size), Some(class));
            assert_eq!(
                Class::of(below + 1),
                Some(class),
                "first size of bucket {index}"
            );
            below = class.size;
        }
        assert_eq!(below, MAX_BLOCK);
        assert_eq!(Class::of(MAX_BLOCK + 1), None);
    }

    #[test]
    fn what_is_looked_up_is_what_is_computed() {
        for (granule, round_below) in [(64, 0), (64, 1 << 20), (4096, 0), (1 << 16, 0), (640, 0)] {
            let classes = Classes::new(granule, round_below);
            let sizes = (1..5000).chain([1 << 20, MAX_BLOCK, MAX_BLOCK + 1, usize::MAX]);
            for size in sizes {
                let (found, least) = (classes.of(size), size.max(granule));
                assert_eq!(found, classes.find(size), "size {size}, granule {granule}");
                let Some(class) = found else {
                    assert!(size > MAX_BLOCK);
                    continue;
                };
                assert!(class.size >= least);
                assert!(size > round_below || class.size.is_power_of_two());
            }
        }
    }

    #[test]
    fn waste_is_bounded_and_blocks_are_multiples_of_the_alignment() {
        for index in 1..CLASSES {
            let class = Class::at(index);
            let smallest = Class::at(index - 1).size + 1;
            if smallest > 4096 {
                assert!(
                    (class.size - smallest) * 8 <= smallest,
                    "bucket {}",
                    class.size
                );
            }
            assert_eq!(class.size % class.align(), 0);
        }
    }
}
